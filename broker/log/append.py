"""The words of appending: who appends, what the answer is, and what a log needs of its manager."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.segments.files import FilePool, Segment
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.log.partition_log import PartitionLog

__all__ = ["AppendInfo", "Batch", "LogHost", "OnDurable", "Origin", "Traffic"]

Batch = bytes | bytearray | memoryview
OnDurable = Callable[[ErrorCode], None]


class Origin(Enum):
    """Who appends: a client's batch is checked, the broker's own is not."""

    CLIENT = 0
    COORDINATOR = 1


class AppendInfo(NamedTuple):
    """Where a batch went; offsets inclusive. `log_append_time_ms` is -1 unless the topic stamps its own time.

    `duplicate`: the producer had sent it before, and these are the offsets it has got then.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool


class LogHost(Protocol):
    """What a log needs of its manager."""

    fs: Fs
    pool: FilePool
    full: bool  # clients' records may be refused

    def client_refusal(self) -> ErrorCode:
        """Why records of clients are not taken, asked while `full`; NONE if they are."""

    def write_failed(self, error: OSError) -> None:
        """A log's records could not be written."""

    def flush_soon(self, log: PartitionLog) -> None:
        """`log` has something to write: flush it in the next tick."""

    def syncs_every_flush(self, settings: LogSettings) -> bool:
        """Whether an append counts only once it is on stable storage."""

    def sealed(self, log: PartitionLog, segment: Segment) -> None:
        """`segment` gets no more batches: sync it in the background."""

    def forget_deleted(self) -> None:
        """A log gets its first files: nothing is kept for it of one that had its name. OSError."""

    def segments_changed(self, log: PartitionLog) -> None:
        """The log has other segments with files than before: note which."""


class Traffic:
    """Bytes and records of one log since it was opened: written to it, and read from it for consumers.

    Bytes of record batches as they are stored; records are offsets, those of transaction markers among them.
    """

    __slots__ = ("bytes_in", "bytes_out", "records_in")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.records_in = 0

    def wrote(self, size: int, records: int) -> None:
        """A write to the log succeeded."""
        self.bytes_in += size
        self.records_in += records
