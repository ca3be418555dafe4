"""The logs that consumers' fetches read."""

from __future__ import annotations

from typing import Protocol

from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.topics.ports import NotHereYet, ReadLog
from shareq.protocol.errors import ErrorCode


class FetchedLog(ReadLog, Protocol):
    """The log of one partition, as consumers fetch from it."""

    @property
    def log_end_offset(self) -> int: ...

    def read(
        self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True
    ) -> ReadResult | ErrorCode | NotHereYet | BeingRead:
        """Return whole batches from the one that has `offset`, below `upto` (exclusive), at most `max_bytes`.

        With `min_one_batch`, at least one batch is returned. Return OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE or
        KAFKA_STORAGE_ERROR; NOT_HERE_YET for offsets beyond `log_end_offset` of a log that may have grown elsewhere.
        """
