"""Logs of queues and topics that a test scripts, and dead letters in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.redrive.letter import Letter, letter_of
from shareq.broker.redrive.ports import RedriveLog
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader, Compression, RecordData, build_batch, decode_records, read_header
from tests.support.worlds.redrives import letter

__all__ = ["FakeLog", "batch_at", "letter_at", "letters", "log_of"]


class FakeLog:
    """A log of given batches and unreadable offsets that counts its reads."""

    def __init__(self, *batches: bytes, start: int = 0, damaged: tuple[int, int] | None = None) -> None:
        self.batches = batches
        self.log_start_offset = start
        self.high_watermark = self.log_end_offset = read_header(batches[-1]).next_offset if batches else 0
        self.damaged = damaged
        self.error = ErrorCode.NONE
        self.reads = 0

    def read(self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None) -> ReadResult | ErrorCode:
        self.reads += 1
        if self.error:
            return self.error
        if self.damaged is not None and self.damaged[0] <= offset < self.damaged[1]:
            return ErrorCode.CORRUPT_MESSAGE
        spans: list[BatchSpan] = []
        data = b""
        for batch in self.batches:
            header = read_header(batch)
            if header.last_offset < offset or header.next_offset > upto:
                continue
            if self.damaged is not None and header.base_offset >= self.damaged[0]:
                break
            if spans and (len(data) + len(batch) > max_bytes or max_records == 1):
                break
            at = (header.base_offset, header.last_offset, len(data), len(batch))
            spans.append(BatchSpan(*at, header.attributes, header.producer_id))
            data += batch
        return ReadResult(data, spans)

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        return self.damaged

    def next_header(self, offset: int) -> BatchHeader | None:
        return next((header for batch in self.batches if (header := read_header(batch)).last_offset >= offset), None)


def batch_at(
    base: int, *records: RecordData, producer_id: int = -1, compression: Compression = Compression.NONE
) -> bytes:
    sequence = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0} if producer_id >= 0 else {}
    return bytes(build_batch(records, timestamp_ms=1, base_offset=base, compression=compression, **cast(Any, sequence)))


def log_of(fake: FakeLog) -> RedriveLog:
    return cast(RedriveLog, fake)


def letters(*offsets: int) -> Sequence[RecordData]:
    return [letter(b"%d" % offset, offset) for offset in offsets]


def letter_at(offset: int, value: bytes | None, **fields: Any) -> Letter:
    data = letter(value, offset, **fields)
    (record,) = decode_records(build_batch([data], timestamp_ms=1))
    found = letter_of(record)
    assert found is not None
    return found
