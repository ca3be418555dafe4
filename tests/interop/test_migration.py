"""Half-finished topics and groups that migrate to a cluster and on from it; `--broker=apache` uses Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from shareq.testing import Broker
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.clients.shareq_cli import Shell
from tests.support.scenarios.migration import GROUP as GROUP_AT_WORK
from tests.support.scenarios.migration import TOPIC as AT_WORK
from tests.support.scenarios.migration import drained, filled

pytestmark = pytest.mark.interop

TOPIC, PACKERS, READERS = "moving.orders", "moving.packers", "moving.readers"
CHOSEN = ("--topic", TOPIC, "--group", "moving.*")


@pytest.fixture
def clusters(broker: BrokerUnderTest) -> Iterator[list[str]]:
    """Yield the addresses of three clusters, with the one under test in the middle. A node has no consumer groups."""
    if broker.kind == "node":
        pytest.skip("nodes have no consumer groups")
    with Broker() as first, Broker() as last:
        yield [first.bootstrap, broker.bootstrap, last.bootstrap]


def begin(bootstrap: str) -> None:
    shell = Shell(bootstrap)
    shell.ok("topics", "create", TOPIC, "--partitions", "2")
    shell.ok("configs", "alter", "group", PACKERS, "--set", "share.auto.offset.reset=earliest")
    shell.ok("configs", "alter", "group", PACKERS, "--set", "share.isolation.level=read_committed")
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "moving", "linger.ms": 0})
    producer.init_transactions(30)
    for number in range(10):
        producer.begin_transaction()
        for each in range(10):
            producer.produce(TOPIC, f"{number}.{each}", str(each), partition=each % 2)
        if number == 4:
            producer.flush(30)
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


def taken(bootstrap: str, count: int, verdict: str = "accept") -> list[tuple[str, int]]:
    """Let the share group take records; return values with delivery counts."""
    words = ("share", "consume", PACKERS, "--topic", TOPIC, "--then", verdict, "-n", str(count))
    rows: list[dict[str, Any]] = Shell(bootstrap).json(*words)
    return [(row["record"]["value"], row["delivery"]) for row in rows]


def consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": READERS,
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
        }
    )


def commit(bootstrap: str, offset: int) -> None:
    reader = consumer(bootstrap)
    reader.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    reader.close()


def committed(bootstrap: str) -> list[str]:
    """Return the values that the consumer group has yet to read, from its committed offset on."""
    reader = consumer(bootstrap)
    (place,) = reader.committed([TopicPartition(TOPIC, 0)], timeout=30)
    reader.close()
    rows = Shell(bootstrap).json("consume", f"{TOPIC}:0", "--from", str(place.offset), "--committed")
    return [row["value"] for row in rows]


def move(old: str, new: str) -> list[dict[str, Any]]:
    shell = Shell(old)
    shell.json("migrate", old, new, *CHOSEN, "--dry-run")
    shell.json("migrate", old, new, *CHOSEN)
    rows: list[dict[str, Any]] = shell.json("migrate", old, new, *CHOSEN, "--cut-over")
    assert {row["outcome"] for row in rows if row["kind"] == "records"} == {"verified"}
    return rows


def test_what_groups_have_done_is_known_where_they_go_on(clusters: list[str]) -> None:
    first, middle, last = clusters
    begin(first)
    commit(first, 13)  # of the third transaction
    everything = {f"{number}.{each}" for number in range(10) for each in range(10) if number != 4}
    done = {value for value, _ in taken(first, 20)}
    released = {value for value, _ in taken(first, 5, "release")}
    done |= {value for value, _ in taken(first, 5, "reject")}
    read = committed(first)
    for old, new in ((first, middle), (middle, last)):
        assert {row["outcome"] for row in move(old, new) if row["kind"] == "share-group"} == {"moved"}
        assert committed(new) == read
        again = Shell(old).run(
            "share", "consume", PACKERS, "--topic", TOPIC, "-n", "1", "--idle", "2", "--timeout", "5"
        )
        assert "NOT_LEADER_OR_FOLLOWER" in again.err or not again.out
        some = taken(new, 20)
        assert not done.intersection(value for value, _ in some)
        assert {value for value, delivery in some if delivery > 1} <= released
        done |= {value for value, _ in some}
    rest = taken(last, len(everything - done))
    assert {value for value, _ in rest} == everything - done
    Shell(middle).ok("topics", "delete", TOPIC, "--yes")


@pytest.mark.parametrize("way", ["there", "back"])
def test_workers_go_on_while_commands_are_killed(clusters: list[str], way: str) -> None:
    first, middle, _ = clusters
    old, new = (first, middle) if way == "there" else (middle, first)
    filled(old)
    ledger = asyncio.run(drained(old, new, None, Random(1)))
    assert set(ledger.confirmed.values()) == {1}
    # The group first: Apache Kafka tries for half a minute to delete a group's state of a topic that is gone.
    Shell(middle).ok("share", "delete", GROUP_AT_WORK, "--yes")
    Shell(middle).ok("topics", "delete", AT_WORK, "--yes")
