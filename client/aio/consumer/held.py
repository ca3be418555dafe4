"""The records that one share session holds, and their acknowledgements. Pure; the caller's times are seconds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from shareq.client.aio.consumer.ack_batches import Answered, Portion, Waiting, apart, last_of_each
from shareq.client.aio.consumer.lock_renewal import due_until, is_due, renewal_time
from shareq.client.aio.consumer.records import RENEW, LockLost, ShareRecord, State
from shareq.client.errors import ClientError
from shareq.client.share.session import MAX_BATCHES, TopicIdPartition
from shareq.protocol.share import AcknowledgeType


class HeldRecords:
    """The records held by one session. `lock_s` is the duration of its locks, 0 before the first answer."""

    def __init__(self) -> None:
        self.lock_s = 0.0
        self._records: dict[TopicIdPartition, dict[int, ShareRecord]] = {}
        self._waiting: Portion = {}
        self._again: deque[Portion] = deque()  # halves of what was refused, to be asked for one by one
        self._first_deadline = math.inf  # no lock that has not ended ends before

    def __iter__(self) -> Iterator[ShareRecord]:
        """Iterate over the records that are held and not lost."""
        for of_partition in self._records.values():
            yield from of_partition.values()

    def __bool__(self) -> bool:
        return any(self._records.values())

    @property
    def has_waiting(self) -> bool:
        """True if there are acknowledgements to send."""
        return bool(self._waiting or self._again)

    def add(self, records: Sequence[ShareRecord]) -> list[ShareRecord]:
        """Add records of one partition that were acquired together.

        Return earlier deliveries of the same records, whose locks must have ended.
        """
        if not records:
            return []
        tp = records[0].topic_partition
        of_partition = self._records.setdefault(tp, {})
        arrived = {record.offset: record for record in records}
        ended: list[ShareRecord] = []
        if not of_partition.keys().isdisjoint(arrived):
            ended = [of_partition[offset] for offset in arrived if offset in of_partition]
            self._ended(tp, ended)
        of_partition |= arrived
        self._first_deadline = min(self._first_deadline, records[0].deadline)
        return ended

    def _ended(self, tp: TopicIdPartition, ended: Sequence[ShareRecord]) -> None:
        for record in ended:
            record.state = State.LOST
        gone = set(ended)
        waiting = [part for one in self._waiting.pop(tp, []) for part in apart(one, gone)]
        if rest := [one for one in waiting if gone.isdisjoint(one.records)]:
            self._waiting[tp] = rest
        for one in waiting:
            if not gone.isdisjoint(one.records):
                one.answer(LockLost(f"{one.records[0]!r}: it was handed out again"))

    def acknowledge(
        self, records: Iterable[ShareRecord], kind: AcknowledgeType, answered: tuple[Answered, ...], reason: str = ""
    ) -> None:
        """Queue acknowledgements for the next request: neighbours with the same `answered` are joined, except renewals.

        A waiting renewal is replaced by an acknowledgement that ends the lock.
        """
        run: list[ShareRecord] = []
        following, partition, topic_id = -1, -1, b""
        for record in records:
            if kind is not RENEW:
                record.state = State.SETTLING
            offset = record.offset
            if (
                offset != following
                or record.partition != partition
                or record.topic_id is not topic_id  # an equal one makes another run, which is joined to this one
                or kind is RENEW
            ):
                if run:
                    self._acknowledge_run(run, kind, answered, reason)
                run, partition, topic_id = [], record.partition, record.topic_id
            run.append(record)
            following = offset + 1
        if run:
            self._acknowledge_run(run, kind, answered, reason)

    def _acknowledge_run(
        self, run: list[ShareRecord], kind: AcknowledgeType, answered: tuple[Answered, ...], reason: str
    ) -> None:
        waiting = self._waiting.setdefault(run[0].topic_partition, [])
        first, last = run[0].offset, run[-1].offset
        if waiting and waiting[-1].goes_on(first, kind, answered, reason):
            waiting[-1].records += run
            waiting[-1].last = last
        else:
            waiting.append(Waiting(first, last, kind, run, answered, reason))

    def acknowledge_range(
        self, tp: TopicIdPartition, first: int, last: int, kind: AcknowledgeType
    ) -> list[ShareRecord]:
        """Acknowledge offsets that were acquired without records; both ends are included.

        Return earlier deliveries of them, as `add` does.
        """
        of_partition = self._records.get(tp, {})
        fewer = range(first, last + 1) if last - first < len(of_partition) else sorted(of_partition)
        ended = [of_partition[offset] for offset in fewer if first <= offset <= last and offset in of_partition]
        if ended:
            self._ended(tp, ended)
            for record in ended:
                del of_partition[record.offset]
        self._waiting.setdefault(tp, []).append(Waiting(first, last, kind))
        return ended

    def take(self) -> Portion:
        """Return the acknowledgements of the next request, {} for none: at most MAX_BATCHES for its partitions
        together.
        """
        if self._again:
            return self._again.popleft()
        room = MAX_BATCHES
        portion: Portion = {}
        for tp in list(self._waiting):
            waiting = last_of_each(self._waiting.pop(tp))
            portion[tp] = waiting[:room]
            if waiting[room:]:
                self._waiting[tp] = waiting[room:]
            room -= len(portion[tp])
            if room <= 0:
                break
        return portion

    def put_back(self, portion: Portion) -> None:
        """Queue the acknowledgements of a request again, before all others."""
        self._again.appendleft(portion)

    def halve(self, tp: TopicIdPartition, waiting: list[Waiting]) -> bool:
        """Queue each half of a refused list as a request of its own; return False for one that cannot be halved.

        For one record without a lock, a broker undoes all acknowledgements of the partition.
        """
        if len(waiting) == 1 and (count := len(waiting[0].records)) > 1:
            waiting = [waiting[0].part(0, count // 2), waiting[0].part(count // 2, count)]
        if len(waiting) < 2:
            return False
        middle = len(waiting) // 2
        self._again.appendleft({tp: waiting[middle:]})
        self._again.appendleft({tp: waiting[:middle]})
        return True

    def done(self, tp: TopicIdPartition, waiting: Iterable[Waiting], now: float) -> None:
        """Note the written acknowledgements: renewed locks begin again, the other records are no longer held."""
        of_partition = self._records.get(tp, {})
        for one in waiting:
            held = [record for record in one.records if record.state is not State.LOST]
            if one.kind is RENEW:
                for record in held:
                    record.deadline = now + self.lock_s
            else:
                for record in held:
                    record.state = State.DONE
                    of_partition.pop(record.offset, None)
            one.answer(None)

    def failed(self, tp: TopicIdPartition, waiting: Iterable[Waiting], error: ClientError) -> None:
        """Note refused acknowledgements.

        With LockLost the records are lost; otherwise they may be acknowledged again.
        """
        of_partition = self._records.get(tp, {})
        for one in waiting:
            for record in one.records:
                if record.state is State.LOST:
                    continue
                if isinstance(error, LockLost):
                    record.state = State.LOST
                    of_partition.pop(record.offset, None)
                elif record.state is State.SETTLING and one.kind is not RENEW:
                    record.state = State.IN_HAND
                    record.later_ms = 0
            one.answer(error)

    def lose(self, error: LockLost, partitions: Iterable[TopicIdPartition] | None = None) -> list[ShareRecord]:
        """Drop the locks on these partitions (None: on all), and their unsent acknowledgements.

        Return the records that were held.
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
        """Remove records that were not handed out and whose locks have ended: they are delivered again."""
        if now < self._first_deadline:
            return []
        gone = [record for record in self if record.state is State.BUFFERED and record.deadline <= now]
        for record in gone:
            record.state = State.LOST
            del self._records[record.topic_partition][record.offset]
        return gone

    def to_renew(self, now: float, longest_s: float, polled_at: float) -> list[ShareRecord]:
        """Return records whose lock is half over, each once.

        They are renewed for at most `longest_s` since they were handed out, or since the last request for records.
        """
        if due_until(now, self.lock_s) < self._earliest(now):
            return []
        waiting = {record for of_partition in self._waiting.values() for one in of_partition for record in one.records}
        return [
            record
            for record in self
            if record.state in (State.IN_HAND, State.BUFFERED)
            and is_due(record.deadline, self.lock_s, now)
            and now - (record.held_since or polled_at) < longest_s
            and record not in waiting
        ]

    def next_renewal(self, now: float) -> float | None:
        """Return when `to_renew` or `lapsed` may next have records, or an earlier time; None without records."""
        earliest = self._earliest(now)
        return None if earliest == math.inf else max(now, renewal_time(earliest, self.lock_s))

    def _earliest(self, now: float) -> float:
        """Return a time before which no lock ends; exact if that time is near."""
        if self._first_deadline <= due_until(now, self.lock_s):  # that record may be finished by now, or renewed
            self._first_deadline = min((one.deadline for one in self if one.deadline > now), default=math.inf)
        return self._first_deadline
