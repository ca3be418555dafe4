"""The records of a share session, and acknowledgements that wait to be sent. Pure; the caller's times are seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from shareq.client.aio.consumer.records import RENEW, LockLost, ShareRecord, State
from shareq.client.errors import ClientError
from shareq.client.share.session import MAX_BATCHES, TopicIdPartition
from shareq.protocol.ack_reasons import tags_of
from shareq.protocol.generated.share_acknowledge import AcknowledgementBatch
from shareq.protocol.primitives import Tags
from shareq.protocol.share import AcknowledgeType

RENEW_AT: Final = 0.5
"""The share of a lock's time that is left when it is renewed."""


Answered = Callable[[ClientError | None], None]
"""Is called once: with None when the broker has written the acknowledgement down, else with why it has not."""


class Waiting(NamedTuple):
    """Offsets to acknowledge alike, both ends included. `record` is None for offsets that have none; `reason` is ""
    where none was given.
    """

    first: int
    last: int
    kind: AcknowledgeType
    record: ShareRecord | None = None
    answered: tuple[Answered, ...] = ()
    reason: str = ""

    def answer(self, error: ClientError | None) -> None:
        """Notify those that wait for it."""
        for each in self.answered:
            each(error)


Portion = dict[TopicIdPartition, list[Waiting]]
"""Acknowledgements of one request; ascending in each partition."""


class HeldRecords:
    """One session's. `lock_s` is how long its locks last, 0 before the first answer."""

    def __init__(self) -> None:
        self.lock_s = 0.0
        self._records: dict[TopicIdPartition, dict[int, ShareRecord]] = {}
        self._waiting: Portion = {}
        self._again: deque[Portion] = deque()  # halves of what was refused, to be asked for one by one

    def __iter__(self) -> Iterator[ShareRecord]:
        """All that are held, and not lost."""
        for of_partition in self._records.values():
            yield from of_partition.values()

    def __bool__(self) -> bool:
        return any(self._records.values())

    @property
    def has_waiting(self) -> bool:
        """True if there is anything to be sent."""
        return bool(self._waiting or self._again)

    def add(self, record: ShareRecord) -> ShareRecord | None:
        """Add a record that was acquired.

        Return an earlier delivery of it whose lock has ended, as that shows; else None.
        """
        of_partition = self._records.setdefault(record.topic_partition, {})
        before = of_partition.get(record.offset)
        of_partition[record.offset] = record
        if before is not None:
            before.state = State.LOST
            waiting = self._waiting.pop(record.topic_partition, [])
            if rest := [one for one in waiting if one.record is not before]:
                self._waiting[record.topic_partition] = rest
            for one in waiting:
                if one.record is before:
                    one.answer(LockLost(f"{before!r}: it was handed out again"))
        return before

    def holds(self, record: ShareRecord) -> bool:
        """Return True if it is this very delivery that is held."""
        return self._records.get(record.topic_partition, {}).get(record.offset) is record

    def acknowledge(self, record: ShareRecord, kind: AcknowledgeType, answered: Answered, reason: str = "") -> None:
        """Queue an acknowledgement for the next request. A renewal that still waits gives way to what ends the lock."""
        if kind is not RENEW:
            record.state = State.SETTLING
        waiting = self._waiting.setdefault(record.topic_partition, [])
        waiting.append(Waiting(record.offset, record.offset, kind, record, (answered,), reason))

    def acknowledge_range(self, tp: TopicIdPartition, first: int, last: int, kind: AcknowledgeType) -> None:
        """Acknowledge offsets that have no records, as `acknowledge` does records; both ends are included."""
        self._waiting.setdefault(tp, []).append(Waiting(first, last, kind))

    def take(self) -> Portion:
        """Return the acknowledgements of the next request, {} for none: at most MAX_BATCHES for its partitions
        together.
        """
        if self._again:
            return self._again.popleft()
        room = MAX_BATCHES
        portion: Portion = {}
        for tp in list(self._waiting):
            waiting = _last_of_each(self._waiting.pop(tp))
            portion[tp] = waiting[:room]
            if waiting[room:]:
                self._waiting[tp] = waiting[room:]
            room -= len(portion[tp])
            if room <= 0:
                break
        return portion

    def put_back(self, portion: Portion) -> None:
        """Queue a portion again, before everything else."""
        self._again.appendleft(portion)

    def halve(self, tp: TopicIdPartition, waiting: list[Waiting]) -> None:
        """Send each half by itself: a broker undoes all of a partition's for one whose lock is gone."""
        middle = len(waiting) // 2
        self._again.appendleft({tp: waiting[middle:]})
        self._again.appendleft({tp: waiting[:middle]})

    def done(self, tp: TopicIdPartition, waiting: Iterable[Waiting], now: float) -> None:
        """Note the written acknowledgements: renewed locks begin again, the other records are no longer held."""
        of_partition = self._records.get(tp, {})
        for one in waiting:
            record = one.record
            if record is not None and record.state is not State.LOST:
                if one.kind is RENEW:
                    record.deadline = now + self.lock_s
                else:
                    record.state = State.DONE
                    of_partition.pop(record.offset, None)
            one.answer(None)

    def failed(self, tp: TopicIdPartition, waiting: Iterable[Waiting], error: ClientError) -> None:
        """Note refused acknowledgements.

        With LockLost the records are lost; otherwise they may be acknowledged again.
        """
        of_partition = self._records.get(tp, {})
        for one in waiting:
            record = one.record
            if record is not None and record.state is not State.LOST:
                if isinstance(error, LockLost):
                    record.state = State.LOST
                    of_partition.pop(record.offset, None)
                elif record.state is State.SETTLING and one.kind is not RENEW:
                    record.state = State.IN_HAND
            one.answer(error)

    def lose(self, error: LockLost, partitions: Iterable[TopicIdPartition] | None = None) -> list[ShareRecord]:
        """Drop the locks on these partitions, None: on all, and what waits to be sent for them.

        Return what was held.
        """
        found: list[ShareRecord] = []
        for tp in [*self._records, *self._waiting] if partitions is None else list(partitions):
            for record in self._records.pop(tp, {}).values():
                record.state = State.LOST
                found.append(record)
            waiting = self._waiting.pop(tp, [])
            for portion in self._again:
                waiting += portion.pop(tp, [])
            for one in waiting:
                one.answer(error)
        self._again = deque(portion for portion in self._again if portion)
        return found

    def lapsed(self, now: float) -> list[ShareRecord]:
        """Take out the records that nobody was handed out and whose locks have ended: they come again."""
        gone = [record for record in self if record.state is State.BUFFERED and record.deadline <= now]
        for record in gone:
            record.state = State.LOST
            del self._records[record.topic_partition][record.offset]
        return gone

    def to_renew(self, now: float, longest_s: float, polled_at: float) -> list[ShareRecord]:
        """Return records half of whose lock is over, each once: for `longest_s` at most since they were handed out, or
        since records were asked for last.
        """
        due = now + self.lock_s * RENEW_AT
        waiting = {one.record for of_partition in self._waiting.values() for one in of_partition}
        return [
            record
            for record in self
            if record.state in (State.IN_HAND, State.BUFFERED)
            and now < record.deadline <= due
            and now - (record.held_since or polled_at) < longest_s
            and record not in waiting
        ]

    def next_renewal(self, now: float) -> float | None:
        """Return when `to_renew` or `lapsed` may have something next; None without records."""
        earliest = min((record.deadline for record in self if record.deadline > now), default=None)
        return None if earliest is None else max(now, earliest - self.lock_s * RENEW_AT)


def batches_of(portion: Portion) -> dict[TopicIdPartition, list[AcknowledgementBatch]]:
    """Return the acknowledgements in wire form: neighbours that are acknowledged alike are one batch."""
    found: dict[TopicIdPartition, list[AcknowledgementBatch]] = {}
    for tp, waiting in portion.items():
        batches = found[tp] = []
        for one in waiting:
            last = batches[-1] if batches else None
            if last is not None and last.last_offset + 1 == one.first and last.acknowledge_types == [int(one.kind)]:
                last.last_offset = one.last
            else:
                batches.append(AcknowledgementBatch(one.first, one.last, [int(one.kind)]))
    return found


def reasons_of(portion: Portion) -> dict[TopicIdPartition, Tags]:
    """Return the tags that say why records are given back, of the partitions that have any."""
    reasons = {tp: {one.first: one.reason for one in waiting if one.reason} for tp, waiting in portion.items()}
    return {tp: tags_of(of_partition) for tp, of_partition in reasons.items() if of_partition}


def _last_of_each(waiting: list[Waiting]) -> list[Waiting]:
    """Ascending. Of several for one record, the last that ends its lock stands, else the last; all are answered."""
    chosen: dict[int, Waiting] = {}
    for one in waiting:
        known = chosen.get(one.first)
        if known is not None:
            stands = known if one.kind is RENEW and known.kind is not RENEW else one
            one = stands._replace(answered=known.answered + one.answered)
        chosen[one.first] = one
    return [chosen[first] for first in sorted(chosen)]
