"""The kombu transport's names of topics, options and message bytes, without a broker."""

from __future__ import annotations

from typing import Any

import pytest
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES, _transport_cache
from kombu.transport.virtual.exchange import TopicExchange

import shareq.kombu
from shareq.client.errors import ConfigError
from shareq.kombu.channel import matches
from shareq.kombu.envelope import expired, packed, unpacked
from shareq.kombu.names import Options, legal


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("celery", "celery"),
        ("my_queue-1.x", "my_queue-1.x"),
        ("celery@host", "celery_0040host"),
        ("a b", "a_0020b"),
        ("é", "_00e9"),
        ("😀", "_d83d_de00"),
    ],
)
def test_names_of_queues_are_made_names_of_topics(name: str, topic: str) -> None:
    assert legal(name) == topic


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="its topic must have 1 to 249 characters"):
        legal(name)


def test_a_prefix_is_of_topics_and_of_exchanges() -> None:
    options = Options.of({"prefix": "test.", "polling_interval": 1})
    assert (options.topic_of("q"), options.exchange_topic("e")) == ("test.q", "test.e.exchange")


def test_messages_come_back() -> None:
    message: dict[str, Any] = {"body": "eA==", "properties": {"correlation_id": "1"}, "headers": {"eta": None}}
    found = unpacked(packed(message), 5)
    assert found == {**message, "properties": {"correlation_id": "1", "delivery_info": {}}, "sent_ms": 5}


def test_properties_that_amqp_does_not_have_are_left_out() -> None:
    found = unpacked(packed({"body": "", "properties": {"reply_to": "me", "signal": object()}}), 5)
    assert found["properties"] == {"reply_to": "me", "delivery_info": {}}


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"properties": 1}', b"\xff"])
def test_what_is_no_message_is_refused(value: bytes | None) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (of the JSON decoder, or ours)
        unpacked(value, 0)


@pytest.mark.parametrize(
    ("properties", "now_ms", "is_over"),
    [({}, 10**15, False), ({"expiration": "100"}, 1099, False), ({"expiration": "100"}, 1100, True)],
)
def test_the_time_to_live_counts_from_the_sending(properties: dict[str, str], now_ms: int, is_over: bool) -> None:
    assert expired({"properties": properties, "sent_ms": 1000}, now_ms) is is_over


@pytest.mark.parametrize(
    ("kind", "bound", "routing_key", "expected"),
    [
        ("fanout", "", "anything", True),
        ("direct", "a", "a", True),
        ("direct", "a", "a.b", False),
        ("topic", "a.*", "a.b", True),
        ("topic", "a.*", "b.a", False),
        ("topic", "#", "a.b.c", True),
    ],
)
def test_which_transient_queues_hear_a_message(kind: str, bound: str, routing_key: str, expected: bool) -> None:
    exchange = TopicExchange(None)
    assert matches(kind, bound, exchange.key_to_pattern(bound), routing_key, exchange._match) is expected


def test_kombu_knows_the_scheme_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TRANSPORT_ALIASES, "kafka-share", raising=False)
    monkeypatch.delitem(_transport_cache, "kafka-share", raising=False)
    with pytest.raises(KeyError, match="No such transport: kafka-share"):
        Connection("kafka-share://localhost//")
    shareq.kombu.register()
    transport = Connection("kafka-share://user:secret@broker.example.com:9093//").transport
    assert isinstance(transport, shareq.kombu.Transport)
    assert transport._properties() == {
        "bootstrap.servers": "broker.example.com:9093",
        "client.id": "shareq-kombu",
        "sasl.username": "user",
        "sasl.password": "secret",
    }


def test_properties_win_over_the_address() -> None:
    shareq.kombu.register()
    given = {"properties": {"bootstrap.servers": "a:1,b:2", "security.protocol": "SSL"}}
    transport = Connection("kafka-share://", transport_options=given).transport
    assert transport._properties()["bootstrap.servers"] == "a:1,b:2"
    with pytest.raises(ConfigError, match="TLS is transport_options"):
        Connection("kafka-share://", ssl=True).transport._properties()
