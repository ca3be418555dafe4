"""Dead letters of a node in a process of its own, with shareq itself as the cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.aio import ShareConsumer
from shareq.testing import Broker
from tests.support.node_process import NodeProcess, command_line, configure, produced, shareq
from tests.support.waiting import until

QUEUE = "dlq.orders"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


async def rejected(bootstrap: str, group: str, topic: str, count: int) -> None:
    async with ShareConsumer(bootstrap, group, [topic], acknowledgement="explicit") as consumer:
        for _ in range(count):
            record = await consumer.getone(timeout_s=30)
            await record.reject("no such article")
        await consumer.commit()


def letters_by_way_of(node: NodeProcess) -> None:
    """Reject records in a group, and read their letters, through a node that may create the queue."""
    address = ("-b", node.bootstrap)
    shareq("topics", "create", "orders", "--partitions", "1", *address)
    configure(node.bootstrap, "packers")
    queue = (f"errors.deadletterqueue.topic.name={QUEUE}", "errors.deadletterqueue.copy.record.enable=true")
    for each in queue:
        shareq("configs", "alter", "group", "packers", "--set", each, *address)
    asyncio.run(produced(node.bootstrap, "orders", b"a", b"b", b"c"))
    asyncio.run(rejected(node.bootstrap, "packers", "orders", 3))

    def listed() -> dict[str, object]:
        rows = json.loads(shareq("dlq", "list", "--json", *address))
        return next((row for row in rows if row["queue"] == QUEUE), {})

    until(lambda: listed().get("letters") == 3)
    row = listed()
    assert (row["enabled"], row["groups"], row["problem"]) == (True, ["packers"], None)
    shown = [json.loads(line) for line in shareq("dlq", "show", QUEUE, "--json", *address).splitlines()]
    assert [each["source_offset"] for each in shown] == [0, 1, 2]
    assert {(each["group"], each["source_topic"], each["error"]) for each in shown} == {
        ("packers", "orders", "no such article")
    }
    assert [each["record"]["value"] for each in shown] == ["a", "b", "c"]
    code, _ = node.stop()
    assert (code, "Traceback" in node.log) == (0, False)


def serve(cluster: str, *properties: str) -> list[str]:
    given = ("errors.deadletterqueue.auto.create.topics.enable=true", *properties)
    options = [word for each in given for word in ("--set", each)]
    return ["serve", "--cluster", cluster, "--listen", "127.0.0.1:0", *options]


def test_what_died_by_way_of_a_node_is_in_a_topic_of_the_cluster(tmp_path: Path, cluster: Broker) -> None:
    with command_line(tmp_path, serve(cluster.bootstrap)) as node:
        node.wait_until_ready()
        letters_by_way_of(node)
    assert "dlq.orders" in shareq("topics", "list", "-b", cluster.bootstrap)
