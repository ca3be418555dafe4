"""One seed's world: a whole broker but its sockets, on virtual time and a disk in memory, with members that misbehave.

Requests go to the handlers as values. Everything that happens comes from the seed; `transcript` tells it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Final, TypeVar

from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.context import RequestContext
from shareq.broker.coordinators import replay_log
from shareq.broker.endpoint import Endpoint
from shareq.broker.environment import Environment
from shareq.broker.meta_db import MemoryMetaDb, PutConfig, ResourceName
from shareq.broker.metadata import NewTopic
from shareq.broker.pending import Pending
from shareq.broker.share_partitions import LeaderState
from shareq.coordinator.share.keys import SharePartitionKey, partition_for
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.simulation.ledger import InvariantBroken, Ledger
from tests.simulation.member import Member
from tests.support.mem_fs import CrashModel, MemFs, SimulatedCrash
from tests.support.virtual_clock import VirtualClock

R = TypeVar("R", bound=Message)

GROUP: Final = "group"
TOPIC: Final = "topic"
PARTITIONS: Final = 2
MEMBERS: Final = 3
STEPS: Final = 60
LOCK_MS: Final = 1_000


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


class World:
    """`run` once; raises InvariantBroken, or whatever the broker let escape."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self.transcript = [f"seed {seed}"]
        self.model = rng.choice(list(CrashModel))
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(rng.random()))
        self.db = MemoryMetaDb()
        self.earliest = rng.random() < 0.7
        self.mode = rng.choice((0, 0, 1))
        limit = rng.randint(2, 5)
        self.snapshot_every = rng.choice((0, 2, 500))
        self.properties = {
            "log.dirs": "data",
            "offsets.topic.num.partitions": "1",
            "share.coordinator.state.topic.num.partitions": "2",
            "share.coordinator.state.topic.segment.bytes": str(rng.choice((400, 2_000, 1 << 20))),
            "share.coordinator.snapshot.update.records.per.snapshot": str(self.snapshot_every),
            "group.share.delivery.count.limit": str(limit),
            "group.share.min.record.lock.duration.ms": str(LOCK_MS),
            "group.share.record.lock.duration.ms": str(LOCK_MS),
            "group.share.partition.max.record.locks": str(rng.choice((100, 2_000))),
        }
        if self.model is CrashModel.POWER_LOSS:
            self.properties["log.flush.interval.messages"] = "1"
        self.ledger = Ledger(limit, self.earliest)
        self.note(f"{self.model.name} earliest={self.earliest} mode={self.mode} {self.properties}")
        self.connections = 0
        self.values = 0
        self.crashes = 0
        self.topic_id = b""
        self.broker = self._boot()
        self._create_topic()
        self.members = [Member(self, f"m{index}") for index in range(MEMBERS)]

    def note(self, text: str) -> None:
        """Add to the transcript."""
        self.transcript.append(f"{self.clock.now_ms()}: {text}")

    # -- the broker's lives

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self.rng.random()), self.fs)
        config = BrokerConfig.load(self.properties)
        broker = Broker(env, config, self.db, endpoints={"PLAINTEXT": Endpoint(1, "127.0.0.1", 9092)})
        broker.start()
        return broker

    def _create_topic(self) -> None:
        segment = self.rng.choice((300, 1_500, 1 << 20))
        new = NewTopic(TOPIC, PARTITIONS, {"internal.segment.bytes": str(segment)})
        self.topic_id = self.broker.metadata.create_topic(new).topic_id
        reset = "earliest" if self.earliest else "latest"
        self.broker.metadata.alter_configs([PutConfig(ResourceName("group", GROUP), "share.auto.offset.reset", reset)])

    def crash(self, why: str) -> None:
        """The process or the machine dies here, and a broker starts on what is left. May die again while it starts."""
        self.crashes += 1
        self.note(f"CRASH ({self.model.name}): {why}")
        self.clock.drop_everything()
        for member in self.members:
            member.on_broker_lost()
        self.ledger.on_restart()
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
        self.check_persisted()

    def restart(self) -> None:
        """A clean stop and start."""
        self.note("restart")
        self.settle()
        self.broker.stop_waiting()
        self.settle()
        self.broker.close(clean=True)
        self.clock.drop_everything()
        for member in self.members:
            member.on_broker_lost()
        self.ledger.on_restart()
        try:
            self.broker = self._boot()
        except OSError as error:  # a fault that was planned: it refuses to start, and says why
            self.crash(f"start refused: {error}")
            return
        self.check_persisted()

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

    def produce(self) -> None:
        """One batch to one partition."""
        partition = self.rng.randrange(PARTITIONS)
        values = [b"%d" % (self.values + index) for index in range(self.rng.choice((1, 1, 3, 8)))]
        self.values += len(values)
        self.ledger.sent.update(values)
        batch = build_batch([RecordData(None, value) for value in values], timestamp_ms=self.clock.wall_ms())
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, bytes(batch))])
        pending = self.call("produce", ProduceRequest(None, -1, 1_000, [data]), 9, self.connect())

        def answered(response: Message) -> None:
            assert isinstance(response, ProduceResponse)
            row = response.responses[0].partition_responses[0]
            self.note(f"produced {len(values)} to {partition}: {ErrorCode(row.error_code).name} at {row.base_offset}")
            if row.error_code == ErrorCode.NONE:
                self.ledger.on_produced(partition, row.base_offset, values)

        pending.on_complete(answered)

    # -- what happens

    def run(self) -> None:
        """Live through the seed: random steps, then drain, then judge."""
        for _ in range(STEPS):
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
            self.produce()
        elif action < 0.80:
            rng.choice(self.members).act()
        elif action < 0.88:
            self.clock.advance(rng.choice((1, 50, LOCK_MS // 2, LOCK_MS + 1, 3_000)))
        elif action < 0.91:
            self.fs.crash_at = self.fs.steps + rng.randint(1, 12)
            self.note(f"will crash at disk step {self.fs.crash_at}")
        elif action < 0.93:
            raise SimulatedCrash
        elif action < 0.945:
            self.restart()
        elif action < 0.975:
            self._fail_writes()
        elif action < 0.985:
            self._truncate_log()
        else:
            self._fill_disk()

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
            return OSError(errno.EIO, "planned", path)

        self.fs.fail = fail

    def _fill_disk(self) -> None:
        self.note("the disk is nearly full")
        self.fs.space_left = self.rng.randint(0, 200)

    def _truncate_log(self) -> None:
        """DeleteRecords up to somewhere in the log."""
        log = self.broker.logs.get(TOPIC, self.rng.randrange(PARTITIONS))
        if log.high_watermark > log.log_start_offset:
            to = self.rng.randint(log.log_start_offset, log.high_watermark)
            self.note(f"log start of {log.partition} to {to}: {log.truncate_prefix(to)!r}")

    # -- judging

    def key(self, partition: int) -> SharePartitionKey:
        return SharePartitionKey(GROUP, self.topic_id, partition)

    def start_offset(self, partition: int) -> int:
        """The leader's start offset; 0 while nobody leads the share partition."""
        leader = self.broker.share_partitions.get(self.key(partition))
        return 0 if leader is None else leader.core.start_offset

    def look_inside(self) -> None:
        """What holds after every step."""
        for partition in range(PARTITIONS):
            leader = self.broker.share_partitions.get(self.key(partition))
            if leader is not None and leader.state is LeaderState.ACTIVE:
                self.ledger.on_start_offset(partition, leader.core.start_offset)

    def check_persisted(self) -> None:
        """Replaying the coordinator's log gives the live state, and its start offsets did not go back."""
        self.look_inside()
        partitions = self.broker.share_coordinator.partitions
        for partition in range(PARTITIONS if partitions.count else 0):
            key = self.key(partition)
            route = partition_for(key, partitions.count)
            live = partitions.get(route).shard
            log = self.broker.logs.get("__share_group_state", route)
            if log.refusal is not ErrorCode.NONE:
                continue  # offline after a failed sync; the next start tells
            settings = ShareCoordinatorSettings(snapshot_update_records_per_snapshot=self.snapshot_every)
            replayed = ShareCoordinatorShard(self.broker.metadata, self.clock.wall_ms, settings)
            replay_log(log, replayed, SHARE_STATE_SERDE)
            if _state(live, key) != _state(replayed, key):
                raise InvariantBroken(f"{key.text()}: live {_state(live, key)}, replayed {_state(replayed, key)}")
            state = live.state_of(key)
            if state is not None:
                self.ledger.on_persisted_start(partition, state.start_offset)

    def _drain(self) -> None:
        """No more faults: everything that is due must come out, be accepted, and stay so."""
        self.note("drain")
        self.fs.fail, self.fs.space_left, self.fs.crash_at = None, None, None
        self.crash("before the drain") if self.rng.random() < 0.5 else self._settled_restart()
        for member in self.members:
            member.disconnect()
        last = Member(self, "last")
        self.members = [last]
        idle = 0
        for _ in range(400):
            found = last.drain_once()
            self.clock.advance(1 if found else LOCK_MS + 1)
            self.settle()
            self.look_inside()
            idle = 0 if found else idle + 1
            if idle == 4:
                break
        else:
            raise InvariantBroken("the group never becomes idle")
        self.check_persisted()
        starts = {partition: self.broker.logs.get(TOPIC, partition).log_start_offset for partition in range(PARTITIONS)}
        self.ledger.check_all_finished(starts)
        self._check_log()

    def _settled_restart(self) -> None:
        try:
            self.restart()
        except SimulatedCrash:
            self.crash("before the drain")

    def _check_log(self) -> None:
        """Every answered record is in the log, as it was sent."""
        for partition in range(PARTITIONS):
            log = self.broker.logs.get(TOPIC, partition)
            produced = [offset for at, offset in self.ledger.produced if at == partition]
            if produced and max(produced) >= log.high_watermark:
                raise InvariantBroken(
                    f"partition {partition} ends at {log.high_watermark}, answered was {max(produced)}"
                )


def _state(shard: ShareCoordinatorShard, key: SharePartitionKey) -> object:
    state = shard.state_of(key)
    if state is None:
        return None
    return (
        state.state_epoch,
        state.leader_epoch,
        state.snapshot_epoch,
        state.start_offset,
        state.delivery_complete_count,
        [tuple(batch) for batch in combine(state.batches, state.start_offset)],
    )
