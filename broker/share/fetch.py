"""A share fetch under way: look, read, acquire; park on the share partitions until there is something or time is up.

Follows Apache Kafka 4.3.1's delayed share fetch, with four differences: a fetch that acquired nothing goes on waiting
instead of answering empty-handed before its time; one whose topic is deleted answers so at once, not at its time;
rights are looked at again before anything is acquired, not only when the request comes; and a member that lets locks
run out waits until its time is up, if there are others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.network.answer_budget import ROOM_WAIT_MS, AnswerBudget
from shareq.broker.share.core.fetch_plan import slice_bounds, split_bytes
from shareq.broker.share.core.partition import AcquiredRange
from shareq.broker.share.core.values import NO_KEYS
from shareq.broker.share.leader import LeaderState, SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.share.ports import NotHereYet
from shareq.coordinator.ports import IsolationLevel, MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode


class ShareFetchHost(NamedTuple):
    """The parts of this broker that every share fetch uses."""

    env: Environment
    partitions: SharePartitionManager
    metadata: MetadataImage
    answer_budget: AnswerBudget


class ShareFetchParams(NamedTuple):
    """The parameters of one ShareFetch. Byte limits are totals over all its partitions; `max_records` too."""

    group_id: str
    member_id: str
    mode: AcquireMode
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int


class WantedPartition(NamedTuple):
    """A partition to fetch, in order. `topic` is None, and `error` says why, when it cannot be fetched at all."""

    topic_id: bytes
    partition: int
    topic: str | None
    error: ErrorCode = ErrorCode.NONE


class FetchedPartition(NamedTuple):
    """The fetch's result for one partition. `records` are whole batches around the acquired ranges, never null:
    librdkafka rejects the whole answer otherwise.

    Without an error and without records: the partition was looked at, and had nothing to acquire. `rounded`: with order
    by key, how many records the fetch may have in all, because a record batch that it got some of has so many.
    """

    topic_id: bytes
    partition: int
    error: ErrorCode
    records: bytes | memoryview = b""
    acquired: Sequence[AcquiredRange] = ()
    rounded: int = 0

    @property
    def says_something(self) -> bool:
        """True if a waiting client wants to know of it."""
        return self.error is not ErrorCode.NONE or len(self.acquired) > 0


class ShareFetch:
    """One ShareFetch's search for records. `start` once; `cancel` when its connection is gone.

    The isolation level is the group's when the fetch came: one that is changed meanwhile holds for the next ShareFetch.
    `refuse` returns why records of a topic may not be handed out now, NONE when they may; None where every client may
    have them.
    """

    def __init__(
        self,
        host: ShareFetchHost,
        isolation_level: IsolationLevel,
        params: ShareFetchParams,
        wanted: Sequence[WantedPartition],
        refuse: Callable[[str], ErrorCode] | None = None,
    ) -> None:
        self._host = host
        self._clock = host.env.clock
        self._manager = host.partitions
        self._params = params
        self._wanted = wanted
        self._refuse = refuse
        self._leaders: list[SharePartitionLeader] = []
        self._refused: list[FetchedPartition] = []
        self._asked: set[SharePartitionLeader] = set()  # to write their start offsets, once in a fetch
        self._timer: TimerHandle | None = None
        self._room_timer: TimerHandle | None = None
        self._passed_over = False  # records that no member gets: there may be others behind them
        self._committed = isolation_level is IsolationLevel.READ_COMMITTED
        self._expired = params.max_wait_ms <= 0
        self.group_id = params.group_id
        self.member_id = params.member_id
        self._began_ns = self._clock.now_ns()
        self._waited_ns: int | None = None  # until a partition was open to this fetch
        self._takes_nothing = params.max_records <= 0 or params.max_bytes < 0
        self._expected: list[tuple[SharePartitionLeader, int]] = []  # with order by key, and how many bytes
        self._open = 0  # partitions that were open to the last attempt
        self._after: Pending[Any] | None = None
        self.pending: Pending[list[FetchedPartition]] = Pending()

    def start(self, after: Pending[Any] | None = None) -> Pending[list[FetchedPartition]]:
        """Try at once, or when `after` has come; park when there is nothing yet."""
        params = self._params
        for wanted in self._wanted:
            if wanted.topic is None:
                self._refused.append(FetchedPartition(wanted.topic_id, wanted.partition, wanted.error))
            elif params.max_records and params.max_bytes:  # negative ones load and look, too
                key = SharePartitionKey(params.group_id, wanted.topic_id, wanted.partition)
                self._leaders.append(leader := self._manager.get_or_load(key, wanted.topic))
                leader.visited(params.member_id, self._clock.now_ms())
        self._expired = self._expired or not self._leaders
        if after is not None and not after.done and self._leaders:
            self._after = after
            self._park()
            after.on_complete(lambda _: self._clock.call_soon(self._look_behind))  # others have waited longer
        elif not self._attempt(last=self._expired):
            self._park()
        return self.pending

    def cancel(self) -> None:
        """Stop waiting without an answer: nothing is acquired for a client that is gone."""
        self._unpark()

    def finish(self) -> None:
        """Stop waiting and answer without records: the broker stops."""
        if not self.pending.done:
            self._complete(self._errors())

    # -- waiting

    def _park(self) -> None:
        self._manager.purgatory.park(self, self._leaders)
        self._timer = self._clock.call_at(self._clock.now_ms() + self._params.max_wait_ms, self._on_expiry)

    def _unpark(self) -> None:
        self._manager.purgatory.unpark(self, self._leaders)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._room_timer is not None:
            self._room_timer.cancel()
            self._room_timer = None

    def look_again(self) -> None:
        """Look again for records: there may be some on one of the share partitions."""
        if not self.pending.done and not self._is_held:
            self._attempt(last=self._expired)

    @property
    def _is_held(self) -> bool:
        return self._after is not None and not self._after.done

    def _look_behind(self) -> None:
        if self._manager.purgatory.is_parked(self):  # and not answered, or its client gone, meanwhile
            self._attempt(last=self._expired)

    def _look_for_room(self) -> None:
        self._room_timer = None
        self._look_behind()

    def _on_expiry(self) -> None:
        self._timer = None
        if not self.pending.done:
            self._manager.counters.expired_fetches += not self._expired  # else there was nothing to wait for
            self._expired = True
            if not self._is_held:
                self._attempt(last=True)

    def _complete(self, fetched: list[FetchedPartition]) -> bool:
        self._unpark()
        self._count({each.topic_id for each in fetched if each.error is not ErrorCode.NONE})
        self.pending.complete(fetched)
        if self._expected:
            self._expect_next()
        return True

    def _expect_next(self) -> None:
        from shareq.broker.share.ordered.ahead import NextFetch  # for groups with order by key alone

        params, ahead = self._params, self._manager.ahead()
        for leader, max_bytes in self._expected:
            ahead.expect(leader, NextFetch(params.mode, params.batch_size, params.max_records, max_bytes))

    def _count(self, failed: set[bytes]) -> None:
        """Count this fetch as answered, with an error in the failed topics."""
        counters, metadata = self._manager.counters, self._host.metadata
        topics = {leader.key.topic_id for leader in self._leaders}
        topics = {topic_id for topic_id in topics if metadata.topic_by_id(topic_id) is not None}
        counters.fetched(topics, topics & failed)
        if any(leader.key in counters.partitions for leader in self._leaders):
            group = counters.of_group(self._params.group_id)
            group.answered += 1
            group.ratio_sum += self._open / len(self._wanted)
            waited_ns = self._waited_ns
            group.waited_ns += self._clock.now_ns() - self._began_ns if waited_ns is None else waited_ns

    # -- one attempt

    def _attempt(self, *, last: bool) -> bool:
        """Fetch what can be fetched; True when the fetch is answered."""
        if self._refuse is not None and not self._leave_refused(self._refuse):
            return self._complete(self._errors())
        last = last or any(leader.is_gone for leader in self._leaders)
        ready = [leader for leader in self._leaders if self._is_ready(leader)]
        self._open = len(ready)
        if ready and self._waited_ns is None:
            self._waited_ns = self._clock.now_ns() - self._began_ns
        if any(leader in self._asked and leader.start_write_id is not None for leader in self._leaders):
            return False  # a moment, also when time is up: then all partitions are answered together
        if not ready:
            return self._complete(self._errors()) if last else False
        if self._params.max_bytes < 0:  # Apache Kafka cannot split it between the partitions
            failed = [self._failed(leader, ErrorCode.UNKNOWN_SERVER_ERROR) for leader in ready]
            return self._complete(self._errors() + failed)
        if not self._host.answer_budget.has_room():
            if not last and self._room_timer is None:
                self._room_timer = self._clock.call_at(self._clock.now_ms() + ROOM_WAIT_MS, self._look_for_room)
            return self._complete(self._errors()) if last else False
        max_bytes = min(self._params.max_bytes, self._host.answer_budget.grant())
        budgets = split_bytes(max_bytes, len(ready), self._host.env.rng)
        if not last and not self._enough_bytes(ready, budgets):
            return False
        fetched = self._fetch(ready, budgets)
        if last or self._params.min_bytes <= 0 or self._takes_nothing or any(each.says_something for each in fetched):
            return self._complete(self._errors() + fetched)
        if self._passed_over:
            self._passed_over = False
            self._clock.call_soon(self._look_behind)
        return False

    def _leave_refused(self, refuse: Callable[[str], ErrorCode]) -> bool:
        """Give up what may not be read any more; False when that was all there was."""
        errors = {topic: refuse(topic) for topic in {leader.topic for leader in self._leaders}}
        gone = [leader for leader in self._leaders if errors[leader.topic] is not ErrorCode.NONE]
        for leader in gone:
            leader.waiters.pop(self, None)
            self._refused.append(self._failed(leader, errors[leader.topic]))
        if gone:
            self._leaders = [leader for leader in self._leaders if errors[leader.topic] is ErrorCode.NONE]
        return not gone or len(self._leaders) > 0

    def _is_ready(self, leader: SharePartitionLeader) -> bool:
        if leader.state is not LeaderState.ACTIVE:
            return False
        self._manager.refresh_settings(leader)
        core = leader.core
        if not core.start_is_durable and not self._takes_nothing and core.next_fetch_offset() < self._upto(leader):
            if leader in self._asked:
                return False  # it could not be written
            self._asked.add(leader)  # only now that there is something to acquire: an idle subscription writes nothing
            return self._manager.start_is_durable(leader)
        if not core.can_acquire() or not self._manager.may_hand_out(leader):
            return False
        return self._expired or not leader.is_for_others(self._params.member_id, self._clock.now_ms())

    def _errors(self) -> list[FetchedPartition]:
        failed = [self._failed(each, each.error) for each in self._leaders if each.error is not ErrorCode.NONE]
        return self._refused + failed

    @staticmethod
    def _failed(leader: SharePartitionLeader, error: ErrorCode) -> FetchedPartition:
        return FetchedPartition(leader.key.topic_id, leader.key.partition, error)

    def _upto(self, leader: SharePartitionLeader) -> int:
        return leader.upto(committed=self._committed)

    def _enough_bytes(self, ready: list[SharePartitionLeader], budgets: list[int]) -> bool:
        needed = min(self._params.min_bytes, sum(budgets))
        if needed <= 0:
            return True
        for leader, budget in zip(ready, budgets, strict=True):
            log, offset, upto = leader.log, leader.core.next_fetch_offset(), self._upto(leader)
            if offset < log.log_start_offset or log.refusal:
                return True  # the read finds out, and moves the start offset or returns the error
            if offset < upto:
                if needed > 1 and not log.in_one_segment(offset, upto):
                    return True  # as Apache Kafka: a read ends with its segment, whatever is awaited
                needed -= min(log.available_bytes(offset, upto), budget) if needed > 1 else 1
                if needed <= 0:
                    return True
        return False

    def _fetch(self, ready: list[SharePartitionLeader], budgets: list[int]) -> list[FetchedPartition]:
        """Return a result for each partition that was open, in order: as by Apache Kafka also for those without
        records.
        """
        fetched: list[FetchedPartition] = []
        asked, taken, rounded = self._params.max_records, 0, 0
        for leader, budget in zip(ready, budgets, strict=True):
            left = asked - taken
            if left <= 0 and taken < rounded and self._is_alone_at(leader):
                left = min(asked, rounded - taken)
            result = self._fetch_one(leader, budget, left) if left > 0 else None
            fetched.append(result or FetchedPartition(leader.key.topic_id, leader.key.partition, ErrorCode.NONE))
            if result is not None:
                taken += sum([last - first + 1 for first, last, _ in result.acquired])
                rounded = max(rounded, result.rounded)
        return fetched

    def _is_alone_at(self, leader: SharePartitionLeader) -> bool:
        """Return True if no other fetch waits for records of the share partition."""
        return all(waiter is self for waiter in leader.waiters)

    def _fetch_one(self, leader: SharePartitionLeader, max_bytes: int, max_records: int) -> FetchedPartition | None:
        """Read and acquire from one share partition; None when nothing was acquired."""
        core, log, params = leader.core, leader.log, self._params
        now = self._clock.now_ms()
        offset, read = self._read(leader, max_bytes, max_records)
        if read is ErrorCode.OFFSET_OUT_OF_RANGE:
            core.on_log_start_moved(log.log_start_offset, now)
            offset, read = self._read(leader, max_bytes, max_records)
            if read is ErrorCode.OFFSET_OUT_OF_RANGE:
                return None  # beyond the log end: never shown to a consumer
        if read is ErrorCode.CORRUPT_MESSAGE and self._manager.skips_unreadable(leader, offset, self._upto(leader)):
            self._passed_over = True
            return None
        if isinstance(read, NotHereYet):
            return None  # the source wakes this fetch
        if isinstance(read, ErrorCode):
            return self._failed(leader, read)
        leader.unreadable = None
        kept = self._manager.kept_reads() if core.settings.order_by_key else None
        acquired = core.acquire(
            member_id=params.member_id,
            mode=params.mode,
            batch_size=params.batch_size,
            max_records=max_records,
            fetch_offset=offset,
            batches=read.batches,
            now_ms=now,
            aborted=leader.aborted(read) if self._committed else (),
            keys=NO_KEYS if kept is None else kept.key_hashes(read, core.keys_wanted(read.batches)),
        )
        if kept is not None and core.take_freed():
            self._manager.purgatory.wake(leader)
        self._manager.arm(leader)
        if not acquired:
            self._passed_over = self._passed_over or core.next_fetch_offset() != offset
            return None
        rounded = 0
        if kept is not None:
            self._expected.append((leader, max_bytes))
            records = kept.cut_to(leader.key, read, acquired)
            if params.mode is AcquireMode.BATCH_OPTIMIZED:
                rounded = kept.size_of_last(read, acquired)
        else:
            records = _whole_batches(read, acquired)
        self._host.answer_budget.note_read(len(read.records))
        log.traffic.bytes_out += len(records)
        return FetchedPartition(leader.key.topic_id, leader.key.partition, ErrorCode.NONE, records, acquired, rounded)

    def _read(
        self, leader: SharePartitionLeader, max_bytes: int, max_records: int
    ) -> tuple[int, ReadResult | ErrorCode | NotHereYet]:
        """Return the next fetch offset, and what the log has from there on, as far as it may be acquired."""
        core, log, upto = leader.core, leader.log, self._upto(leader)
        if not core.settings.order_by_key:
            offset, until = core.next_read(self._params.mode, max_records)
            return offset, log.read(offset, max_bytes, upto=upto, max_records=until - offset + 1)
        kept = self._manager.kept_reads()
        offset, until = core.next_read(self._params.mode, max_records, kept.known_until(leader.key))
        return offset, kept.read(leader, offset, until, upto, max_bytes)


def _whole_batches(read: ReadResult, acquired: Sequence[AcquiredRange]) -> bytes | memoryview:
    start, end = slice_bounds(read.batches, acquired)
    records = memoryview(read.records)[start:end]
    # what was read and is not sent would stay in memory with a view
    return records if len(records) * 2 >= len(read.records) else bytes(records)
