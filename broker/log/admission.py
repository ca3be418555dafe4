"""What a topic accepts from a client: the rules of Apache Kafka's LogValidator, for every topic.

The batch's own numbers come first (`validate_batch`), then each record is walked: they fill the batch exactly, are as
many as it says, can be read to the last header, count up from offset 0, have a time that the topic allows and, where it
is compacted, a key. MaxTimestamp is put right when it is not that of the records.

Compressed records are opened into a buffer of `LEAST_OPENED_BYTES`, or eight times max.message.bytes if that is more,
never more than what readers take: so the most that a batch costs is known before memory is taken or a record is looked
at. More is MESSAGE_TOO_LARGE, at which Java's producer divides the batch. Apache Kafka knows no such bound, but one of
a single record of a compressed batch, which is INVALID_RECORD beyond it: max.decompressed.message.bytes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.foundation.loop.effort import (
    AT_ONCE,
    EFFORT,
    MOST_EFFORT,
    PACKING_EFFORT,
    RECORD_EFFORT,
    RECORDS_AT_ONCE,
    STEP_EFFORT,
)
from shareq.broker.log.settings import LEAST_OPENED_BYTES, MOST_RECORDS, UNLIMITED, LogSettings
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records import walk as records_walk
from shareq.protocol.records.batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
    recompress,
    records_block,
    validate_batch,
    with_append_time,
    with_max_timestamp,
    with_payload,
)
from shareq.protocol.records.compression import (
    MAX_DECOMPRESSED_BYTES,
    Compression,
    TooLargeToOpen,
    compress_pieces,
    opens_at_once,
)
from shareq.protocol.records.walk import KEYLESS, OUT_OF_ORDER, OUT_OF_TIME, UNREADABLE

if TYPE_CHECKING:
    from shareq.protocol.records.opening import Run

__all__ = [
    "LEAST_OPENED_BYTES",
    "MOST_RECORDS",
    "MOST_RECORD_ERRORS",
    "Admission",
    "Checked",
    "LargeBatch",
    "RecordError",
    "own_header",
]

Batch = bytes | bytearray | memoryview

MOST_AT_ONCE: Final = 16 * 1024 * 1024
"""What a batch may stand for that no library opens piece by piece: it takes 11 ms."""

MOST_RECORD_ERRORS: Final = 1000
"""How many records of a batch an answer names one by one; the batch is refused as a whole anyway."""

_NOT_FOR_CLIENTS: Final = CONTROL | DELETE_HORIZON
_UNUSUAL: Final = _NOT_FOR_CLIENTS | LOG_APPEND_TIME | TRANSACTIONAL
_INT64_MAX: Final = 2**63 - 1


class RecordError(NamedTuple):
    """Why one record of a batch is refused; `record` counts from 0."""

    record: int
    reason: str


class LargeBatch(Exception):
    """A batch that takes more than a turn to check: `Admission.check_in_steps` does. Nothing has happened."""

    def __init__(self, header: BatchHeader) -> None:
        super().__init__(f"{header.records_count} records in {header.size} bytes")
        self.header = header


class Checked(NamedTuple):
    """A batch that may be appended, with its header, or why not; and the records at fault, if it is for some.

    `packed`: the same batch as the topic's `compression.type` has it, None where that is as it came.
    """

    admitted: tuple[Batch, BatchHeader] | ErrorCode
    errors: list[RecordError]
    packed: Batch | None = None


class _Walked:
    """The records of a batch that were walked over: so many, what was found, the newest and the longest of them, and
    those that are refused.
    """

    __slots__ = ("allowed", "errors", "found", "longest", "newest", "records")

    def __init__(self, allowed: tuple[int, int, int]) -> None:
        self.allowed = allowed
        self.found = self.longest = self.records = 0
        self.newest = -_INT64_MAX
        self.errors: list[RecordError] = []


class Admission:
    """The rules of one topic, from its settings."""

    __slots__ = (
        "_after_max",
        "_before_max",
        "_largest_record",
        "_max_bytes",
        "_most_opened",
        "_packing",
        "_refused",
        "_settings",
        "rewrites",
    )

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._max_bytes = min(settings.max_message_bytes, settings.segment_bytes)
        self._after_max = settings.message_timestamp_after_max_ms
        self._before_max = settings.message_timestamp_before_max_ms
        self._most_opened = settings.most_opened
        self._largest_record = settings.max_decompressed_message_bytes
        self._refused = UNREADABLE | OUT_OF_ORDER
        self._refused |= 0 if settings.append_time else OUT_OF_TIME
        self._refused |= KEYLESS if settings.compact else 0
        codec = settings.compression_type
        self._packing = 0 if codec is None else PACKING_EFFORT[codec]  # for each byte
        self.rewrites = settings.append_time or settings.compression_type is not None

    def check(self, batch: Batch, now_wall_ms: int, at_once: bool = False) -> tuple[Batch, BatchHeader] | ErrorCode:
        """A client's batch that may be appended, as far as can be seen without the log's state, and its header.

        It is the one that came, but for a MaxTimestamp that is not that of its records. MESSAGE_TOO_LARGE
        (max.message.bytes, or what its records take uncompressed), RECORD_LIST_TOO_LARGE (segment.bytes),
        INVALID_TIMESTAMP, INVALID_RECORD, CORRUPT_MESSAGE. With `at_once` raises `LargeBatch` for one that takes longer
        than a turn.
        """
        if len(batch) > self._max_bytes:
            too_large = len(batch) > self._settings.max_message_bytes
            return ErrorCode.MESSAGE_TOO_LARGE if too_large else ErrorCode.RECORD_LIST_TOO_LARGE
        header = validate_batch(batch)
        if isinstance(header, ErrorCode):
            return header
        if header.attributes & _UNUSUAL and (error := _check_attributes(header)):
            return error
        if header.base_offset != 0:
            return ErrorCode.INVALID_RECORD
        if at_once and header.records_count > RECORDS_AT_ONCE:
            raise LargeBatch(header)
        if header.attributes & CODEC_MASK:
            opened = self._open(batch, header, AT_ONCE if at_once and self._most_opened > AT_ONCE else 0)
            if isinstance(opened, ErrorCode):
                return opened
            data, at = opened, 0
            EFFORT.spent += len(data)
        else:
            data, at = bytes(batch), HEADER_SIZE  # no copy when these are bytes already
        if self._packing:
            self._count_packing(header, len(data), at_once)
        EFFORT.spent += RECORD_EFFORT * header.records_count
        low, high, no_time = self._allowed(header.base_timestamp, now_wall_ms)
        found, newest = records_walk.walk(data, at, header.records_count, low, high, no_time)
        if at == 0 and len(data) > self._largest_record and self._has_larger(data, header.records_count, found):
            return ErrorCode.INVALID_RECORD
        if found & self._refused:
            return _error_of(found)
        if header.base_timestamp + newest != header.max_timestamp and not self._settings.append_time:
            return _with_newest(batch, header, newest)
        return batch, header

    def _count_packing(self, header: BatchHeader, size: int, at_once: bool) -> None:
        """Count what it takes to compress the batch again, if it has to be; raises `LargeBatch` as `check` does."""
        if header.compression == self._settings.compression_type:
            return
        effort = self._packing * size
        if at_once and effort > MOST_EFFORT:
            raise LargeBatch(header)
        EFFORT.spent += effort

    def check_in_steps(self, batch: Batch, header: BatchHeader, now_wall_ms: int) -> Generator[None, None, Checked]:
        """What `check` found to take longer than a turn, with a pause after every `STEP_EFFORT`, and after every piece
        that is compressed again. Of a batch with
        several faults another one may be named.
        """
        from shareq.protocol.records.opening import record_runs  # large batches alone need it

        count, codec = header.records_count, Compression(header.compression)
        if codec and count > MOST_RECORDS:
            return Checked(ErrorCode.MESSAGE_TOO_LARGE, [])
        walked = _Walked(self._allowed(header.base_timestamp, now_wall_ms))
        spent = 0
        payload = memoryview(batch)[HEADER_SIZE:]
        most_opened = self._opened_of(codec, payload) if codec else len(batch)
        try:
            for run in record_runs(codec, payload, count, most_opened):
                self._walk_on(walked, run, header, now_wall_ms)
                spent += run.opened + RECORD_EFFORT * run.records
                if spent >= STEP_EFFORT:
                    spent = 0
                    yield
        except TooLargeToOpen:
            return Checked(ErrorCode.MESSAGE_TOO_LARGE, [])
        except MalformedMessage:
            return Checked(ErrorCode.INVALID_RECORD, [])
        if codec and walked.longest > self._largest_record:
            return Checked(ErrorCode.INVALID_RECORD, [])
        if walked.found & self._refused:
            return Checked(_error_of(walked.found), walked.errors[:MOST_RECORD_ERRORS])
        if not self._settings.append_time:
            batch, header = _with_newest(batch, header, walked.newest)
        return Checked((batch, header), [], (yield from self._packed(batch, header)))

    def _packed(self, batch: Batch, header: BatchHeader) -> Generator[None, None, Batch | None]:
        """The batch, which was opened before, as the topic's `compression.type` has it; None if it has that already."""
        from shareq.protocol.records.opening import pieces

        codec = self._settings.compression_type
        if codec is None or header.compression == codec:
            return None
        opened = pieces(Compression(header.compression), memoryview(batch)[HEADER_SIZE:], MAX_DECOMPRESSED_BYTES)
        return with_payload(batch, codec, (yield from compress_pieces(codec, opened)))

    def _walk_on(self, walked: _Walked, run: Run, header: BatchHeader, now_wall_ms: int) -> None:
        """Walk over the next records. Raises `MalformedMessage` where nothing else of them matters."""
        walked.longest = max(walked.longest, run.longest)
        if not run.records:
            return
        data, count = run.data, run.records
        found, newest = records_walk.walk(data, 0, count, *walked.allowed, walked.records)
        if found & (UNREADABLE | OUT_OF_ORDER):
            raise MalformedMessage("records that cannot be read, or are not in order")
        if len(data) > self._largest_record:
            walked.longest = max(walked.longest, records_walk.largest(data, 0, count))
        if found & self._refused and len(walked.errors) < MOST_RECORD_ERRORS:
            walked.errors += self._errors(data, count, walked.allowed, header, now_wall_ms, walked.records)
        walked.found |= found
        walked.newest = max(walked.newest, newest)
        walked.records += count

    def _errors(
        self, data: bytes, count: int, allowed: tuple[int, int, int], header: BatchHeader, now_wall_ms: int, first: int
    ) -> list[RecordError]:
        """The refused ones of `count` records that are all of `data`; the first of them is record `first`."""
        found_at = records_walk.faults(data, 0, count, *allowed, self._settings.compact, MOST_RECORD_ERRORS)
        return [
            RecordError(first + index, self._reason(fault, header.base_timestamp + delta, now_wall_ms))
            for index, fault, delta in found_at
            if fault & self._refused
        ]

    def record_errors(self, batch: Batch, now_wall_ms: int) -> list[RecordError]:
        """Which records `check` refuses a batch for; none if it is refused as a whole. MOST_RECORD_ERRORS at most."""
        header = validate_batch(batch)
        if isinstance(header, ErrorCode) or header.base_offset or header.attributes & _NOT_FOR_CLIENTS:
            return []
        if header.attributes & LOG_APPEND_TIME:
            reason = "A producer cannot set the timestamp type LogAppendTime."
            return [RecordError(index, reason) for index in range(min(header.records_count, MOST_RECORD_ERRORS))]
        try:
            _, data, at = records_block(batch, self._most_opened)
        except MalformedMessage:
            return []
        allowed = self._allowed(header.base_timestamp, now_wall_ms)
        found, _ = records_walk.walk(data, at, header.records_count, *allowed)
        if found & (UNREADABLE | OUT_OF_ORDER) or not found & self._refused:
            return []
        if at == 0 and len(data) > self._largest_record and self._has_larger(data, header.records_count, found):
            return []
        keyed = self._settings.compact
        found_at = records_walk.faults(data, at, header.records_count, *allowed, keyed, MOST_RECORD_ERRORS)
        return [
            RecordError(index, self._reason(fault, header.base_timestamp + delta, now_wall_ms))
            for index, fault, delta in found_at
            if fault & self._refused
        ]

    def rewritten(
        self, batch: Batch, header: BatchHeader, now_wall_ms: int, checked: Checked | None = None
    ) -> Batch | ErrorCode:
        """The batch as the topic wants it stored: its own compression type, as `checked` has it if that was done in
        steps; log append time.

        MESSAGE_TOO_LARGE when that makes it larger than max.message.bytes.
        """
        codec = self._settings.compression_type
        packed = None if checked is None else checked.packed
        if packed is None and codec is not None and header.compression != codec:
            try:
                packed = recompress(batch, codec, self._most_opened)
            except MalformedMessage:
                return ErrorCode.INVALID_RECORD
        if packed is not None:
            if len(packed) > self._max_bytes:
                return ErrorCode.MESSAGE_TOO_LARGE
            batch = packed
        if self._settings.append_time:
            batch = with_append_time(batch, now_wall_ms)
        return batch

    def _open(self, batch: Batch, header: BatchHeader, at_once: int) -> bytes | ErrorCode:
        """The records, opened; raises `LargeBatch` where more than `at_once` bytes would come, 0 for no such bound."""
        if header.records_count > MOST_RECORDS:
            return ErrorCode.MESSAGE_TOO_LARGE
        most = at_once or self._opened_of(Compression(header.compression), memoryview(batch)[HEADER_SIZE:])
        try:
            return records_block(batch, most)[1]
        except TooLargeToOpen:
            EFFORT.spent += most
            if at_once:
                raise LargeBatch(header) from None
            return ErrorCode.MESSAGE_TOO_LARGE
        except MalformedMessage:
            EFFORT.spent += self._most_opened  # what it took is not known
            return ErrorCode.INVALID_RECORD

    def _opened_of(self, codec: Compression, payload: memoryview) -> int:
        """How many bytes of records these compressed ones may stand for."""
        return min(self._most_opened, MOST_AT_ONCE) if opens_at_once(codec, payload) else self._most_opened

    def _has_larger(self, opened: bytes, count: int, found: int) -> bool:
        """Whether one of the records is larger than max.decompressed.message.bytes. `found` is what `walk` found."""
        return not found & UNREADABLE and records_walk.largest(opened, 0, count) > self._largest_record

    def _allowed(self, base_timestamp: int, now_wall_ms: int) -> tuple[int, int, int]:
        """Lowest and highest time delta that a record may have, and the one of a record without a time.

        All of them are numbers of 64 bits, and so is a time within them.
        """
        # Without min and max, which take longer than all else here: batches of one record feel it.
        low = -_INT64_MAX
        if self._before_max != UNLIMITED:
            low = max(now_wall_ms - self._before_max - base_timestamp, low)
        high = now_wall_ms + self._after_max
        high = (high if high < _INT64_MAX else _INT64_MAX) - base_timestamp
        no_time = NO_TIMESTAMP - base_timestamp
        if no_time < -_INT64_MAX:
            no_time += 1  # its place is taken by a time that no clock shows
        if low > _INT64_MAX:  # from a base time like that no delta leads to an allowed time
            return _INT64_MAX, -_INT64_MAX, no_time
        return low, high if high < _INT64_MAX else _INT64_MAX, no_time

    def _reason(self, fault: int, timestamp: int, now_wall_ms: int) -> str:
        if fault == KEYLESS:
            return "A compacted topic takes no record without a key."
        first, last = now_wall_ms - self._before_max, now_wall_ms + self._after_max
        return f"Timestamp {timestamp} is out of range: it should be from {first} to {last}."


def _with_newest(batch: Batch, header: BatchHeader, newest: int) -> tuple[Batch, BatchHeader]:
    """The batch with the largest time of its records, a delta, as its MaxTimestamp, and its header."""
    max_timestamp = max(header.base_timestamp + newest, NO_TIMESTAMP)
    if max_timestamp == header.max_timestamp:
        return batch, header
    batch = with_max_timestamp(batch, max_timestamp)
    return batch, read_header(batch)


def own_header(batch: Batch) -> BatchHeader:
    """The header of a batch that the broker made itself. ValueError for anything but one whole batch."""
    header = read_header(batch)
    if header.length + LENGTH_OVERHEAD != len(batch):
        raise ValueError(f"not one record batch: {len(batch)} bytes, its length says {header.size}")
    return header


def _check_attributes(header: BatchHeader) -> ErrorCode:
    attributes = header.attributes
    if attributes & _NOT_FOR_CLIENTS or (attributes & TRANSACTIONAL and header.producer_id == NO_PRODUCER_ID):
        return ErrorCode.INVALID_RECORD
    return ErrorCode.INVALID_TIMESTAMP if attributes & LOG_APPEND_TIME else ErrorCode.NONE


def _error_of(found: int) -> ErrorCode:
    unusable = found & (UNREADABLE | OUT_OF_ORDER)
    return ErrorCode.INVALID_TIMESTAMP if found & OUT_OF_TIME and not unusable else ErrorCode.INVALID_RECORD
