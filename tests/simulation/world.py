"""One seed's world: a whole broker but its sockets, on virtual time and a disk in memory, with clients that misbehave.

Requests go to the handlers as values. Everything that happens comes from the seed; `transcript` has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final

from devtools.in_memory.disk.page_cache import PageCache
from devtools.in_memory.mem_fs import CrashModel, MemFs, SimulatedCrash
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder_ground import DataFolderGround, FolderContext, data_folder_of
from shareq.broker.dispatch.coroutines import plain_handler
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.effort import EFFORT
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.manager import DamagedFolderError
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.network.answers import Buffer
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.services import Services
from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.leader import LeaderState
from shareq.broker.topics.endpoint import Endpoint
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.routing import group_partition_for, share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.primitives import Message
from tests.simulation.admin import Administrator
from tests.simulation.audit import audit, check_locks
from tests.simulation.breakers import Breakers
from tests.simulation.convergence import converge
from tests.simulation.dates import Dates
from tests.simulation.deaths import Queues
from tests.simulation.drain import drain
from tests.simulation.expiries import Expiries
from tests.simulation.faults import Faults
from tests.simulation.group import LOCKS_MS, Group
from tests.simulation.jobs.jobs import Jobs
from tests.simulation.jobs.settings import changed_job_settings, first_job_settings, last_epoch
from tests.simulation.key_ledger import is_about_order, key_of
from tests.simulation.key_shares import KeyShares, is_about_key_shares
from tests.simulation.ledger import InvariantBroken
from tests.simulation.member import Member
from tests.simulation.metadata_disk import MetadataDisk
from tests.simulation.pauses import Pauses
from tests.simulation.producer import Producer
from tests.simulation.redrives import Redrives
from tests.simulation.replayed import replayed_groups
from tests.simulation.settings import SESSION_TIMEOUTS_MS, changed_settings, disk_settings, first_settings
from tests.simulation.storage import Promise, SeedIsOver, Storage, is_about_storage
from tests.simulation.topics import TOPIC, Slot, Topics
from tests.simulation.transactions import TransactionalProducer
from tests.simulation.waits import STEPS_MS, backoff_of, check_waits
from tests.support.coroutines import whole

STEPS: Final = 60
JOBS_EVERY: Final = 5
FIRST_COLD_SEED: Final = 100
COLD_EVERY: Final = 9
COLD_AMONG: Final = 5


def is_about_jobs(seed: int) -> bool:
    """Return True for seeds about consumer groups and transactions, one in five; the others are about share groups."""
    return seed % JOBS_EVERY == JOBS_EVERY - 1


class _NoSocket:
    """The outlet of a connection whose requests and answers are values."""

    def write(self, buffers: list[Buffer]) -> None:
        raise AssertionError("answers are values here")

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def is_cold(seed: int) -> bool:
    """Return True if records of this seed's logs may be on the disk alone, so that reads of them need threads."""
    return seed >= FIRST_COLD_SEED and seed % COLD_EVERY == COLD_AMONG


def _no_frames(_connection: Connection) -> Callable[[bytes], None]:
    def refuse(_frame: bytes) -> None:
        raise AssertionError("requests are values here")

    return refuse


class _Context(FolderContext):
    """A request whose faults end the seed, also in later turns, and whose answers the world examines."""

    __slots__ = ()

    def failed(self, error: Exception) -> None:
        raise error


class World:
    """The world. Call `run` once; it raises InvariantBroken, or any exception that leaves the broker."""

    def __init__(self, seed: int, steps: int = STEPS) -> None:
        EFFORT.spent = 0  # one of the process: a world that died in a turn would shorten the next one's
        self.rng = rng = Random(seed)
        self.steps = steps
        self.is_about_jobs = is_about_jobs(seed)
        self.is_about_order = is_about_order(seed) or is_about_key_shares(seed)
        self.transcript = [f"seed {seed}"]
        self.seen: Counter[str] = Counter()
        self.connections = 0
        self.model = rng.choice(list(CrashModel))
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(rng.random()))
        self.fs.loses_pages = is_about_storage(seed)
        self.fs.page_bytes = Random(seed).choice((64, 256, 4096))
        self.fs.drops_failed_syncs = self.fs.loses_pages and bool(seed // 10 % 2)
        if is_cold(seed):
            self.fs.page_cache = PageCache(Random(f"page cache {seed}"), misses=0.3, evicts=0.1)
        self.db = MemoryMetaDb()
        self.backoff = backoff_of(seed)
        self._clock_steps = Random(f"clock {seed}")
        self.metadata_disk = MetadataDisk(self.clock, self.db, self.seen, seed)
        self.storage = Storage(self, seed)
        self.faults = Faults(self)
        self.dates = Dates(self, seed)
        self.expiries = Expiries(self, seed)
        self.breakers = Breakers(self, seed)
        self.shares = KeyShares(self, seed)
        self.topics = Topics(self)
        self.topics.records.expires = self.expiries.may_have_expired
        names = () if self.is_about_jobs else ("group", "other")[: rng.choice((1, 1, 2))]
        self.groups = [Group(self, name) for name in names]
        self.jobs = Jobs(self)
        self.queues = Queues(self, seed)
        self.redrives = Redrives(self, seed)
        self.pauses = Pauses(self, seed)
        self.properties = first_settings(rng, synced=self.syncs_every_append) | disk_settings(seed)
        self.properties |= self.queues.properties()
        if self.is_about_jobs:
            self.properties |= first_job_settings(rng)
        self.config = BrokerConfig.load(self.properties)
        self.note(f"{self.model.name} {self.properties}")
        self.values = 0
        self.broker = self._boot()
        self.topics.create(TOPIC)
        self.redrives.begin()
        for group in self.groups:
            group.configure()
        self.admin = Administrator(self)
        self.producers = [Producer(self, -1), Producer(self, 17)]
        transactional = 0 if self.storage.on else rng.choice((0, 1, 2))
        self.transactional = [TransactionalProducer(self, 40), TransactionalProducer(self, 41)][:transactional]
        for group in self.groups:
            group.members = [Member(self, group, f"{group.id}-{index}") for index in range(rng.choice((2, 3)))]
        if self.is_about_jobs:
            self.jobs.begin()
        self.actions, self.weights = self._actions()

    def key_of(self, value: bytes) -> bytes | None:
        return key_of(value) if self.is_about_order else None

    def note(self, text: str) -> None:
        self.transcript.append(f"{self.clock.now_ms()}: {text}")

    @property
    def services(self) -> Services:
        return self.broker.services

    @property
    def folder(self) -> DataFolderGround:
        return data_folder_of(self.broker.services)

    # -- the broker's lives

    def _boot(self) -> Broker:
        self._set_clock()
        env = Environment(self.clock, Random(self.rng.random()), self.fs)
        kept, endpoint = self.metadata_disk.open(env), Endpoint(1, "127.0.0.1", 9092)
        ground = DataFolderGround(env, self.config, kept.meta_db, cluster_id=kept.cluster_id)
        broker = Broker(env, self.config, ground, endpoints={"PLAINTEXT": endpoint})
        broker.start()
        return broker

    def _set_clock(self) -> None:
        step = self._clock_steps.choice(STEPS_MS) if self.backoff.initial_ms or self.dates.on else 0
        if step:
            self.note(f"the wall clock is set by {step} ms")
            self.seen["wall clocks that were set"] += 1
            self.expiries.on_clock_set(step)
            self.clock.step_wall(step)
            self.dates.on_clock_set(step)
            for group in self.groups:
                group.ledger.waits.on_clock_set(step)

    def crash(self, why: str) -> None:
        """Kill the process or the machine, and start a broker on the files that remain. The start may be killed,
        too.
        """
        self.seen[f"crashes, {self.model.name}"] += 1
        self.note(f"CRASH ({self.model.name}): {why}")
        self._everybody_loses_the_broker()
        synced = self.storage.synced()
        self.fs.crash(self.model, Random(self.rng.random()) if self.storage.on else self.rng)
        self.metadata_disk.crash(self.model, Random(self.fs.steps))
        self.storage.strike_at_rest(synced)
        self.fs.space_left = None
        self.faults.clear_commits()
        if self.rng.random() < 0.1:
            self.fs.crash_at = self.fs.steps + self.rng.randint(1, 10)
        try:
            self.broker = self._boot()
        except SimulatedCrash:
            self.crash("while starting")
            return
        except DamagedFolderError:
            if self.storage.promise is not Promise.NOTHING:
                raise
            self.seen["starts refused after syncs that were lies"] += 1
            raise SeedIsOver from None
        if self.storage.promise is not Promise.ALL:
            self.storage.end_after_power_loss()
        self._started()

    def restart(self) -> None:
        self.note("restart")
        self.settle()
        self.broker.stop_waiting()
        self.settle()
        self.broker.close(clean=True)
        self.metadata_disk.close()
        self._everybody_loses_the_broker()
        self.seen["restarts"] += 1
        self.storage.strike_at_rest(self.storage.synced())
        if self.rng.random() < 0.3:
            self.properties |= changed_settings(self.rng)
            if self.is_about_jobs:
                self.properties |= changed_job_settings(self.rng)
            self.config = BrokerConfig.load(self.properties)
            self.note(f"other settings: {self.properties}")
            self.seen["restarts with other settings"] += 1
        try:
            self.broker = self._boot()
        except OSError as error:  # a fault that was planned: it refuses to start, and says why
            self.crash(f"start refused: {error}")
            return
        self._started()

    @property
    def syncs_every_append(self) -> bool:
        """True if everything is synced before it is answered.

        Worlds that may lose power do so, except those that test power losses without such syncs.
        """
        return self.model is CrashModel.POWER_LOSS and self.storage.promise is not Promise.WHAT_WAS_SYNCED

    def _started(self) -> None:
        self.fs.crash_at = None
        self.faults.on_broker_start()
        for group in self.groups:
            group.breaker.on_begun_again()
            group.adopt_settings()
            group.membership.on_broker_start(self.clock.now_ms(), self.session_timeout_ms)
        self.jobs.on_broker_start()
        self.topics.adopt()
        self.settle()
        self.audit()

    def _everybody_loses_the_broker(self) -> None:
        if self.fs.page_cache is not None:
            self.seen["reads that waited for the disk"] += len(self.fs.page_cache.loads)
            self.fs.page_cache.loads.clear()
        self.seen["passes of the cleaner"] += self.folder.logs.cleaner.passes
        self.seen["passes that were cut off"] += self.folder.logs.cleaner.busy
        self.clock.drop_everything()
        for producer in self.producers:
            producer.on_broker_lost()
        for transactional in self.transactional:
            transactional.on_broker_lost()
        for group in self.groups:
            group.ledger.on_restart()
            for member in group.members:
                member.on_broker_lost()
        self.jobs.on_broker_lost()

    def on_slot_gone(self, slot: Slot) -> None:
        self.topics.records.forget(slot.index)
        for group in self.groups:
            group.forget(slot.index)
        for producer in self.producers:
            producer.unanswered.pop(slot.index, None)

    # -- requests

    def connect(self) -> Connection:
        self.connections += 1
        return Connection(
            self.connections,
            "127.0.0.1",
            "PLAINTEXT",
            handler_for=_no_frames,
            call_soon=self.clock.call_soon,
            outlet=_NoSocket(),
            limits=RequestLimits(),
        )

    def call(self, api: str, request: Message, version: int, connection: Connection) -> Pending[Message]:
        context = _Context(self.services, connection, version, "sim")
        answer = plain_handler(HANDLERS[ApiKey[api.upper()]])(context, request)
        if isinstance(answer, Pending):
            return answer.then(lambda response: whole(response, version))
        pending: Pending[Message] = Pending()
        pending.complete(answer)
        return pending

    # -- what happens

    def run(self) -> None:
        """Run the seed: random steps, then drain, then judge."""
        with last_epoch(self.jobs.last_epoch), suppress(SeedIsOver):
            self._live()

    def _live(self) -> None:
        for _ in range(self.steps):
            try:
                self.rng.choices(self.actions, cum_weights=self.weights)[0]()
                if self.rng.random() < 0.6:
                    self.settle()
                else:
                    self.clock.run_tick()
                self.look_inside()
            except SimulatedCrash:
                self.crash("at a disk operation")
        drain(self)

    def settle(self) -> None:
        self.clock.run_until_idle()
        self.admin.look()
        self.breakers.check()

    def _all_producers(self) -> list[Producer | TransactionalProducer]:
        """Return all producers; plain ones twice, so that they act more often."""
        return [*self.producers, *self.producers, *self.transactional]

    def _actions(self) -> tuple[list[Callable[[], None]], list[float]]:
        """Return the possible actions, with cumulative weights: seeds favour consuming, what surrounds it, or jobs."""
        rng, faults = self.rng, self.faults
        table: tuple[tuple[Callable[[], None], float, float, float, float], ...] = (
            (lambda: rng.choice(self._all_producers()).act(), 25, 14, 22, 25),
            (lambda: rng.choice(rng.choice(self.groups).members).act(), 48, 24, 0, 40),
            (self._a_member_heartbeats, 3, 20, 0, 3),
            (self._let_time_pass, 8, 10, 0, 8),
            (faults.crash_soon, 3, 4, 3, 4),
            (self._die, 2, 2, 1.5, 3),
            (self.restart, 1.5, 2, 1.5, 3),
            (faults.fail_writes, 3, 3, 2, 3),
            (faults.fill_disk, 1, 0.7, 0.3, 0.3),
            (faults.commit_fails, 0.3, 1.5, 0.3, 0.3),
            (self._truncate_log, 1.2, 0.5, 0, 1.2),
            (lambda: rng.choice(self.groups).change_a_setting(), 1.2, 0.8, 0, 0),
            (self.topics.act, 1.2, 5, 0, 1.2),
            (self.admin.act, 1.2, 9, 0, 0),
            (self._converge, 0.4, 2.5, 0, 0.4),
            (self._let_the_cleaner_work, 2, 3, 4, 1),
            (self._settled_audit, 1, 1, 4, 2),
            (self.jobs.act, 0, 0, 65, 0),
            (self.jobs.let_time_pass, 0, 0, 9, 0),
            (self.jobs.trouble_at_an_end, 0, 0, 3, 0),
            (self.jobs.grow, 0, 0, 0.5, 0),
            (self.jobs.admin.change_a_topic, 0, 0, 1.2, 0),
            (self.jobs.admin.delete_offsets, 0, 0, 1.5, 0),
            (self.jobs.admin.delete_group, 0, 0, 1, 0),
            (self.jobs.admin.delete_records, 0, 0, 2, 0),
            (self.jobs.admin.let_offsets_expire, 0, 0, 1, 0),
            (self.storage.burst, 0, 0, 0, 8),
            (self.storage.strike, 0, 0, 0, 1.5),
            (self.jobs.converge, 0, 0, 0.7, 0),
            (self.queues.act, *(4 if self.queues.on else 0,) * 3, 0),
            (self.redrives.act, *(18 if self.redrives.on else 0,) * 3, 0),
            (self.pauses.act, *(6 if self.pauses.on else 0,) * 2, 0, 0),
        )
        column = 4 if self.storage.on else 3 if self.is_about_jobs else 1 + (rng.random() < 0.35)
        total, cumulated = 0.0, []
        for row in table:
            total += float(row[column])  # type: ignore[arg-type]
            cumulated.append(total)
        return [row[0] for row in table], cumulated

    def _a_member_heartbeats(self) -> None:
        self.rng.choice(self.rng.choice(self.groups).members).heartbeats.act()

    def _converge(self) -> None:
        if self.rng.random() < 0.4:
            self.topics.act()
        converge(self, self.rng.choice(self.groups))

    def _die(self) -> None:
        raise SimulatedCrash

    def _let_time_pass(self) -> None:
        ms = (1, 50, LOCKS_MS[0] // 2, LOCKS_MS[0] + 1, 3_001, SESSION_TIMEOUTS_MS[0] + 1)
        self.advance(self.rng.choice(ms))

    def advance(self, ms: int) -> None:
        """Let time pass: no lock outlives its deadline."""
        self.clock.advance(ms)
        self.jobs.look_at_groups()
        now = self.clock.now_ms()
        for group in self.groups:
            for slot in self.topics.live:
                leader = self.broker.services.share.partitions.get(self.key(group, slot))
                if leader is not None and leader.state is LeaderState.ACTIVE:
                    check_locks(leader.core.snapshot(), now, slot.index)
        if self.backoff.initial_ms or self.pauses.on or self.dates.on or self.shares.on:
            check_waits(self)

    def _let_the_cleaner_work(self) -> None:
        """Let the log cleaner work: a pass continues after pauses of a millisecond."""
        for _ in range(self.rng.randint(1, 60)):
            self.clock.advance(1)

    def _truncate_log(self) -> None:
        if self.topics.live:
            log = self.log(self.rng.choice(self.topics.live))
            if log.high_watermark > log.log_start_offset:
                to = self.rng.randint(log.log_start_offset, log.high_watermark)
                error = self.folder.logs.truncate_prefixes({log: to})[log]
                self.note(f"log start of {log.topic}-{log.partition} to {to}: {error!r}")
                self.seen["truncations"] += 1

    # -- looking inside

    @property
    def session_timeout_ms(self) -> int:
        return int(self.properties["group.share.session.timeout.ms"])

    def key(self, group: Group, slot: Slot) -> SharePartitionKey:
        return SharePartitionKey(group.id, slot.topic_id, slot.partition)

    @property
    def fed(self) -> list[Slot]:
        """The slots that producers write to: all except those that jobs copy to."""
        return self.topics.of(TOPIC) if self.is_about_jobs else self.topics.live

    def log(self, slot: Slot) -> PartitionLog:
        return self.folder.logs.get(slot.topic, slot.partition)

    def cores(self, group: Group) -> dict[int, SharePartition]:
        leaders = self.broker.services.share.partitions
        found = {slot.index: leaders.get(self.key(group, slot)) for slot in self.topics.live}
        return {index: leader.core for index, leader in found.items() if leader is not None}

    def start_offset(self, group: Group, index: int) -> int:
        """Return the leader's start offset; 0 while nobody leads the share partition."""
        leader = self.broker.services.share.partitions.get(self.key(group, self.topics.slots[index]))
        return 0 if leader is None else leader.core.start_offset

    def live_group(self, group_id: str) -> ShareGroup | None:
        partitions = self.broker.services.groups.coordinator.partitions
        if not partitions.count:
            return None
        return partitions.get(group_partition_for(group_id, partitions.count)).shard.share_group(group_id)

    def initialized(self, group: Group) -> list[Slot]:
        """Return the live slots of which the group has share state, without those left by an earlier group."""
        live = self.live_group(group.id)
        topics = {} if live is None else live.initialized
        return [
            slot
            for slot in self.topics.live
            if slot.topic_id in topics and slot.partition in topics[slot.topic_id].partitions
        ]

    def left_initializing(self, group: Group, slot: Slot) -> bool:
        """Return True if the slot has a state that the group has not recorded yet: the next join takes it as it is."""
        live = self.live_group(group.id)
        topics = {} if live is None else live.initializing
        noted = slot.topic_id in topics and slot.partition in topics[slot.topic_id].partitions
        return noted and self.state_now(group, slot) is not None

    def state_now(self, group: Group, slot: Slot) -> object:
        """Return start offset, delivery complete count and batches of a share state; None without one."""
        partitions = self.broker.services.share_states.partitions
        if not partitions.count:
            return None
        key = self.key(group, slot)
        state = partitions.get(share_partition_for(key, partitions.count)).shard.state_of(key)
        if state is None:
            return None
        batches = tuple(tuple(batch) for batch in combine(state.batches, state.start_offset))
        return state.start_offset, state.delivery_complete_count, batches

    def knows_what_is_durable(self) -> bool:
        """Return False after a failed sync: a coordinator's failed write may turn out to be durable at the next
        start.
        """
        coordinators = (
            (SHARE_GROUP_STATE, self.broker.services.share_states.partitions.count),
            (CONSUMER_OFFSETS, self.broker.services.groups.coordinator.partitions.count),
        )
        logs = (self.folder.logs.get(topic, route) for topic, count in coordinators for route in range(count))
        return all(log.refusal is ErrorCode.NONE for log in logs)

    def look_inside(self) -> None:
        for group in self.groups:
            group.pauses.look(group)
            if group.administered:
                continue  # what becomes of its states is not known yet
            self._check_members(group)
            for slot in self.initialized(group):
                leader = self.broker.services.share.partitions.get(self.key(group, slot))
                if leader is None or leader.state is not LeaderState.ACTIVE:
                    continue
                if group.cores.get(slot.index) is not leader.core:
                    group.cores[slot.index] = leader.core
                    group.ledger.on_leader_gone(slot.index)
                group.ledger.on_start_offset(slot.index, leader.core.start_offset)
        self.jobs.look_inside()

    def _check_members(self, group: Group) -> None:
        partitions = self.broker.services.groups.coordinator.partitions
        if partitions.count:
            route = group_partition_for(group.id, partitions.count)
            if self.folder.logs.get(CONSUMER_OFFSETS, route).refusal is ErrorCode.NONE:
                shard = partitions.get(route).shard
                now = self.clock.now_ms()
                group.membership.check(shard.share_group(group.id), shard, now, self.session_timeout_ms)
        elif group.membership.group_epoch:
            raise InvariantBroken(f"the group coordinator has forgotten {group.id}")

    def audit(self) -> None:
        self.look_inside()
        replayed = replayed_groups(self)
        audit(self, replayed)
        self.jobs.audit(replayed)

    def _settled_audit(self) -> None:
        self.settle()
        self.audit()
