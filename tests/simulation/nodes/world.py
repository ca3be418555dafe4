"""Nodes in front of a simulated cluster: whole brokers without sockets, clients, and faults of all of them.

    NodesWorld(seed).run()      raises what went wrong; the same seed does the same
    spreads=True                each node owns some of the slots, otherwise one owns all

During a run the ledger records clients' answers. At the end all faults are over: every record must be acknowledged by a
consumer, and the state topics, read as a new owner reads them, must agree with the answers.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.loop.effort import EFFORT
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import Purpose
from shareq.cluster.membership.nodes import SlotId
from shareq.cluster.node.state_topics import GROUPS, STATES
from shareq.coordinator.ports import TopicImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.share_state import ShareState
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest
from shareq.protocol.generated.join_group import JoinGroupRequest
from shareq.protocol.generated.list_offsets import ListOffsetsRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.generated.sync_group import SyncGroupRequest
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch, decode_records
from tests.simulation.nodes.consumer import Consumer
from tests.simulation.nodes.judge import States, TakenOver, counting, forgotten, is_done, latest
from tests.simulation.nodes.ledger import Broken, Delivery, Ledger, Place
from tests.simulation.nodes.node import FIRST_NODE_ID, LEASE_MS, SLOTS, NodeProcess
from tests.simulation.nodes.producer import NodeProducer
from tests.support.cluster.among_nodes import Reached
from tests.support.cluster.cluster import SimulatedCluster
from tests.support.cluster.faults import Direction
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3
from tests.support.coroutines import begun

T = TypeVar("T")

BROKERS: Final = (1, 2, 3)
SETTLED_MS: Final = 120_000
"""The time by which consumers must have reached the ends of the logs after all faults."""
MOST_DELIVERIES: Final = 10
MOST_UNSEEN: Final = 3
"""The most deliveries of a record that may be lost with their answers."""
MOST_TOPICS: Final = 4
OFTEN: Final = 10
CHECKED_EVERY: Final = 10
MOST_MS_BEHIND: Final = LEASE_MS + 1_000
"""The time after which a node's decision to take a slot over cannot come from an outdated map: the node may believe a
map for as long as a lease. Its record may arrive at any later time, because the network may hold it back. The slot's
owner then loses the slot to a node that may have given up, and takes it back when it notices: the log decides, and no
confirmed data is lost.
"""
NOWHERE: Final = 1 << 62
"""The start offset of a share partition of which no member has got a record: the end of the log at any time."""
WATCH_MS: Final = 20
STEPS_MS: Final = (0, 5, 50, 300, 1_000, 3_000)
_LOSABLE: Final[tuple[type[Message], ...]] = (
    ProduceRequest,
    ProduceRequest,
    ProduceRequest,
    FetchRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
)


class _Owned(NamedTuple):
    """A take-over record that counts, and when the world first saw it."""

    node_id: int
    seen_ms: int


class _Span(NamedTuple):
    """The time during which the newest map gave a slot to a node."""

    first_ms: int
    last_ms: int


class _Image:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def topic(self, name: str) -> TopicImage | None:
        found = self._cluster.controller.image.topics.get(name)
        return None if found is None else TopicImage(found.name, found.topic_id, len(found.partitions))

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        for each in self._cluster.controller.image.topics.values():
            if each.topic_id == topic_id:
                return self.topic(each.name)
        return None


class NodesWorld:
    """One seed's world, described in the module's docstring."""

    def __init__(self, seed: int, often: str = "", *, spreads: bool = False) -> None:
        EFFORT.spent = 0  # one of the process: a world that died in a turn would shorten the next one's
        self.seed = seed
        self.often = often
        self.spreads = spreads
        self.cut_nodes: set[frozenset[str]] = set()  # between which nothing goes
        self.rng = rng = Random(seed)
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(f"{seed} cluster"), MemFs(self.clock.call_soon))
        self.transcript = [f"seed {seed}"]
        self.happened: Counter[str] = Counter()
        self.connections = 0
        self.is_over = False
        self.transactional_ids = rng.choice(["shareq-", None])
        self.least_offsets = rng.choice([30, 1_000])
        self.properties = {"group.share.delivery.count.limit": str(MOST_DELIVERIES)}
        self.cluster = SimulatedCluster(
            self.env,
            ClusterSettings(
                release=rng.choice([KAFKA_3_9, KAFKA_4_3]),
                replication_ms=rng.choice([0, 0, 5]),
                latency_ms=rng.choice([(0, 0), (1, 3), (0, 20)]),
                default_replication_factor=3,
                auto_create_topics=False,
            ),
        )
        self.ledger = Ledger(self.clock.now_ms, self._may_repeat, self.happened)
        self.topics: list[str] = []
        self._made = 0
        self._reached: dict[Place, int] = {}  # where logs ended that have lost records
        self._owners: dict[int, list[_Owned]] = {slot: [] for slot in range(SLOTS)}
        self._mapped: dict[tuple[int, int], list[_Span]] = defaultdict(list)  # when maps gave a slot to a node
        self._watched: dict[int, int] = dict.fromkeys(range(SLOTS), -1)
        nodes = max(rng.choice([1, 2, 2, 3, 3]), 1 + spreads)
        self.nodes = {FIRST_NODE_ID + each: NodeProcess(self, each) for each in range(nodes)}
        groups = ("g", "h")[: rng.choice([1, 1, 2])]
        self.consumers = [Consumer(self, group, each) for group in groups for each in range(rng.choice([1, 2, 2]))]
        self.producer = NodeProducer(self)
        self._errors: list[str] = []

    def note(self, text: str) -> None:
        self.transcript.append(f"{self.clock.now_ms()}: {text}")

    def begin(self, coroutine: Waiting[T]) -> Pending[T]:
        return begun(self.env, coroutine)

    # -- the run

    def run(self) -> None:
        with self._errors_noted():
            self._set_up()
            self._live()
            self._settle()
            for slot in range(SLOTS):
                self._compact_slot(slot)
            self._check_all()
            self.is_over = True
            self._check_errors()
            for node in self.nodes.values():
                node.stop()
            self.clock.advance(1_000)
            self._check_errors()

    @contextmanager
    def _errors_noted(self) -> Iterator[None]:
        """Collect the product's error logs, of which there may be none."""
        world = self

        class _Handler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                text = f"{record.name}: {record.getMessage()}"
                world.note(text)
                if record.levelno >= logging.ERROR:
                    world._errors.append(text if record.exc_info is None else f"{text}: {record.exc_info[1]!r}")

        handler, root = _Handler(), logging.getLogger("shareq")
        before, propagates = root.level, root.propagate
        root.setLevel(logging.INFO)
        root.propagate = False
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
            root.propagate = propagates

    def _check_errors(self) -> None:
        if self._errors:
            raise Broken(f"errors were logged: {self._errors[0]}")

    def _set_up(self) -> None:
        for name in ("orders", "payments")[: self.rng.choice([1, 2])]:
            self._create_topic(name)
        for node in self.nodes.values():
            node.start()
        for consumer in self.consumers:
            self.begin(consumer.live())
        self.clock.call_at(self.clock.now_ms(), self._watch)
        self._wait("share partitions to begin", self._not_begun)
        self.begin(self.producer.live())

    def _share_partitions(self) -> int:
        groups = {consumer.group for consumer in self.consumers}
        return len(groups) * sum(len(self.cluster.topic(name).partitions) for name in self.topics)

    def _wait(self, what: str, missing: Callable[[], list[str]], most_ms: int = SETTLED_MS) -> None:
        end = self.clock.now_ms() + most_ms
        while rest := missing():
            self._check_errors()
            if self.clock.now_ms() > end:
                raise Broken(f"waited in vain for {what}: {', '.join(rest[:20])}")
            self.clock.advance(1_000)

    def _live(self) -> None:
        rng = self.rng
        steps: tuple[tuple[Callable[[], None], float], ...] = (
            (self._produce, 50),
            (self._let_time_pass, 10),
            (self._kill, 3),
            (self._stop, 1),
            (self._start, 6),
            (self._hold, 3),
            (self._suspend, 1),
            (self._make_zombie, 2),
            (self._refuse, 1),
            (self._go_on, 6),
            (self._cut, 3),
            (self._heal, 5),
            (self._silence, 0.7),
            (self._lose, 6),
            (self._delay, 2),
            (self._elect, 3),
            (self._elect_and_truncate, 2),
            (self._lose_records, 0.7),
            (self._kill_broker, 1),
            (self._pause_broker, 1),
            (self._bring_brokers_back, 4),
            (self._hold_news, 1),
            (self._deny, 1),
            (self._allow, 2),
            (self._another_topic, 1),
            (self._expire_producers, 0.7),
            (self._compact, 1),
        )
        if self.spreads:
            steps += ((self._cut_nodes, 3), (self._lose_among_nodes, 4), (self._heal_nodes, 4))
        actions = [step for step, _ in steps]
        weights = [weight * OFTEN if step.__name__ == f"_{self.often}" else weight for step, weight in steps]
        for step in range(rng.randint(30, 90)):
            action = rng.choices(actions, weights)[0]
            if action != self._produce:
                self.note(action.__name__.strip("_"))
            action()
            self.clock.advance(rng.choice(STEPS_MS))
            self._check_errors()
            if step % CHECKED_EVERY == 0:
                self._check_confirmed()

    def _settle(self) -> None:
        self.note("all is well again")
        for node in self.nodes.values():
            self._heal_node(node)
            if node.is_held:
                node.go_on()
            if node.is_dead:
                node.start()
        self._heal_nodes()
        self._bring_brokers_back()
        self._allow()
        self.cluster.faults.delays.clear()
        self.cluster.faults.losses.clear()
        self.producer.rests = True
        for consumer in self.consumers:
            consumer.hurries = True
        for _ in range(5):
            self._produce()
        for name, partition, place in self._places():  # a state that reaches behind the log's end waits for it
            missing = self._reached.get(place, 0) - self.cluster.log(name, partition).end
            if missing > 0:
                self._produce_to(name, partition, missing)
        self._wait("records to be acknowledged", self._missing)

    # -- what is expected

    def states(self) -> dict[SharePartitionKey, tuple[ShareState, int]]:
        found: dict[SharePartitionKey, tuple[ShareState, int]] = {}
        if STATES not in self.cluster.controller.image.topics:
            return found
        for slot in range(SLOTS):
            states = States(self.cluster.log(STATES, slot).batches, _Image(self.cluster), self.clock.wall_ms)
            found.update((key, (state, states.first_starts.get(key, NOWHERE))) for key, state in states.all().items())
        return found

    def _places(self) -> Iterator[tuple[str, int, Place]]:
        for name in self.topics:
            topic = self.cluster.topic(name)
            for partition in range(len(topic.partitions)):
                yield name, partition, Place(topic.topic_id, partition)

    def _not_begun(self) -> list[str]:
        """Produce to every partition; return the share partitions that have not delivered anything yet."""
        for name, partition, _ in self._places():
            self._produce_to(name, partition, 1)
        states = self.states()
        if len(states) < self._share_partitions():
            return [f"{len(states)} of {self._share_partitions()} share partitions"]
        return [key.text() for key, (_, began) in states.items() if began == NOWHERE]

    def _missing(self) -> list[str]:
        states = self.states()
        if len(states) < self._share_partitions():
            return [f"{len(states)} of {self._share_partitions()} share partitions"]
        names = {place: f"{name}-{partition}" for name, partition, place in self._places()}
        return [
            f"{key.group_id} {names[place]} {offset}"
            for key, (state, began) in states.items()
            for place in [Place(key.topic_id, key.partition)]
            for offset in self._offsets(place, began)
            if not is_done(state, offset)
        ]

    def _check_confirmed(self) -> None:
        """Compare the state topics with clients' answers, as is possible at any time."""
        for slot in range(SLOTS):
            if gone := forgotten(self.cluster.log(GROUPS, slot).batches):
                raise Broken(f"groups have forgotten share partitions: {gone}")
        ledger, states = self.ledger, self.states()
        for group, place, offset in ledger.done:
            found = states.get(SharePartitionKey(group, *place))
            if (place, offset) not in ledger.lenient and (found is None or not is_done(found[0], offset)):
                raise Broken(f"{group} {place} {offset}: confirmed, and not so in the log")

    def _check_all(self) -> None:
        self._check_confirmed()
        self._check_produced()
        ledger = self.ledger
        for key, (state, began) in self.states().items():
            place = Place(key.topic_id, key.partition)
            for offset in self._offsets(place, began):
                name = (key.group_id, place, offset)
                if not is_done(state, offset):
                    raise Broken(f"{key.text()} {offset}: never done with")
                if name not in ledger.tried and ledger.most_deliveries[name] < MOST_DELIVERIES - MOST_UNSEEN:
                    raise Broken(f"{key.text()} {offset}: lost, nobody has acknowledged it")

    def _check_produced(self) -> None:
        """Check that records confirmed to producers exist, unless an election had to lose them."""
        for (name, partition, value), offset in self.producer.confirmed.items():
            place = Place(self.cluster.topic(name).topic_id, partition)
            if (place, offset) not in self.ledger.lenient and self._values(name, partition).get(offset) != value:
                raise Broken(f"{name}-{partition} {offset}: {value!r} was confirmed, and is not there")

    def _values(self, name: str, partition: int) -> dict[int, bytes | None]:
        batches = self.cluster.log(name, partition).batches
        return {record.offset: record.value for stored in batches for record in decode_records(stored.data)}

    def _offsets(self, place: Place, began: int) -> list[int]:
        name, partition = next((name, number) for name, number, each in self._places() if each == place)
        log = self.cluster.log(name, partition)
        return [
            record.offset
            for stored in log.batches
            for record in decode_records(stored.data)
            if began <= record.offset < log.high_watermark and (place, record.offset) not in self.ledger.lenient
        ]

    # -- who owns what

    def _watch(self) -> None:
        if self.is_over:
            return
        self.note_map()
        if STATES in self.cluster.controller.image.topics:
            for slot in range(SLOTS):
                log = self.cluster.log(STATES, slot)
                if log.end != self._watched[slot]:
                    self._watched[slot] = log.end
                    self._note_owners(slot)
        self.clock.call_at(self.clock.now_ms() + WATCH_MS, self._watch)

    def note_map(self) -> None:
        grounds = [(node.node_id, node.ground) for node in self.nodes.values() if node.ground is not None]
        newest = max((ground.membership.generation for _, ground in grounds), default=-1)
        for node_id, ground in grounds:
            if ground.membership.generation == newest:
                for slot in [each.partition for each in ground.ownership.mine if each.topic == STATES]:
                    self._note_mapped(self._mapped[slot, node_id])

    def _note_mapped(self, spans: list[_Span]) -> None:
        now_ms = self.clock.now_ms()
        first_ms = spans.pop().first_ms if spans and now_ms - spans[-1].last_ms <= WATCH_MS else now_ms
        spans.append(_Span(first_ms, now_ms))

    def _could_decide(self, owner: TakenOver, slot: int) -> bool:
        """Return True if some map that the node had shortly before its decision gave it the slot."""
        at_ms = owner.wall_ms - self.clock.wall_ms() + self.clock.now_ms()
        spans = self._mapped[slot, owner.node_id]
        return any(first_ms - WATCH_MS <= at_ms <= last_ms + MOST_MS_BEHIND for first_ms, last_ms in spans)

    def _note_owners(self, slot: int) -> None:
        owners = self._owners[slot]
        last = None
        for owner, _ in counting(self.cluster.log(STATES, slot).batches):
            last = owner
        if last is not None and (not owners or owners[-1].node_id != last.node_id):
            owners.append(_Owned(last.node_id, self.clock.now_ms()))
            self.happened["owners of slots"] += 1
            if not self._could_decide(last, slot):
                raise Broken(f"slot {slot} was taken over by node {last.node_id}, and no map says so")

    def _may_repeat(self, delivery: Delivery) -> bool:
        """Return whether the node was deposed while its lease may still last."""
        slot = crc32(delivery.place.topic_id) % SLOTS
        self._note_owners(slot)
        later = []
        for owner in reversed(self._owners[slot]):
            if owner.node_id == delivery.node_id:
                break
            later.append(owner)
        return bool(later) and self.clock.now_ms() - later[-1].seen_ms <= LEASE_MS

    # -- records

    def _create_topic(self, name: str) -> None:
        self.topics.append(name)
        self.cluster.create_topic(name, self.rng.randint(1, 2), replication_factor=3)

    def _produce(self) -> None:
        rng = self.rng
        name, partition, _ = rng.choice(list(self._places()))
        if self.cluster.leader(name, partition) < 0:
            return
        self._produce_to(name, partition, rng.choice([1, 1, 3, 10]))

    def _produce_to(self, name: str, partition: int, count: int) -> None:
        values = [b"%d of %s" % (self._made + each, name.encode()) for each in range(count)]
        self._made += count
        data = build_batch([RecordData(None, value) for value in values], timestamp_ms=self.clock.wall_ms())
        self.cluster.append(name, data, partition)
        self.happened["records"] += count

    # -- faults of nodes

    def _node(self) -> NodeProcess:
        return self.rng.choice(list(self.nodes.values()))

    def _let_time_pass(self) -> None:
        self.clock.advance(self.rng.choice([2_000, 8_000, 35_000]))

    def _kill(self) -> None:
        node = self._node()
        if not node.is_dead:
            self.happened["nodes killed"] += 1
            node.kill()

    def _stop(self) -> None:
        node = self._node()
        if node.is_running:
            self.happened["nodes stopped"] += 1
            node.stop()

    def _start(self) -> None:
        for node in self.nodes.values():
            if node.is_dead:
                node.start()
                return

    def _hold(self) -> None:
        node = self._node()
        if node.is_running:
            self.happened["nodes held"] += 1
            node.hold()

    def _suspend(self) -> None:
        node = self._node()
        if node.is_running:
            self.happened["machines suspended"] += 1
            node.hold(suspends=True)

    def _go_on(self) -> None:
        for node in self.nodes.values():
            if node.is_held:
                node.go_on()
                return

    def _make_zombie(self) -> None:
        """Stop the serving node, or its machine, until another node serves, and resume it then."""
        serving = [node for node in self.nodes.values() if node.holds]
        if not serving or len(self.nodes) == 1:
            return
        node, rng = self.rng.choice(serving), self.rng
        for _ in range(3):
            self._produce()
        self.clock.advance(rng.choice([1, 20, 60]))
        if rng.random() < 0.5:
            self._until_it_asks(node)
        node.hold(suspends=rng.random() < 0.5)
        self.happened["zombies"] += 1
        for _ in range(rng.choice([3, 8, 12])):
            self._produce()
            self.clock.advance(rng.choice([500, 1_000, 2_000]))
        node.go_on()

    def _until_it_asks(self, node: NodeProcess) -> None:
        """Let time pass until a heartbeat of the node is on its way, if heartbeats take any time."""
        ground = node.ground
        for _ in range(1_000):
            if ground is None or ground.link.counts[Purpose.MEMBERSHIP].under_way:
                return
            self.clock.advance(1)

    # -- faults of the network

    def _refuse(self) -> None:
        """Make a node look ended to the other nodes: a proxy before it ends its connections and refuses new ones."""
        node = self._node()
        if node.listens and len(self.nodes) > 1:
            self.happened["nodes taken for ended"] += 1
            node.refuses = True
            node.reset()
            self.clock.advance(1)
            node.refuses = False

    def _cut(self) -> None:
        node = self._node()
        self.happened["cuts"] += 1
        brokers = self.rng.choice([BROKERS, (self.rng.choice(BROKERS),)])
        self.cluster.cut(node.name, *brokers, only=self.rng.choice([None, *Direction]))

    def _heal(self) -> None:
        self._heal_node(self._node())

    def _heal_node(self, node: NodeProcess) -> None:
        self.cluster.heal(node.name)

    def _lose(self) -> None:
        node, broker, kind = self._node(), self.rng.choice(BROKERS), self.rng.choice(_LOSABLE)
        lose = self.rng.choice([self.cluster.lose_answer, self.cluster.lose_answer, self.cluster.lose_request])
        lose(node.name, broker, kind)

    def _delay(self) -> None:
        node, broker = self._node(), self.rng.choice(BROKERS)
        self.cluster.delay(node.name, broker, self.rng.choice([0, 0, 30, 1_000]))

    def _cut_nodes(self) -> None:
        """Keep two nodes from reaching each other, while both reach the cluster."""
        self.happened["cuts between nodes"] += 1
        cut = self.rng.sample(list(self.nodes.values()), 2)
        self.cut_nodes.add(frozenset(each.name for each in cut))
        for node in cut:
            node.reset()

    def _heal_nodes(self) -> None:
        self.cut_nodes.clear()

    def _lose_among_nodes(self) -> None:
        life = self._node().life
        if life is not None and life.nodes is not None:
            life.nodes.loses += 1

    def reach(self, node: NodeProcess, host: str) -> Reached | None:
        """Return the process that a node reaches at a host. A stopped process counts: its machine answers."""
        other = next(each for each in self.nodes.values() if each.name == host)
        if frozenset((node.name, host)) in self.cut_nodes or other.refuses:
            return None
        life = other.life
        return None if life is None or life.broker is None else Reached(life.broker, life.clock, life.clock.deliver)

    # -- faults of the cluster

    def _partition(self) -> tuple[str, int]:
        name = self.rng.choice([*self.topics, STATES, STATES, GROUPS])
        if name == STATES:
            topic_id = self.cluster.topic(self.rng.choice(self.topics)).topic_id
            return name, crc32(topic_id) % SLOTS
        return name, self.rng.randrange(len(self.cluster.topic(name).partitions))

    def _all_run(self) -> bool:
        return all(map(self.cluster.is_running, BROKERS))

    def _silence(self) -> None:
        if self._all_run():
            self.happened["silences"] += 1
            self.cluster.silence()
            self.clock.advance(self.rng.choice([5_000, 30_000]))
            self.cluster.end_silence()

    def _elect(self) -> None:
        if self._all_run():
            name, partition = self._partition()
            self.cluster.elect(name, self.rng.choice(BROKERS), partition)

    def _elect_and_truncate(self) -> None:
        """Lose the records that no follower had: none of them was confirmed."""
        if not self._all_run():
            return
        name, partition = self._partition()
        for _ in range(3):
            self._produce()
        self.cluster.hold_replication(name, partition)
        for _ in range(3):
            self._produce()
        self.clock.advance(self.rng.choice([20, 300, 2_000]))
        leader, log = self.cluster.leader(name, partition), self.cluster.log(name, partition)
        other = self.rng.choice([each for each in BROKERS if each != leader])
        lost = log.end > log.high_watermark
        self.cluster.elect(name, other, partition, keep_to=log.high_watermark)
        self.cluster.release_replication(name, partition)
        self.happened["clean elections that lost appends"] += lost

    def _lose_records(self) -> None:
        """Elect uncleanly a leader for records, and lose some that were confirmed."""
        if not self._all_run():
            return
        name, partition, place = self.rng.choice(list(self._places()))
        log, leader = self.cluster.log(name, partition), self.cluster.leader(name, partition)
        end = log.end
        keep_to = self.rng.randint(max(log.start, end - 10), end)
        other = self.rng.choice([each for each in BROKERS if each != leader])
        self.cluster.elect(name, other, partition, keep_to=keep_to)
        self.ledger.cut(place, log.end, end)
        self._reached[place] = max(end, self._reached.get(place, 0))
        self.happened["records lost by elections"] += end - log.end

    def _kill_broker(self) -> None:
        if self._all_run():
            self.cluster.kill(self.rng.choice(BROKERS))

    def _pause_broker(self) -> None:
        if self._all_run():
            self.cluster.pause(self.rng.choice(BROKERS))

    def _bring_brokers_back(self) -> None:
        for broker in BROKERS:
            if self.cluster.is_dead(broker):
                self.cluster.start(broker)
            elif not self.cluster.is_running(broker):
                self.cluster.resume(broker)
            self.cluster.release_news(broker)

    def _hold_news(self) -> None:
        broker = self.rng.choice(BROKERS)
        if self.cluster.is_running(broker):
            self.cluster.hold_news(broker)

    def _deny(self) -> None:
        self.happened["rights taken away"] += 1
        self.cluster.rights.deny(Resource.TOPIC, self.rng.choice(self.topics), Operation.DESCRIBE)

    def _allow(self) -> None:
        for name in self.topics:
            self.cluster.rights.allow(Resource.TOPIC, name, Operation.DESCRIBE)

    def _another_topic(self) -> None:
        if len(self.topics) < MOST_TOPICS:
            name = f"later-{len(self.topics)}"
            self._hold_news()
            self._create_topic(name)
            self.happened["topics made later"] += 1
            for _ in range(4):
                self.clock.advance(10_000)
                self._produce_to(name, 0, 1)

    def _expire_producers(self) -> None:
        self.cluster.expire_producers()

    def _compact(self) -> None:
        self._compact_slot(self.rng.randrange(SLOTS))

    def _compact_slot(self, slot: int) -> None:
        """Compact up to the owner's take-over record.

        A cleaner leaves younger records for an hour; by then keys that zombies have overwritten were written again.
        """
        logs = [log for node in self.nodes.values() if (log := node.log_of(SlotId(GROUPS, slot))) is not None]
        owners = [owner for owner, records in counting(self.cluster.log(GROUPS, slot).batches) if not records]
        if not owners or not logs or any(log.under_way for log in logs):
            return
        self.happened["compactions"] += 1
        before = latest(self.cluster.log(GROUPS, slot).batches)
        self.cluster.compact(GROUPS, slot, owners[-1].offset)
        after = latest(self.cluster.log(GROUPS, slot).batches)
        if after != before:
            raise Broken(f"compaction of slot {slot} has removed what counts: {before.keys() - after.keys()}")


def run(seed: int, often: str = "", *, spreads: bool = False) -> Counter[str]:
    """Run a seed. Return the counts of its events. The step named `often` is taken OFTEN times as often as others."""
    world = NodesWorld(seed, often, spreads=spreads)
    world.run()
    return world.happened


def run_spread(seed: int, often: str = "") -> Counter[str]:
    return run(seed, often, spreads=True)
