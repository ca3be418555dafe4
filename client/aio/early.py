"""Records acquired before their time: which are due, and which block the records behind them. Pure.

A share partition hands out records from a window that begins at its oldest unfinished one (KIP-932): a record that
waits for a day stops all later ones once the window behind it is full, even if the records in between are finished. So
a waiting record may use up half of the window. When the log grows beyond that behind it, the record is sent again, to
the log's end (`again.py`), and finished in its old place. The same happens to a record that was delivered several
times: each stop of a member costs a delivery, and the group gives up a record after a number of them, even if no work
on it began.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final, NamedTuple

from shareq.client.aio.consumer.records import ShareRecord, State
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.names import LONGEST_TIME, NOT_BEFORE

MAX_DELAY_S: Final = 86_400.0
"""The furthest ahead of now that a time may lie by default."""
TOO_FAR: Final = "%s is %s: more than max_delay (%g s) ahead"


def not_before_s(headers: Iterable[tuple[str, bytes | None]]) -> float:
    """Return the time in the header NOT_BEFORE, in seconds since the epoch; 0 without one, or for an invalid one."""
    return ms_of(headers, NOT_BEFORE) / 1000


def ms_of(headers: Iterable[tuple[str, bytes | None]], wanted: str) -> int:
    """Return the number in the first header of this name that holds one, else 0."""
    for name, value in headers:
        if name == wanted and value is not None and value.isdigit() and len(value) <= LONGEST_TIME:
            return int(value)
    return 0


WORN: Final = 3
"""The number of deliveries at which a record is sent again, so that its copy starts at 1; the usual limit is 5."""


class _Waiting(NamedTuple):
    """A record that waits. Times are seconds since the epoch."""

    due: float
    record: ShareRecord
    may_move: float


class EarlyRecords:
    """The early records of one member.

    `window`: how far the group goes past its oldest unfinished record; 0: early records always stay. `limit`: how often
    the group delivers a record. `topic_partition` names a share partition; the caller's times are seconds since the
    epoch.
    """

    def __init__(self, window: int, limit: int | None = None) -> None:
        self._half = window // 2
        self._worn_at = WORN if limit is None else max(2, min(WORN, limit - 1))
        self._worn: list[int] = []
        self._due: list[tuple[float, int]] = []  # this and the next are heaps of numbers, also of records taken out
        self._offsets: dict[TopicIdPartition, list[tuple[int, int]]] = {}
        self._kept: dict[int, _Waiting] = {}
        self._ends: dict[TopicIdPartition, int] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._kept)

    def reached(self, tp: TopicIdPartition, end: int) -> None:
        """Note that a partition's log has records up to `end`, exclusive."""
        if end > self._ends.get(tp, 0):
            self._ends[tp] = end

    def keep(self, record: ShareRecord, due: float, may_move: float = 0.0) -> None:
        """Let a record wait until `due`; it may be sent again from `may_move` on."""
        self._number += 1
        self._kept[self._number] = _Waiting(due, record, may_move)
        heapq.heappush(self._due, (due, self._number))
        if self._half:
            heapq.heappush(self._offsets.setdefault(record.topic_partition, []), (record.offset, self._number))
            if record.delivery_count >= self._worn_at:
                self._worn.append(self._number)

    def pop_due(self, now: float) -> ShareRecord | None:
        """Remove and return a record whose time has come; None if there is none.

        A record whose lock was lost is dropped: it is delivered again.
        """
        while (first := self._first()) is not None and first.due <= now:
            del self._kept[self._due[0][1]]
            if first.record.state is not State.LOST:
                return first.record
        return None

    def drop_lost(self) -> None:
        """Drop the records whose lock was lost: they are delivered again."""
        for number, waiting in list(self._kept.items()):
            if waiting.record.state is State.LOST:
                del self._kept[number]

    def crowding(self, now: float, most: int) -> list[tuple[ShareRecord, float]]:
        """Remove up to `most` records that must be sent again, each with its time."""
        self._worn = [number for number in self._worn if number in self._kept]
        worn = [number for number in self._worn if self._kept[number].may_move <= now][:most]
        taken = [self._kept.pop(number) for number in worn]
        found = [(each.record, each.due) for each in taken if each.record.state is not State.LOST]
        for tp in list(self._offsets):
            while len(found) < most and (waiting := self._oldest(tp)) is not None:
                if not self._crowds(waiting) or waiting.may_move > now:
                    break
                del self._kept[self._offsets[tp][0][1]]
                if waiting.record.state is not State.LOST:
                    found.append((waiting.record, waiting.due))
        return found

    @property
    def next_due(self) -> float | None:
        """Return when `pop_due` will next have a record; None if it has none."""
        first = self._first()
        return None if first is None else first.due

    def partitions(self) -> dict[TopicIdPartition, str]:
        """Return the share partitions in which records wait that could be sent again, and their topics."""
        found = {}
        for tp in list(self._offsets):
            if (waiting := self._oldest(tp)) is not None:
                found[tp] = waiting.record.topic
        return found

    def take_all(self) -> list[ShareRecord]:
        """Remove and return all records except those whose lock was lost."""
        left = [waiting.record for waiting in self._kept.values() if waiting.record.state is not State.LOST]
        self._kept.clear()
        self._due.clear()
        self._offsets.clear()
        self._worn.clear()
        return left

    def _crowds(self, waiting: _Waiting) -> bool:
        record = waiting.record
        return self._ends.get(record.topic_partition, 0) - record.offset > self._half

    def _first(self) -> _Waiting | None:
        while self._due and self._due[0][1] not in self._kept:
            heapq.heappop(self._due)
        return self._kept[self._due[0][1]] if self._due else None

    def _oldest(self, tp: TopicIdPartition) -> _Waiting | None:
        offsets = self._offsets[tp]
        while offsets and offsets[0][1] not in self._kept:
            heapq.heappop(offsets)
        if offsets:
            return self._kept[offsets[0][1]]
        del self._offsets[tp]
        return None
