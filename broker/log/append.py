"""Values of an append to a log: its origin, its result, and its counters."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

from shareq.protocol.errors import ErrorCode

Batch = bytes | bytearray | memoryview
OnDurable = Callable[[ErrorCode], None]


class Origin(Enum):
    """The source of a batch. A client's batch is checked; one of the broker itself is not."""

    CLIENT = 0
    COORDINATOR = 1


class Sender(Protocol):
    """The client that a batch comes from."""

    def may_add_producer(self, topic: str, partition: int, producer_id: int) -> bool:
        """Return True if the sender may send a batch of a producer that the partition does not know yet."""


class AppendInfo(NamedTuple):
    """The place of an appended batch; offsets inclusive.

    `log_append_time_ms` is -1 unless the topic stamps its own time.

    `duplicate` is True if the producer had sent the batch before; the offsets are then those that it got at that
    time.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool


class Ends(NamedTuple):
    """The start offset of a partition's log, and the offset (exclusive) up to which consumers may read."""

    log_start_offset: int
    high_watermark: int


class Traffic:
    """Bytes and records of one log since it was opened: written to it, and read from it for consumers.

    Bytes of record batches as stored; records are counted by offsets, including those of transaction markers.
    """

    __slots__ = ("bytes_in", "bytes_out", "records_in")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.records_in = 0

    def add(self, other: Traffic) -> None:
        """Add the counts of another log."""
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.records_in += other.records_in

    def wrote(self, size: int, records: int) -> None:
        """Count a successful write to the log."""
        self.bytes_in += size
        self.records_in += records
