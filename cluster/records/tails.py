"""Long polls at the tails of the partitions that a broker leads: one incremental session, one request at a time.

A partition is polled while less than half a chunk lies ahead of its foremost reader. Polls are READ_UNCOMMITTED,
because only these bring every new record, and the markers of transactions.

    in the poll that is under way      its new records come at once
    not in it, but wants to be         the connection of `behind.py` asks every LEFT_OUT_MS, until the poll is back
    readers are behind                 it is not polled; only its ends are asked for every ENDS_MS
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.loop.coroutines import next_tick, sleep
from shareq.broker.foundation.loop.timer import Timer
from shareq.cluster.link.ports import LinkFailure, Purpose
from shareq.cluster.records.behind import ANSWER_BYTES, BehindFetches
from shareq.cluster.records.cache import Place
from shareq.cluster.records.fetch_session import FetchLimits, FetchSession
from shareq.cluster.records.fetching import (
    HOLD_MS,
    LEAST_VERSION,
    Asked,
    Fetching,
    Outcome,
    after_failure,
    rows_of,
    take_in,
)
from shareq.cluster.records.signal import Signal
from shareq.cluster.records.source import PartitionRecords
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.fetch import FetchResponse

POLL_MS: Final = 500
"""The time for which a broker may hold a poll."""
LEFT_OUT_MS: Final = 50
"""The pause between two fetches of a partition that is not in the poll under way."""
TICKS_TO_POLL: Final = 2
"""The ticks from an answer with records to the next poll. In them, waiting readers are answered, and their
acknowledgements reach the state log.
"""
TAILS_SHARE: Final = 4
"""All tails together reserve at most this fraction of the budget: one part in TAILS_SHARE."""


class TailFetches:
    """The tails of the partitions that one broker leads."""

    def __init__(self, fetching: Fetching, node: int, behind: BehindFetches) -> None:
        self._fetching: Final = fetching
        self._node: Final = node
        self._behind: Final = behind
        self._session: Final = FetchSession()
        self._sources: dict[PartitionRecords, None] = {}
        self._polled: dict[Place, Asked] | None = None
        self._left_out: dict[PartitionRecords, None] = {}
        self._signal: Final = Signal(fetching.env.clock)
        self._timer = Timer(fetching.env.clock)
        self.share = 1
        """The number of brokers with tails, which divide the budget of all tails."""

    def add(self, source: PartitionRecords) -> None:
        """Poll a source from now on."""
        self._sources[source] = None
        self.wanted(source)

    def remove(self, source: PartitionRecords) -> None:
        """Stop polling a source: another broker leads it, or its topic was deleted."""
        self._sources.pop(source, None)
        self._left_out.pop(source, None)

    def wanted(self, source: PartitionRecords) -> None:
        """Poll the source with the next request. If a poll is under way without it, have the other connection fetch it
        meanwhile.
        """
        if source not in self._sources:
            return
        self._signal.set()
        if self._polled is not None and source.place not in self._polled:
            self._left_out[source] = None
            if self._timer.due_ms is None:
                self._look()

    def brings(self, source: PartitionRecords, offset: int) -> bool:
        """Return True if the poll under way asks for the records at `offset`."""
        asked = None if self._polled is None else self._polled.get(source.place)
        return asked is not None and asked.is_current() and asked.offset == offset

    def wake(self) -> None:
        """Check again what to poll, because something has changed."""
        self._signal.set()

    async def run(self) -> None:
        """Poll until the node closes."""
        fetching, failed = self._fetching, 0
        while not fetching.is_closed():
            asked = self._asked()
            if not asked:
                await self._signal.wait()
                continue
            granted = self._reserve(asked)
            if not granted:
                await fetching.room.wait()
                continue
            answer = await self._poll(asked, granted)
            if isinstance(answer, LinkFailure):
                failed += 1
                self._session.reset()
                await after_failure(fetching, self._node, answer, list(asked.values()), failed)
                continue
            assert isinstance(answer, FetchResponse)
            error = error_of(answer.error_code)
            self._session.answered(error, answer.session_id)
            failed = 0 if error is ErrorCode.NONE else failed + 1
            if failed > 1:  # one may be that of a session that the broker has given up
                await sleep(fetching.env.clock, HOLD_MS)
            outcomes = await take_in(fetching, rows_of(answer, asked), IsolationLevel.READ_UNCOMMITTED)
            for one, outcome in outcomes:
                if outcome is Outcome.EMPTY and one.offset < one.source.high_watermark:
                    fetching.hold(one.source)  # this broker knows less than the one before it
            if any(outcome is Outcome.CAME for _, outcome in outcomes):
                for _ in range(TICKS_TO_POLL):
                    await next_tick(fetching.env.clock)

    def _asked(self) -> dict[Place, Asked]:
        """Return the partitions of the next poll, without those that are on hold."""
        now_ms = self._fetching.env.clock.now_ms()
        asked: dict[Place, Asked] = {}
        wakes_ms: int | None = None
        for source in self._sources:
            if not source.wants_tail:
                continue
            if source.held_until_ms > now_ms:
                wakes_ms = source.held_until_ms if wakes_ms is None else min(wakes_ms, source.held_until_ms)
            else:
                asked[source.place] = Asked.of(source, source.tail_offset)
        if not asked and wakes_ms is not None:
            self._fetching.env.clock.call_at(wakes_ms, self._signal.set)
        return asked

    def _reserve(self, asked: dict[Place, Asked]) -> int:
        cache = self._fetching.cache
        chunk_bytes = next(iter(asked.values())).source.chunk_bytes
        part = cache.budget // (TAILS_SHARE * self.share)
        most = max(min(ANSWER_BYTES, chunk_bytes * len(asked), part), 1)
        return cache.reserve(most, most)

    async def _poll(self, asked: dict[Place, Asked], granted: int) -> object:
        fetching = self._fetching
        limits = FetchLimits(POLL_MS, granted, IsolationLevel.READ_UNCOMMITTED)
        request = self._session.request([one.row() for one in asked.values()], limits)
        self._polled = asked
        for source in self._sources:
            if source.wants_tail and source.place not in asked:
                self._left_out[source] = None  # it is left alone for now
        self._look()
        answer = await fetching.link.send(self._node, request, purpose=Purpose.TAIL, min_version=LEAST_VERSION)
        self._polled = None
        self._left_out.clear()
        fetching.release(granted)
        return answer

    def _look(self) -> None:
        """Have the other connection fetch the partitions that are not in the poll under way."""
        for source in self._left_out:
            if source.wants_tail:
                self._behind.want(source, source.tail_offset)
        if self._left_out and not self._fetching.is_closed():
            self._timer.after(LEFT_OUT_MS, self._look)
