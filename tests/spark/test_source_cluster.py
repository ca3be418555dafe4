"""The source on three nodes of Apache Kafka with TLS and SASL: leaders move, and a broker dies and returns.

shareq has one broker, so only Apache Kafka is tested here. Run by `make interop-spark`.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET, read_from_start
from devtools.kafka import apache_kafka, certificates
from devtools.kafka.kafka_cluster import NODES, PASSWORD, USER, KafkaCluster, move_leader
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from tests.spark.support.jobs import Job
from tests.spark.support.share_stream import Batch, ShareStream, collect_into, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
PARTITIONS = range(3)
PAUSE_S = 0.02
LONGEST_S = 150
"""The time for records to come after a kill: a broker's session (9 s), the member's (45 s) and a lock (30 s) may have
to end one after the other, and elections and loads come between.
"""


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    if request.config.getoption("--broker") != "apache":
        pytest.skip("of Apache Kafka alone: --broker=apache")
    missing = apache_kafka.why_unavailable() or certificates.why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    folder: Path = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(folder, certificates.Authority(folder), plain=True) as running:
        yield running


@pytest.fixture
def stream(spark: SparkSession, cluster: KafkaCluster, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    """Return a stream of a topic with three partitions, led by one node each; the query knows one node's address."""
    options = {f"kafka.{name}": value for name, value in cluster.client_properties(1).items()}
    stream = ShareStream(
        spark, cluster.plain_bootstrap, unique("topic"), unique("group"), tmp_path, len(PARTITIONS), options
    )
    admin = AdminClient({"bootstrap.servers": cluster.plain_bootstrap, **QUIET})
    admin.create_topics([NewTopic(stream.topic, len(PARTITIONS), len(NODES))])[stream.topic].result(30)
    read_from_start(cluster.plain_bootstrap, stream.group)
    return stream


@pytest.fixture
def network(cluster: KafkaCluster) -> Iterator[Network]:
    network = Network(ClientConfig.from_properties(cluster.client_properties()))
    yield network
    network.close()


class Production:
    """A producer that runs until `finish`: numbered values over all partitions in turn, each written once."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        properties = {name: value for name, value in cluster.client_properties().items() if name in _LIBRDKAFKAS}
        self._producer = Producer(
            {
                **properties,
                "sasl.username": USER,
                "sasl.password": PASSWORD,
                "ssl.ca.location": cluster.client_properties()["ssl.truststore.location"],
                "enable.idempotence": True,
                **QUIET,
            }
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._produce)
        self._failures: list[object] = []
        self.confirmed: list[tuple[int, int]] = []
        """Partition and offset."""

    def __enter__(self) -> Production:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        assert not self._failures, self._failures[:3]

    def _produce(self) -> None:
        for number in itertools.count():
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % len(PARTITIONS), on_delivery=self._delivered
            )
            self._producer.poll(0)
            if self._stop.wait(PAUSE_S):
                return

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.confirmed.append((message.partition(), message.offset()))  # type: ignore[attr-defined]
        else:
            self._failures.append(error)


_LIBRDKAFKAS = ("bootstrap.servers", "security.protocol", "sasl.mechanism")


def places(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    return [place for batch in batches for place in batch.places]


def test_every_record_once_while_a_leader_moves_and_a_broker_dies(
    cluster: KafkaCluster, network: Network, stream: ShareStream
) -> None:
    """The query uses TLS and SCRAM. The broker that dies leads a partition, and is the one that it knew first."""
    topic_id = network.topic_ids([stream.topic])[stream.topic]
    taken: list[Batch] = []
    with Production(cluster, stream.topic) as production:
        query = stream.start(stream.load(), collect_into(taken), processingTime="0 seconds")

        def catch_up(what: str) -> None:
            already = len(production.confirmed)
            until(lambda: len({place[0] for place in production.confirmed[already:]}) == len(PARTITIONS), query)
            wanted = set(production.confirmed)
            try:
                until(lambda: wanted <= set(places(taken)), query, LONGEST_S)
            except AssertionError as error:
                missing = wanted - set(places(taken))
                by_partition = sorted(Counter(place[0] for place in missing).items())
                raise AssertionError(
                    f"{what}: {error}; {len(missing)} of {len(wanted)} records are missing, by partition"
                    f" {by_partition}, after {len(taken)} micro-batches;"
                    f" progress: {query.lastProgress}, status: {query.status}"
                ) from error
            print(f"{what}: {len(wanted)} records in {len(taken)} micro-batches", flush=True)

        began = time.monotonic()
        catch_up("at the start")
        leader = network.leader(topic_id, 0)
        assert leader is not None
        moved_to = leader % len(NODES) + 1
        move_leader(network, stream.topic, 0, moved_to)
        catch_up(f"partition 0 moved from {leader} to {moved_to}")
        network.refresh([stream.topic])
        if 1 not in {network.leader(topic_id, partition) for partition in PARTITIONS}:
            move_leader(network, stream.topic, 0, 1)
        cluster.nodes[1].kill()
        killed_at = time.monotonic()
        catch_up("broker 1 killed")
        print(f"{time.monotonic() - killed_at:.1f} s after the kill")
        cluster.nodes[1].start(120)
        move_leader(network, stream.topic, 2, 1)
        catch_up("broker 1 is back, and leads")
        query.stop()
        production.finish()
        print(f"{time.monotonic() - began:.1f} s in all")
    assert stream.start(stream.load(), collect_into(taken)).awaitTermination(90)
    assert stream.lag() == 0
    batches: dict[int, Batch] = {}
    for batch in taken:  # the one that `stop` interrupted comes again, and is the same
        assert batches.setdefault(batch.number, batch).places == batch.places
    found = Counter(places(batches.values()))
    assert found.keys() == set(production.confirmed)
    assert set(found.values()) == {1}, "of one checkpoint each record is in one micro-batch"
    values = Counter(row.value for batch in batches.values() for row in batch.rows)
    assert values == Counter({b"%d" % number: 1 for number in range(len(production.confirmed))})
    print(f"{len(found)} records, each once, in {len(batches)} micro-batches")
    files = [path for path in (stream.folder / "checkpoint").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def test_the_example_of_the_document(
    stream: ShareStream, cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = stream.produce(30)
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    (example,) = (block for block in blocks if "SASL_SSL" in block)
    for there, here in {
        "broker-1.example.com:9093,broker-2.example.com:9093": stream.options["kafka.bootstrap.servers"],
        "/etc/kafka/ca.pem": stream.options["kafka.ssl.truststore.location"],
        'username="spark"': f'username="{USER}"',
        '"sorting"': f'"{stream.group}"',
        '"flights"': f'"{stream.topic}"',
    }.items():
        assert there in example
        example = example.replace(there, here)
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    names: dict[str, Any] = {"spark": stream.spark}
    exec(compile(example, str(DOCUMENT), "exec"), names)
    assert sorted(row.value for batch in stream.drain(names["rows"]) for row in batch.rows) == sorted(values)
    assert stream.lag() == 0


def test_plain_over_tls(stream: ShareStream, cluster: KafkaCluster) -> None:
    """librdkafka's property names are accepted, too, and a certificate authority given as text."""
    values = stream.produce(30)
    authority = Path(stream.options.pop("kafka.ssl.truststore.location")).read_text()
    del stream.options["kafka.sasl.jaas.config"]
    rows = stream.load(
        **{
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": USER,
            "kafka.sasl.password": PASSWORD,
            "kafka.ssl.truststore.certificates": authority,
        }
    )
    assert sorted(row.value for batch in stream.drain(rows) for row in batch.rows) == sorted(values)
    assert stream.lag() == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"type": "JKS"}, r"kafka\.ssl\.truststore\.type: 'JKS': only PEM can be read here; convert it with `keytool"),
        ({"type": "", "password": "changeit"}, r"kafka\.ssl\.truststore\.password: PEM has no store password.*keytool"),
    ],
)
def test_a_java_key_store_is_refused_at_load(stream: ShareStream, options: dict[str, str], text: str) -> None:
    del stream.options["kafka.ssl.truststore.type"]
    given = {f"kafka.ssl.truststore.{name}": value for name, value in options.items() if value}
    with pytest.raises(Exception, match=f"OptionsError: kafka-share: {text}") as failure:
        stream.load(**given, **{"kafka.ssl.truststore.location": "/etc/kafka/truststore.jks"})
    assert "changeit" not in str(failure.value)


def test_a_java_key_store_without_a_type_fails_the_query_with_its_name(stream: ShareStream, tmp_path: Path) -> None:
    store = tmp_path / "truststore.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2" + bytes(64))
    with pytest.raises(Exception, match=r"ssl\.truststore\.location: .*\.jks is not PEM; .*keytool"):
        stream.drain(stream.load(**{"kafka.ssl.truststore.location": store}))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_a_wrong_password_is_one_line_and_in_no_log(
    stream: ShareStream, mechanism: str, run_job: Callable[..., Job], tmp_path: Path
) -> None:
    wrong = "not-the-looking-glass"
    login = stream.options["kafka.sasl.jaas.config"].replace(PASSWORD, wrong)
    if mechanism == "PLAIN":
        login = login.replace("scram.ScramLoginModule", "plain.PlainLoginModule")
    options = {
        **stream.options,
        "kafka.group.id": stream.group,
        "subscribe": stream.topic,
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": login,
    }
    given = tmp_path / "options.json"
    given.write_text(json.dumps(options))
    job = run_job("tests.spark.support.refused_job", given, tmp_path)
    with pytest.raises(AssertionError, match="the job ended with code 1"):
        job.wait(300)
    output = job.log.read_text(errors="replace")
    lines = [line for line in output.splitlines() if line.startswith("shareq.client.errors.AuthenticationFailed: ")]
    assert lines, output[-4000:]
    assert all(f": {mechanism}: Authentication failed" in line for line in lines)
    assert " INFO " in output
    assert wrong not in output
