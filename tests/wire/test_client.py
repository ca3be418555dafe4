"""The client with a broker of ours in a process of its own: what it asks, logins, a broker that goes and comes back."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.clients.requests import batch, produce_request
from shareq.client.admin import Admin
from shareq.client.admin.share_groups import SharePosition
from shareq.client.admin.topics import LogRange
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed, BrokerError, Unreachable
from shareq.client.network import Network
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE

PASSWORD = "looking-glass"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def network(broker: Broker) -> Iterator[Network]:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    yield network
    network.close()


def create(network: Network, name: str, partitions: int = 2) -> bytes:
    """A topic's id."""
    answer = network.request(None, CreateTopicsRequest([CreatableTopic(name, partitions, 1)]))
    assert isinstance(answer, CreateTopicsResponse)
    assert answer.topics[0].error_code == ErrorCode.NONE
    return answer.topics[0].topic_id


def append(network: Network, topic: str, partition: int, records: int) -> None:
    topic_id = network.topic_ids([topic])[topic]
    leader = network.leader(topic_id, partition)
    answer = network.request(leader, produce_request(batch(*[b"x"] * records), topic_id=topic_id, partition=partition))
    assert isinstance(answer, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_topics_by_name_and_id(network: Network) -> None:
    topic_id = create(network, "named")
    assert network.topic_ids(["named", "absent"]) == {"named": topic_id}
    assert network.partitions(topic_id) == [0, 1]
    assert [network.leader(topic_id, partition) for partition in range(3)] == [1, 1, None]


def test_a_topic_that_comes_later_is_found(network: Network) -> None:
    assert network.topic_ids(["late"]) == {}
    topic_id = create(network, "late")
    assert network.topic_ids(["late"]) == {"late": topic_id}


def test_a_topic_made_again_is_another_one(network: Network) -> None:
    old = create(network, "again")
    assert network.topic_ids(["again"]) == {"again": old}
    network.request(None, DeleteTopicsRequest([DeleteTopicState("again")]))
    new = create(network, "again", partitions=1)
    network.refresh(["again", old])
    assert network.topic_ids(["again"]) == {"again": new}
    assert network.leader(old, 0) is None
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_ID"):
        network.partitions(old)


def test_where_logs_start_and_end(network: Network) -> None:
    create(network, "filled")
    append(network, "filled", 0, 3)
    admin = Admin(network)
    assert admin.topics.log_ranges({"filled": [0, 1]}) == {("filled", 0): LogRange(0, 3), ("filled", 1): LogRange(0, 0)}


def test_the_log_of_a_topic_that_does_not_exist(broker: Broker) -> None:
    config = {"bootstrap.servers": broker.bootstrap, "default.api.timeout.ms": "1000"}
    network = Network(ClientConfig.from_properties(config))
    with pytest.raises(BrokerError, match=r"^topic nowhere: UNKNOWN_TOPIC_OR_PARTITION"):
        Admin(network).topics.log_ranges({"nowhere": [0]})
    network.close()


def test_how_far_a_share_group_is(network: Network) -> None:
    """KIP-932: DescribeShareGroupOffsets; KIP-1226: lag."""
    topic_id = create(network, "shared")
    append(network, "shared", 1, 5)
    admin = Admin(network)
    assert admin.share_groups.all_offsets("nobody") == {}
    nothing = SharePosition(None, 0, None, topic_id)
    assert admin.share_groups.all_offsets("nobody", {"shared": [0, 1]}) == {
        ("shared", 0): nothing,
        ("shared", 1): nothing,
    }
    rows = [AlterShareGroupOffsetsRequestTopic("shared", [AlterShareGroupOffsetsRequestPartition(1, 2)])]
    altered = network.request(network.coordinator("g"), AlterShareGroupOffsetsRequest("g", rows))
    assert isinstance(altered, AlterShareGroupOffsetsResponse)
    assert admin.share_groups.all_offsets("g")["shared", 1] == SharePosition(2, 0, 3, topic_id)


def test_a_broker_that_goes_and_comes_back(tmp_path: Path) -> None:
    with Broker() as broker:
        network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
        first = network.connection(1)
        broker.restart()
        answer = network.request(1, MetadataRequest([]))
        assert isinstance(answer, MetadataResponse)
        second = network.connection(1)
        assert second is not first
        broker.kill()
        with pytest.raises(Unreachable, match=r"^broker 1 at 127\.0\.0\.1:\d+ cannot be reached: Connection refused"):
            network.submit(1, MetadataRequest([]))
        broker.start()
        network.request(1, MetadataRequest([]))
        assert network.connection(1) is not second
        network.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """PLAIN and SCRAM for carol."""
    folder = tmp_path_factory.mktemp("sasl")
    (folder / "password").write_text(PASSWORD + "\n")
    (folder / "server.properties").write_text(
        "listeners=CLIENTS://127.0.0.1:0\n"
        "listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT\n"
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n"
        f'listener.name.clients.plain.sasl.jaas.config={PLAIN_MODULE} required user_carol="{PASSWORD}";\n'
    )
    options = ["--config", str(folder / "server.properties")]
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        options += ["--add-scram", f"{mechanism}=[name=carol,password-file={folder / 'password'}]"]
    with Broker(options=options) as running:
        yield running


def login(broker: Broker, mechanism: str, password: str) -> ClientConfig:
    return ClientConfig.from_properties(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "carol",
            "sasl.password": password,
        }
    )


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login(guarded: Broker, mechanism: str) -> None:
    network = Network(login(guarded, mechanism, PASSWORD))
    answer = network.request(1, MetadataRequest([]))
    assert isinstance(answer, MetadataResponse)
    network.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_one_clear_error_that_does_not_show_it(
    guarded: Broker, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "through-the-" + PASSWORD
    config = login(guarded, mechanism, wrong)
    network = Network(config)
    with pytest.raises(AuthenticationFailed, match=rf"^127\.0\.0\.1:\d+: {mechanism}: Authentication failed") as caught:
        network.request(None, MetadataRequest([]))
    network.close()
    below = caught.value.with_traceback(caught.tb.tb_next)  # this function knows the password, of course
    trace = "".join(traceback.TracebackException.from_exception(below, capture_locals=True).format())
    assert "_talk" in trace
    for text in (str(caught.value), trace, repr(config), repr(network), caplog.text):
        assert PASSWORD not in text


def test_without_a_login_where_one_is_needed(guarded: Broker) -> None:
    config = {"bootstrap.servers": guarded.bootstrap, "default.api.timeout.ms": "200"}
    network = Network(ClientConfig.from_properties(config))
    with pytest.raises(Unreachable, match="closed the connection"):
        network.request(None, MetadataRequest([]))
    network.close()
