"""Admission of clients' batches to a topic, by the rules of Apache Kafka's LogValidator.

First the fields of the batch's header are checked (`validate_batch`), then its records. They must fill the batch
exactly, be as many as its header says, be readable to their last header, and have offset deltas from 0 upwards, a
time that the topic allows and, in a compacted topic, a key. A wrong MaxTimestamp is replaced by that of the records.

Compressed records are decompressed into a buffer of `LEAST_OPENED_BYTES`, or of eight times max.message.bytes if
that is more, but never more than readers accept. So the highest cost of a batch is known before memory is allocated
or a record is read. A batch with more bytes gets MESSAGE_TOO_LARGE, after which Java's producer divides it. Apache
Kafka has no such limit, but one for each record of a compressed batch, max.decompressed.message.bytes; a larger
record gets INVALID_RECORD.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.foundation.loop.coroutines import in_steps
from shareq.broker.foundation.loop.effort import (
    AT_ONCE,
    EFFORT,
    MOST_EFFORT,
    PACKING_EFFORT,
    RECORD_EFFORT,
    RECORDS_AT_ONCE,
    elements_of,
)
from shareq.broker.log.settings import LEAST_OPENED_BYTES, MOST_RECORDS, UNLIMITED, LogSettings
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.passes import records as records_walk
from shareq.protocol.passes.records import KEYLESS, OUT_OF_ORDER, OUT_OF_TIME, UNREADABLE
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

if TYPE_CHECKING:
    from shareq.broker.foundation.turn_budget import Breath
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
"""The most uncompressed bytes of a batch checked in one turn, when its codec's library cannot decompress piece by
piece: 11 ms.
"""

MOST_RECORD_ERRORS: Final = 1000
"""The most records of a refused batch that an answer names. The batch is refused as a whole anyway."""

_NOT_FOR_CLIENTS: Final = CONTROL | DELETE_HORIZON
_UNUSUAL: Final = _NOT_FOR_CLIENTS | LOG_APPEND_TIME | TRANSACTIONAL
_INT64_MAX: Final = 2**63 - 1


class RecordError(NamedTuple):
    """The reason why one record of a batch is refused. `record` is its index in the batch, from 0."""

    record: int
    reason: str


class LargeBatch(Exception):
    """Error: checking the batch takes longer than a turn, so `Admission.check_large` has to do it. Nothing has been
    changed.
    """

    def __init__(self, header: BatchHeader) -> None:
        super().__init__(f"{header.records_count} records in {header.size} bytes")
        self.header = header


class Checked(NamedTuple):
    """The result of a check: the batch and its header, or the error; and the faulty records, if single ones are.

    `packed` is the same batch compressed as the topic's `compression.type` says; None if it already is.
    """

    admitted: tuple[Batch, BatchHeader] | ErrorCode
    errors: list[RecordError]
    packed: Batch | None = None


class _Walked:
    """The records of a batch that were checked so far: their number, the faults found, the newest and the longest
    record, and the refused ones, at most `MOST_RECORD_ERRORS`.
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
        """Return a client's batch that may be appended, and its header, or the error; the log's state is not
        considered.

        It is the received batch, with a wrong MaxTimestamp corrected. Errors: MESSAGE_TOO_LARGE (max.message.bytes,
        or too large when decompressed), RECORD_LIST_TOO_LARGE (segment.bytes), INVALID_TIMESTAMP, INVALID_RECORD,
        CORRUPT_MESSAGE. With `at_once`, raise `LargeBatch` for a batch that takes longer than a turn.
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
        if header.records_count > RECORDS_AT_ONCE and (error := _check_count(header, at_once)):
            return error
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
        compressed_size = 0 if at else len(data)
        if found & self._refused or compressed_size > self._largest_record:
            readable = compressed_size and not found & UNREADABLE
            longest = records_walk.largest(data, 0, header.records_count) if readable else 0
            if refused := self._refusal(found, longest):
                return refused
        if header.base_timestamp + newest != header.max_timestamp and not self._settings.append_time:
            return _with_newest(batch, header, newest)
        return batch, header

    def _count_packing(self, header: BatchHeader, size: int, at_once: bool) -> None:
        """Count the work of compressing the batch again, if that is necessary. Raise `LargeBatch` as `check` does."""
        if header.compression == self._settings.compression_type:
            return
        effort = self._packing * size
        if at_once and effort > MOST_EFFORT:
            raise LargeBatch(header)
        EFFORT.spent += effort

    async def check_large(
        self, batch: Batch, header: BatchHeader, now_wall_ms: int, breathe: Callable[[int], Breath]
    ) -> Checked:
        """Check the records of a batch for which `check` raised `LargeBatch`, by the same rules, with pauses."""
        from shareq.protocol.records.opening import pieces, record_runs  # large batches alone need it

        walked = _Walked(self._allowed(header.base_timestamp, now_wall_ms))
        codec, payload = Compression(header.compression), memoryview(batch)[HEADER_SIZE:]
        opened = pieces(codec, payload, self._opened_of(codec, payload) if codec else len(batch))
        try:
            try:
                for run in record_runs(opened, header.records_count):
                    self._walk_on(walked, run, header, now_wall_ms)
                    await breathe(elements_of(run.opened + RECORD_EFFORT * run.records))
            except MalformedMessage:
                for piece in opened:  # if the batch is too large as well, that is the error
                    await breathe(elements_of(len(piece)))
                raise
        except MalformedMessage as error:
            return Checked(_opening_error(error), [])
        longest = walked.longest if codec else 0
        if refused := self._refusal(walked.found, longest):
            return Checked(refused, [] if longest > self._largest_record else walked.errors)
        if not self._settings.append_time:
            batch, header = _with_newest(batch, header, walked.newest)
        return Checked((batch, header), [], await self._packed(batch, header))

    def _refusal(self, found: int, longest: int) -> ErrorCode:
        """Return the error for records with these faults, of which the longest has `longest` bytes; NONE if there is
        none.
        """
        if longest > self._largest_record:
            return ErrorCode.INVALID_RECORD
        return _error_of(found) if found & self._refused else ErrorCode.NONE

    async def _packed(self, batch: Batch, header: BatchHeader) -> Batch | None:
        """Return a decompressed batch, compressed as the topic's `compression.type` says; None if it already is."""
        from shareq.protocol.records.opening import pieces

        codec = self._settings.compression_type
        if codec is None or header.compression == codec:
            return None
        opened = pieces(Compression(header.compression), memoryview(batch)[HEADER_SIZE:], MAX_DECOMPRESSED_BYTES)
        return with_payload(batch, codec, await in_steps(compress_pieces(codec, opened)))

    def _walk_on(self, walked: _Walked, run: Run, header: BatchHeader, now_wall_ms: int) -> None:
        """Check the next records of a batch. Raise `MalformedMessage` if the rest of the batch need not be checked."""
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
            most = MOST_RECORD_ERRORS - len(walked.errors)
            faults = records_walk.faults(data, 0, count, *walked.allowed, self._settings.compact, most)
            walked.errors += [
                RecordError(walked.records + at, self._reason(fault, header.base_timestamp + delta, now_wall_ms))
                for at, fault, delta in faults
                if fault & self._refused
            ]
        walked.found |= found
        walked.newest = max(walked.newest, newest)
        walked.records += count

    def record_errors(self, batch: Batch, now_wall_ms: int) -> list[RecordError]:
        """Return the records for which `check` refuses a batch, none if it is refused as a whole.

        There are at most `MOST_RECORD_ERRORS`.
        """
        from shareq.protocol.records.opening import Run  # batches at fault alone need it

        header = validate_batch(batch)
        if isinstance(header, ErrorCode) or header.base_offset or header.attributes & _NOT_FOR_CLIENTS:
            return []
        if header.attributes & LOG_APPEND_TIME:
            reason = "A producer cannot set the timestamp type LogAppendTime."
            return [RecordError(index, reason) for index in range(min(header.records_count, MOST_RECORD_ERRORS))]
        walked = _Walked(self._allowed(header.base_timestamp, now_wall_ms))
        try:
            _, data, at = records_block(batch, self._most_opened)
            self._walk_on(walked, Run(data[at:], header.records_count, 0, 0), header, now_wall_ms)
        except MalformedMessage:
            return []
        return [] if at == 0 and walked.longest > self._largest_record else walked.errors

    def rewritten(
        self, batch: Batch, header: BatchHeader, now_wall_ms: int, checked: Checked | None = None
    ) -> Batch | ErrorCode:
        """Return the batch in the form in which the topic stores it: with the topic's compression type and log
        append time.

        If `checked` has the compressed batch already, that is used. MESSAGE_TOO_LARGE if the result is larger than
        max.message.bytes.
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
        """Return the decompressed records, or the error. Raise `LargeBatch` if there are more than `at_once` bytes
        (0: no such limit).
        """
        most = at_once or self._opened_of(Compression(header.compression), memoryview(batch)[HEADER_SIZE:])
        try:
            return records_block(batch, most)[1]
        except MalformedMessage as error:
            too_large = isinstance(error, TooLargeToOpen)
            EFFORT.spent += most if too_large else self._most_opened  # it is not known how much was opened
            if at_once and too_large:
                raise LargeBatch(header) from None
            return _opening_error(error)

    def _opened_of(self, codec: Compression, payload: memoryview) -> int:
        """Return the most bytes that these compressed records may have when they are decompressed."""
        return min(self._most_opened, MOST_AT_ONCE) if opens_at_once(codec, payload) else self._most_opened

    def _allowed(self, base_timestamp: int, now_wall_ms: int) -> tuple[int, int, int]:
        """Return the lowest and highest allowed time delta of a record, and the delta of a record without a time.

        All three fit into 64 bits, and so does each allowed time.
        """
        # This does without min and max, which take longer than all else here, for the sake of batches of one record.
        low = -_INT64_MAX
        if self._before_max != UNLIMITED:
            low = max(now_wall_ms - self._before_max - base_timestamp, low)
        high = now_wall_ms + self._after_max
        high = (high if high < _INT64_MAX else _INT64_MAX) - base_timestamp
        no_time = NO_TIMESTAMP - base_timestamp
        if no_time < -_INT64_MAX:
            no_time += 1  # the exact delta does not fit; this one stands for a time that no clock shows
        if low > _INT64_MAX:  # from such a base time no delta leads to an allowed time
            return _INT64_MAX, -_INT64_MAX, no_time
        return low, high if high < _INT64_MAX else _INT64_MAX, no_time

    def _reason(self, fault: int, timestamp: int, now_wall_ms: int) -> str:
        if fault == KEYLESS:
            return "A compacted topic takes no record without a key."
        first, last = now_wall_ms - self._before_max, now_wall_ms + self._after_max
        return f"Timestamp {timestamp} is out of range: it should be from {first} to {last}."


def _with_newest(batch: Batch, header: BatchHeader, newest: int) -> tuple[Batch, BatchHeader]:
    """Return the batch with the time of its newest record (`newest`, a delta) as its MaxTimestamp, and its header."""
    max_timestamp = max(header.base_timestamp + newest, NO_TIMESTAMP)
    if max_timestamp == header.max_timestamp:
        return batch, header
    batch = with_max_timestamp(batch, max_timestamp)
    return batch, read_header(batch)


def own_header(batch: Batch) -> BatchHeader:
    """Return the header of a batch that the broker made itself. Raise ValueError unless `batch` is exactly one whole
    batch.
    """
    header = read_header(batch)
    if header.length + LENGTH_OVERHEAD != len(batch):
        raise ValueError(f"not one record batch: {len(batch)} bytes, its length says {header.size}")
    return header


def _check_attributes(header: BatchHeader) -> ErrorCode:
    attributes = header.attributes
    if attributes & _NOT_FOR_CLIENTS or (attributes & TRANSACTIONAL and header.producer_id == NO_PRODUCER_ID):
        return ErrorCode.INVALID_RECORD
    return ErrorCode.INVALID_TIMESTAMP if attributes & LOG_APPEND_TIME else ErrorCode.NONE


def _check_count(header: BatchHeader, at_once: bool) -> ErrorCode:
    """Return the error of a batch that has many records, or NONE. Raise `LargeBatch` as `Admission.check` does."""
    if header.attributes & CODEC_MASK and header.records_count > MOST_RECORDS:
        return ErrorCode.MESSAGE_TOO_LARGE
    if at_once:
        raise LargeBatch(header)
    return ErrorCode.NONE


def _opening_error(error: MalformedMessage) -> ErrorCode:
    """Return the error of a batch whose records could not be decompressed."""
    return ErrorCode.MESSAGE_TOO_LARGE if isinstance(error, TooLargeToOpen) else ErrorCode.INVALID_RECORD


def _error_of(found: int) -> ErrorCode:
    unusable = found & (UNREADABLE | OUT_OF_ORDER)
    return ErrorCode.INVALID_TIMESTAMP if found & OUT_OF_TIME and not unusable else ErrorCode.INVALID_RECORD
