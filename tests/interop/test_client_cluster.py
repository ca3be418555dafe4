"""The client on three nodes of Apache Kafka with TLS and SCRAM: leader moves, broker deaths, redelivered ranges.

Our broker has no clusters, so this runs on Apache Kafka alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import produce, read_from_start
from devtools.kafka import apache_kafka, certificates
from devtools.kafka.kafka_cluster import LOGIN_MS, NODES, PASSWORD, PATIENCE_S, KafkaCluster, move_leader, until
from shareq.aio import LockLost, Producer, ShareConsumer
from shareq.client.admin import Admin
from shareq.client.admin.topics import LogRange
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from shareq.client.fetch import RangeFetcher
from shareq.client.network import Network
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.share import AcknowledgeType
from tests.support.clients.shareq_cli import Shell

pytestmark = pytest.mark.interop

PARTITIONS = range(3)
RECORDS = 200
Place = tuple[int, int]
"""Partition and offset."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    missing = apache_kafka.why_unavailable() or certificates.why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    folder: Path = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(folder, certificates.Authority(folder)) as running:
        yield running


@pytest.fixture
def network(cluster: KafkaCluster) -> Iterator[Network]:
    network = Network(ClientConfig.from_properties(cluster.client_properties(1)))
    yield network
    network.close()


@pytest.fixture
def topic(cluster: KafkaCluster, unique: Callable[[str], str]) -> str:
    """Create three partitions with a leader each and RECORDS values `partition:number`."""
    name = unique("cluster")
    admin = AdminClient({"bootstrap.servers": cluster.plain_bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, len(PARTITIONS), len(NODES))])[name].result(20)
    produce(cluster.plain_bootstrap, name, ((at, value(at, number)) for at in PARTITIONS for number in range(RECORDS)))
    return name


def value(partition: int, number: int) -> bytes:
    return f"{partition}:{number}".encode()


def leaders(network: Network, topic_id: bytes) -> list[int | None]:
    network.refresh([topic_id])
    return [network.leader(topic_id, partition) for partition in PARTITIONS]


def whole_log(topic: str) -> dict[tuple[str, int], LogRange]:
    return {(topic, partition): LogRange(0, RECORDS) for partition in PARTITIONS}


def test_every_leader_is_reached_from_one_bootstrap_server(network: Network, topic: str) -> None:
    topic_id = network.topic_ids([topic])[topic]
    until("a leader each", lambda: sorted(map(str, leaders(network, topic_id))) == sorted(map(str, NODES)))
    for node in NODES:
        connection = network.connection(node)
        answer = network.request(node, MetadataRequest([]))
        assert isinstance(answer, MetadataResponse)
        assert {(row.node_id, row.host) for row in answer.brokers} == {(node, "localhost") for node in NODES}
        assert network.connection(node) is connection
    assert network.partitions(topic_id) == list(PARTITIONS)
    assert Admin(network).topics.log_ranges({topic: PARTITIONS}) == whole_log(topic)


def test_commands_find_every_leader_and_coordinator(
    cluster: KafkaCluster, topic: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """`shareq` uses one node, with TLS and a login: ten groups have coordinators on all three."""
    properties = cluster.client_properties(1)
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    shell = Shell(properties["bootstrap.servers"], SHAREQ_CLIENT_CONFIG=str(file))
    assert {row["node"] for row in shell.json("cluster", "brokers")} == set(NODES)
    rows = shell.json("topics", "describe", topic)
    assert [(row["start"], row["end"], len(row["replicas"])) for row in rows] == [(0, RECORDS, len(NODES))] * 3
    assert len(shell.json("consume", topic)) == RECORDS * len(PARTITIONS)
    for kind in ("share", "groups"):
        groups = [unique(f"{kind}-{number}") for number in range(10)]
        for group in groups:
            shell.ok(kind, "reset", group, "--topic", topic, "--to", "150", "--yes")
        lags = shell.json(kind, "lag", *groups)
        assert {row["group"]: row["lag"] for row in lags} == dict.fromkeys(groups, 50 * len(PARTITIONS))
        assert set(groups) <= {row["group"] for row in shell.json(kind, "list")}
        assert len(shell.json(kind, "describe", *groups)) == len(groups)
        assert all(row["done"] for row in shell.json(kind, "delete", *groups, "--yes"))
    wrong = shell.run(
        "topics", "list", "--property", "sasl.jaas.config=" + properties["sasl.jaas.config"].replace(PASSWORD, "x")
    )
    assert (wrong.code, wrong.out) == (3, "")
    assert PASSWORD not in wrong.err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sasl.jaas.config": None, "sasl.username": "carol", "sasl.password": "wrong-" + PASSWORD}, "SCRAM-SHA-512: "),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": None}, "has no PLAIN on this listener; it has SCRAM-SHA-512"),
        ({"ssl.truststore.location": None}, "its certificate is not accepted"),
    ],
)
def test_a_refused_client_gets_the_reason(cluster: KafkaCluster, change: dict[str, str | None], why: str) -> None:
    given: dict[str, str | None] = {**cluster.client_properties(), **change}
    if change.get("sasl.mechanism"):
        given |= {"sasl.username": "carol", "sasl.password": PASSWORD}
    if "ssl.truststore.location" in change:
        given["ssl.truststore.type"] = None
    network = Network(ClientConfig.from_properties({key: text for key, text in given.items() if text is not None}))
    with pytest.raises(AuthenticationFailed, match=why) as caught:
        network.request(None, MetadataRequest([]))
    network.close()
    assert PASSWORD not in str(caught.value)


def test_a_login_that_runs_out_does_not_cost_the_connection(network: Network) -> None:
    """KIP-368: a broker closes a connection at the first request after its login has expired."""
    first = network.connection(1)
    end = time.monotonic() + 1.5 * LOGIN_MS / 1000
    while time.monotonic() < end:
        network.request(1, MetadataRequest([]))
        time.sleep(0.1)
    assert network.connection(1) is first


def test_a_leader_that_moves_is_followed(cluster: KafkaCluster, network: Network, topic: str) -> None:
    topic_id = network.topic_ids([topic])[topic]
    old = network.leader(topic_id, 0)
    assert old is not None
    new = old % len(NODES) + 1
    fetcher = RangeFetcher(ClientConfig.from_properties(cluster.client_properties()))
    assert values_in(fetcher, topic_id, topic, 0, 0, 9) == {value(0, number) for number in range(10)}
    other = Network(ClientConfig.from_properties(cluster.client_properties()))
    move_leader(other, topic, 0, new)
    other.close()
    assert network.leader(topic_id, 0) == old, "what is known is not old yet"

    def followed() -> bool:
        """Return whether the client asks the new leader; the old leader answers until it hears of the election."""
        assert Admin(network).topics.log_ranges({topic: PARTITIONS}) == whole_log(topic)
        return network.leader(topic_id, 0) == new

    until("the old leader refuses, and the client asks the new one", followed)
    assert values_in(fetcher, topic_id, topic, 0, 10, RECORDS - 1) == {value(0, at) for at in range(10, RECORDS)}
    fetcher.close()


def values_in(fetcher: RangeFetcher, topic_id: bytes, topic: str, partition: int, first: int, last: int) -> set[bytes]:
    """Return the values from `first` to `last`, both included."""
    found: set[bytes] = set()
    for fetched in fetcher.fetch(topic_id, topic, partition, first, last):
        for position, header in batch_headers(fetched.data):
            records = decode_records(fetched.data[position : position + header.size])
            found |= {bytes(record.value or b"") for record in records if first <= record.offset <= last}
    return found


def places(ranges: Sequence[AcquiredRange] | Sequence[AckRange]) -> set[Place]:
    return {(one.partition, offset) for one in ranges for offset in range(one.first, one.last + 1)}


def acquire(consumer: ShareRangeConsumer, wanted: set[Place]) -> list[AcquiredRange]:
    acquired: list[AcquiredRange] = []

    def poll() -> bool:
        acquired.extend(consumer.poll(max_records=2000, max_wait_ms=500))
        return wanted <= places(acquired)

    until("all records acquired", poll)
    return acquired


def accept(consumer: ShareRangeConsumer, acquired: list[AcquiredRange]) -> tuple[set[Place], set[Place]]:
    """Return the accepted places, and the others."""
    ranges = [AckRange(one.topic_id, one.partition, one.first, one.last) for one in acquired]
    results = consumer.acknowledge(ranges, AcknowledgeType.ACCEPT)
    good = places([one for one, error in results if error is ErrorCode.NONE])
    return good, places(ranges) - good


def test_ranges_of_a_broker_that_dies_come_again_and_nothing_is_lost(
    cluster: KafkaCluster, network: Network, topic: str, unique: Callable[[str], str]
) -> None:
    """KIP-932: a share session and its locks end with the connection to the leader."""
    group = unique("group")
    read_from_start(cluster.plain_bootstrap, group)
    topic_id = network.topic_ids([topic])[topic]
    config = ClientConfig.from_properties(cluster.client_properties())
    everything = {(partition, offset) for partition in PARTITIONS for offset in range(RECORDS)}
    with ShareRangeConsumer(config, group, [topic]) as consumer:
        acquired = acquire(consumer, everything)
        assert places(acquired) == everything
        before = dict(consumer.generation)
        dead = leaders(network, topic_id)[0]
        assert dead is not None
        cluster.nodes[dead].kill()
        killed_at = time.monotonic()
        done, failed = accept(consumer, acquired)
        assert {partition for partition, _ in failed} >= {0}
        assert {partition for partition, _ in done}, "the other leaders are there"
        again = acquire(consumer, failed)
        took = time.monotonic() - killed_at
        assert places(again) == failed
        assert consumer.generation[topic_id, 0] != before[topic_id, 0]
        accepted, missed = accept(consumer, again)
        assert not missed
        assert done | accepted == everything
        assert dead not in leaders(network, topic_id)
        # Of the start offset less is stored than of the lag: Apache Kafka writes it with the next change alone.
        offsets = Admin(network).share_groups.all_offsets(group, {topic: PARTITIONS})
        assert {place: row.lag for place, row in offsets.items()} == dict.fromkeys(whole_log(topic), 0)
        assert {row.topic_id for row in offsets.values()} == {topic_id}
    fetcher = RangeFetcher(config)
    for partition in PARTITIONS:
        values = values_in(fetcher, topic_id, topic, partition, 0, RECORDS - 1)
        assert values == {value(partition, number) for number in range(RECORDS)}
    fetcher.close()
    assert took < PATIENCE_S
    cluster.nodes[dead].start(90)
    answer = network.request(dead, MetadataRequest([]))
    assert isinstance(answer, MetadataResponse)


async def test_records_of_a_broker_that_dies_come_again_in_asyncio(
    cluster: KafkaCluster, network: Network, unique: Callable[[str], str]
) -> None:
    """A leader is killed during sends. Each record is in the log exactly once, and is accepted exactly once."""
    name, group, count = unique("asyncio"), unique("group"), 3000
    admin = AdminClient({"bootstrap.servers": cluster.plain_bootstrap, "log_level": 0})
    settings = {"min.insync.replicas": "2"}
    admin.create_topics([NewTopic(name, len(PARTITIONS), len(NODES), config=settings)])[name].result(20)
    read_from_start(cluster.plain_bootstrap, group)
    properties = cluster.client_properties()
    servers = properties.pop("bootstrap.servers")
    topic_id = network.topic_ids([name])[name]
    until("a leader each", lambda: None not in leaders(network, topic_id))
    dead = leaders(network, topic_id)[0]
    assert dead is not None
    accepted: Counter[bytes | None] = Counter()

    async def work(consumer: ShareConsumer) -> None:
        while len(accepted) < count:
            for record in await consumer.poll(max_records=100):
                with contextlib.suppress(LockLost):
                    await record.accept()
                    accepted[record.value] += 1

    async with (
        Producer(servers, properties=properties) as producer,
        ShareConsumer(servers, group, [name], acknowledgement="explicit", properties=properties) as one,
        ShareConsumer(servers, group, [name], acknowledgement="explicit", properties=properties) as other,
        asyncio.timeout(6 * PATIENCE_S),
    ):
        working = [asyncio.create_task(work(consumer)) for consumer in (one, other)]
        sent = []
        for at in range(count):
            sent.append(await producer.send(name, b"%d" % at, partition=at % len(PARTITIONS)))
            if at == count // 2:
                cluster.nodes[dead].kill()
        places = {(place.partition, place.offset) for place in [await each for each in sent] if place.offset >= 0}
        await asyncio.gather(*working)
    assert accepted == Counter(b"%d" % at for at in range(count))
    ends = Admin(network).topics.log_ranges({name: PARTITIONS})
    assert sum(log.end for log in ends.values()) == count, "each is in the log once"
    assert len(places) > count // 2
    assert dead not in leaders(network, topic_id)
    cluster.nodes[dead].start(90)
