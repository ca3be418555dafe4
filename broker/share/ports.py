"""The sources of share partitions' records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import Ends, Traffic
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import Found, ReadResult
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.topics.ports import NOT_HERE_YET, NotHereYet, ReadLog
from shareq.protocol.errors import ErrorCode

__all__ = ["NOT_HERE_YET", "NoRecords", "NotHereYet", "RecordSource", "RecordSources"]


class RecordSource(ReadLog, Protocol):
    """The records of one partition. `refusal` is the error that all reads return from now on, or NONE."""

    @property
    def refusal(self) -> ErrorCode: ...

    def read(
        self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None
    ) -> ReadResult | ErrorCode | NotHereYet | BeingRead:
        """Read whole batches from the one that contains `offset`, below `upto` (exclusive), at most `max_bytes` but at
        least one batch.

        With `max_records`, read only up to the batch that contains the last of so many offsets. Errors:
        OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR.
        """

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        """Return the first offset and the end (exclusive) of the unreadable range around `offset`; None if none is
        known.
        """

    def in_one_segment(self, offset: int, upto: int) -> bool:
        """Return True if one segment has the offsets from `offset` to `upto`, so that one read may cover them."""

    def ends(self) -> Ends | Pending[Ends | ErrorCode]:
        """Return the log's current start and end offsets.

        A source that does not know them asks for them, and completes with them or with an error for the member. Its own
        ends are then at least these.
        """

    def offset_for_timestamp(self, timestamp_ms: int) -> Found | Pending[Found | ErrorCode | None] | None:
        """Return the first record with this timestamp or a later one; None if there is none. Raise OSError if the log
        cannot be read.
        """


class NoRecords:
    """The `RecordSource` of a partition whose topic was deleted: nothing can be read from it."""

    def __init__(self, topic: str, topic_id: bytes, partition: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.leader_epoch = 0
        self.log_start_offset = 0
        self.high_watermark = 0
        self.last_stable_offset = 0
        self.refusal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.traffic = Traffic()

    def read(self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None) -> ErrorCode:
        return self.refusal

    def unreadable_range(self, offset: int) -> None:
        return None

    def available_bytes(self, offset: int, upto: int) -> int:
        return 0

    def in_one_segment(self, offset: int, upto: int) -> bool:
        return True

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        return ()

    def ends(self) -> Ends:
        return Ends(0, 0)

    def offset_for_timestamp(self, timestamp_ms: int) -> None:
        return None


class RecordSources(Protocol):
    """The sources of the existing partitions. They notify the share partitions when a high watermark grows
    (`on_high_watermark`) and when records were lost (`on_truncated`).
    """

    @property
    def believes_absence(self) -> bool:
        """True if records that a source does not have no longer exist.

        If False, the source may not know of them yet.
        """

    def get(self, topic: str, partition: int) -> RecordSource: ...
