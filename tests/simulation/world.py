"""One seed's world: a whole broker but its sockets, on virtual time and a disk in memory, with clients that misbehave.

Requests go to the handlers as values. Everything that happens comes from the seed; `transcript` tells it.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Final

from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.context import RequestContext
from shareq.broker.endpoint import Endpoint
from shareq.broker.environment import Environment
from shareq.broker.meta_db import MemoryMetaDb, PutConfig, ResourceName
from shareq.broker.metadata import NewTopic
from shareq.broker.pending import Pending
from shareq.broker.share.partition import SharePartition
from shareq.broker.share_partitions import LeaderState
from shareq.broker.topic_names import SHARE_GROUP_STATE
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import Message
from tests.simulation.audit import audit, check_locks
from tests.simulation.ledger import GroupLedger, InvariantBroken, TopicLedger
from tests.simulation.member import Member
from tests.simulation.producer import TOPIC, Producer
from tests.support.mem_fs import CrashModel, MemFs, SimulatedCrash
from tests.support.virtual_clock import VirtualClock

STEPS: Final = 60
LOCKS_MS: Final = (1_000, 1_500, 3_000)
SESSION_TIMEOUT_MS: Final = 5_000
MOST_PARTITIONS: Final = 4


class SimConnection:
    """What handlers see of a connection."""

    def __init__(self, connection_id: int) -> None:
        self.id = connection_id
        self.client_host = "127.0.0.1"
        self.listener = "PLAINTEXT"
        self.closed = False
        self._on_close: list[Callable[[], None]] = []

    def on_close(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._on_close.append(callback)
        return lambda: self._on_close.remove(callback) if callback in self._on_close else None

    def lost(self) -> None:
        """The client is gone."""
        self.closed = True
        callbacks, self._on_close = self._on_close, []
        for callback in callbacks:
            callback()


class Group:
    """A share group on the topic: its settings, its members, and the ledger kept of it."""

    def __init__(self, world: World, group_id: str) -> None:
        rng = world.rng
        self.id = group_id
        self.mode = rng.choice((0, 0, 1))
        self.lock_ms = LOCKS_MS[0]
        self._lock_before_ms = self.lock_ms
        self._lock_changed_at = -1
        self.ledger = GroupLedger(world.topic, earliest=rng.random() < 0.7, limit=rng.randint(2, 5))
        self.members: list[Member] = []
        self.cores: dict[int, object] = {}  # the leaders that were seen last
        self.assigned: set[int] = set()  # partitions that a member was ever told to consume

    def change_lock(self, lock_ms: int, now_ms: int) -> None:
        """Holds for what is acquired from now on."""
        self._lock_before_ms, self.lock_ms, self._lock_changed_at = self.lock_ms, lock_ms, now_ms

    def shortest_lock_ms(self, now_ms: int) -> int:
        """How long what was acquired at `now_ms` is locked at least."""
        return min(self.lock_ms, self._lock_before_ms) if now_ms == self._lock_changed_at else self.lock_ms


class World:
    """`run` once; raises InvariantBroken, or whatever the broker let escape."""

    def __init__(self, seed: int, steps: int = STEPS) -> None:
        self.rng = rng = Random(seed)
        self.steps = steps
        self.transcript = [f"seed {seed}"]
        self.seen: Counter[str] = Counter()
        self.model = rng.choice(list(CrashModel))
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(rng.random()))
        self.db = MemoryMetaDb()
        self.topic = TopicLedger()
        self.partitions = 2
        self.groups = [Group(self, name) for name in ("group", "other")[: rng.choice((1, 1, 2))]]
        self.properties = self._properties()
        self.note(f"{self.model.name} {self.properties}")
        self.connections = 0
        self.values = 0
        self.crashes = 0
        self.topic_id = b""
        self.broker = self._boot()
        self._create_topic()
        self.producers = [Producer(self, -1), Producer(self, 17)]
        for group in self.groups:
            group.members = [Member(self, group, f"{group.id}-{index}") for index in range(rng.choice((2, 3)))]

    def note(self, text: str) -> None:
        """Add to the transcript."""
        self.transcript.append(f"{self.clock.now_ms()}: {text}")

    def _properties(self) -> dict[str, str]:
        rng = self.rng
        properties = {
            "log.dirs": "data",
            "offsets.topic.num.partitions": "1",
            "share.coordinator.state.topic.num.partitions": "2",
            "share.coordinator.state.topic.segment.bytes": str(rng.choice((400, 2_000, 1 << 20))),
            "share.coordinator.snapshot.update.records.per.snapshot": str(rng.choice((0, 2, 500))),
            "group.share.min.record.lock.duration.ms": str(LOCKS_MS[0]),
            "group.share.record.lock.duration.ms": str(LOCKS_MS[0]),
            "group.share.min.heartbeat.interval.ms": "1",
            "group.share.heartbeat.interval.ms": "1000",
            "group.share.min.session.timeout.ms": "1",
            "group.share.session.timeout.ms": str(SESSION_TIMEOUT_MS),
            "group.share.partition.max.record.locks": str(rng.choice((100, 2_000))),
        }
        if self.model is CrashModel.POWER_LOSS:
            properties["log.flush.interval.messages"] = "1"
        return properties

    # -- the broker's lives

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self.rng.random()), self.fs)
        config = BrokerConfig.load(self.properties)
        broker = Broker(env, config, self.db, endpoints={"PLAINTEXT": Endpoint(1, "127.0.0.1", 9092)})
        broker.start()
        return broker

    def _create_topic(self) -> None:
        segment = self.rng.choice((300, 1_500, 1 << 20))
        new = NewTopic(TOPIC, self.partitions, {"internal.segment.bytes": str(segment)})
        self.topic_id = self.broker.metadata.create_topic(new).topic_id
        for group in self.groups:
            reset = "earliest" if group.ledger.earliest else "latest"
            self._configure(group, "share.auto.offset.reset", reset)
            self._configure(group, "share.delivery.count.limit", str(group.ledger.limit))

    def _configure(self, group: Group, name: str, value: str) -> None:
        self.note(f"{group.id}: {name}={value}")
        self.broker.metadata.alter_configs([PutConfig(ResourceName("group", group.id), name, value)])

    def crash(self, why: str) -> None:
        """The process or the machine dies here, and a broker starts on what is left. May die again while it starts."""
        self.crashes += 1
        self.seen[f"crashes, {self.model.name}"] += 1
        self.note(f"CRASH ({self.model.name}): {why}")
        self._everybody_loses_the_broker()
        self.fs.crash(self.model, self.rng)
        self.fs.space_left = None
        if self.rng.random() < 0.1:
            self.fs.crash_at = self.fs.steps + self.rng.randint(1, 10)
        try:
            self.broker = self._boot()
        except SimulatedCrash:
            self.crash("while starting")
            return
        self.fs.crash_at = None
        self.audit()

    def restart(self) -> None:
        """A clean stop and start."""
        self.note("restart")
        self.settle()
        self.broker.stop_waiting()
        self.settle()
        self.broker.close(clean=True)
        self._everybody_loses_the_broker()
        self.seen["restarts"] += 1
        try:
            self.broker = self._boot()
        except OSError as error:  # a fault that was planned: it refuses to start, and says why
            self.crash(f"start refused: {error}")
            return
        self.audit()

    def _everybody_loses_the_broker(self) -> None:
        self.clock.drop_everything()
        for producer in self.producers:
            producer.on_broker_lost()
        for group in self.groups:
            group.ledger.on_restart()
            for member in group.members:
                member.on_broker_lost()

    # -- requests

    def connect(self) -> SimConnection:
        self.connections += 1
        return SimConnection(self.connections)

    def call(self, module: str, request: Message, version: int, connection: SimConnection) -> Pending[Message]:
        """Hand a request to its handler."""
        handler = import_module(f"shareq.broker.handlers.{module}")
        context = RequestContext(self.broker, connection, version, "sim")  # type: ignore[arg-type]
        answer = handler.handle(context, request)
        if isinstance(answer, Pending):
            return answer
        pending: Pending[Message] = Pending()
        pending.complete(answer)
        return pending

    # -- what happens

    def run(self) -> None:
        """Live through the seed: random steps, then drain, then judge."""
        for _ in range(self.steps):
            try:
                self._step()
                if self.rng.random() < 0.6:
                    self.settle()
                else:
                    self.clock.run_tick()
                self.look_inside()
            except SimulatedCrash:
                self.crash("at a disk operation")
        self._drain()

    def settle(self) -> None:
        """Until nothing is under way."""
        self.clock.run_until_idle()

    def _step(self) -> None:
        rng = self.rng
        action = rng.random()
        if action < 0.25:
            rng.choice(self.producers).act()
        elif action < 0.77:
            rng.choice(rng.choice(self.groups).members).act()
        elif action < 0.85:
            self._advance(rng.choice((1, 50, LOCKS_MS[0] // 2, LOCKS_MS[0] + 1, 3_001, SESSION_TIMEOUT_MS + 1)))
        elif action < 0.88:
            self.fs.crash_at = self.fs.steps + rng.randint(1, 12)
            self.note(f"will crash at disk step {self.fs.crash_at}")
        elif action < 0.90:
            raise SimulatedCrash
        elif action < 0.915:
            self.restart()
        elif action < 0.945:
            self._fail_writes()
        elif action < 0.955:
            self._fill_disk()
        else:
            rng.choice((self._truncate_log, self._change_config, self._grow_topic, self._settled_audit))()

    def _advance(self, ms: int) -> None:
        self.clock.advance(ms)
        now = self.clock.now_ms()
        for group in self.groups:
            for partition in range(self.partitions):
                leader = self.broker.share_partitions.get(self.key(group, partition))
                if leader is not None and leader.state is LeaderState.ACTIVE:
                    check_locks(leader.core.snapshot(), now, partition)

    def _fail_writes(self) -> None:
        """The next few disk operations of one kind fail."""
        kind = self.rng.choice(("write", "write", "write", "sync"))
        left = self.rng.randint(1, 2)
        self.note(f"the next {left} {kind}s fail")

        def fail(step: str, path: str) -> OSError | None:
            nonlocal left
            if step != kind or left <= 0:
                return None
            left -= 1
            self.seen[f"{kind}s that failed"] += 1
            return OSError(errno.EIO, "planned", path)

        self.fs.fail = fail

    def _fill_disk(self) -> None:
        self.note("the disk is nearly full")
        self.seen["full disks"] += 1
        self.fs.space_left = self.rng.randint(0, 200)

    def _truncate_log(self) -> None:
        """DeleteRecords up to somewhere in the log."""
        log = self.broker.logs.get(TOPIC, self.rng.randrange(self.partitions))
        if log.high_watermark > log.log_start_offset:
            to = self.rng.randint(log.log_start_offset, log.high_watermark)
            self.note(f"log start of {log.partition} to {to}: {log.truncate_prefix(to)!r}")
            self.seen["truncations"] += 1

    def _change_config(self) -> None:
        """Another delivery limit or lock duration for a group: counts from now on."""
        group = self.rng.choice(self.groups)
        self.seen["config changes"] += 1
        if self.rng.random() < 0.5:
            limit = self.rng.randint(2, 5)
            self._configure(group, "share.delivery.count.limit", str(limit))
            group.ledger.on_limit(limit)
        else:
            lock_ms = self.rng.choice(LOCKS_MS)
            self._configure(group, "share.record.lock.duration.ms", str(lock_ms))
            group.change_lock(lock_ms, self.clock.now_ms())

    def _grow_topic(self) -> None:
        if self.partitions < MOST_PARTITIONS:
            self.partitions += 1
            self.note(f"the topic grows to {self.partitions} partitions")
            self.seen["partitions added"] += 1
            self.broker.metadata.create_partitions({TOPIC: self.partitions})

    # -- judging

    def key(self, group: Group, partition: int) -> SharePartitionKey:
        return SharePartitionKey(group.id, self.topic_id, partition)

    def cores(self, group: Group) -> dict[int, SharePartition]:
        """The group's share partitions in memory."""
        leaders = self.broker.share_partitions
        found = {partition: leaders.get(self.key(group, partition)) for partition in range(self.partitions)}
        return {partition: leader.core for partition, leader in found.items() if leader is not None}

    def start_offset(self, group: Group, partition: int) -> int:
        """The leader's start offset; 0 while nobody leads the share partition."""
        leader = self.broker.share_partitions.get(self.key(group, partition))
        return 0 if leader is None else leader.core.start_offset

    def knows_what_is_durable(self) -> bool:
        """Not after a failed sync: a failed state write may turn out to be durable at the next start."""
        partitions = self.broker.share_coordinator.partitions
        logs = (self.broker.logs.get(SHARE_GROUP_STATE, route) for route in range(partitions.count))
        return all(log.refusal is ErrorCode.NONE for log in logs)

    def look_inside(self) -> None:
        """What holds after every step."""
        for group in self.groups:
            for partition in range(self.partitions):
                leader = self.broker.share_partitions.get(self.key(group, partition))
                if leader is None or leader.state is not LeaderState.ACTIVE:
                    continue
                if group.cores.get(partition) is not leader.core:
                    group.cores[partition] = leader.core
                    group.ledger.on_leader_gone(partition)
                group.ledger.on_start_offset(partition, leader.core.start_offset)

    def audit(self) -> None:
        """Nothing is under way: memory and disk agree."""
        self.look_inside()
        audit(self)

    def _settled_audit(self) -> None:
        self.settle()
        self.audit()

    # -- the end

    def _drain(self) -> None:
        """No more faults: everything that is due must come out, be accepted, and stay so."""
        self.note("drain")
        self.fs.fail, self.fs.space_left, self.fs.crash_at = None, None, None
        self._begin_drain()
        for producer in self.producers:
            producer.finish()
        self.settle()
        for group in self.groups:
            self._drain_group(group)
        self.audit()
        starts = {
            partition: self.broker.logs.get(TOPIC, partition).log_start_offset for partition in range(self.partitions)
        }
        for group in self.groups:
            group.ledger.check_all_finished(starts)
            self.seen.update(group.ledger.seen)
        unanswered = [batch for producer in self.producers for batch in producer.unanswered.values()]
        if unanswered:
            raise InvariantBroken(f"never answered: {unanswered}")

    def _begin_drain(self) -> None:
        how = self.rng.random()
        try:
            if how < 0.4:
                self.crash("before the drain")
            elif how < 0.7 or any(log.refusal is not ErrorCode.NONE for log in self.broker.logs.logs()):
                self.restart()
        except SimulatedCrash:
            self.crash("before the drain")

    def _drain_group(self, group: Group) -> None:
        last = Member(self, group, f"{group.id}-last")
        last.drain_once()  # before the others go, so that the group's share partitions stay in memory
        for member in group.members:
            member.disconnect()
        group.members = [last]
        idle = 0
        for _ in range(400):
            found = last.drain_once()
            self._advance(1 if found else LOCKS_MS[-1] + 1)
            self.settle()
            self.look_inside()
            idle = 0 if found else idle + 1
            if idle == 4:
                break
        else:
            raise InvariantBroken("the group never becomes idle")
        if len(last.assigned) != self.partitions:
            raise InvariantBroken(f"the last member is assigned {last.assigned} of {self.partitions} partitions")
