"""`shareq serve --cluster` as a user starts it, with shareq itself as the cluster."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from devtools.ports import free_port
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.server import Server
from shareq.broker.process.sockets import ServeError
from shareq.cluster import command
from shareq.cluster.node.options import cluster_options
from shareq.testing import Broker
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
from tests.support.waiting import until
from tests.wire.test_documents import DOCS

TOPICS = ("__shareq_state", "__shareq_groups", "__shareq_config")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_a_node_serves_share_groups_and_the_next_one_goes_on_where_it_was(tmp_path: Path, cluster: Broker) -> None:
    """No confirmed record comes again, and nothing is stored on this machine."""
    topic = cluster.topic("parcels", 1)
    with node_process(tmp_path, cluster.bootstrap) as node:
        node.wait_until_ready()
        assert f"node {number(node)} of cluster {cluster.bootstrap}, id " in node.line
        configure(node.bootstrap, "packers")
        asyncio.run(produced(node.bootstrap, topic, b"a", b"b", b"c"))
        assert asyncio.run(accepted(node.bootstrap, "packers", topic, 2)) == [b"a", b"b"]
        assert str(number(node)) in shareq("cluster", "brokers", "-b", node.bootstrap)  # which has no logs to measure
        code, took_s = node.stop()
        assert (code, os.listdir(node.folder)) == (0, [])
        assert took_s < 5
        assert "Traceback" not in node.log
        assert "WARNING shareq.cluster.state" not in node.log
    with node_process(tmp_path, cluster.bootstrap) as node:
        node.wait_until_ready()
        assert asyncio.run(accepted(node.bootstrap, "packers", topic, 1)) == [b"c"]
        assert node.stop()[0] == 0


def test_a_second_node_goes_on_when_the_first_is_killed(tmp_path: Path, cluster: Broker) -> None:
    topic = cluster.topic("killed", 1)
    with (
        node_process(tmp_path, cluster.bootstrap) as first,
        node_process(tmp_path, cluster.bootstrap) as second,
    ):
        first.wait_until_ready()
        second.wait_until_ready()
        assert number(first) != number(second)
        owner, waiting = owner_first(first, second)
        configure(first.bootstrap, "others")
        asyncio.run(produced(first.bootstrap, topic, b"a", b"b"))
        assert asyncio.run(accepted(first.bootstrap, "others", topic, 1)) == [b"a"]
        owner.process.kill()
        assert asyncio.run(accepted(waiting.bootstrap, "others", topic, 1)) == [b"b"]


def test_a_node_goes_on_when_its_cluster_was_away(tmp_path: Path) -> None:
    with Broker() as cluster, node_process(tmp_path, cluster.bootstrap) as node:
        topic = cluster.topic("away", 1)
        node.wait_until_ready()
        configure(node.bootstrap, "patient")
        asyncio.run(produced(node.bootstrap, topic, b"a", b"b"))
        assert asyncio.run(accepted(node.bootstrap, "patient", topic, 1)) == [b"a"]
        cluster.kill()
        until(lambda: "slots: lost " in node.log)
        cluster.restart()
        assert asyncio.run(accepted(node.bootstrap, "patient", topic, 1)) == [b"b"]
        assert (node.stop()[0], "Traceback" in node.log) == (0, False)


def test_the_page_shows_how_a_node_is_started_and_used(tmp_path: Path, cluster: Broker) -> None:
    """Every command of docs/cluster.md runs as written, except for names and ports."""
    topic, port = cluster.topic("orders", 1), free_port()
    cluster.produce(topic, b"an order")
    text = (DOCS / "cluster.md").read_text().replace("kafka-1:9092,kafka-2:9092", cluster.bootstrap)
    text = text.replace("0.0.0.0:9092", f"127.0.0.1:{port}").replace("node-1.example.com:9092", f"localhost:{port}")
    begin, use = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    name, *arguments = shlex.split(begin)
    assert name == "shareq"
    with command_line(tmp_path, arguments) as node:
        node.wait_until_ready()
        for line in use.splitlines():
            name, *arguments = shlex.split(line)
            assert name == "shareq"
            shown = shareq(*arguments)
        assert "an order" in shown


def test_a_signal_ends_the_wait_for_a_cluster(tmp_path: Path) -> None:
    with node_process(tmp_path, f"127.0.0.1:{free_port()}") as node:
        until(lambda: "not reached yet" in node.log)
        code, took_s = node.stop()
        assert code == 0
        assert took_s < 5
        assert node.log.splitlines()[-1].endswith("SIGTERM: stopping")


async def start_of_node(bootstrap: str, client: Mapping[str, str] | None = None) -> None:
    config = BrokerConfig.load({"listeners": "PLAINTEXT://127.0.0.1:0"}, of_node=True)
    start = command.NodeStart(config, cluster_options(bootstrap, client or {}))
    server = Server(config, make_ground=start.make)
    try:
        await server.start()
        await server.stop()
    finally:
        await start.wait_closed()


async def test_a_cluster_that_is_not_reached_is_one_line_with_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PATIENCE_MS", 600)
    bootstrap = f"127.0.0.1:{free_port()}"
    with pytest.raises(ServeError) as refused:
        await start_of_node(bootstrap)
    text = str(refused.value)
    assert text.startswith(f"cluster {bootstrap}: it was not reached in 0.6 s: {bootstrap} cannot be reached: ")
    assert "\n" not in text
    assert not refused.value.usage


async def test_brokers_at_addresses_that_are_not_reached_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most frequent mistake is advertised listeners that the node's machine cannot reach."""
    monkeypatch.setattr(command, "PATIENCE_MS", 600)
    elsewhere = f"127.0.0.1:{free_port()}"
    with (
        Broker(config={"advertised.listeners": f"PLAINTEXT://{elsewhere}"}, mode="command") as astray,
        pytest.raises(ServeError) as refused,
    ):
        await start_of_node(astray.bootstrap)
    text = str(refused.value)
    assert text.startswith(
        f"cluster {astray.bootstrap}: it was not reached in 0.6 s: broker 1 at {elsewhere} cannot be "
    )
    assert text.endswith(f"; the cluster says that its brokers are at {elsewhere}")


SECURED = {
    "listeners": "CLIENTS://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:carol",
}


def user(name: str) -> str:
    return f"SCRAM-SHA-256=[name={name},password=secret]"


def login(name: str, password: str = "secret") -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{module} required username="{name}" password="{password}";',
    }


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    users = ["--add-scram", user("carol"), "--add-scram", user("node")]
    with Broker(config=SECURED, options=users, client_properties=login("carol")) as broker:
        yield broker


async def test_a_cluster_that_does_not_know_the_node_is_not_asked_again(secured: Broker) -> None:
    began = time.monotonic()
    with pytest.raises(ServeError, match="it refuses the node: ") as refused:
        await start_of_node(secured.bootstrap, login("node", "wrong"))
    assert time.monotonic() - began < 10
    assert "wrong" not in str(refused.value)


RIGHTS = {
    *(("topic", name, right) for name in TOPICS for right in ("read", "write", "describe-configs")),
    ("topic", "__shareq_state", "delete"),
    ("group", "__shareq", "read"),
    ("transactional-id", "shareq-", "write"),
}


def rights_in(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    of = [*pairwise(arguments)]
    resource, name = dict(of)["--resource"], dict(of)["--name"]
    return ((resource, name, value) for option, value in of if option == "--operation")


async def test_what_a_node_says_at_its_start_gets_its_user_the_rights_that_it_needs(
    tmp_path: Path, secured: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """The cluster's operator runs each command behind "Mend:", until none is left."""
    operator = tmp_path / "operator.properties"
    operator.write_text("".join(f"{name}={value}\n" for name, value in login("carol").items()))
    operator.chmod(0o600)
    where = ["--bootstrap-server", secured.bootstrap, "--config", str(operator)]
    given: set[tuple[str, str, str]] = set()
    for _ in range(10):
        caplog.clear()
        lines = []
        try:
            await start_of_node(secured.bootstrap, login("node"))
        except ServeError as error:
            lines = [str(error)]
        lines += [record.getMessage() for record in caplog.records if record.name == command.__name__]
        mends = [re.sub(r" \(\d+ more .*", "", line.partition("Mend: ")[2]) for line in lines if "Mend: " in line]
        if not mends:
            break
        for mend in mends:
            _, *arguments = shlex.split(mend.replace("User:NODE", "User:node"))
            await asyncio.to_thread(shareq, *arguments, *where)
            if arguments[0] == "acls":
                given.update(rights_in(arguments))
    assert not mends, mends
    assert given == RIGHTS


async def test_a_state_topic_that_loses_what_was_confirmed_refuses_the_start() -> None:
    with Broker() as cluster:
        cluster.topic("__shareq_state", 48, {"cleanup.policy": "compact"})
        with pytest.raises(ServeError, match=r"topic __shareq_state: cleanup\.policy is 'compact'") as refused:
            await start_of_node(cluster.bootstrap)
    assert str(refused.value).endswith("Mend: shareq configs alter topic __shareq_state --set cleanup.policy=delete")
