"""Every client, feature by feature: the table of `docs/evidence/clients.md`, which `--update-clients-table` writes.

Another client (librdkafka) checks the results of the client under test, and prepares what it reads. Other modules test
restarts, rebalances and rights.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET, create_topic, produce, read_from_start
from shareq.protocol.records.batch import BatchHeader, read_header
from shareq.protocol.records.compression import Compression
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.commands import Client, Unavailable
from tests.interop.support.clients.features import (
    BEGIN,
    COMPRESSIONS,
    DOCUMENT,
    END,
    FEATURES,
    LACKING,
    MECHANISMS,
    table,
)
from tests.interop.support.clients.registry import CLIENTS
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]
BROKER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
CODEC_BITS = 7
Outcomes = dict[tuple[str, str], str]
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Case:
    client: Client
    bootstrap: str
    data_dir: Path
    unique: Unique

    def call(self, do: str, **arguments: object) -> dict[str, Any]:
        return self.client.call(do, bootstrap=self.bootstrap, login=None, **arguments)

    def first_batch(self, topic: str) -> BatchHeader:
        return read_header((self.data_dir / f"{topic}-0" / f"{0:020}.log").read_bytes())

    def topic(self, *values: str) -> str:
        topic = self.unique(f"topic-{next(_numbers)}")
        create_topic(self.bootstrap, topic)
        if values:
            produce(self.bootstrap, topic, ((0, value.encode()) for value in values))
        return topic

    def read(self, topic: str, count: int, level: str = "read_uncommitted") -> list[tuple[str, dict[str, str]]]:
        """Return the values and headers that librdkafka reads; fail unless there are exactly `count`."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "nobody",
                "isolation.level": level,
                "enable.partition.eof": True,
                **QUIET,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[tuple[str, dict[str, str]]] = []
        while (message := consumer.poll(20)) is not None and message.error() is None:
            headers: Any = message.headers() or []
            found.append(((message.value() or b"").decode(), {name: text.decode() for name, text in headers}))
        consumer.close()
        assert message is not None, f"no answer within 20 s, after {len(found)} records"
        assert len(found) == count
        return found

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})


def check_produce(case: Case, **settings: object) -> BatchHeader:
    topic = case.topic()
    values = [f"value {number} " * 20 for number in range(50)]
    case.call("produce", topic=topic, values=values, **settings)
    assert [value for value, _ in case.read(topic, 50)] == values
    return case.first_batch(topic)


def check_plain(case: Case) -> None:
    assert check_produce(case).attributes & CODEC_BITS == Compression.NONE


def check_compression(case: Case, codec: str) -> None:
    written = check_produce(case, compression=codec)
    assert Compression(written.attributes & CODEC_BITS).name == codec.upper()
    # and what others have compressed
    topic = case.topic()
    producer = Producer({"bootstrap.servers": case.bootstrap, "compression.type": codec, "linger.ms": 50, **QUIET})
    values = [f"value {number} " * 20 for number in range(50)]
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0
    records = case.call("fetch", topic=topic, count=50)["records"]
    assert [record["value"] for record in records] == values


def check_idempotent(case: Case) -> None:
    assert check_produce(case, idempotent=True).producer_id >= 0


def check_fetch(case: Case) -> None:
    topic = case.topic("a", "b", "c")
    records = case.call("fetch", topic=topic, count=3)["records"]
    assert [(record["offset"], record["value"]) for record in records] == [(0, "a"), (1, "b"), (2, "c")]


def check_headers(case: Case) -> None:
    topic = case.topic()
    headers = {"kind": "test", "other": "ümlaut"}
    case.call("produce", topic=topic, values=["x"], headers=headers)
    assert case.read(topic, 1) == [("x", headers)]
    [record] = case.call("fetch", topic=topic, count=1)["records"]
    assert record["headers"] == headers


def check_offsets(case: Case) -> None:
    topic = case.topic("a", "b", "c")
    admin = case.admin()
    [deleted] = admin.delete_records([TopicPartition(topic, 0, 1)]).values()
    deleted.result(20)
    assert case.call("offsets", topic=topic) == {"earliest": 1, "latest": 3}


def check_group(case: Case, protocol: str = "classic") -> None:
    topic, group = case.topic("a", "b", "c"), case.unique("group")
    assert case.call("group", topic=topic, group=group, protocol=protocol, count=3)["values"] == ["a", "b", "c"]
    produce(case.bootstrap, topic, [(0, b"d")])
    assert case.call("group", topic=topic, group=group, protocol=protocol, count=1)["values"] == ["d"]


def check_consumer_group(case: Case) -> None:
    check_group(case, "consumer")


def check_static_member(case: Case) -> None:
    topic, group, admin = case.topic("a"), case.unique("group"), case.admin()
    for values in (["a"], ["b"]):
        call = case.call("group", topic=topic, group=group, protocol="classic", count=1, instance="packer-1")
        assert call["values"] == values
        [described] = admin.describe_consumer_groups([group]).values()
        assert [member.group_instance_id for member in described.result(20).members] == ["packer-1"]
        produce(case.bootstrap, topic, [(0, b"b")])


def check_share_group(case: Case) -> None:
    group = case.unique("group")
    read_from_start(case.bootstrap, group)
    topic = case.topic("accept 1", "release 2", "reject 3", "accept 4")
    deliveries = case.call("share", topic=topic, group=group, count=4)["deliveries"]
    assert sorted(map(tuple, deliveries)) == [
        ("accept 1", 1),
        ("accept 4", 1),
        ("reject 3", 1),
        ("release 2", 1),
        ("release 2", 2),
    ]
    produce(case.bootstrap, topic, [(0, b"later")])  # a second member gets nothing of what is finished
    assert case.call("share", topic=topic, group=group, count=1)["deliveries"] == [["later", 1]]


def check_transactions(case: Case) -> None:
    topic = case.topic()
    case.call("produce", topic=topic, values=["a", "b"], transaction=case.unique("one"))
    case.call("produce", topic=topic, values=["never"], transaction=case.unique("two"), abort=True)
    case.call("produce", topic=topic, values=["c"], transaction=case.unique("three"))
    assert [value for value, _ in case.read(topic, 3, "read_committed")] == ["a", "b", "c"]


def check_transactional_id(case: Case) -> None:
    topic, name = case.topic(), case.unique("transaction")
    for value in ("a", "b", "c"):
        case.call("produce", topic=topic, values=[value], transaction=name)
    assert [value for value, _ in case.read(topic, 3, "read_committed")] == ["a", "b", "c"]


def check_read_committed(case: Case) -> None:
    topic = case.topic()
    producer = Producer({"bootstrap.servers": case.bootstrap, "transactional.id": case.unique("transaction"), **QUIET})
    producer.init_transactions(20)
    for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(20)
        end(20)
    produce(case.bootstrap, topic, [(0, b"c")])
    records = case.call("fetch", topic=topic, count=2, committed=True)["records"]
    assert [record["value"] for record in records] == ["a", "c"]


def check_topics(case: Case) -> None:
    topic = case.unique("topic")
    case.call("create_topic", topic=topic, partitions=3)
    assert len(case.admin().list_topics(timeout=20).topics[topic].partitions) == 3
    assert case.call("describe_topic", topic=topic) == {"partitions": 3}
    case.call("delete_topic", topic=topic)
    deadline = time.monotonic() + 10  # Apache Kafka answers before every broker knows
    while (left := case.call("describe_topic", topic=topic)["partitions"]) and time.monotonic() < deadline:
        pass
    assert left == 0


def check_configs(case: Case) -> None:
    topic = case.unique("topic")
    create_topic(case.bootstrap, topic, retention_ms="86400000")
    configs = case.call("configs", topic=topic)["configs"]
    assert configs["retention.ms"] == "86400000"
    assert configs["cleanup.policy"] == "delete"


def check_groups(case: Case) -> None:
    topic, group = case.topic("a"), case.unique("group")
    consumer = Consumer(
        {"bootstrap.servers": case.bootstrap, "group.id": group, "auto.offset.reset": "earliest", **QUIET}
    )
    consumer.subscribe([topic])
    message = consumer.poll(20)
    assert message is not None
    answer = case.call("groups", group=group)
    consumer.close()
    assert group in answer["listed"]
    assert answer["state"].upper() == "STABLE"


def check_delete_records(case: Case) -> None:
    topic = case.topic("a", "b", "c")
    case.call("delete_records", topic=topic, before=2)
    consumer = Consumer({"bootstrap.servers": case.bootstrap, "group.id": "nobody", **QUIET})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 20) == (2, 3)
    consumer.close()


CHECKS: dict[str, Callable[[Case], None]] = {
    "produce": check_plain,
    "idempotent": check_idempotent,
    "fetch": check_fetch,
    "headers": check_headers,
    "offsets": check_offsets,
    "classic_group": check_group,
    "static_member": check_static_member,
    "consumer_group": check_consumer_group,
    "share_group": check_share_group,
    "transactions": check_transactions,
    "transactional_id": check_transactional_id,
    "read_committed": check_read_committed,
    "topics": check_topics,
    "configs": check_configs,
    "groups": check_groups,
    "delete_records": check_delete_records,
}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[Outcomes]:
    seen: Outcomes = {}
    yield seen
    if request.config.getoption("--update-clients-table"):
        text = DOCUMENT.read_text()
        begin, end = text.index(BEGIN), text.index(END) + len(END)
        DOCUMENT.write_text(text[:begin] + table(seen) + text[end:])


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    try:
        client = CLIENTS[request.param]()
    except Unavailable as error:
        pytest.skip(str(error))
    yield request.param, client
    client.close()


def tried(outcomes: Outcomes, name: str, feature: str, check: Callable[[], None]) -> None:
    if (name, feature) in LACKING:
        pytest.skip(f"the client {LACKING[name, feature]}")
    outcomes[name, feature] = "fails"
    check()
    outcomes[name, feature] = "pass"


@pytest.mark.parametrize("feature", [name for name in FEATURES if name not in MECHANISMS])
def test_feature(
    client: tuple[str, Client], broker: BrokerUnderTest, unique: Unique, outcomes: Outcomes, feature: str
) -> None:
    name, program = client
    case = Case(program, broker.bootstrap, broker.data_dir, unique)
    if feature in COMPRESSIONS:
        tried(outcomes, name, feature, lambda: check_compression(case, feature))
    else:
        tried(outcomes, name, feature, lambda: CHECKS[feature](case))


@pytest.fixture(scope="module")
def guarded(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    with guarded_broker(broker_kind, plain=["admin"], scram=["admin"], super_users=["admin"]) as broker:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "admin"}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login, "sasl.password": PASSWORD, **QUIET})
        [created] = admin.create_topics([NewTopic("t", 1, 1)]).values()
        created.result(20)
        yield broker


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_authentication(
    client: tuple[str, Client], guarded: BrokerUnderTest, outcomes: Outcomes, mechanism: str
) -> None:
    name, program = client

    def check() -> None:
        value = f"{name} {mechanism}"
        login = {"mechanism": mechanism, "username": "admin", "password": PASSWORD}
        program.call("produce", bootstrap=guarded.bootstrap, login=login, topic="t", values=[value])
        count = program.call("offsets", bootstrap=guarded.bootstrap, login=login, topic="t")["latest"]
        fetched = program.call("fetch", bootstrap=guarded.bootstrap, login=login, topic="t", count=count)
        assert fetched["records"][-1]["value"] == value

    tried(outcomes, name, mechanism, check)
