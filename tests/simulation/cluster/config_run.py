"""Runs of the settings that nodes share on a simulated cluster, with concurrent writers and broker faults.

    run(seed)      raises what went wrong; the same seed does the same

The ledger has every batch that was ever appended. During a run a node sees the values of each row in log order, unless
an election loses records. After a successful write its node shows that value, or a later one of the row, and the write
is not appended again. At the end all faults are over, and every node, even one that starts then, agrees with the log;
and unless records were lost, the log has everything that was confirmed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, beginner, in_ticks
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.changes import DropAcl, MetaChange, MetaState, PutAcl, PutConfig, PutScram, ResourceName
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.cluster.state.config_log import CONFIG_TOPIC, ConfigLog
from shareq.cluster.state.config_records import OwnSecret, read, record_of
from shareq.cluster.state.slot import StateTopic
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.list_offsets import ListOffsetsRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import BatchHeader, decode_records
from tests.simulation.cluster.troubles import heal, resume
from tests.support.cluster.cluster import SimulatedCluster
from tests.support.cluster.faults import Direction
from tests.support.cluster.settings import ClusterSettings

BROKERS: Final = (1, 2, 3)
SETTLED_MS: Final = 40_000
_LOST: Final[tuple[type[Message], ...]] = (
    ProduceRequest,
    ProduceRequest,
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
)

Row = bytes
"""The key of a record, which names a row."""
Value = bytes | None
"""The record's value."""


class Ledger:
    """Every appended batch by its first offset; for an offset that was lost and reused, the last batch."""

    def __init__(self) -> None:
        self.values: dict[Row, list[Value]] = {}
        self.changes = 0

    def append(self, data: bytes) -> None:
        for record in decode_records(data):
            self.values.setdefault(bytes(record.key or b""), []).append(record.value)
            self.changes += 1


class Node:
    """One node: its log, and the values of each row that it has seen in turn."""

    def __init__(self, run: ConfigRun, name: str) -> None:
        self.name = name
        self._run = run
        self.link = run.cluster.link(name, bootstrap=BROKERS, request_timeout_ms=5_000)
        self.link.know(run.cluster.addresses)
        begin: Begin = beginner(run.env.budget, in_ticks(run.clock.call_soon))
        self.log = ConfigLog(run.env, self.link, run.topic, begin)
        self.shown = MetaState()
        self.seen: dict[Row, list[Value]] = {}
        self.log.on_change(self._changed)
        self.opened = begin(self.log.open(1 << 40))

    def _changed(self, changes: Sequence[MetaChange]) -> None:
        for change in changes:
            self.shown.apply(change)
            record = record_of(change)
            self.seen.setdefault(bytes(record.key or b""), []).append(record.value)

    def close(self) -> None:
        self.log.close()
        self.link.close()


class ConfigRun:
    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(seed), MemFs(self.clock.call_soon))
        latency = rng.choice([(0, 0), (0, 5), (1, 40)])
        settings = ClusterSettings(latency_ms=latency, replication_ms=rng.choice([0, 0, 3, 50]))
        self.cluster = SimulatedCluster(self.env, settings)
        topic = self.cluster.create_topic(CONFIG_TOPIC, replication_factor=3, configs={"min.insync.replicas": "2"})
        self.topic = StateTopic(CONFIG_TOPIC, topic.topic_id, 1, 1 << 20, compacted=True)
        self.loses = rng.random() < 0.25
        self.compacts = rng.random() < 0.5
        self.happened: Counter[str] = Counter()
        self.ledger = Ledger()
        self._wrong: list[AssertionError] = []
        self._answered_at: list[tuple[Row, bytes, int]] = []
        self.confirmed: list[tuple[MetaChange, ...]] = []
        self._rows = rng.choice([2, 5, 30])
        self._made = 0
        self._note_appends()
        self.nodes = [Node(self, f"node-{number}") for number in range(rng.randint(2, 3))]

    def _note_appends(self) -> None:
        log = self.cluster.log(CONFIG_TOPIC)
        append = log.append

        def noted(batch: bytes | bytearray | memoryview, epoch: int) -> BatchHeader:
            header = append(batch, epoch)
            self.ledger.append(bytes(log.batches[-1].data))
            return header

        log.append = noted  # type: ignore[method-assign]

    def run(self) -> None:
        rng = self.rng
        steps = (
            (self._write, 60),
            (self._start_again, 2),
            (self._elect, 5),
            (self._elect_uncleanly, 2 if self.loses else 0),
            (self._compact, 4 if self.compacts else 0),
            (self._lose, 6),
            (self._cut, 3),
            (self._delay, 2),
            (self._hold_news, 2),
            (self._heal, 6),
            (self._pause, 2),
            (self._resume, 5),
        )
        actions, weights = [step for step, _ in steps], [weight for _, weight in steps]
        for _ in range(rng.randint(30, 200)):
            rng.choices(actions, weights)[0]()
            self.clock.advance(rng.choice([0, 0, 1, 5, 30, 200, 1_000, 6_000]))
            self._look()
        self._settle()
        self._judge()
        for node in self.nodes:
            node.close()

    # -- what happens

    def _change(self) -> MetaChange:
        rng = self.rng
        self._made += 1
        row = rng.randrange(self._rows)
        match rng.randrange(4):
            case 0 | 1:
                value = None if rng.random() < 0.2 else str(self._made)
                return PutConfig(ResourceName("group", f"g{row % 3}"), f"k{row}", value)
            case 2:
                kind, pattern = int(ResourceKind.TOPIC), int(PatternType.LITERAL)
                right = int(Operation.READ), int(Permission.ALLOW)
                acl = Acl(kind, f"t{row}", pattern, "User:u", "*", *right)
                return PutAcl(acl) if rng.random() < 0.6 else DropAcl(acl)
            case _:
                credential = ScramCredential(b"s", str(self._made).encode(), b"k", 4096)
                key = CredentialKey(f"u{row}", "SCRAM-SHA-256")
                return PutScram(key, None if rng.random() < 0.2 else credential)

    def _write(self) -> None:
        node = self.rng.choice(self.nodes)
        changes = {
            record_of(change).key: change for change in (self._change() for _ in range(self.rng.choice([1, 1, 4])))
        }
        sent = tuple(changes.values())
        before = {
            record.key or b"": len(self.ledger.values.get(record.key or b"", ())) for record in map(record_of, sent)
        }
        answer: Pending[ApiError] = node.log.write(sent)
        answer.on_complete(lambda outcome: self._heard(node, sent, before, outcome))

    def _heard(self, node: Node, sent: tuple[MetaChange, ...], before: dict[bytes, int], outcome: ApiError) -> None:
        """Remember an error of a callback: raised in the callback, the error would be handled by the node."""
        try:
            self._answered(node, sent, before, outcome)
        except AssertionError as error:
            self._wrong.append(error)

    def _answered(self, node: Node, sent: tuple[MetaChange, ...], before: dict[bytes, int], outcome: ApiError) -> None:
        self.happened[f"answered {outcome.code.name}"] += 1
        if outcome:
            assert outcome.code is ErrorCode.REQUEST_TIMED_OUT, outcome
            return
        self.confirmed.append(sent)
        shown = {record.key: record.value for record in map(record_of, node.log.state.rows())}
        assert node.shown == node.log.state, f"{node.name}: the state is not what was said of it"
        for record in map(record_of, sent):
            key = bytes(record.key or b"")
            now = self.ledger.values.get(key, [])[before[key] :]
            assert record.value in now, f"{node.name}: {key!r} was confirmed, and never appended"
            if record.value is not None and not key.startswith(b'["acls"'):  # such a value is of this write alone
                self._answered_at.append((key, record.value, len(self.ledger.values[key])))
            if not self.loses:
                later = now[now.index(record.value) :]
                assert shown.get(key) in later, f"{node.name}: {key!r} was confirmed, and {shown.get(key)!r} is shown"

    def _start_again(self) -> None:
        at = self.rng.randrange(len(self.nodes))
        self.nodes[at].close()
        self._made += 1
        self.nodes[at] = Node(self, f"node-{at}-{self._made}")

    def _elect(self) -> None:
        self.happened["elections"] += 1
        self.cluster.elect(CONFIG_TOPIC, self.rng.choice(BROKERS))

    def _elect_uncleanly(self) -> None:
        log, leader = self.cluster.log(CONFIG_TOPIC), self.cluster.leader(CONFIG_TOPIC)
        hearing = [broker for broker in BROKERS if broker != leader and self.cluster.brokers[broker].hears]
        if hearing:
            keep_to = self.rng.randint(max(log.start, log.end - 5), log.end)
            self.happened["records that were lost"] += log.end - keep_to
            self.cluster.elect(CONFIG_TOPIC, self.rng.choice(hearing), keep_to=keep_to)

    def _compact(self) -> None:
        self.cluster.compact(CONFIG_TOPIC)

    def _lose(self) -> None:
        lose = self.rng.choice([self.cluster.lose_answer, self.cluster.lose_request])
        lose(self.rng.choice(self.nodes).name, self.rng.choice(BROKERS), self.rng.choice(_LOST))

    def _cut(self) -> None:
        only = self.rng.choice([None, *Direction])
        self.cluster.cut(self.rng.choice(self.nodes).name, *self.rng.sample(BROKERS, self.rng.randint(1, 3)), only=only)

    def _delay(self) -> None:
        self.cluster.delay(
            self.rng.choice(self.nodes).name, self.rng.choice(BROKERS), self.rng.choice([20, 400, 2_000])
        )

    def _hold_news(self) -> None:
        self.cluster.hold_news(self.rng.choice(BROKERS))

    def _heal(self) -> None:
        heal(self.cluster, *(node.name for node in self.nodes))

    def _pause(self) -> None:
        if all(map(self.cluster.is_running, BROKERS)):
            self.rng.choice([self.cluster.pause, self.cluster.kill])(self.rng.choice(BROKERS))

    def _resume(self) -> None:
        resume(self.cluster)

    # -- what must hold

    def _look(self) -> None:
        """Compare what each node has seen with the log: the values of a row must be in order."""
        if self._wrong:
            raise self._wrong[0]
        if self.loses:
            return
        for node in self.nodes:
            for row, seen in node.seen.items():
                values = iter([None, *self.ledger.values.get(row, ())])
                assert all(value in values for value in seen), f"{node.name}: {row!r} was seen as {seen}"

    def _settle(self) -> None:
        self._resume()
        self._heal()
        self.cluster.faults.losses.clear()
        if self.cluster.leader(CONFIG_TOPIC) < 0:
            self.cluster.elect(CONFIG_TOPIC, 1)
        self.clock.advance(1_000)
        self.cluster.replication.go_on_everywhere()
        self.clock.advance(SETTLED_MS)
        self._look()

    def _judge(self) -> None:
        log = self.cluster.log(CONFIG_TOPIC)
        assert log.high_watermark == log.end
        state, secrets = MetaState(), []
        for stored in log.batches:
            for record in decode_records(stored.data):
                change = read(record.key, record.value)
                if isinstance(change, OwnSecret):
                    secrets.append(change.secret)
                else:
                    assert change is not None
                    assert not isinstance(change, str), change
                    state.apply(change)
        late = Node(self, "late")
        self.clock.advance(SETTLED_MS)
        for node in (*self.nodes, late):
            assert node.opened.value is None
            assert node.log.state == state, f"{node.name} has not what the log has"
            assert node.shown == state, f"{node.name}: what follows it has not what the log has"
            if not self.loses:
                assert node.log.secret == secrets[0], f"{node.name} has another secret"
            self.happened["reads from the start"] += node.log.reads
        late.close()
        for key, value, count in self._answered_at:
            assert value not in self.ledger.values[key][count:], f"{key!r}: {value!r} came again when it was answered"
        if not self.loses:
            self._judge_confirmed(state)
        self.happened["changes"] = self.ledger.changes

    def _judge_confirmed(self, state: MetaState) -> None:
        """Check that no row has a value older than a confirmed one: each row has its last appended value."""
        now = {record.key: record.value for record in map(record_of, state.rows())}
        for sent in self.confirmed:
            for record in map(record_of, sent):
                key = bytes(record.key or b"")
                assert now.get(key) == self.ledger.values[key][-1], f"{key!r} was confirmed, and is lost"


def run(seed: int) -> Counter[str]:
    one = ConfigRun(seed)
    one.run()
    return one.happened
