"""Delayed redelivery on a real broker; Apache Kafka's tools read the state topic with redelivery times."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from bench.proc import cpu_seconds
from devtools.clients.admin import QUIET, configure_group
from devtools.clients.wire import WireClient
from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.testing import Broker
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.internal_topics import DECODERS, FORMATTERS, STATE
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_wire import ACCEPT, RELEASE, Member, append, create_known_topic

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]

WAIT_S: Final = 3.0


@contextmanager
def member_of(
    bootstrap: str, port: int, group: str, *, records: int, wait_s: float, locks: str = "2000"
) -> Iterator[Member]:
    """Run the only member of a group with delayed records, at the start of a topic with this many records."""
    configs = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": "10",
        "share.partition.max.record.locks": locks,
        "shareq.redelivery.backoff.ms": str(int(wait_s * 1_000)),
        "shareq.redelivery.backoff.multiplier": "1",
    }
    configure_group(bootstrap, group, configs)
    with WireClient(("127.0.0.1", port)) as client:
        topic = f"{group}-topic"
        topic_id = create_known_topic(client, topic)
        for at in range(0, records, 5_000):
            append(client, topic, min(5_000, records - at))
        member = Member(client, group, "one", topic_id)
        member.join([topic])
        yield member


@pytest.fixture
def delayed(broker: BrokerUnderTest, unique: Unique) -> Iterator[tuple[str, Member, float]]:
    """Yield a group with delayed records; its member, which released 0 to 2 of ten; and the time of the releases."""
    if broker.kind == "apache":
        pytest.skip("Apache Kafka has no delayed redelivery")
    group = unique("delayed")
    with member_of(broker.bootstrap, broker.port, group, records=10, wait_s=WAIT_S) as member:
        assert [each[:2] for each in member.take()] == [(0, 9)]
        began = time.monotonic()
        for offset in range(3):
            member.acknowledged((offset, offset, RELEASE))
        member.acknowledged((3, 9, ACCEPT))
        yield group, member, began


def values_of(output: str) -> list[dict[str, Any]]:
    decoder, position, values = json.JSONDecoder(), output.index("{"), list[dict[str, Any]]()
    while position < len(output) and output[position] == "{":
        shown, position = decoder.raw_decode(output, position)
        values.append(shown)
    return values


def test_apache_kafkas_formatter_and_dump_print_what_they_know(
    java: JavaDriver, broker: BrokerUnderTest, delayed: tuple[str, Member, float]
) -> None:
    group, member, _ = delayed
    released = [{"firstOffset": n, "lastOffset": n, "deliveryState": 0, "deliveryCount": 1} for n in range(3)]
    partition = share_partition_for(SharePartitionKey(group, member.topic_id, 0), 50)
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, **QUIET})
    _, end = reader.get_watermark_offsets(TopicPartition(STATE, partition), timeout=10)
    reader.close()
    arguments = ["--bootstrap-server", broker.bootstrap, "--topic", STATE, "--partition", str(partition)]
    arguments += ["--offset", "earliest", "--max-messages", str(end), "--timeout-ms", "20000"]
    output = java.tool("consumer.ConsoleConsumer", *arguments, "--formatter", FORMATTERS[STATE]).output
    assert f"Processed a total of {end} messages" in output
    found = [each for each in values_of(output) if each["key"]["data"]["groupId"] == group]
    files = sorted(file for file in broker.data_dir.glob(f"{STATE}-*/*.log") if file.stat().st_size)
    batches = [batch for each in found for batch in each["value"]["data"]["stateBatches"]]
    assert [batch for batch in batches if batch["deliveryState"] == 0] == released, output
    dumped = java.tool("DumpLogSegments", DECODERS[STATE], "--files", ",".join(map(str, files)))
    assert dumped.code == 0, dumped.output
    assert "isvalid: false" not in dumped.output
    assert "Could not" not in dumped.output
    assert dumped.output.count('"deliveryState":0,"deliveryCount":1') >= 3


def test_what_waits_comes_at_its_time_and_not_before(delayed: tuple[str, Member, float]) -> None:
    _, member, began = delayed
    found: list[int] = []
    while len(found) < 3:
        found += [offset for each in member.take() for offset in range(each.first, each.last + 1)]
        assert time.monotonic() - began >= WAIT_S
    assert found == [0, 1, 2]


def test_a_fetch_that_waits_is_answered_within_20_ms_of_the_time(broker: BrokerUnderTest, unique: Unique) -> None:
    if broker.kind == "apache":
        pytest.skip("Apache Kafka has no delayed redelivery")
    wait_s, late = 0.3, list[float]()
    with member_of(broker.bootstrap, broker.port, unique("prompt"), records=1, wait_s=wait_s) as member:
        member.take()
        for _ in range(9):
            member.acknowledged((0, 0, RELEASE))
            answered = time.monotonic()
            member.fetch(max_wait_ms=5_000)
            assert member.acquired != []
            late.append(time.monotonic() - answered - wait_s)
    assert median(late) < 0.020, late


def test_100_000_records_that_wait_take_no_cpu() -> None:
    """Every second of 200,000 records is released, as many ranges; the broker must then be as idle as any."""
    config = {"group.share.max.partition.max.record.locks": "300000"}
    with (
        Broker(config=config) as own,
        member_of(own.bootstrap, own.port, "many", records=200_000, wait_s=60, locks="300000") as member,
    ):
        taken = 0
        while taken < 200_000:
            for first, last, _ in member.take(5_000):
                taken += last - first + 1
                kinds = [RELEASE if offset % 2 else ACCEPT for offset in range(first, last + 1)]
                member.acknowledged((first, last, kinds))
        time.sleep(0.5)
        before, began = cpu_seconds(own.pid), time.monotonic()
        time.sleep(5)
        assert cpu_seconds(own.pid) - before < 0.02 * (time.monotonic() - began)
        member.fetch(max_wait_ms=0)
        assert member.acquired == []
