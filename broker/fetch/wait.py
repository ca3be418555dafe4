"""Long polls of consumers: they wait for enough bytes, the end of their time, a topic's deletion, or the broker's
stop.

A waiting fetch looks again whenever the high watermark or the log start offset of one of its partitions moves. It is
answered if one of its topics is deleted, or another broker leads one of its partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.foundation.environment import Clock, TimerHandle
from shareq.broker.foundation.pending import Pending

if TYPE_CHECKING:
    from shareq.broker.fetch.ports import FetchedLog

LONGEST_WAIT_MS: Final = 300_000  # whatever a client asks for; librdkafka's own upper bound


class FetchLimits(NamedTuple):
    """The limits of one fetch. Bytes count only record batches; the first batch is returned whatever its size."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool


class FetchWaits:
    """The fetches that wait. Owned by the broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_log: dict[FetchedLog, dict[WaitingFetch, None]] = {}
        self._waiting: dict[WaitingFetch, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, fetch: WaitingFetch, wait_ms: int) -> TimerHandle:
        """Keep a fetch until it is removed; return the timer of its deadline, `wait_ms` from now."""
        self._waiting[fetch] = None
        for log in fetch.logs:
            self._by_log.setdefault(log, {})[fetch] = None
        wait_ms = min(wait_ms, LONGEST_WAIT_MS)
        return self._clock.call_at(self._clock.now_ms() + wait_ms, fetch.finish)

    def remove(self, fetch: WaitingFetch) -> None:
        self._waiting.pop(fetch, None)
        for log in fetch.logs:
            fetches = self._by_log.get(log)
            if fetches is not None:
                fetches.pop(fetch, None)
                if not fetches:
                    del self._by_log[log]

    def on_high_watermark(self, log: FetchedLog) -> None:
        """Let the fetches that wait for the log look again, because its high watermark moved."""
        fetches = self._by_log.get(log)
        if fetches:
            for fetch in list(fetches):
                fetch.look_at(log)

    def on_log_start(self, log: FetchedLog) -> None:
        """Answer the fetches that wait at offsets below the log start offset, which moved."""
        self.on_high_watermark(log)

    def topics_deleted(self, topic_ids: Collection[bytes]) -> None:
        """Answer the fetches that wait for topics that were deleted."""
        gone = [fetch for log, fetches in self._by_log.items() if log.topic_id in topic_ids for fetch in fetches]
        for fetch in dict.fromkeys(gone):
            fetch.finish()

    def leader_moved(self, topic: str, partition: int) -> None:
        """Answer the fetches that wait for a partition whose leader changed, even back to this broker."""
        for log, fetches in list(self._by_log.items()):
            if log.topic == topic and log.partition == partition:
                for fetch in list(fetches):
                    fetch.finish()

    def finish_all(self) -> None:
        """Answer every fetch with the records found so far, because the broker is stopping."""
        for fetch in list(self._waiting):
            fetch.finish()


class WaitingFetch:
    """A fetch that waits for enough bytes, until it is `finished`, or its client disconnects.

    `finished` is True if there may be more records now; with False, the fetch is answered with whatever there is.
    """

    __slots__ = ("_available", "_limits", "_timer", "_total", "_waits", "finished", "logs")

    def __init__(self, waits: FetchWaits, logs: dict[FetchedLog, SessionPartition], limits: FetchLimits) -> None:
        self.finished: Pending[bool] = Pending()
        self.logs = logs
        self._waits = waits
        self._limits = limits
        self._available: dict[FetchedLog, int] = {}
        self._total = 0  # of them
        self._timer = waits.add(self, limits.max_wait_ms)

    def look_at(self, log: FetchedLog) -> None:
        """Finish waiting if there are enough bytes now, including the new records of `log`."""
        self.count((log,))
        if self.has_enough:
            self._end(may_have_more=True)

    def count(self, logs: Iterable[FetchedLog]) -> None:
        """Count the readable bytes of these logs; a log may be counted again."""
        for log in logs:
            available = self._bytes_of(log)
            self._total += available - self._available.get(log, 0)
            self._available[log] = available

    @property
    def has_enough(self) -> bool:
        """True once the counted bytes reach the number for which the fetch waits."""
        return self._total >= self._limits.min_bytes

    def finish(self) -> None:
        """Stop waiting, and answer the fetch. A second call does nothing."""
        self._end(may_have_more=False)

    def _end(self, *, may_have_more: bool) -> None:
        self.leave()
        if not self.finished.done:
            self.finished.complete(may_have_more)

    def leave(self) -> None:
        """Stop waiting. A second call does nothing."""
        self._timer.cancel()
        self._waits.remove(self)

    def _bytes_of(self, log: FetchedLog) -> int:
        partition = self.logs[log]
        upto = log.last_stable_offset if self._limits.read_committed else log.high_watermark
        if not log.log_start_offset <= partition.fetch_offset <= upto:
            return self._limits.min_bytes  # the offset is outside the log by now: answer the client
        return min(log.available_bytes(partition.fetch_offset, upto), partition.max_bytes)
