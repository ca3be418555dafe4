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
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    TRANSACTIONAL,
    BatchHeader,
    has_record_without_key,
    recompress,
    validate_batch,
    with_append_time,
)

__all__ = ["Admission"]

Batch = bytes | bytearray | memoryview

_NOT_FOR_CLIENTS: Final = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME


class Admission:
    """The rules of one topic, from its settings."""

    __slots__ = ("_after_max", "_before_max", "_compact", "_max_bytes", "_segment_bytes", "_settings", "rewrites")

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._max_bytes = settings.max_message_bytes
        self._segment_bytes = settings.segment_bytes
        self._compact = settings.compact
        self._after_max = UNLIMITED if settings.append_time else settings.message_timestamp_after_max_ms
        self._before_max = UNLIMITED if settings.append_time else settings.message_timestamp_before_max_ms
        self.rewrites = settings.append_time or settings.compression_type is not None

    def check(self, batch: Batch, now_wall_ms: int) -> BatchHeader | ErrorCode:
        """The header of a client's batch that may be appended, as far as one can tell without the log's state.

        MESSAGE_TOO_LARGE (max.message.bytes), RECORD_LIST_TOO_LARGE (segment.bytes), INVALID_TIMESTAMP, INVALID_RECORD,
        CORRUPT_MESSAGE.
        """
        size = len(batch)
        if size > self._max_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE
        header = validate_batch(batch)
        if isinstance(header, ErrorCode):
            return header
        attributes = header.attributes
        if attributes & _NOT_FOR_CLIENTS:
            append_time = attributes & _NOT_FOR_CLIENTS == LOG_APPEND_TIME
            return ErrorCode.INVALID_TIMESTAMP if append_time else ErrorCode.INVALID_RECORD
        if header.base_offset != 0 or (attributes & TRANSACTIONAL and header.producer_id == NO_PRODUCER_ID):
            return ErrorCode.INVALID_RECORD
        if header.max_timestamp - now_wall_ms > self._after_max:
            return ErrorCode.INVALID_TIMESTAMP
        if now_wall_ms - header.base_timestamp > self._before_max and header.base_timestamp >= 0:
            return ErrorCode.INVALID_TIMESTAMP
        if size > self._segment_bytes:
            return ErrorCode.RECORD_LIST_TOO_LARGE
        if self._compact and _lacks_a_key(batch):
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


def _lacks_a_key(batch: Batch) -> bool:
    try:
        return has_record_without_key(batch)
    except MalformedMessage:
        return True
