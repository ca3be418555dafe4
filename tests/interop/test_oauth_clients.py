"""OAUTHBEARER with every client that supports it, and the broker's message for each mistake, as in Apache Kafka."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AioTokenProvider
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, Producer, ShareConsumer
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION, java_tool
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from shareq.client.network import Network
from shareq.client.security.config import SaslConfig
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.guarded_broker import guarded_broker
from tests.interop.support.java_driver import why_no_java
from tests.interop.support.listeners import allow_urls, token_settings
from tests.support.clients.tokens import MODULE, SigningKey, first_message, jwks, unsecured

pytestmark = pytest.mark.interop

KEY, STRANGER = SigningKey("one"), SigningKey("one")
EXPECTED: Final = {"aud": "kafka", "iss": "https://issuer.example"}
REFUSED: Final = '{"status":"invalid_token"}'
NOTHING: Final[Mapping[str, object]] = {}


def good() -> str:
    return KEY.token(EXPECTED)


def expired() -> str:
    return KEY.token(EXPECTED, iat=1, exp=int(time.time()) - 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("oauth")


def oauth_settings(keys: Path, **expected: str) -> dict[str, str]:
    """Return the settings of the one listener; `expected` as for `token_settings`."""
    return {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "group.initial.rebalance.delay.ms": "0",
        **token_settings(keys, "clients", **expected),
    }


def written_keys(folder: Path) -> Path:
    keys = folder / "keys.json"
    keys.write_bytes(jwks(KEY))
    return keys


@pytest.fixture(scope="module")
def broker(broker_kind: Kind, folder: Path) -> Iterator[BrokerUnderTest]:
    keys = written_keys(folder)
    settings = oauth_settings(keys, expected_audience="queue,kafka", expected_issuer="https://issuer.example")
    with pytest.MonkeyPatch.context() as patch:
        allow_urls(patch, keys)
        with guarded_broker(broker_kind, plain=[], super_users=["alice"], settings=settings) as broker:
            yield broker
            if broker_kind == "ours":  # Apache Kafka's libraries write tokens that they refuse into its log
                assert good().split(".")[1][:40] not in broker.log


def confluent(
    broker: BrokerUnderTest, more: Mapping[str, object] = NOTHING, token: Callable[[], str] = good
) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token(), time.time() + 300),
        "log_level": 0,
        **more,
    }


class Provider(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: Callable[[], str]) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token()


class AioProvider(AioTokenProvider):  # type: ignore[misc]
    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token()


def python(broker: BrokerUnderTest, provider: object) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
    }


def test_librdkafka(broker: BrokerUnderTest) -> None:
    errors: list[object] = []
    producer = Producer(confluent(broker))
    producer.produce("librdkafka", b"value", on_delivery=lambda error, _: errors.append(error) if error else None)
    assert producer.flush(30) == 0
    assert errors == []
    consumer = Consumer(confluent(broker, {"group.id": "g", "auto.offset.reset": "earliest"}))
    consumer.subscribe(["librdkafka"])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.error() is None
    assert message.value() == b"value"


def test_librdkafka_share_consumer(broker: BrokerUnderTest) -> None:
    producer = Producer(confluent(broker))
    consumer = ShareConsumer(confluent(broker, {"group.id": "shared"}))
    consumer.subscribe(["shared"])
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    while not values and time.monotonic() < deadline:
        producer.produce("shared", b"shared")
        producer.flush(5)
        values = [message.value() or b"" for message in consumer.poll(1)]
    consumer.close()
    assert set(values) == {b"shared"}


def test_kafka_python(broker: BrokerUnderTest) -> None:
    producer = KafkaProducer(**python(broker, Provider(good)))
    producer.send("kafka-python", b"value").get(30)
    producer.close()
    consumer = KafkaConsumer("kafka-python", **python(broker, Provider(good)), auto_offset_reset="earliest")
    assert next(consumer).value == b"value"
    consumer.close()


async def test_aiokafka(broker: BrokerUnderTest) -> None:
    async with AIOKafkaProducer(**python(broker, AioProvider(good))) as producer:
        await producer.send_and_wait("aiokafka", b"value")
    consumer = AIOKafkaConsumer("aiokafka", **python(broker, AioProvider(good)), auto_offset_reset="earliest")
    async with consumer:
        assert (await consumer.getone()).value == b"value"


def ours(broker: BrokerUnderTest, token: Callable[[], str]) -> Network:
    config = ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap})
    return Network(replace(config, sasl=SaslConfig("OAUTHBEARER", token=token)))


def test_our_client(broker: BrokerUnderTest) -> None:
    network = ours(broker, good)
    network.request(None, DescribeClusterRequest())
    network.close()
    with pytest.raises(AuthenticationFailed, match=r'OAUTHBEARER: \{"status":"invalid_token"\}$'):
        ours(broker, expired).request(None, DescribeClusterRequest())


@pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))
@pytest.mark.parametrize(("token", "expected"), [(good, 0), (expired, 1)])
def test_java(
    broker: BrokerUnderTest, folder: Path, monkeypatch: pytest.MonkeyPatch, token: Callable[[], str], expected: int
) -> None:
    """The token comes from a file (KIP-1139), whose URL has to be allowed."""
    path, properties = folder / f"{expected}.jwt", folder / f"{expected}.properties"
    path.write_text(token())
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={MODULE} required;\n"
        "sasl.login.callback.handler.class="
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={path.as_uri()}\n"
    )
    allow_urls(monkeypatch, path)
    options = ("--bootstrap-server", broker.bootstrap, "--command-config", str(properties))
    done = java_tool("org.apache.kafka.tools.TopicCommand", *options, "--create", "--topic", "java")
    assert done.returncode == expected, done.stdout + done.stderr
    assert ("Created topic java." in done.stdout) == (expected == 0)
    assert (REFUSED in done.stdout + done.stderr) == (expected == 1)


def produced_with_kafka_python(broker: BrokerUnderTest, token: Callable[[], str]) -> None:
    producer = KafkaProducer(**python(broker, Provider(token)), bootstrap_timeout_ms=3000, max_block_ms=3000)
    try:
        producer.send("refused", b"value").get(5)
    finally:
        producer.close(1)


async def produced_with_aiokafka(broker: BrokerUnderTest, token: Callable[[], str]) -> None:
    producer = AIOKafkaProducer(**python(broker, AioProvider(token)))
    try:
        await producer.start()
        await producer.send_and_wait("refused", b"value")
    finally:
        await producer.stop()


async def test_what_clients_make_of_a_refused_token(broker: BrokerUnderTest) -> None:
    errors: list[str] = []
    producer = Producer(confluent(broker, {"error_cb": lambda error: errors.append(error.name())}, expired))
    deadline = time.monotonic() + 30
    while "_AUTHENTICATION" not in errors and time.monotonic() < deadline:
        producer.poll(0.2)
    assert "_AUTHENTICATION" in errors
    with pytest.raises(KafkaError):
        produced_with_kafka_python(broker, expired)
    with pytest.raises((AioKafkaError, TimeoutError)):
        await asyncio.wait_for(produced_with_aiokafka(broker, expired), 10)


def answers(broker: BrokerUnderTest, *words: bytes) -> list[SaslAuthenticateResponse]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        found = client.call(SaslHandshakeRequest("OAUTHBEARER"), 1, SaslHandshakeResponse)
        assert (found.error_code, found.mechanisms) == (0, ["OAUTHBEARER"])
        return [client.call(SaslAuthenticateRequest(word), 2, SaslAuthenticateResponse) for word in words]


MALFORMED: Final = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
)


@pytest.mark.parametrize(
    "token",
    [
        expired,
        lambda: STRANGER.token(EXPECTED),
        lambda: SigningKey("new").token(EXPECTED),
        lambda: unsecured({**EXPECTED, "sub": "alice", "iat": 1, "exp": 2**33}),
        lambda: KEY.token(EXPECTED, aud="other"),
        lambda: KEY.token(EXPECTED, aud=None),
        lambda: KEY.token(EXPECTED, iss="https://other.example"),
        lambda: KEY.token(EXPECTED, iss=None),
        lambda: KEY.token(EXPECTED, iat=None),
        lambda: KEY.token(EXPECTED, exp=None),
        lambda: KEY.token(EXPECTED, sub=None),
        lambda: KEY.token(EXPECTED, sub=" "),
        lambda: KEY.token(EXPECTED, scope=["a", "a"]),
        lambda: KEY.token(EXPECTED, nbf=int(time.time()) + 60),
        lambda: KEY.token(EXPECTED, iat=int(time.time()) + 4000),
        lambda: KEY.sign(b"[]"),
        lambda: "a.b.c",
        lambda: "a",
    ],
)
def test_a_refused_token(broker: BrokerUnderTest, token: Callable[[], str]) -> None:
    challenge, end = answers(broker, first_message(token()), b"\x01")
    assert (challenge.error_code, bytes(challenge.auth_bytes), challenge.session_lifetime_ms) == (
        0,
        REFUSED.encode(),
        0,
    )
    assert (end.error_code, end.error_message) == (58, REFUSED)


@pytest.mark.parametrize(
    "claims_at",
    [
        lambda _now_s: {"aud": ["other", "queue"]},
        lambda _now_s: {"scope": "read write"},
        lambda _now_s: {"scope": ["read", "write"]},
        lambda now_s: {"nbf": int(now_s) + 20},
        lambda now_s: {"iat": int(now_s) + 1000},
        lambda now_s: {"exp": now_s + 99.5},
        lambda _now_s: {"sub": " alice "},
    ],
)
def test_a_token_that_is_taken(broker: BrokerUnderTest, claims_at: Callable[[float], dict[str, object]]) -> None:
    now_s = time.time()
    claims = claims_at(now_s)
    expires_s = claims.get("exp", now_s + 3600)
    assert isinstance(expires_s, float | int)
    (answer,) = answers(broker, first_message(KEY.token({**EXPECTED, **claims}), traceId="x y"))
    assert (answer.error_code, bytes(answer.auth_bytes)) == (0, b"")
    assert answer.session_lifetime_ms / 1000 == pytest.approx(expires_s - time.time(), abs=5)


@pytest.mark.parametrize(
    "message", [b"\x01", b"n,,\x01\x01", b"\0alice\0password", b"y,,\x01auth=Bearer a.b.c\x01\x01"]
)
def test_what_is_not_understood(broker: BrokerUnderTest, message: bytes) -> None:
    (answer,) = answers(broker, message)
    assert (answer.error_code, answer.error_message) == (58, MALFORMED)


def test_an_authorization_id(broker: BrokerUnderTest) -> None:
    (answer,) = answers(broker, first_message(good(), "alice"))
    assert answer.error_code == 0
    (answer,) = answers(broker, first_message(good(), "bob"))
    assert (answer.error_code, answer.error_message) == (
        58,
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)",
    )


def test_a_second_token_is_none_the_better(broker_kind: Kind, broker: BrokerUnderTest) -> None:
    """A connection has one attempt, where Apache Kafka allows any number."""
    words = first_message(expired()), first_message(good())
    if broker_kind == "apache":
        assert answers(broker, *words)[-1].error_code == 0
        return
    assert answers(broker, *words)[-1].error_code == 58
    with pytest.raises(ConnectionClosed):
        answers(broker, *words, first_message(good()))


needs_44 = pytest.mark.skipif(KAFKA_VERSION < "4.4", reason="Apache Kafka 4.3 takes a broker that expects nothing")


@needs_44
@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        ({}, "sasl.oauthbearer.expected.audience"),
        ({"expected_issuer": "https://issuer.example"}, "sasl.oauthbearer.expected.audience"),
        ({"allow_unverified_issuer": "true"}, "sasl.oauthbearer.expected.audience"),
        ({"expected_audience": "kafka"}, "sasl.oauthbearer.expected.issuer"),
        ({"expected_audience": "kafka", "expected_issuer": " "}, "sasl.oauthbearer.expected.issuer"),
        ({"allow_unverified_audience": "true"}, "sasl.oauthbearer.expected.issuer"),
    ],
)
def test_a_broker_that_expects_nothing_does_not_start(
    broker_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, str], missing: str
) -> None:
    keys = written_keys(tmp_path)
    allow_urls(monkeypatch, keys)
    settings = oauth_settings(keys, **expected)
    with (
        pytest.raises(RuntimeError) as failure,
        guarded_broker(broker_kind, plain=[], super_users=["alice"], settings=settings),
    ):
        pass
    assert missing in str(failure.value)
    assert missing.replace("expected", "allow.unverified") in str(failure.value)


@needs_44
def test_a_broker_that_may_expect_nothing_takes_any_audience_and_issuer(
    broker_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = written_keys(tmp_path)
    allow_urls(monkeypatch, keys)
    settings = oauth_settings(keys, allow_unverified_audience="true", allow_unverified_issuer="true")
    with guarded_broker(broker_kind, plain=[], super_users=["alice"], settings=settings) as broker:
        for claims in ({}, {"aud": "other"}, {"aud": ["a", "b"], "iss": "https://other.example"}):
            (answer,) = answers(broker, first_message(KEY.token(claims)))
            assert (answer.error_code, bytes(answer.auth_bytes)) == (0, b"")
        refused, _ = answers(broker, first_message(STRANGER.token({})), b"\x01")
        assert bytes(refused.auth_bytes) == REFUSED.encode()


@needs_44
def test_what_is_expected_holds_though_it_need_not_be(
    broker_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = written_keys(tmp_path)
    allow_urls(monkeypatch, keys)
    allowed = {"allow_unverified_audience": "true", "allow_unverified_issuer": "true"}
    settings = oauth_settings(keys, expected_audience="kafka", expected_issuer="https://issuer.example", **allowed)
    with guarded_broker(broker_kind, plain=[], super_users=["alice"], settings=settings) as broker:
        (answer,) = answers(broker, first_message(good()))
        assert (answer.error_code, bytes(answer.auth_bytes)) == (0, b"")
        for claims in ({"aud": "other"}, {"aud": None}, {"iss": "https://other.example"}, {"iss": None}):
            refused, _ = answers(broker, first_message(KEY.token(EXPECTED, **claims)), b"\x01")
            assert bytes(refused.auth_bytes) == REFUSED.encode()
