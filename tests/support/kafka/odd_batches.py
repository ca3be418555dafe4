"""Batches that no well-behaved producer sends, with the answers of Apache Kafka 4.3.1 and ours.

Ours differ where Apache Kafka stores records that its consumers cannot read, or fails internally. Each case is one
batch; all are tried with each codec on both brokers (`tests/interop/test_produce_odd_batches.py`), and on our rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, Compression
from tests.support.kafka.raw_batches import raw_batch, raw_headers, raw_record

__all__ = ["Answer", "OddBatch", "odd_batches"]

HOUR_MS: Final = 3_600_000
_RUBBISH: Final = Random(1).randbytes(200)

BEFORE_AN_HOUR: Final = {"message.timestamp.before.max.ms": str(HOUR_MS)}
APPEND_TIME: Final = {"message.timestamp.type": "LogAppendTime"}
COMPACTED: Final = {"cleanup.policy": "compact"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The error and the records named as its cause; or the stored timestamps and MaxTimestamp, in ms after now.

    Without timestamps: they are the broker's, or cannot be read.
    """

    error: ErrorCode = ErrorCode.NONE
    at_fault: Sequence[int] = ()
    times: Sequence[int] = ()
    newest: int = 0


@dataclass(frozen=True, slots=True)
class OddBatch:
    """A case. `ours` is None if it equals Apache Kafka's answer.

    `opened` is Apache Kafka's answer to compressed records, None for the same.
    """

    batch: bytes
    apache: Answer
    ours: Answer | None = None
    opened: Answer | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def expected(self, kind: str, codec: Compression) -> Answer:
        if kind == "ours" and self.ours is not None:
            return self.ours
        return self.opened if self.opened is not None and codec is not Compression.NONE else self.apache


def _fine(*times: int, newest: int = 0) -> Answer:
    return Answer(times=times, newest=newest)


INVALID: Final = Answer(ErrorCode.INVALID_RECORD)
FAILED: Final = Answer(ErrorCode.UNKNOWN_SERVER_ERROR)
STORED: Final = _fine(0)
TWO: Final = _fine(0, 0)
UNREADABLE: Final = _fine()  # stored, and not to be read


def _bad_times(*records: int) -> Answer:
    return Answer(ErrorCode.INVALID_TIMESTAMP, records)


def odd_batches(now_ms: int, codec: Compression) -> dict[str, OddBatch]:
    build = partial(raw_batch, codec=codec, timestamp_ms=now_ms)
    one, other = raw_record(0), raw_record(1)
    packed = codec is not Compression.NONE
    return {
        "nothing": OddBatch(build(one, other), TWO),
        **_counts(build, one, other),
        **_fields(build, other),
        **_times(build, now_ms),
        **_attributes(build, one, other, producer_id=70 + codec),
        "rubbish instead of records": OddBatch(
            build(count=2, payload=_RUBBISH), FAILED if packed else INVALID, INVALID
        ),
        "no bytes of records": OddBatch(
            build(count=1, payload=b""), FAILED if packed and codec is not Compression.ZSTD else INVALID, INVALID
        ),
    }


def _counts(build: partial[bytes], one: bytes, other: bytes) -> dict[str, OddBatch]:
    def ordered(first: int, second: int) -> bytes:
        return build(raw_record(first), raw_record(second))

    return {
        "count 5 around one record": OddBatch(build(one, count=5), INVALID),
        "count 1 around two records": OddBatch(build(one, other, count=1), INVALID),
        "last offset delta 5 of two records": OddBatch(build(one, other, last_offset_delta=5), INVALID),
        "last offset delta -1": OddBatch(build(one, other, last_offset_delta=-1), INVALID),
        "count 0": OddBatch(build(count=0, last_offset_delta=0), INVALID),
        "count -1": OddBatch(build(one, other, count=-1, last_offset_delta=1), INVALID),
        "base offset 1": OddBatch(build(one, base_offset=1), INVALID),
        "a byte behind the records": OddBatch(build(one, other, b"\0", count=2), INVALID),
        # Apache Kafka does not look at offset deltas of uncompressed records, and others it fails to mend.
        "offset deltas 0, 0": OddBatch(ordered(0, 0), TWO, INVALID, FAILED),
        "offset deltas 1, 0": OddBatch(ordered(1, 0), TWO, INVALID, FAILED),
        "offset deltas 0, -1": OddBatch(ordered(0, -1), TWO, INVALID, FAILED),
        "offset deltas 5, 9": OddBatch(ordered(5, 9), TWO, INVALID, FAILED),
    }


def _fields(build: partial[bytes], other: bytes) -> dict[str, OddBatch]:
    # Of compressed records Apache Kafka reads the numbers and skips the rest, the record's own length among it.
    headers = raw_headers
    return {
        "a record longer than it is": OddBatch(build(raw_record(longer=3), other), INVALID, INVALID, UNREADABLE),
        "a record shorter than it is": OddBatch(build(raw_record(longer=-1), other), INVALID, INVALID, UNREADABLE),
        "a value beyond the batch": OddBatch(build(raw_record(value=1000)), INVALID),
        "a key of length -2": OddBatch(build(raw_record(key=-2)), UNREADABLE, INVALID),
        "a value of length -2": OddBatch(build(raw_record(value=-2)), UNREADABLE, INVALID),
        "a header's value of length -2": OddBatch(build(raw_record(headers=headers(1, b"k", -2))), UNREADABLE, INVALID),
        "-1 headers": OddBatch(build(raw_record(headers=headers(-1))), INVALID),
        "a header that is not there": OddBatch(build(raw_record(headers=headers(1))), INVALID),
        "a billion headers": OddBatch(build(raw_record(headers=headers(1 << 30))), INVALID),
        "a header without a key": OddBatch(build(raw_record(headers=headers(1, None, b"v"))), INVALID),
        "a header without a value": OddBatch(build(raw_record(headers=headers(1, b"k", None))), STORED),
        "a header key that is not UTF-8": OddBatch(build(raw_record(headers=headers(1, b"\xff", b"v"))), STORED),
        "a number of eleven bytes": OddBatch(build(raw_record(time_delta=b"\x80" * 10 + b"\0")), INVALID),
        # Apache Kafka drops the bits that are too many; our readers take the record for one that cannot be read.
        "a number of more than 64 bits": OddBatch(
            build(raw_record(time_delta=b"\x80" * 9 + b"\2")), UNREADABLE, INVALID
        ),
        "a number longer than it need be": OddBatch(build(raw_record(time_delta=b"\x80\x80\0")), STORED),
        "record attributes": OddBatch(build(raw_record(attributes=0x7F)), STORED),
        "no keys for a compacted topic": OddBatch(
            build(raw_record(key=b"k"), other, raw_record(2)),
            Answer(ErrorCode.INVALID_RECORD, (1, 2)),
            settings=COMPACTED,
        ),
        "no key and bad times for a compacted topic": OddBatch(
            build(raw_record(), raw_record(1, key=b"k", time_delta=2 * HOUR_MS), raw_record(2, time_delta=2 * HOUR_MS)),
            _bad_times(0, 1, 2),
            settings=COMPACTED,
        ),
    }


def _times(build: partial[bytes], now_ms: int) -> dict[str, OddBatch]:
    def timed(*deltas: int, **more: int) -> bytes:
        return build(*(raw_record(at, time_delta=delta) for at, delta in enumerate(deltas)), **more)

    below = -now_ms - 5  # the time -5
    return {
        "one record two hours ahead": OddBatch(timed(0, 2 * HOUR_MS), _bad_times(1)),
        "two of three records ahead": OddBatch(timed(3 * HOUR_MS, 0, 2 * HOUR_MS), _bad_times(0, 2)),
        "a record two hours old": OddBatch(timed(0, -2 * HOUR_MS), _bad_times(1), settings=BEFORE_AN_HOUR),
        "a record without a time": OddBatch(timed(0, -now_ms - 1), _fine(0, -now_ms - 1), settings=BEFORE_AN_HOUR),
        "the time -5": OddBatch(timed(0, below), _fine(0, below)),
        "the time -5 where an hour is allowed": OddBatch(timed(0, below), _bad_times(1), settings=BEFORE_AN_HOUR),
        "no other time than -5": OddBatch(timed(below), _fine(below, newest=-now_ms - 1)),
        "a time beyond 64 bits": OddBatch(timed(2**63 - 1), _bad_times(0)),
        "MaxTimestamp ten hours too high": OddBatch(timed(0, max_timestamp_ms=now_ms + 10 * HOUR_MS), STORED),
        "MaxTimestamp too low": OddBatch(timed(0, 1000, max_timestamp_ms=5), _fine(0, 1000, newest=1000)),
        "MaxTimestamp -7": OddBatch(timed(0, max_timestamp_ms=-7), STORED),
        "times ahead, where the broker's count": OddBatch(timed(0, 2 * HOUR_MS), UNREADABLE, settings=APPEND_TIME),
    }


def _attributes(build: partial[bytes], one: bytes, other: bytes, producer_id: int) -> dict[str, OddBatch]:
    stamped = partial(build, one, other, attributes=LOG_APPEND_TIME)
    return {
        "a control batch": OddBatch(build(one, attributes=CONTROL), INVALID),
        "a delete horizon": OddBatch(build(one, attributes=DELETE_HORIZON), STORED, INVALID),
        "attribute bit 7": OddBatch(build(one, attributes=0x80), STORED, INVALID),
        "attribute bit 8": OddBatch(build(one, attributes=0x100), STORED, INVALID),
        "codec 7": OddBatch(raw_batch(one, attributes=7), FAILED, INVALID),
        "log append time": OddBatch(stamped(), TWO, _bad_times(0, 1)),
        "log append time where it is the broker's": OddBatch(stamped(), _bad_times(0, 1), settings=APPEND_TIME),
        "a producer id without a sequence": OddBatch(build(one, producer=(producer_id, 0, -1)), INVALID),
        "a producer id without an epoch": OddBatch(build(one, producer=(producer_id, -1, 0)), STORED, INVALID),
        "the producer id -2": OddBatch(build(one, producer=(-2, 0, 0)), STORED, INVALID),
        "a sequence without a producer id": OddBatch(build(one, producer=(-1, -1, 5)), STORED),
    }
