"""What a topic accepts from a client: the rules of Apache Kafka's LogValidator that need no look at the records.

Only a compacted topic's batches are opened, because each of its records needs a key.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.log.settings import UNLIMITED, LogSettings
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import (
    CONTROL,
    DELETE_HORIZON,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    TRANSACTIONAL,
    BatchHeader,
    has_record_without_key,
    read_header,
    recompress,
    validate_batch,
    with_append_time,
)

__all__ = ["Admission", "own_header"]

Batch = bytes | bytearray | memoryview

_NOT_FOR_CLIENTS: Final = CONTROL | DELETE_HORIZON
_UNUSUAL: Final = _NOT_FOR_CLIENTS | LOG_APPEND_TIME | TRANSACTIONAL


class Admission:
    """The rules of one topic, from its settings."""

    __slots__ = ("_after_max", "_before_max", "_max_bytes", "_opens", "_settings", "rewrites")

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._max_bytes = min(settings.max_message_bytes, settings.segment_bytes)
        self._after_max = UNLIMITED if settings.append_time else settings.message_timestamp_after_max_ms
        self._before_max = UNLIMITED if settings.append_time else settings.message_timestamp_before_max_ms
        self._opens = settings.compact
        self.rewrites = settings.append_time or settings.compression_type is not None

    def check(self, batch: Batch, now_wall_ms: int) -> BatchHeader | ErrorCode:
        """The header of a client's batch that may be appended, as far as one can tell without the log's state.

        MESSAGE_TOO_LARGE (max.message.bytes), RECORD_LIST_TOO_LARGE (segment.bytes), INVALID_TIMESTAMP, INVALID_RECORD,
        CORRUPT_MESSAGE.
        """
        if len(batch) > self._max_bytes:
            too_large = len(batch) > self._settings.max_message_bytes
            return ErrorCode.MESSAGE_TOO_LARGE if too_large else ErrorCode.RECORD_LIST_TOO_LARGE
        header = validate_batch(batch)
        if isinstance(header, ErrorCode):
            return header
        if header.attributes & _UNUSUAL:
            error = _check_attributes(header)
            if error:
                return error
        if header.base_offset != 0:
            return ErrorCode.INVALID_RECORD
        base_timestamp = header.base_timestamp
        if header.max_timestamp - now_wall_ms > self._after_max or (
            now_wall_ms - base_timestamp > self._before_max and base_timestamp >= 0
        ):
            return ErrorCode.INVALID_TIMESTAMP
        if self._opens and _lacks_a_key(batch):
            return ErrorCode.INVALID_RECORD
        return header

    def rewritten(self, batch: Batch, header: BatchHeader, now_wall_ms: int) -> Batch | ErrorCode:
        """The batch as the topic wants it stored: its own compression type, log append time."""
        codec = self._settings.compression_type
        if codec is not None and header.compression != codec:
            try:
                batch = recompress(batch, codec)
            except MalformedMessage:
                return ErrorCode.INVALID_RECORD
        if self._settings.append_time:
            batch = with_append_time(batch, now_wall_ms)
        return batch


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


def _lacks_a_key(batch: Batch) -> bool:
    try:
        return has_record_without_key(batch)
    except MalformedMessage:
        return True
