"""Order by key: Java's and librdkafka's share consumers read split record batches like whole ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Final, cast

import pytest
from confluent_kafka import Producer, ShareConsumer

from devtools.clients.admin import QUIET, configure_group
from devtools.kafka.apache_kafka import java_tool
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import why_no_java
from tests.interop.support.protocol import tool_arguments

pytestmark = pytest.mark.interop
Unique = Callable[[str], str]
Sent = list[tuple[bytes, bytes, list[tuple[str, bytes]]]]
"""Key, value and headers of each record, in order."""

RECORDS: Final = 3_000
KEYS: Final = 50
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(params=CODECS)
def ordered(request: pytest.FixtureRequest, broker: BrokerUnderTest, unique: Unique) -> tuple[str, Sent]:
    """Return a topic, a group with order by key, and the records: few batches, random keys."""
    if broker.kind == "apache":
        pytest.skip("Apache Kafka has no order by key")
    name, rng = unique(f"ordered-{request.param}"), random.Random(7)
    configure_group(broker.bootstrap, name, {"share.auto.offset.reset": "earliest", "shareq.order": "key"})
    settings = {"bootstrap.servers": broker.bootstrap, "compression.type": request.param, "linger.ms": 200, **QUIET}
    producer, sent = Producer(settings), Sent()
    for number in range(RECORDS):
        key, value = b"key %d" % rng.randrange(KEYS), b"v%d %s" % (number, rng.randbytes(20).hex().encode())
        sent.append((key, value, [("number", b"%d" % number)]))
        producer.produce(name, value, key, headers=[("number", b"%d" % number)])
    assert producer.flush(30) == 0
    return name, sent


def test_librdkafka_gets_each_record_as_it_was_and_those_of_a_key_in_order(
    broker: BrokerUnderTest, ordered: tuple[str, Sent]
) -> None:
    name, sent = ordered
    consumer = ShareConsumer({"bootstrap.servers": broker.bootstrap, "group.id": name, **QUIET})
    consumer.subscribe([name])
    got = Sent()
    until = time.monotonic() + 60
    while len(got) < RECORDS and time.monotonic() < until:
        for message in consumer.poll(1):
            assert message.error() is None
            headers = cast(list[tuple[str, bytes]], message.headers())
            got.append((message.key() or b"", message.value() or b"", headers))
    consumer.close()
    assert sorted(got) == sorted(sent)
    for key in {key for key, _, _ in sent}:
        numbers = [int(headers[0][1]) for each, _, headers in got if each == key]
        assert all(one < other for one, other in pairwise(numbers))


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
def test_javas_console_consumer_gets_each_record_once(broker: BrokerUnderTest, ordered: tuple[str, Sent]) -> None:
    name, sent = ordered
    options = tool_arguments(("--bootstrap-server", broker.bootstrap, "--topic", name, "--group", name))
    limits = ("--max-messages", str(RECORDS), "--timeout-ms", "30000")
    done = java_tool("org.apache.kafka.tools.consumer.ConsoleShareConsumer", *options, *limits, timeout_s=90)
    assert sorted(done.stdout.encode().splitlines()) == sorted(value for _, value, _ in sent), done.stderr
