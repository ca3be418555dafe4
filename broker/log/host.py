"""The port from a log to its manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.segments.files import FilePool, Segment
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode

_Log = TypeVar("_Log", contravariant=True)


class LogHost(Protocol[_Log]):
    """The manager of logs, as its logs see it. Each log passes itself in its calls."""

    fs: Fs
    pool: FilePool
    full: bool  # clients' records may be refused

    def client_refusal(self) -> ErrorCode:
        """Return the error with which clients' records are refused, NONE if they are accepted. This is asked while
        `full`.
        """

    def write_failed(self, error: OSError) -> None:
        """Note that a log's records could not be written."""

    def flush_soon(self, log: _Log) -> None:
        """Flush `log` in the next tick, because it has something to write."""

    def before_flush(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, at the start of the next tick's flush."""

    def syncs_every_flush(self, settings: LogSettings) -> bool:
        """Return True if an append counts only once it is on stable storage."""

    def sealed(self, log: _Log, segment: Segment) -> None:
        """Sync `segment` in the background, because it gets no more batches."""

    def forget_deleted(self) -> None:
        """Remove deleted logs from the checkpoints, because a new log uses one of their names. Raise OSError if that
        fails.
        """

    def segments_changed(self, log: _Log) -> None:
        """Note that a log has a different list of segments with files."""
