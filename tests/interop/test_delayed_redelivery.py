"""Delayed redelivery on a real broker; Apache Kafka's tools read the state topic with times in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from devtools.clients.admin import configure_group
from devtools.clients.wire import WireClient
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.internal_topics import DECODERS, FORMATTERS, STATE
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.share_wire import ACCEPT, RELEASE, Member, append, create_known_topic

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]

WAIT_S: Final = 3.0


@pytest.fixture
def delayed(broker: BrokerUnderTest, unique: Unique) -> Iterator[tuple[str, Member, float]]:
    """A group whose records wait; its member, which has released 0 to 2 of ten records one by one; and since when."""
    if broker.kind == "apache":
        pytest.skip("Apache Kafka has no delayed redelivery")
    group, topic = unique("delayed"), unique("waits")
    backoff = {"shareq.redelivery.backoff.ms": str(int(WAIT_S * 1000)), "share.auto.offset.reset": "earliest"}
    configure_group(broker.bootstrap, group, backoff)
    with WireClient(("127.0.0.1", broker.port)) as client:
        topic_id = create_known_topic(client, topic)
        append(client, topic, 10)
        member = Member(client, group, "one", topic_id)
        member.join([topic])
        assert [each[:2] for each in member.take()] == [(0, 9)]
        began = time.monotonic()
        for offset in range(3):
            member.acknowledged((offset, offset, RELEASE))
        member.acknowledged((3, 9, ACCEPT))
        yield group, member, began


def values_of(output: str) -> list[dict[str, Any]]:
    """The values that the formatter wrote: JSON objects without anything between them."""
    decoder, position, values = json.JSONDecoder(), output.index("{"), list[dict[str, Any]]()
    while position < len(output) and output[position] == "{":
        shown, position = decoder.raw_decode(output, position)
        values.append(shown)
    return values


def test_apache_kafkas_formatter_and_dump_print_what_they_know(
    java: JavaDriver, broker: BrokerUnderTest, delayed: tuple[str, Member, float]
) -> None:
    group, _, _ = delayed
    released = [{"firstOffset": n, "lastOffset": n, "deliveryState": 0, "deliveryCount": 1} for n in range(3)]
    output, found = "", list[dict[str, Any]]()
    files = sorted(file for file in broker.data_dir.glob(f"{STATE}-*/*.log") if file.stat().st_size)
    for file in files:
        arguments = ["--bootstrap-server", broker.bootstrap, "--topic", STATE, "--offset", "earliest"]
        arguments += ["--partition", file.parent.name.rpartition("-")[2], "--formatter", FORMATTERS[STATE]]
        output = java.tool("consumer.ConsoleConsumer", *arguments, "--timeout-ms", "2000").output
        if group in output:
            found = [each for each in values_of(output) if each["key"]["data"]["groupId"] == group]
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
