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
    """Makes and owns the logs; each of them names itself in its calls."""

    fs: Fs
    pool: FilePool
    full: bool  # clients' records may be refused

    def client_refusal(self) -> ErrorCode:
        """Return why clients' records are refused, asked while `full`; NONE if they are taken."""

    def write_failed(self, error: OSError) -> None:
        """Take note that a log's records could not be written."""

    def flush_soon(self, log: _Log) -> None:
        """`log` has something to write: flush it in the next tick."""

    def before_flush(self, callback: Callable[[], None]) -> None:
        """Call back once, at the start of the next tick's flush."""

    def syncs_every_flush(self, settings: LogSettings) -> bool:
        """Return True if an append counts only once it is on stable storage."""

    def sealed(self, log: _Log, segment: Segment) -> None:
        """`segment` gets no more batches: sync it in the background."""

    def forget_deleted(self) -> None:
        """Forget a deleted log whose name is now used by a new one. OSError."""

    def segments_changed(self, log: _Log) -> None:
        """Note the segments of a log that has others with files than before."""
