"""Three nodes that each serve some of the topics, in front of shareq and of Apache Kafka.

librdkafka's share consumers and producers use all of them, while one is killed and another one starts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET, create_topic, produce, read_from_start
from devtools.kafka import apache_kafka
from shareq.testing import Broker
from tests.interop.support.share_ledger import Ledger, Member, members, run_until
from tests.support.cluster_scripts import transcripts
from tests.support.cluster_scripts.apache import ApacheCluster
from tests.support.cluster_scripts.conversation import Setting
from tests.support.node_process import NodeProcess, command_line, number
from tests.support.waiting import until

pytestmark = pytest.mark.interop

SLOTS: Final = 96
RECORDS: Final = 40
"""The records that each topic gets in each step."""
MOST_TOPICS: Final = 30
PATIENCE_S: Final = 150.0


@pytest.fixture(params=["ours", *(release.name for release in transcripts.RELEASES)], scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.param
    if name == "ours":
        with Broker() as broker:
            yield broker.bootstrap
        return
    missing = apache_kafka.why_unavailable(name)
    if missing is not None:
        pytest.skip(missing)
    release = next(each for each in transcripts.RELEASES if each.name == name)
    folder = apache_kafka.unused_folder("several-owners")
    try:
        running = ApacheCluster(folder, release, Setting.PLAIN)
        yield running.address
        running.stop()
    finally:
        shutil.rmtree(folder)


class Nodes:
    def __init__(self, stack: ExitStack, folder: Path, cluster: str) -> None:
        self._stack = stack
        self._folder = folder
        self._start = ["serve", "--cluster", cluster, "--listen", "127.0.0.1:0"]
        self._start += ["--set", "shareq.cluster.placement=topic"]
        self.running: list[NodeProcess] = []

    def start(self, count: int) -> None:
        began = [self._stack.enter_context(command_line(self._folder, self._start)) for _ in range(count)]
        for node in began:
            node.wait_until_ready()
        self.running += began
        self.shared()

    def shared(self) -> None:
        share = f"{len(self.running)} nodes, {SLOTS // len(self.running)} slots here"
        for node in self.running:
            until(lambda node=node: share in _last_map(node), f"{share}: {_last_map(node)}")  # type: ignore[misc]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.running)

    def kill(self, node: NodeProcess) -> None:
        self.running.remove(node)
        node.process.kill()
        node.process.wait()


def _last_map(node: NodeProcess) -> str:
    return next((line for line in reversed(node.log.splitlines()) if "slots here" in line), "")


def leaders(node: NodeProcess, topics: Sequence[str]) -> dict[str, int]:
    admin = AdminClient({"bootstrap.servers": node.bootstrap, **QUIET})

    def leader(topic: str) -> int:
        partitions = admin.list_topics(topic, timeout=30).topics[topic].partitions
        return partitions[0].leader if partitions else -1

    return {topic: until(lambda topic=topic: leader(topic) + 1, topic) - 1 for topic in topics}  # type: ignore[misc]


def topics_on_all(nodes: Nodes, name: str) -> list[str]:
    topics: list[str] = []
    wanted = {number(node) for node in nodes.running}
    while not topics or set(leaders(nodes.running[0], topics).values()) != wanted:
        assert len(topics) < MOST_TOPICS
        topics.append(f"{name}-{len(topics)}")
        create_topic(nodes.running[len(topics) % len(nodes.running)].bootstrap, topics[-1], 1)
    return topics


class Work:
    """A consumer of each topic, all in one group, and the records they received."""

    def __init__(self, stack: ExitStack, nodes: Nodes, group: str, topics: Sequence[str]) -> None:
        self.nodes = nodes
        self.ledgers = {topic: Ledger() for topic in topics}
        self.members: list[Member] = []
        self.expected = 0
        for topic, ledger in self.ledgers.items():
            self.members += stack.enter_context(members(nodes.bootstrap, group, topic, ledger))

    def produce(self) -> None:
        for at, topic in enumerate(self.ledgers):
            node = self.nodes.running[at % len(self.nodes.running)]
            values = [b"%d" % (self.expected + each) for each in range(RECORDS)]
            produce(node.bootstrap, topic, [(0, value) for value in values])
        self.expected += RECORDS

    def some(self) -> None:
        done = self.expected - RECORDS
        run_until(self.members, lambda: any(len(each.finished) > done for each in self.ledgers.values()), PATIENCE_S)

    def all(self) -> float:
        """Consume until all records are confirmed; return the seconds that took."""
        began = time.monotonic()
        run_until(self.members, lambda: all(self._is_done(each) for each in self.ledgers.values()), PATIENCE_S)
        return time.monotonic() - began

    def _is_done(self, ledger: Ledger) -> bool:
        return ledger.settled() == self.expected

    def check(self) -> None:
        for topic, ledger in self.ledgers.items():
            assert ledger.revived == [], f"{topic}: again after a confirmation"
            assert sorted(map(int, ledger.values.values())) == list(range(self.expected)), f"{topic}: lost"


def test_three_nodes_share_the_topics_while_one_is_killed_and_another_comes(tmp_path: Path, cluster: str) -> None:
    """No record is lost, and no confirmed one is redelivered, in any node's topics."""
    with ExitStack() as stack:
        nodes = Nodes(stack, tmp_path, cluster)
        nodes.start(3)
        read_from_start(nodes.running[1].bootstrap, "packers")
        topics = topics_on_all(nodes, "work")
        by_node = [leaders(node, topics) for node in nodes.running]
        assert by_node[0] == by_node[1] == by_node[2]
        work = Work(stack, nodes, "packers", topics)
        work.produce()
        work.all()
        work.check()
        work.produce()
        work.some()
        nodes.kill(nodes.running[0])
        work.all()
        work.check()
        nodes.shared()
        assert set(leaders(nodes.running[0], topics).values()) == {number(node) for node in nodes.running}
        work.produce()
        work.some()
        nodes.start(1)
        work.produce()
        work.all()
        work.check()
        for node in nodes.running:
            assert "Traceback" not in node.log
