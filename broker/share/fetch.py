"""A share fetch in progress: it looks, reads and acquires; then it waits at the share partitions for records, until its
time is up.

Follows Apache Kafka 4.3.1's delayed share fetch, with four differences: a fetch that acquired nothing continues to wait
instead of returning an empty answer early; one whose topic is deleted is answered at once; rights are checked again
before records are acquired, not only on arrival; and a member that lets locks expire waits until its time is up, if
there are other members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.network.answer_budget import ROOM_WAIT_MS, AnswerBudget
from shareq.broker.share.core.dates import NOTHING_DATED
from shareq.broker.share.core.fetch_plan import slice_bounds, split_bytes
from shareq.broker.share.core.partition import AcquiredRange
from shareq.broker.share.core.values import NO_KEYS
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.share.ports import NotHereYet
from shareq.coordinator.ports import IsolationLevel, MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcquireMode

MOST_BYTES: Final = 8 * 1024 * 1024
"""The most bytes of records read in one turn of the loop, which takes 4 ms. A larger record batch is read whole."""
_NEWS: Final = 500  # share partitions with news that one look takes, 3 µs each, 30 µs with records


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
    """A partition to fetch, in order. `topic` is None if it cannot be fetched at all; `error` is the reason then."""

    topic_id: bytes
    partition: int
    topic: str | None
    error: ErrorCode = ErrorCode.NONE


class FetchedPartition(NamedTuple):
    """The result for one partition. `records` are whole batches around the acquired ranges, never null: librdkafka
    rejects a whole answer with null.

    Neither an error nor records: the partition was looked at, and had nothing to acquire. `rounded`: with order by key,
    the number of records that the fetch may acquire in all, rounded up to the size of a record batch of which it
    acquired a part; else 0. `last_read`: with order by key, the last offset (inclusive) of the read; else -1.
    """

    topic_id: bytes
    partition: int
    error: ErrorCode
    records: bytes | memoryview = b""
    acquired: Sequence[AcquiredRange] = ()
    rounded: int = 0
    last_read: int = -1

    @property
    def says_something(self) -> bool:
        """True if the result has an error or acquired records, so that a waiting client must be answered."""
        return self.error is not ErrorCode.NONE or len(self.acquired) > 0


class ShareFetch:
    """One ShareFetch's search for records. The caller calls `start` or `wait` once, and `cancel` when its connection
    has closed.

    The isolation level is the group's when the fetch arrives; a later change applies to the next ShareFetch. `refuse`
    returns why records of a topic may not be handed out now, NONE if they may; it is None where every client may have
    them. `everything` has all share partitions of a large session, which wants only some of them. Those with new
    records are looked at, too, and new records there also end the wait.
    """

    __slots__ = (
        "_after",
        "_asked",
        "_awaited",
        "_began_ns",
        "_being_read",
        "_clock",
        "_committed",
        "_everything",
        "_expected",
        "_expired",
        "_host",
        "_leaders",
        "_manager",
        "_open",
        "_params",
        "_passed_over",
        "_refuse",
        "_refused",
        "_room_timer",
        "_takes_nothing",
        "_timer",
        "_waited_ns",
        "_wanted",
        "group_id",
        "is_eager",
        "member_id",
        "pending",
    )

    def __init__(
        self,
        host: ShareFetchHost,
        isolation_level: IsolationLevel,
        params: ShareFetchParams,
        wanted: Sequence[WantedPartition],
        refuse: Callable[[str], ErrorCode] | None = None,
        everything: Sequence[SharePartitionLeader] = (),
    ) -> None:
        self._everything = everything
        self._host = host
        self._clock = host.env.clock
        self._manager = host.partitions
        self._params = params
        self._wanted = wanted
        self._refuse = refuse
        self._leaders: list[SharePartitionLeader] = []
        self._refused: list[FetchedPartition] = []
        self._asked: set[SharePartitionLeader] | None = None  # to write their start offsets, once in a fetch
        self._timer: TimerHandle | None = None
        self._room_timer: TimerHandle | None = None
        self._being_read: list[Pending[None]] | None = None  # of this attempt
        self._awaited: set[Pending[None]] | None = None  # the ones of all attempts after which this fetch looks again
        self._passed_over = False  # records that no member gets: there may be others behind them
        self._committed = isolation_level is IsolationLevel.READ_COMMITTED
        self._expired = params.max_wait_ms <= 0
        self.group_id = params.group_id
        self.member_id = params.member_id
        self._began_ns = self._clock.now_ns()
        self._waited_ns: int | None = None  # until a partition was open to this fetch
        self._takes_nothing = params.max_records <= 0 or params.max_bytes < 0
        self.is_eager = params.min_bytes <= 0 or self._takes_nothing
        self._expected: list[tuple[SharePartitionLeader, int]] | None = None  # with order by key, and how many bytes
        self._open = 0  # partitions that were open to the last attempt
        self._after: Pending[Any] | None = None
        self.pending: Pending[list[FetchedPartition]] = Pending()

    def start(self, after: Pending[Any] | None = None) -> Pending[list[FetchedPartition]]:
        """Try at once, or when `after` completes; wait at the share partitions if nothing is found."""
        params, now_ms = self._params, self._clock.now_ms()
        for wanted in self._wanted:
            if wanted.topic is None:
                self._refused.append(FetchedPartition(wanted.topic_id, wanted.partition, wanted.error))
            elif params.max_records and params.max_bytes:  # negative values load and look, too
                key = SharePartitionKey(params.group_id, wanted.topic_id, wanted.partition)
                self._leaders.append(leader := self._manager.get_or_load(key, wanted.topic))
                leader.visited(params.member_id, now_ms)
        self._expired = self._expired or not self._leaders
        if after is not None and not after.done and self._leaders:
            self._after = after
            self._park()
            after.on_complete(lambda _: self._clock.call_soon(self._look_behind))  # older fetches look first
        elif self._can_only_wait():
            self._open, self._waited_ns = len(self._leaders), 0
            self._park()
        elif not self._attempt(last=self._expired):
            self._park()
        return self.pending

    def _can_only_wait(self) -> bool:
        """Return True if an attempt is certain to find nothing."""
        if self._expired or self._refused or self._everything or self._refuse is not None or self.is_eager:
            return False
        return self._are_quiet()

    def _are_quiet(self) -> bool:
        return all(leader.is_quiet for leader in self._leaders)

    def wait(self, leaders: Sequence[SharePartitionLeader]) -> Pending[list[FetchedPartition]]:
        """Wait at share partitions that are all quiet, without an attempt.

        The fetch has no other partitions; the result leaves out those that stay quiet.
        """
        params, now_ms = self._params, self._clock.now_ms()
        self._leaders = list(leaders)
        self._open, self._waited_ns = len(leaders), 0
        for leader in leaders:
            leader.left = False
            leader.visited(params.member_id, now_ms)
        self._park()
        return self.pending

    def cancel(self) -> None:
        """Stop waiting without an answer: nothing is acquired for a client that has disconnected."""
        self._unpark(self._everything or self._leaders)

    def finish(self) -> None:
        """Stop waiting and answer without records, because the broker stops."""
        if not self.pending.done:
            self._complete(self._errors(self._leaders))

    # -- waiting

    def _park(self) -> None:
        purgatory = self._manager.purgatory
        purgatory.park(self, self._everything or self._leaders)
        for leader in self._everything:
            if leader.has_news:  # more than could be looked at in one turn
                purgatory.wake(leader)
        self._timer = self._clock.call_at(self._clock.now_ms() + self._params.max_wait_ms, self._on_expiry)

    def _unpark(self, leaders: Sequence[SharePartitionLeader]) -> None:
        self._manager.purgatory.unpark(self, leaders)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._room_timer is not None:
            self._room_timer.cancel()
            self._room_timer = None

    def look_again(self, at: SharePartitionLeader | None = None) -> None:
        """Look for records again, because there may be some now. In a large session, look only at the share partition
        `at`.
        """
        if not self.pending.done and not self._is_held:
            self._attempt(last=self._expired, at=at if self._everything and not self._expired else None)

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
            if not self._wanted and self._are_quiet():
                self._complete([])
            elif not self._is_held:
                self._attempt(last=True)

    def _complete(self, fetched: list[FetchedPartition]) -> bool:
        in_many = bool(self._everything) and self._manager.purgatory.is_parked(self)
        self._unpark(() if self._everything else self._leaders)
        self._count(fetched)
        self.pending.complete(fetched)
        if in_many:  # after the answer, which is sent in the same turn
            self._clock.call_soon(lambda: self._unpark(self._everything))
        if self._expected:
            self._expect_next()
        return True

    def _expect_next(self) -> None:
        from shareq.broker.share.ordered.ahead import NextFetch  # for groups with order by key alone

        params, ahead = self._params, self._manager.ahead()
        for leader, max_bytes in self._expected or ():
            ahead.expect(leader, NextFetch(params.mode, params.batch_size, params.max_records, max_bytes))

    def _count(self, fetched: Sequence[FetchedPartition]) -> None:
        """Count this fetch as answered, and as failed for topics with an error."""
        counters, metadata = self._manager.counters, self._host.metadata
        failed = {each.topic_id for each in fetched if each.error is not ErrorCode.NONE}
        topics: set[bytes] = set()
        of_known_group = False
        for leader in self._leaders:
            topics.add(leader.key.topic_id)
            of_known_group = of_known_group or leader.key in counters.partitions
        if self._everything:
            topics.update(each.topic_id for each in fetched if each.acquired)
        topics = {topic_id for topic_id in topics if metadata.topic_by_id(topic_id) is not None}
        counters.fetched(topics, topics & failed)
        if of_known_group:
            group = counters.of_group(self._params.group_id)
            group.answered += 1
            group.ratio_sum += self._open / (len(self._wanted) or len(self._leaders))
            waited_ns = self._waited_ns
            group.waited_ns += self._clock.now_ns() - self._began_ns if waited_ns is None else waited_ns

    # -- one attempt

    def _attempt(self, *, last: bool, at: SharePartitionLeader | None = None) -> bool:
        """Fetch the partitions that can be fetched, or only `at` if it is given. Return True if the fetch is
        answered.
        """
        if self._refuse is not None and not self._leave_refused(self._refuse):
            return self._complete(self._errors(()))
        leaders, ready = self._looked_at() if at is None else self._looked_at_alone(at)
        for leader in leaders:
            last = last or leader.fails_waiters
        if ready and self._waited_ns is None:
            self._waited_ns = self._clock.now_ns() - self._began_ns
        if self._asked and any(leader in self._asked and leader.start_write_id is not None for leader in leaders):
            return False  # even if the time is up, wait a moment: then all partitions are answered together
        if not ready:
            return self._complete(self._errors(leaders)) if last else False
        if self._params.max_bytes < 0:  # Apache Kafka cannot split it between the partitions
            failed = [self._failed(leader, ErrorCode.UNKNOWN_SERVER_ERROR) for leader in ready]
            return self._complete(self._errors(leaders) + failed)
        if not self._may_bring(ready):
            for leader in ready:
                leader.may_have_records()  # notes that there is no news
            if last or self._params.min_bytes <= 0:
                return self._complete(self._errors(leaders) + [self._nothing(each) for each in ready])
            return False
        return self._read_and_answer(leaders, ready, last=last)

    def _read_and_answer(
        self, leaders: Sequence[SharePartitionLeader], ready: list[SharePartitionLeader], *, last: bool
    ) -> bool:
        """Read from the share partitions that are open, if the answer budget has room. Return True if the fetch is
        answered.
        """
        if not self._host.answer_budget.has_room():
            if not last and self._room_timer is None:
                self._room_timer = self._clock.call_at(self._clock.now_ms() + ROOM_WAIT_MS, self._look_for_room)
            return self._complete(self._errors(leaders)) if last else False
        max_bytes = min(self._params.max_bytes, self._host.answer_budget.grant(), MOST_BYTES)
        budgets = split_bytes(max_bytes, len(ready), self._host.env.rng)
        if self._params.min_bytes > 1 and not last and not self._enough_bytes(ready, budgets):
            return False
        fetched = self._fetch(ready, budgets)
        if self._being_read is not None and self._waits_for_disk(fetched):
            return False
        if last or self.is_eager or any(each.says_something for each in fetched):
            return self._complete(self._errors(leaders) + fetched)
        if self._passed_over:
            self._passed_over = False
            self._clock.call_soon(self._look_behind)
        return False

    def _waits_for_disk(self, fetched: list[FetchedPartition]) -> bool:
        """Return True if nothing was found but a thread is reading records from the disk. The fetch looks again when it
        has, even if its time is up.
        """
        being_read, self._being_read = self._being_read, None
        if not being_read or any(each.says_something for each in fetched):
            return False
        if self._awaited is None:
            self._awaited = set()
        for arrived in being_read:
            if arrived not in self._awaited:
                self._awaited.add(arrived)
                arrived.on_complete(partial(self._arrived, arrived))
        return True

    def _arrived(self, arrived: Pending[None], _value: None) -> None:
        if self._awaited is not None:
            self._awaited.discard(arrived)
        self._clock.call_soon(self._look_behind)

    def _is_here(self, leader: SharePartitionLeader, _value: None) -> None:
        """Let all fetches of the share partition look again: the one that asked for these records may have been
        answered, or its client may have disconnected.
        """
        self._manager.purgatory.wake(leader)

    def _looked_at(self) -> tuple[Sequence[SharePartitionLeader], list[SharePartitionLeader]]:
        """Return the share partitions to look at, and those of them that are open."""
        ready = [leader for leader in self._leaders if self._is_ready(leader)]
        self._open = len(ready)
        if not self._everything:
            return self._leaders, ready
        news = self._with_news()
        return [*self._leaders, *news], ready + [leader for leader in news if self._is_ready(leader)]

    def _looked_at_alone(
        self, at: SharePartitionLeader
    ) -> tuple[list[SharePartitionLeader], list[SharePartitionLeader]]:
        may_have = self._may_have(at)
        return [at] if may_have else [], [at] if may_have and self._is_ready(at) else []

    def _with_news(self) -> list[SharePartitionLeader]:
        """Return other share partitions with news since a look there found nothing, as many as one turn can take."""
        looked_at = set(self._leaders)
        news = (each for each in self._everything if each.has_news and each not in looked_at)
        return [each for each in islice(news, _NEWS) if self._manager.may_find(each) and self._may_have(each)]

    def _may_have(self, leader: SharePartitionLeader) -> bool:
        return self._refuse is None or self._refuse(leader.topic) is ErrorCode.NONE

    def _leave_refused(self, refuse: Callable[[str], ErrorCode]) -> bool:
        """Drop partitions whose records may no longer be handed out. Return False if none is left."""
        errors = {topic: refuse(topic) for topic in {leader.topic for leader in self._leaders}}
        gone = [leader for leader in self._leaders if errors[leader.topic] is not ErrorCode.NONE]
        for leader in gone:
            leader.waiters.pop(self, None)
            self._refused.append(self._failed(leader, errors[leader.topic]))
        if gone:
            self._leaders = [leader for leader in self._leaders if errors[leader.topic] is ErrorCode.NONE]
        return not gone or len(self._leaders) > 0

    def _is_ready(self, leader: SharePartitionLeader) -> bool:
        if not leader.hands_out:
            return False
        self._manager.refresh_settings(leader)
        core = leader.core
        if not core.start_is_durable and self._wants_records_of(leader):
            if self._asked is None:
                self._asked = set()
            elif leader in self._asked:
                return False  # it could not be written
            self._asked.add(leader)  # only with something to acquire: an idle subscription writes nothing
            return self._manager.start_is_durable(leader)
        if not core.can_acquire() or not self._manager.may_hand_out(leader):
            return False
        return self._expired or not leader.is_for_others(self._params.member_id, self._clock.now_ms())

    def _errors(self, leaders: Sequence[SharePartitionLeader]) -> list[FetchedPartition]:
        failed = [self._failed(each, each.error) for each in leaders if each.error is not ErrorCode.NONE]
        return self._refused + failed

    @staticmethod
    def _failed(leader: SharePartitionLeader, error: ErrorCode) -> FetchedPartition:
        return FetchedPartition(leader.key.topic_id, leader.key.partition, error)

    @staticmethod
    def _nothing(leader: SharePartitionLeader) -> FetchedPartition:
        return FetchedPartition(leader.key.topic_id, leader.key.partition, ErrorCode.NONE)

    def _wants_records_of(self, leader: SharePartitionLeader) -> bool:
        """Return True if the leader has records that this fetch would acquire."""
        return not self._takes_nothing and leader.core.next_fetch_offset() < leader.upto(committed=self._committed)

    def _may_bring(self, ready: list[SharePartitionLeader]) -> bool:
        """Return True if a read would find records or an error, or move a start offset."""
        for leader in ready:
            log, offset = leader.log, leader.core.next_fetch_offset()
            if offset < leader.upto(committed=self._committed) or offset < log.log_start_offset or log.refusal:
                return True
        return False

    def _enough_bytes(self, ready: list[SharePartitionLeader], budgets: list[int]) -> bool:
        needed = min(self._params.min_bytes, sum(budgets))
        for leader, budget in zip(ready, budgets, strict=True):
            log, offset, upto = leader.log, leader.core.next_fetch_offset(), leader.upto(committed=self._committed)
            if offset < log.log_start_offset or log.refusal:
                return True  # the read finds out, and moves the start offset or returns the error
            if offset < upto:
                if not log.in_one_segment(offset, upto):
                    return True  # as Apache Kafka: a read ends with its segment, whatever is awaited
                needed -= min(log.available_bytes(offset, upto), budget)
                if needed <= 0:
                    return True
        return False

    def _fetch(self, ready: list[SharePartitionLeader], budgets: list[int]) -> list[FetchedPartition]:
        """Return a result for each of the partitions in `ready`, in order, including those without records, as Apache
        Kafka does.
        """
        fetched: list[FetchedPartition] = []
        asked, taken, rounded = self._params.max_records, 0, 0
        for leader, budget in zip(ready, budgets, strict=True):
            left = asked - taken
            if left <= 0 and taken < rounded and self._is_alone_at(leader):
                left = min(asked, rounded - taken)
            result = self._fetch_one(leader, budget, left) if left > 0 else None
            if result is not None and result.last_read >= 0 and leader.core.settings.order_look_ahead:
                result = self._with_those_behind(result, leader, budget, left)
            fetched.append(result or self._nothing(leader))
            if result is not None:
                taken += sum([last - first + 1 for first, last, _ in result.acquired])
                rounded = max(rounded, result.rounded)
        return fetched

    def _is_alone_at(self, leader: SharePartitionLeader) -> bool:
        """Return True if no other fetch waits for records of the share partition."""
        return all(waiter is self for waiter in leader.waiters)

    def _fetch_one(self, leader: SharePartitionLeader, max_bytes: int, max_records: int) -> FetchedPartition | None:
        """Read from one share partition and acquire records. Return None if nothing was acquired and there is
        no error.
        """
        core, log, params = leader.core, leader.log, self._params
        now = self._clock.now_ms()
        offset, read = self._read(leader, max_bytes, max_records)
        if read is ErrorCode.OFFSET_OUT_OF_RANGE:
            core.on_log_start_moved(log.log_start_offset, now)
            offset, read = self._read(leader, max_bytes, max_records)
            if read is ErrorCode.OFFSET_OUT_OF_RANGE:
                return None  # beyond the log end: never shown to a consumer
        if not isinstance(read, ReadResult):
            return self._not_read(leader, offset, read)
        leader.unreadable = None
        kept = self._manager.kept_reads() if core.settings.order_by_key else None
        dated = self._manager.dated(leader, read) if core.settings.delay.enabled else NOTHING_DATED
        ttl = core.settings.ttl
        expired = self._manager.expired(leader, read, offset) if ttl.ms or ttl.by_header else ()
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
            waiting=dated.waiting,
            expired=expired,
        )
        if expired:
            self._manager.reject_expired(leader, expired)
        if dated.refused and acquired:
            acquired = self._manager.refuse(leader, params.member_id, acquired, dated.refused)
        if kept is not None and core.take_freed():
            self._manager.purgatory.wake(leader)
        self._manager.arm(leader)
        if not acquired:
            self._passed_over = self._passed_over or core.next_fetch_offset() != offset
            return None
        rounded, last_read = 0, -1
        if kept is not None:
            last_read = read.batches[-1].last_offset
            self._expected = [*(self._expected or ()), (leader, max_bytes)]
            records = kept.cut_to(leader.key, read, acquired)
            if params.mode is AcquireMode.BATCH_OPTIMIZED:
                rounded = kept.size_of_last(read, acquired)
        else:
            records = _whole_batches(read, acquired)
        self._host.answer_budget.note_read(len(read.records))
        log.traffic.bytes_out += len(records)
        topic_id, partition = leader.key.topic_id, leader.key.partition
        return FetchedPartition(
            topic_id, partition, ErrorCode.NONE, records, acquired, rounded=rounded, last_read=last_read
        )

    def _not_read(
        self, leader: SharePartitionLeader, offset: int, read: ErrorCode | NotHereYet | BeingRead
    ) -> FetchedPartition | None:
        """Return the error of a read at `offset`; None if the fetch has to wait for the records, or skips them."""
        if isinstance(read, NotHereYet):
            leader.has_news = False  # the source announces it
            return None
        if isinstance(read, BeingRead):
            self._being_read = [*(self._being_read or ()), read.arrived]
            leader.has_news = False
            read.arrived.on_complete(partial(self._is_here, leader))
            return None
        if read is ErrorCode.CORRUPT_MESSAGE and self._manager.skips_unreadable(
            leader, offset, leader.upto(committed=self._committed)
        ):
            self._passed_over = True
            return None
        return self._failed(leader, read)

    def _with_those_behind(
        self, front: FetchedPartition, leader: SharePartitionLeader, max_bytes: int, max_records: int
    ) -> FetchedPartition:
        """Add what is available behind the record batches of the first read.

        Otherwise a key with many records would hold up the others whenever its next record is at the front.
        """
        core, bytes_left = leader.core, max_bytes - len(front.records)
        records_left = max_records - sum(last - first + 1 for first, last, _ in front.acquired)
        if bytes_left <= 0 or records_left <= 0 or not core.can_acquire():
            return front
        more = self._fetch_one(leader, bytes_left, records_left) if core.next_fetch_offset() > front.last_read else None
        if more is None or more.error is not ErrorCode.NONE:
            return front
        return front._replace(
            records=b"".join((front.records, more.records)),
            acquired=[*front.acquired, *more.acquired],
            rounded=max(front.rounded, more.rounded),
        )

    def _read(
        self, leader: SharePartitionLeader, max_bytes: int, max_records: int
    ) -> tuple[int, ReadResult | ErrorCode | NotHereYet | BeingRead]:
        """Return the next fetch offset, and the records from there on, as far as they may be acquired, or why they
        cannot be read.
        """
        core, log, upto = leader.core, leader.log, leader.upto(committed=self._committed)
        if not core.settings.order_by_key:
            offset, until = core.next_read(self._params.mode, max_records)
            return offset, log.read(offset, max_bytes, upto=upto, max_records=until - offset + 1)
        kept = self._manager.kept_reads()
        offset, until = core.next_read(self._params.mode, max_records, kept.known_until(leader.key))
        return offset, kept.read(leader, offset, until, upto, max_bytes)


def _whole_batches(read: ReadResult, acquired: Sequence[AcquiredRange]) -> bytes | memoryview:
    start, end = slice_bounds(read.batches, acquired)
    records = memoryview(read.records)[start:end]
    # a view would keep all bytes of the read in memory, even those that are not sent
    return records if len(records) * 2 >= len(read.records) else bytes(records)
