"""Validation of each record before its batch is accepted, in one pass or in steps."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Iterator

import cramjam
import pytest

from shareq.broker.foundation.turn_budget import PAUSE
from shareq.broker.log import admission
from shareq.broker.log.admission import (
    LEAST_OPENED_BYTES,
    MOST_AT_ONCE,
    MOST_RECORD_ERRORS,
    MOST_RECORDS,
    Admission,
    Checked,
    RecordError,
)
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    Compression,
    RecordData,
    build_batch,
    read_header,
    validate_batch,
)
from shareq.protocol.records.compression import compress
from tests.support.coroutines import finished
from tests.support.each import for_each
from tests.support.kafka.odd_batches import Answer, OddBatch, odd_batches
from tests.support.kafka.raw_batches import raw_batch, raw_record
from tests.support.pass_forms import FORMS, RecordWalk

NOW = 1_700_000_000_000
NOT_TAKEN = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME
MOST = 2**63 - 1
REAL_CODECS = list(Compression)[1:]
SETTINGS: dict[str, dict[str, object]] = {  # what the cases' properties make of a log's settings
    "message.timestamp.before.max.ms": {"message_timestamp_before_max_ms": 3_600_000},
    "message.timestamp.type": {"append_time": True},
    "cleanup.policy": {"compact": True},
}


@pytest.fixture(autouse=True, params=FORMS)
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    form: RecordWalk = request.param
    monkeypatch.setattr(admission, "records_walk", form)
    return iter(())


@functools.cache
def odd_ones(codec: Compression) -> dict[str, OddBatch]:
    return odd_batches(NOW, codec)


def rules(**settings: object) -> Admission:
    return Admission(LogSettings(**settings))  # type: ignore[arg-type]


def large(taking: Admission, batch: bytes) -> Checked:
    return finished(taking.check_large(batch, read_header(batch), NOW, lambda _elements: PAUSE))


def outcomes(taking: Admission, batch: bytes) -> tuple[tuple[object, object], tuple[object, object]]:
    """Return the results of a check at once and in steps: the error and the faulty records, or the stored batch."""
    found = taking.check(batch, NOW)
    errors = taking.record_errors(batch, NOW) if isinstance(found, ErrorCode) else []
    checked = large(taking, batch)
    return (found, errors), (checked.admitted, checked.errors)


@pytest.mark.parametrize("codec", list(Compression))
@for_each("case", sorted(odd_batches(0, Compression.NONE)))
def test_large_batches_are_judged_as_small_ones(case: str, codec: Compression) -> None:
    odd = odd_ones(codec)[case]
    settings = {name: value for key in odd.settings for name, value in SETTINGS[key].items()}
    header = validate_batch(odd.batch)
    if isinstance(header, ErrorCode) or header.base_offset or header.attributes & NOT_TAKEN:
        return  # `check` refuses it by its header, before it looks how large it is
    at_once, in_turns = outcomes(rules(**settings), odd.batch)
    assert in_turns == at_once


@pytest.mark.parametrize("codec", REAL_CODECS)
@for_each("fault", ["unreadable", "out of order", "out of time", "cut short"])
@for_each("size", ["fits", "a long record", "too much"])
def test_of_several_faults_a_large_batch_names_the_same(codec: Compression, fault: str, size: str) -> None:
    """The fault precedes so many bytes that the batch would be refused for its size, too."""
    first = {
        "unreadable": raw_record(key=-2),
        "out of order": raw_record(7),
        "out of time": raw_record(time_delta=9_000_000),
        "cut short": raw_record(longer=50),
    }[fault]
    bytes_of = {"fits": 100_000, "a long record": 500_000, "too much": 2 * LEAST_OPENED_BYTES}[size]
    batch = raw_batch(first, raw_record(1, value=bytes(bytes_of)), codec=codec, timestamp_ms=NOW)
    at_once, in_turns = outcomes(rules(max_decompressed_message_bytes=200_000), batch)
    assert in_turns == at_once
    assert isinstance(at_once[0], ErrorCode)


@pytest.mark.parametrize("codec", list(Compression))
@for_each("case", sorted(odd_batches(0, Compression.NONE)))
def test_odd_batches(case: str, codec: Compression) -> None:
    """The answers are those that the interop test compares with Apache Kafka's."""
    odd = odd_ones(codec)[case]
    settings = {name: value for key in odd.settings for name, value in SETTINGS[key].items()}
    expected = odd.expected("ours", codec)
    admission_rules = rules(**settings)
    found = admission_rules.check(odd.batch, NOW)
    if expected.error is not ErrorCode.NONE:
        assert found is expected.error
        assert [each.record for each in admission_rules.record_errors(odd.batch, NOW)] == list(expected.at_fault)
    else:
        assert not isinstance(found, ErrorCode)
        batch, header = found
        assert validate_batch(batch) == header
        if expected != Answer():
            assert header.max_timestamp - NOW == expected.newest


def test_an_answer_names_a_bounded_number_of_records() -> None:
    batch = raw_batch(*(raw_record(at) for at in range(MOST_RECORD_ERRORS + 10)))
    compacted = rules(compact=True)
    assert compacted.check(batch, NOW) is ErrorCode.INVALID_RECORD
    assert len(compacted.record_errors(batch, NOW)) == MOST_RECORD_ERRORS


def test_a_reason_reports_the_timestamp() -> None:
    batch = raw_batch(raw_record(time_delta=5), timestamp_ms=NOW)
    (error,) = rules(message_timestamp_after_max_ms=1).record_errors(batch, NOW)
    assert error.record == 0
    assert str(NOW + 5) in error.reason


@pytest.mark.parametrize(
    ("base", "delta", "sound"),
    [
        (MOST - 10, 10, True),
        (MOST - 10, 11, False),  # beyond what a time can be, whatever is allowed
        (MOST - 1, -MOST, True),  # no time
        (MOST - 1, -MOST + 1, False),  # time 0
        (MOST, -MOST, True),  # time 0 as well, which stands for no time there
        (MOST, -MOST + 1, False),
    ],
)
def test_times_at_the_end_of_64_bits(base: int, delta: int, sound: bool) -> None:
    batch = raw_batch(raw_record(time_delta=delta), timestamp_ms=base)
    found = rules(message_timestamp_after_max_ms=MOST, message_timestamp_before_max_ms=10).check(batch, NOW)
    assert not isinstance(found, ErrorCode) if sound else found is ErrorCode.INVALID_TIMESTAMP


def test_a_reason_shows_what_was_allowed() -> None:
    batch = raw_batch(raw_record(time_delta=5), timestamp_ms=NOW)
    (error,) = rules(message_timestamp_after_max_ms=1, message_timestamp_before_max_ms=2).record_errors(batch, NOW)
    assert error.reason == f"Timestamp {NOW + 5} is out of range: it should be from {NOW - 2} to {NOW + 1}."
    (error,) = rules(compact=True).record_errors(raw_batch(raw_record(), timestamp_ms=NOW), NOW)
    assert error.reason == "A compacted topic takes no record without a key."
    stamped = raw_batch(raw_record(), raw_record(1), attributes=LOG_APPEND_TIME)
    reason = "A producer cannot set the timestamp type LogAppendTime."
    assert rules().record_errors(stamped, NOW) == [RecordError(0, reason), RecordError(1, reason)]


@pytest.mark.parametrize("fields", [{"base_offset": 1}, {"attributes": CONTROL}, {"attributes": DELETE_HORIZON}])
def test_no_record_is_named_when_the_batch_is_refused_as_a_whole(fields: dict[str, int]) -> None:
    compacted = rules(compact=True)
    batch = raw_batch(raw_record(), timestamp_ms=NOW, **fields)  # type: ignore[arg-type]
    assert compacted.check(batch, NOW) is ErrorCode.INVALID_RECORD
    assert compacted.record_errors(batch, NOW) == []
    assert len(compacted.record_errors(raw_batch(raw_record(), timestamp_ms=NOW), NOW)) == 1


def test_only_records_that_are_refused_are_named() -> None:
    """A log that stamps its own times accepts any record time; a batch too large to open is refused as a whole."""
    stamped = rules(compact=True, append_time=True)
    batch = raw_batch(raw_record(key=b"k", time_delta=9_000_000), raw_record(1), timestamp_ms=NOW)
    assert [each.record for each in stamped.record_errors(batch, NOW)] == [1]
    large = raw_batch(raw_record(value=bytes(2 * LEAST_OPENED_BYTES)), codec=Compression.ZSTD)
    assert rules(compact=True).check(large, NOW) is ErrorCode.MESSAGE_TOO_LARGE
    assert rules(compact=True).record_errors(large, NOW) == []


@pytest.mark.parametrize("second", [raw_record(7), raw_record(1, longer=50)])
def test_a_batch_that_is_broken_is_that_before_its_times_are_wrong(second: bytes) -> None:
    """A batch that is out of order or ends early is reported as broken, whatever its timestamps."""
    late = raw_batch(raw_record(time_delta=9_000_000), second, timestamp_ms=NOW)
    assert rules().check(late, NOW) is ErrorCode.INVALID_RECORD
    assert rules().record_errors(late, NOW) == []
    sound = raw_batch(raw_record(time_delta=9_000_000), raw_record(1), timestamp_ms=NOW)
    assert rules().check(sound, NOW) is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_bomb_is_too_large_and_takes_bounded_memory(codec: Compression) -> None:
    """The error is MESSAGE_TOO_LARGE, on which Java's producer splits the batch and sends it again."""
    bomb = raw_batch(raw_record(value=bytes(LEAST_OPENED_BYTES * 3)), codec=codec)
    limits = {"max_message_bytes": max(len(bomb), 1024)}
    assert len(bomb) < LEAST_OPENED_BYTES // 4
    tracemalloc.start()
    try:
        if codec is not Compression.SNAPPY:  # which does not compress well enough: the limit grows with what is allowed
            assert rules(**limits).check(bomb, NOW) is ErrorCode.MESSAGE_TOO_LARGE
        assert rules(max_message_bytes=len(bomb), segment_bytes=10).check(bomb, NOW) is ErrorCode.RECORD_LIST_TOO_LARGE
        assert tracemalloc.get_traced_memory()[1] < 2.5 * LEAST_OPENED_BYTES
    finally:
        tracemalloc.stop()


def test_how_much_is_opened_grows_with_what_a_topic_takes() -> None:
    batch = raw_batch(raw_record(value=bytes(2 * LEAST_OPENED_BYTES)), codec=Compression.ZSTD)
    assert rules().check(batch, NOW) is ErrorCode.MESSAGE_TOO_LARGE
    assert not isinstance(rules(max_message_bytes=LEAST_OPENED_BYTES).check(batch, NOW), ErrorCode)
    largest = raw_batch(raw_record(value=bytes(70_000_000)), codec=Compression.ZSTD)
    assert rules(max_message_bytes=1 << 30).check(largest, NOW) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("in_steps", [False, True])
def test_what_is_opened_in_one_go_has_a_bound_of_its_own(in_steps: bool) -> None:
    """Snappy comes in one block, as librdkafka writes it: decompressing 64 MiB once took 70 ms."""

    def outcome(size: int, *, framed: bool) -> object:
        records = raw_record(value=bytes(size))
        block = compress(Compression.SNAPPY, records) if framed else bytes(cramjam.snappy.compress_raw(records))
        batch = raw_batch(records, codec=Compression.SNAPPY, payload=block)
        taking = rules(max_message_bytes=MOST_AT_ONCE, max_decompressed_message_bytes=2 * MOST_AT_ONCE)
        if not in_steps:
            return taking.check(batch, NOW)
        return large(taking, batch).admitted

    assert outcome(MOST_AT_ONCE, framed=False) is ErrorCode.MESSAGE_TOO_LARGE
    assert not isinstance(outcome(MOST_AT_ONCE - 100, framed=False), ErrorCode)
    assert not isinstance(outcome(MOST_AT_ONCE, framed=True), ErrorCode)


def test_more_records_than_any_batch_may_have() -> None:
    many = build_batch([RecordData(None, None)] * (MOST_RECORDS + 1), timestamp_ms=NOW, compression=Compression.ZSTD)
    assert rules().check(many, NOW) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_that_grows_when_it_is_stored_otherwise() -> None:
    """The size is checked again after recompression, as in Apache Kafka."""
    packed = bytes(build_batch([RecordData(None, bytes(5000))], timestamp_ms=NOW, compression=Compression.ZSTD))
    plain = rules(compression_type=Compression.NONE, max_message_bytes=1000)
    found = plain.check(packed, NOW)
    assert not isinstance(found, ErrorCode)
    assert plain.rewritten(*found, NOW) is ErrorCode.MESSAGE_TOO_LARGE
    stored = rules(compression_type=Compression.NONE).rewritten(*found, NOW)
    assert not isinstance(stored, ErrorCode)
    for less, outcome in ((0, stored), (1, ErrorCode.MESSAGE_TOO_LARGE)):
        exact = rules(compression_type=Compression.NONE, max_message_bytes=len(stored) - less)
        assert exact.rewritten(*found, NOW) == outcome, "it may have max.message.bytes, and no byte more"


def test_what_is_stored_otherwise_is_opened_as_far_as_it_was_when_it_was_checked() -> None:
    batch = raw_batch(raw_record(value=bytes(2 * LEAST_OPENED_BYTES)), codec=Compression.ZSTD)
    gzip = rules(compression_type=Compression.GZIP)
    header = validate_batch(batch)
    assert not isinstance(header, ErrorCode)
    assert gzip.rewritten(batch, header, NOW) is ErrorCode.INVALID_RECORD
