"""Runs of a node's dead letters on a simulated cluster, with faults of brokers, logs and queues.

    run(seed)      raises what went wrong; the same seed does the same

Members of a group reject records. At the end all faults are over, no letter is owed, and every record whose rejection
was confirmed has a letter with its bytes, except those deleted from their log meanwhile, and those that a group without
kept dead records reported as lost. No other record has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple, TypeVar

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.share.core.effects import WriteState
from shareq.broker.share.core.values import AckBatch
from shareq.broker.share.dlq.queues import DeadLetterQueues
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchHost, ShareFetchParams, WantedPartition
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.topics.leaders import LeaderMap
from shareq.cluster.forward.dead_letter_queues import ClusterQueues
from shareq.cluster.forward.produce_by_leader import Batches
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.records.feed import RecordFeed
from shareq.coordinator.ports import IsolationLevel, ShareGroupSettings
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.state_batches import merge_into
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreateTopicsRequest
from shareq.protocol.generated.describe_configs import DescribeConfigsRequest
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.names import DLQ_GROUP, DLQ_GROUP_ENABLE, DLQ_OFFSET, DLQ_PARTITION, DLQ_TOPIC
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import Record, RecordData, build_batch, decode_records
from shareq.protocol.share import AcknowledgeType, AcquireMode, RecordState
from tests.simulation.cluster.troubles import Troubles
from tests.support.cluster.cluster import SimulatedCluster
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3
from tests.support.coroutines import begun
from tests.support.fakes.settings import GroupSettings
from tests.support.fakes.share_states import KeptState, MemoryShareStates
from tests.support.worlds.dead_letters import header_of

BROKERS: Final = (1, 2, 3)
NODE: Final = "node"
TOPIC: Final = "orders"
QUEUE: Final = "dlq.orders"
GROUP: Final = "packers"
KAFKA_4_4: Final = KAFKA_4_3._replace(name="4.4.0", unknown_topic_properties=frozenset())
SETTLED_MS: Final = 300_000
"""The time by which the last letters must be written after all faults.

That a queue was deleted is known only after a minute.
"""

T = TypeVar("T")
Place = tuple[int, int]
"""Partition and offset of a record."""
_LOST: Final[tuple[type[Message], ...]] = (
    ProduceRequest,
    ProduceRequest,
    FetchRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    MetadataRequest,
)


class States(MemoryShareStates):
    def __init__(self, run: LettersRun) -> None:
        super().__init__()
        self._run = run

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        state, pending = self.states[key], Pending[ErrorCode]()
        stored = list(state.batches)
        merge_into(stored, write.batches, write.start_offset)
        self.states[key] = KeptState(state.state_epoch, write.start_offset, stored)
        clock = self._run.clock
        clock.call_at(clock.now_ms() + self._run.rng.choice([0, 1, 30]), lambda: pending.complete(ErrorCode.NONE))
        return pending


class Node:
    """A node's share-group part, from a take-over to its end."""

    def __init__(self, run: LettersRun) -> None:
        env, link, mirror = run.env, run.link, run.mirror
        self.feed = RecordFeed(
            env, link, mirror, mirror, run.begin, budget=run.budget, led_epoch=lambda topic_id, partition: 3
        )
        batches = Batches(link, mirror, env.clock)
        topics = ClusterQueues(
            link,
            mirror,
            batches,
            clock=env.clock,
            begin=run.begin,
            config=lambda: run.config,
            most_bytes=run.letter_bytes,
        )
        self.queues = DeadLetterQueues(env, run.settings, topics)
        self.manager = SharePartitionManager(env, self.feed, run.settings, LeaderMap(), run.states, self.queues)
        self.feed.add_listener(self.manager.on_high_watermark)
        self.host = ShareFetchHost(env, self.manager, mirror, AnswerBudget(env.clock))

    def close(self) -> None:
        """End the node; its requests to the cluster continue there."""
        self.queues.close()
        self.manager.close()
        self.feed.close()


class Held(NamedTuple):
    node: Node
    partition: int
    first: int
    last: int


class LettersRun:
    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.clock = VirtualClock()
        self.env = env = Environment(self.clock, Random(seed + 1), MemFs(self.clock.call_soon))
        settings = ClusterSettings(
            release=rng.choice([KAFKA_3_9, KAFKA_4_3, KAFKA_4_4]),
            default_replication_factor=3,
            default_partitions=rng.randint(1, 3),
            replication_ms=rng.choice([0, 0, 5]),
            latency_ms=rng.choice([(0, 0), (1, 3), (0, 20)]),
        )
        self.cluster = SimulatedCluster(env, settings)
        self.troubles = Troubles(self.cluster, rng, NODE, _LOST)
        self.link = self.cluster.link(NODE, request_timeout_ms=3_000)
        creates = rng.random() < 0.8
        properties = {
            "errors.deadletterqueue.auto.create.topics.enable": str(creates).lower(),
            "shareq.dlq.topics": "dlq.*",
        }
        self.config = BrokerConfig.load(properties, of_node=True)
        self.creates = creates
        self.keeps = rng.random() < 0.6
        self.settings = GroupSettings(
            ShareGroupSettings(
                record_lock_duration_ms=10**9,
                delivery_count_limit=10**6,
                dead_letters=True,
                dead_letter_queue=QUEUE,
                copy_dead_records=True,
                keep_dead_records=self.keeps,
            )
        )
        self.budget = rng.choice([6_000, 30_000, 200_000])
        self.letter_bytes = 1 << 20 if seed % 3 else 1
        self.mirror = TopicMirror(env, self.link, self.begin)
        self.partitions = rng.randint(1, 3)
        self.topic_id = self.cluster.create_topic(TOPIC, self.partitions, 3).topic_id
        if not creates:
            own = {} if DLQ_GROUP_ENABLE in settings.release.unknown_topic_properties else {DLQ_GROUP_ENABLE: "true"}
            self.cluster.create_topic(QUEUE, None, None, own)
        found = self.mirror.find(TOPIC)
        while not found.done:
            self.clock.advance(10)
        self.states = States(self)
        for partition in range(self.partitions):
            self.states.states[self._key(partition)] = KeptState(1, 0)
        self.happened: Counter[str] = Counter()
        self.written: dict[Place, bytes] = {}
        self.dead: list[Place] = []
        self.rejected: set[Place] = set()  # and maybe dead
        self.letters: dict[tuple[bytes, int, int], Record] = {}  # by queue's id, partition and offset there
        self._held: list[Held] = []
        self.nodes = [Node(self)]

    def begin(self, coroutine: Waiting[T], /) -> Pending[T]:
        return begun(self.env, coroutine)

    @property
    def node(self) -> Node:
        return self.nodes[-1]

    def _key(self, partition: int) -> SharePartitionKey:
        return SharePartitionKey(GROUP, self.topic_id, partition)

    def _topics(self) -> Sequence[str]:
        return [name for name in (TOPIC, QUEUE) if name in self.cluster.controller.image.topics]

    # -- what happens

    def run(self) -> None:
        rng = self.rng
        steps = (
            (self._produce, 30),
            (self._fetch, 40),
            (self._acknowledge, 50),
            (self._forget_chunks, 4),
            (self._take_over, 2),
            (self._elect, 4),
            (self._delete_queue, 1),
            (self._delete_records, 1),
            (self.troubles.lose, 6),
            (self.troubles.cut, 2),
            (self.troubles.delay, 2),
            (self.troubles.heal, 4),
            (self.troubles.hold_news, 1),
            (self.troubles.pause, 1),
            (self.troubles.resume, 3),
        )
        actions, weights = [step for step, _ in steps], [weight for _, weight in steps]
        for _ in range(rng.randint(50, 250)):
            rng.choices(actions, weights)[0]()
            self.clock.advance(rng.choice([0, 1, 5, 30, 200, 1_000, 4_000]))
        self._settle()
        self._judge()
        for node in self.nodes:
            node.close()
        self.mirror.close()

    def _produce(self) -> None:
        rng = self.rng
        for _ in range(rng.choice([1, 3, 10])):
            partition = rng.randrange(self.partitions)
            if self.cluster.leader(TOPIC, partition) < 0:
                continue
            size = rng.choice([10, 100, 1_500])
            values = [b"%d " % rng.randrange(10**9) + b"v" * size for _ in range(rng.randint(1, 4))]
            built = build_batch([RecordData(b"k", value) for value in values], timestamp_ms=self.clock.wall_ms())
            first = self.cluster.append(TOPIC, built, partition)
            self.written.update({(partition, first + each): value for each, value in enumerate(values)})

    def _fetch(self) -> None:
        node = self.node
        params = ShareFetchParams(GROUP, "m", AcquireMode.BATCH_OPTIMIZED, 1_000, 1, 20_000, 30, 30)
        wanted = [WantedPartition(self.topic_id, each, TOPIC) for each in range(self.partitions)]
        fetch = ShareFetch(node.host, IsolationLevel.READ_UNCOMMITTED, params, wanted)
        fetch.start().on_complete(partial(self._fetched, node))

    def _fetched(self, node: Node, parts: Sequence[FetchedPartition]) -> None:
        for part in parts:
            assert part.error in (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER), part.error.name
            self._held += [Held(node, part.partition, each[0], each[1]) for each in part.acquired]

    def _acknowledge(self) -> None:
        self.rng.shuffle(self._held)
        for _ in range(self.rng.randint(1, 4)):
            if not self._held:
                return
            held = self._held.pop()
            leader = held.node.manager.get(self._key(held.partition))
            if held.node is not self.node or leader is None:
                continue
            kinds = [AcknowledgeType.REJECT, AcknowledgeType.REJECT, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE]
            kind = self.rng.choice(kinds)
            places = [(held.partition, offset) for offset in range(held.first, held.last + 1)]
            answer = held.node.manager.acknowledge(leader, "m", [AckBatch(held.first, held.last, [kind])])
            if kind is AcknowledgeType.REJECT:
                self.rejected.update(places)
                answer.on_complete(partial(self._answered, places))

    def _answered(self, places: Sequence[Place], error: ErrorCode) -> None:
        if not error:
            self.dead += places

    def _forget_chunks(self) -> None:
        for source in self.node.feed.sources():
            self.node.feed.cache.forget(source.place)

    def _take_over(self) -> None:
        """Move the share partitions to another node, without records in memory."""
        self.node.close()
        self.nodes.append(Node(self))
        self.happened["take-overs"] += 1
        self._load_all()

    def _load_all(self) -> None:
        for partition in range(self.partitions):
            self.node.manager.get_or_load(self._key(partition), TOPIC)

    def _elect(self) -> None:
        name = self.rng.choice(self._topics())
        partition = self.rng.randrange(len(self.cluster.topic(name).partitions))
        self.cluster.elect(name, self.rng.choice(BROKERS), partition)

    def _delete_queue(self) -> None:
        if self.creates and QUEUE in self._topics():
            self._note_letters()
            self.cluster.controller.delete_topic(QUEUE)
            self.happened["queues that were deleted"] += 1

    def _delete_records(self) -> None:
        log = self.cluster.log(TOPIC, self.rng.randrange(self.partitions))
        log.delete_before(self.rng.randint(log.start, log.high_watermark))

    # -- the end

    def _settle(self) -> None:
        self.troubles.resume()
        self.troubles.heal()
        self.cluster.faults.losses.clear()
        for name in self._topics():
            for partition, state in enumerate(self.cluster.topic(name).partitions):
                if state.leader < 0:
                    self.cluster.elect(name, 1, partition)
        by_ms = self.clock.now_ms() + SETTLED_MS
        self._load_all()
        while self._owed():
            assert self.clock.now_ms() < by_ms, f"letters are still owed: {self.node.queues.waiting()}"
            self.clock.advance(1_000)
            self._load_all()

    def _owed(self) -> bool:
        leaders = [self.node.manager.get(self._key(partition)) for partition in range(self.partitions)]
        return any(leader is None or not leader.is_active or leader.owes_letters for leader in leaders)

    def _note_letters(self) -> None:
        topic = self.cluster.topic(QUEUE)
        for partition in range(len(topic.partitions)):
            for batch in self.cluster.log(QUEUE, partition).batches:
                for record in decode_records(batch.data):
                    self.letters[topic.topic_id, partition, record.offset] = record

    def _judge(self) -> None:
        if QUEUE in self._topics():
            self._note_letters()
        by_place: dict[Place, list[Record]] = {}
        for (_, partition, _), letter in self.letters.items():
            place = (int(header_of(letter, DLQ_PARTITION) or b""), int(header_of(letter, DLQ_OFFSET) or b""))
            assert header_of(letter, DLQ_TOPIC) == TOPIC.encode()
            assert header_of(letter, DLQ_GROUP) == GROUP.encode()
            assert partition == place[0] % self.cluster.settings.default_partitions
            by_place.setdefault(place, []).append(letter)
        assert by_place.keys() <= self.rejected, "what did not die has a letter"
        self._judge_contents(by_place)
        starts = [self.cluster.log(TOPIC, partition).start for partition in range(self.partitions)]
        counters = [each for node in self.nodes for each in node.queues.groups.values()]
        lost = sum(each.without_letter for each in counters)
        missing = [place for place in set(self.dead) - by_place.keys() if place[1] >= starts[place[0]]]
        assert len(missing) <= (0 if self.keeps else lost), f"no letters, and {lost} were said to be lost: {missing}"
        for key, state in self.states.states.items():
            still = [each for each in state.batches if each.delivery_state == RecordState.ARCHIVING.value]
            assert not still, f"{key}: {still}"
        if len(self.nodes) == 1 and not self.happened["queues that were deleted"]:
            self._judge_order(by_place)
        self.happened["letters"] += len(by_place)
        self.happened["letters that came again"] += len(self.letters) - len(by_place)
        self.happened["letters that were lost"] += lost
        self.happened["retries"] += sum(each.retries for each in counters)

    def _judge_contents(self, by_place: dict[Place, list[Record]]) -> None:
        for (partition, offset), letters in by_place.items():
            gone = offset < self.cluster.log(TOPIC, partition).start
            for letter in letters:
                if letter.value is None:
                    self.happened["letters without content"] += 1
                    assert gone or not self.keeps, f"{partition}:{offset} is there, and its letter has no content"
                else:
                    assert letter.value == self.written[partition, offset]

    def _judge_order(self, by_place: dict[Place, list[Record]]) -> None:
        for partition in range(self.partitions):
            died = [place for place in self.dead if place[0] == partition and place in by_place]
            came = [
                (partition, int(header_of(letter, DLQ_OFFSET) or b""))
                for letter in self.letters.values()
                if header_of(letter, DLQ_PARTITION) == b"%d" % partition
            ]
            assert list(dict.fromkeys(place for place in came if place in set(died))) == list(dict.fromkeys(died))
            self.happened["partitions whose order was looked at"] += bool(died)


def run(seed: int) -> Counter[str]:
    one = LettersRun(seed)
    one.run()
    return one.happened
