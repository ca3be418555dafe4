"""Each record of a client's batch is looked at before the batch is taken, by either form of the walk."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from shareq.broker.log import admission
from shareq.broker.log.admission import LEAST_OPENED_BYTES, MOST_RECORD_ERRORS, MOST_RECORDS, Admission
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Compression, RecordData, build_batch, validate_batch
from tests.support.kafka.odd_batches import Answer, odd_batches
from tests.support.kafka.raw_batches import raw_batch, raw_record
from tests.support.kafka.walk_forms import FORMS, RecordWalk

NOW = 1_700_000_000_000
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


def rules(**settings: object) -> Admission:
    return Admission(LogSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("case", sorted(odd_batches(0, Compression.NONE)))
def test_odd_batches(case: str, codec: Compression) -> None:
    """The answers that the interop test compares with Apache Kafka's."""
    odd = odd_batches(NOW, codec)[case]
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


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_bomb_is_too_large_and_takes_bounded_memory(codec: Compression) -> None:
    """Java's producer divides what is MESSAGE_TOO_LARGE and sends it again."""
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


def test_more_records_than_any_batch_may_have() -> None:
    many = build_batch([RecordData(None, None)] * (MOST_RECORDS + 1), timestamp_ms=NOW, compression=Compression.ZSTD)
    assert rules().check(many, NOW) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_that_grows_when_it_is_stored_otherwise() -> None:
    """Apache Kafka looks at the size again after it has compressed a batch again."""
    packed = bytes(build_batch([RecordData(None, bytes(5000))], timestamp_ms=NOW, compression=Compression.ZSTD))
    plain = rules(compression_type=Compression.NONE, max_message_bytes=1000)
    found = plain.check(packed, NOW)
    assert not isinstance(found, ErrorCode)
    assert plain.rewritten(*found, NOW) is ErrorCode.MESSAGE_TOO_LARGE
