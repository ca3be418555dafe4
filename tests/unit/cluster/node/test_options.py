"""A node's options: the cluster's addresses, the node id, the replication of state topics."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.node import FIRST_NODE_ID
from shareq.client.errors import ConfigError
from shareq.cluster.node.options import Replication, cluster_options, node_id_of, replication_of

FACTOR = "share.coordinator.state.topic.replication.factor"
MIN_ISR = "share.coordinator.state.topic.min.isr"


def test_the_addresses_of_the_option_win_over_the_files() -> None:
    options = cluster_options("a:1,[::1]:2", {"bootstrap.servers": "b:3", "client.id": "us"})
    assert (options.bootstrap, options.client.client_id, options.proxies) == ("a:1,[::1]:2", "us", True)


@pytest.mark.parametrize(
    ("bootstrap", "properties", "says"),
    [("a", {}, "HOST:PORT"), ("a:1", {"security.protocol": "TELEPATHY"}, "security.protocol")],
)
def test_an_address_or_a_property_that_cannot_be_is_refused(
    bootstrap: str, properties: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        cluster_options(bootstrap, properties)


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({}, Replication(3, 2, given=False)),
        ({FACTOR: "5"}, Replication(5, 2, given=True)),
        ({FACTOR: "1"}, Replication(1, 1, given=True)),
        ({MIN_ISR: "1"}, Replication(3, 1, given=True)),
        ({FACTOR: "2", MIN_ISR: "3"}, Replication(2, 2, given=True)),
        ({"group.share.state.topic.replication.factor": "4"}, Replication(4, 2, given=True)),
    ],
)
def test_state_is_kept_as_by_apache_kafka_unless_the_operator_says_how(
    properties: dict[str, str], wanted: Replication
) -> None:
    assert replication_of(BrokerConfig.load(properties, of_node=True)) == wanted


def number(listeners: str, machine: str = "m", **properties: str) -> int:
    named = {name.replace("_", "."): text for name, text in properties.items()}
    config = BrokerConfig.load({"listeners": listeners, **named}, of_node=True)
    return node_id_of(config, machine, lambda below: below - 1)


def test_a_node_keeps_its_number_where_it_is_and_has_another_elsewhere() -> None:
    here = number("PLAINTEXT://127.0.0.1:9092")
    assert FIRST_NODE_ID <= here < 2**31
    assert here == number("PLAINTEXT://127.0.0.1:9092")
    elsewhere = [
        number("PLAINTEXT://127.0.0.1:9093"),
        number("PLAINTEXT://127.0.0.1:9092", "other"),
        number("PLAINTEXT://:9092", advertised_listeners="PLAINTEXT://a:9092"),
    ]
    assert len({here, *elsewhere}) == 4


def test_a_node_at_any_free_port_has_a_number_by_chance() -> None:
    assert number("PLAINTEXT://127.0.0.1:0") == FIRST_NODE_ID + 999_999_999


def test_a_number_that_was_given_is_the_nodes() -> None:
    assert number("PLAINTEXT://127.0.0.1:9092", node_id="7") == 7
