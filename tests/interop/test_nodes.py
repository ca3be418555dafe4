"""Nodes in front of Apache Kafka 3.9.1, which has no share groups, and 4.3.1.

Clients use a node, another node takes over after a kill, TLS and a login are on, and a node's findings at its start are
compared with those on the simulated cluster.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, cast

import pytest

from devtools.kafka import apache_kafka, certificates
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.os_clock import LoopClock
from shareq.client.config import ClientConfig
from shareq.cluster.link.network import NetworkLink
from shareq.cluster.link.ports import Link
from shareq.cluster.node.checks import Checked, Reached, Wanted, check_cluster, reach
from shareq.cluster.node.options import Replication
from shareq.cluster.state.topics import WantedTopic
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import java_security, properties_text
from tests.interop.support.guarded_broker import PASSWORD
from tests.interop.support.tls_broker import USER, TlsBroker, tls_broker
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KafkaRelease
from tests.support.cluster.world import ClusterWorld
from tests.support.cluster_scripts import transcripts
from tests.support.cluster_scripts.apache import ApacheCluster
from tests.support.cluster_scripts.conversation import Setting
from tests.support.node_process import (
    accepted,
    command_line,
    configure,
    node_process,
    number,
    owner_first,
    produced,
    shareq,
)

pytestmark = pytest.mark.interop

ONE: Final = Replication(1, 1, given=True)
"""Apache Kafka is one broker here."""


@pytest.fixture(params=transcripts.RELEASES, ids=lambda release: release.name, scope="module")
def release(request: pytest.FixtureRequest) -> KafkaRelease:
    found: KafkaRelease = request.param
    missing = apache_kafka.why_unavailable(found.name)
    if missing is not None:
        pytest.skip(missing)
    return found


def broker(release: KafkaRelease, setting: Setting) -> Iterator[ApacheCluster]:
    folder = apache_kafka.unused_folder("nodes")
    try:
        running = ApacheCluster(folder, release, setting)
        yield running
        running.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def plain(release: KafkaRelease) -> Iterator[ApacheCluster]:
    yield from broker(release, Setting.PLAIN)


@pytest.fixture(scope="module")
def guarded(release: KafkaRelease) -> Iterator[ApacheCluster]:
    yield from broker(release, Setting.GUARDED)


def test_what_operators_set_at_one_node_the_others_know(tmp_path: Path, plain: ApacheCluster) -> None:
    """Apache Kafka keeps what was set: a node that starts after all others have stopped knows it, too."""
    quota = ("--user", "alice", "--set", "producer_byte_rate=5000000")
    with node_process(tmp_path, plain.address) as first, node_process(tmp_path, plain.address) as second:
        first.wait_until_ready()
        second.wait_until_ready()
        configure(first.bootstrap, "kept")
        shareq("quotas", "alter", *quota, "-b", second.bootstrap)
        for node in (first, second):
            assert "earliest" in shareq("configs", "describe", "group", "kept", "-b", node.bootstrap)
            assert "producer_byte_rate:5000000" in shareq("quotas", "list", "-b", node.bootstrap)
        assert [first.stop()[0], second.stop()[0]] == [0, 0]
    with node_process(tmp_path, plain.address) as later:
        later.wait_until_ready()
        assert "earliest" in shareq("configs", "describe", "group", "kept", "-b", later.bootstrap)
        assert "producer_byte_rate:5000000" in shareq("quotas", "list", "-b", later.bootstrap)


def test_topics_that_are_made_and_deleted_by_way_of_a_node(tmp_path: Path, plain: ApacheCluster) -> None:
    """All topics are listed in pages of a thousand partitions; a name is used again at once."""
    with node_process(tmp_path, plain.address) as node:
        node.wait_until_ready()
        at = ("-b", node.bootstrap)
        names = [f"many-{number}" for number in range(3)]
        for name in names:
            shareq("topics", "create", name, "--partitions", "600", *at)
        listed = shareq("topics", "list", "--json", *at)
        assert all(f'"{name}"' in listed for name in names)
        assert listed.count("600") == len(names)
        shareq("topics", "delete", "many-1", "--yes", *at)
        assert '"many-1"' not in shareq("topics", "list", "--json", *at)
        shareq("topics", "create", "many-1", "--partitions", "1", *at)
        asyncio.run(produced(node.bootstrap, "many-1", b"a"))
        configure(node.bootstrap, "again")
        assert asyncio.run(accepted(node.bootstrap, "again", "many-1", 1)) == [b"a"]


def test_a_trial_finds_what_nodes_need_and_leaves_nothing_behind(plain: ApacheCluster) -> None:
    """Nothing is missing except brokers, as there is only one; and 4.3.1 has share groups of its own."""
    lines = shareq("check", "--cluster", plain.address).splitlines()
    lacking = {" ".join(line[5:].split()[:4]) for line in lines if not line.startswith("ok ")}
    assert lacking <= {"the cluster has 1", "the cluster has share"}
    assert sum(line.startswith("ok ") for line in lines) == 6
    at = ("-b", plain.address)
    assert "shareq-check" not in shareq("topics", "list", *at) + shareq("groups", "list", *at)


def test_what_one_node_confirmed_another_one_knows(tmp_path: Path, plain: ApacheCluster) -> None:
    with node_process(tmp_path, plain.address) as first, node_process(tmp_path, plain.address) as second:
        first.wait_until_ready()
        second.wait_until_ready()
        assert number(first) != number(second)
        owner, waiting = owner_first(first, second)
        shareq("topics", "create", "orders", "--partitions", "1", "-b", waiting.bootstrap)
        configure(waiting.bootstrap, "packers")
        asyncio.run(produced(owner.bootstrap, "orders", b"a", b"b", b"c"))
        assert asyncio.run(accepted(waiting.bootstrap, "packers", "orders", 2)) == [b"a", b"b"]
        owner.process.kill()
        assert asyncio.run(accepted(waiting.bootstrap, "packers", "orders", 1)) == [b"c"]
        code, took_s = waiting.stop()
        assert (code, "Traceback" in waiting.log) == (0, False)
        assert took_s < 5


@pytest.fixture(params=["ours", "apache"], scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    kind: Kind = request.param
    missing = certificates.why_unavailable() or (apache_kafka.why_unavailable() if kind == "apache" else None)
    if missing is not None:
        pytest.skip(missing)
    with tls_broker(kind, tmp_path_factory.mktemp("secured")) as running:
        yield running


LOGINS: Final = {
    "OPEN": None,
    "LOGIN": {"mechanism": "SCRAM-SHA-512", "username": USER, "password": PASSWORD},
}
"""The properties of nodes by the listener of the cluster: SSL, and SASL_SSL."""


@pytest.mark.parametrize("listener", LOGINS)
def test_nodes_before_a_cluster_behind_tls_and_a_login(tmp_path: Path, secured: TlsBroker, listener: str) -> None:
    """The state that the next owner reads is covered, and clients' requests through the nodes."""
    config = tmp_path / "cluster.properties"
    config.touch(mode=0o600)
    config.write_text(properties_text(java_security(LOGINS[listener], secured.pki.tls())))
    topic, group = f"orders-{listener}", f"packers-{listener}"
    start = ["serve", "--cluster", secured.bootstrap(listener), "--cluster-config", str(config)]
    start += ["--listen", "127.0.0.1:0"]
    with command_line(tmp_path, start) as first, command_line(tmp_path, start) as second:
        first.wait_until_ready()
        second.wait_until_ready()
        owner, waiting = owner_first(first, second)
        shareq("topics", "create", topic, "--partitions", "1", "-b", waiting.bootstrap)
        configure(waiting.bootstrap, group)
        asyncio.run(produced(waiting.bootstrap, topic, b"a", b"b"))
        assert asyncio.run(accepted(waiting.bootstrap, group, topic, 1)) == [b"a"]
        owner.process.kill()
        assert asyncio.run(accepted(waiting.bootstrap, group, topic, 1)) == [b"b"]
        assert waiting.stop()[0] == 0
        assert "Traceback" not in waiting.log
        assert PASSWORD not in first.log + second.log


CASES: Final = {
    "nothing": None,
    "read": (Resource.TOPIC, Operation.READ),
    "write": (Resource.TOPIC, Operation.WRITE),
    "describe": (Resource.TOPIC, Operation.DESCRIBE),
    "create": (Resource.TOPIC, Operation.CREATE),
    "delete": (Resource.TOPIC, Operation.DELETE),
    "configs": (Resource.TOPIC, Operation.DESCRIBE_CONFIGS),
    "group": (Resource.GROUP, Operation.READ),
    "transactions": (Resource.TRANSACTIONAL_ID, Operation.DESCRIBE),
}
"""The right that is missing, by the name of the case."""


def wanted(case: str) -> Wanted:
    topics = (WantedTopic(f"state-{case}", 2, compacted=False), WantedTopic(f"groups-{case}", 2, compacted=True))
    return Wanted(topics, ONE, f"group-{case}", f"{case}-")


def name_of(case: str, resource: Resource) -> str:
    return {Resource.TOPIC: "state", Resource.GROUP: "group"}.get(resource, case) + (
        "-check" if resource is Resource.TRANSACTIONAL_ID else f"-{case}"
    )


def said(found: Checked) -> tuple[list[str], list[str]]:
    """Return refusals and warnings, without those that only one of the clusters can have."""
    return found.refusals, [each for each in found.warnings if "share groups of its own" not in each]


async def by_apache_kafka(address: str, case: str) -> tuple[list[str], list[str]]:
    loop = asyncio.get_running_loop()
    env = Environment(LoopClock(loop), Random(1), cast(Fs, None))
    link = NetworkLink(ClientConfig.from_properties({"bootstrap.servers": address}))
    answer: asyncio.Future[Checked] = loop.create_future()
    begin = beginner(env.budget, in_ticks(env.clock.call_soon))
    begin(check(env, link, case)).on_complete(answer.set_result)
    try:
        return said(await asyncio.wait_for(answer, 60))
    finally:
        link.close()
        await link.wait_closed()


async def check(env: Environment, link: Link, case: str) -> Checked:
    cluster = await reach(env, link)
    assert isinstance(cluster, Reached)
    return await check_cluster(env, link, wanted(case), cluster)


def by_the_simulation(release: KafkaRelease, case: str) -> tuple[list[str], list[str]]:
    world = ClusterWorld(ClusterSettings(release=release, brokers=(1,)))
    missing = CASES[case]
    if missing is not None:
        world.cluster.rights.deny(missing[0], name_of(case, missing[0]), missing[1])
    begin = beginner(world.env.budget, in_ticks(world.clock.call_soon))
    return said(world.wait(begin(check(world.env, world.link, case))))


@pytest.mark.parametrize("case", CASES)
def test_apache_kafka_and_the_simulated_cluster_lead_to_the_same_lines(
    release: KafkaRelease, guarded: ApacheCluster, case: str
) -> None:
    missing = CASES[case]
    if missing is not None:
        guarded.deny(missing[0], name_of(case, missing[0]), missing[1])
    refusals, warnings = asyncio.run(by_apache_kafka(guarded.address, case))
    assert (refusals, warnings) == by_the_simulation(release, case)
    assert len(refusals) + len(warnings) == (missing is not None)
