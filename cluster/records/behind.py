"""Fetches for readers that are behind, or at an offset that is not in the cache: one at a time to each broker, without
waiting for new records. They have a connection of their own, since that of the tails may be held by a long poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.foundation.loop.timer import Timer
from shareq.cluster.link.ports import LinkFailure, Purpose
from shareq.cluster.records.cache import Place
from shareq.cluster.records.fetch_session import FetchLimits, fetch_of
from shareq.cluster.records.fetching import LEAST_VERSION, Asked, Fetching, Outcome, after_failure, rows_of, take_in
from shareq.cluster.records.signal import Signal
from shareq.cluster.records.source import PartitionRecords
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.generated.fetch import FetchResponse

ANSWER_BYTES: Final = 8 * 1024 * 1024
"""The most bytes that one fetch asks for."""
MOST_OFFSETS: Final = 64
"""The most wanted offsets of one partition that are remembered. A reader whose offset was dropped wants it again when
it is woken.
"""


class BehindFetches:
    """The fetches that readers need from one broker. A fetch has one offset of each partition, the one wanted first."""

    def __init__(self, fetching: Fetching, node: int) -> None:
        self._fetching: Final = fetching
        self._node: Final = node
        self._wants: dict[PartitionRecords, dict[int, None]] = {}
        self._signal: Final = Signal(fetching.env.clock)
        self._timer = Timer(fetching.env.clock)

    def want(self, source: PartitionRecords, offset: int) -> None:
        """Have the records at `offset` fetched."""
        offsets = self._wants.setdefault(source, {})
        if offset not in offsets:
            if len(offsets) >= MOST_OFFSETS:
                del offsets[next(iter(offsets))]
            offsets[offset] = None
        self._signal.set()

    def taken(self, source: PartitionRecords) -> list[int]:
        """Return the wanted offsets of a source and forget them, because another broker leads it now."""
        return list(self._wants.pop(source, ()))

    def wake(self) -> None:
        """Check again what to fetch, because something has changed."""
        self._signal.set()

    async def run(self) -> None:
        """Fetch until the node closes."""
        fetching, failed = self._fetching, 0
        while not fetching.is_closed():
            isolation, asked = self._next()
            if not asked:
                await self._signal.wait()
                continue
            chunk_bytes = next(iter(asked.values())).source.chunk_bytes
            granted = fetching.cache.reserve(min(ANSWER_BYTES, chunk_bytes * len(asked)), chunk_bytes)
            if not granted:
                await fetching.room.wait()
                continue
            rows = dict(list(asked.items())[: granted // chunk_bytes])
            limits = FetchLimits(0, granted, isolation)
            request = fetch_of([one.row() for one in rows.values()], limits)
            answer = await fetching.link.send(self._node, request, purpose=Purpose.BEHIND, min_version=LEAST_VERSION)
            fetching.release(granted)
            if isinstance(answer, LinkFailure):
                failed += 1
                await after_failure(fetching, self._node, answer, list(rows.values()), failed)
            else:
                assert isinstance(answer, FetchResponse)
                failed = 0
                await self._answered(answer, rows, isolation)

    async def _answered(self, answer: FetchResponse, asked: Mapping[Place, Asked], isolation: IsolationLevel) -> None:
        if answer.error_code:
            for one in asked.values():
                self._fetching.hold(one.source)
            return
        for one in asked.values():  # they had their turn: others come before them
            offsets = self._wants.pop(one.source, None)
            if offsets:
                self._wants[one.source] = offsets
        for one, outcome in await take_in(self._fetching, rows_of(answer, asked), isolation):
            if outcome is Outcome.EMPTY and one.offset < one.source.high_watermark:
                self._fetching.hold(one.source)  # this broker knows less than the one before it
            elif outcome is not Outcome.FAILED:
                self._drop(one.source, one.offset)

    def _next(self) -> tuple[IsolationLevel, dict[Place, Asked]]:
        """Return the isolation level of the next fetch and its partitions, by place; no partitions if no fetch is due.

        Records below the last stable offset are fetched as READ_COMMITTED, because such chunks serve all readers.
        """
        now_ms = self._fetching.env.clock.now_ms()
        chosen: IsolationLevel | None = None
        asked: dict[Place, Asked] = {}
        wakes_ms: int | None = None
        for source in list(self._wants):
            if source.held_until_ms > now_ms:
                wakes_ms = source.held_until_ms if wakes_ms is None else min(wakes_ms, source.held_until_ms)
                continue
            if not source.has_ends or source.is_validating:
                continue  # it is looked at again when they are known
            offset = self._offset_of(source)
            if offset is None:
                continue
            committed = offset < source.last_stable_offset
            level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
            if chosen is None:
                chosen = level
            if chosen is level:
                asked[source.place] = Asked.of(source, offset)
                if len(asked) * source.chunk_bytes >= ANSWER_BYTES:
                    break
        self._wake_at(None if asked else wakes_ms)
        return chosen or IsolationLevel.READ_UNCOMMITTED, asked

    def _offset_of(self, source: PartitionRecords) -> int | None:
        """Return a wanted offset of a source that is not in the cache; None if there is none."""
        offsets = self._wants[source]
        while offsets:
            offset = next(iter(offsets))
            if offset >= source.log_start_offset and source.lacks(offset) and not source.refusal:
                return offset
            del offsets[offset]
        del self._wants[source]
        return None

    def _drop(self, source: PartitionRecords, offset: int) -> None:
        offsets = self._wants.get(source)
        if offsets is not None:
            offsets.pop(offset, None)
            if not offsets:
                del self._wants[source]

    def _wake_at(self, when_ms: int | None) -> None:
        self._timer.stop()
        if when_ms is not None:
            self._timer.at(when_ms, self._signal.set)
