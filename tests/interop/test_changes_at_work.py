"""Users, rights and topics that change while clients work: the clients' errors, and their recovery."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic
from scramp import ScramClient

from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker
from tests.support.waiting import until

pytestmark = pytest.mark.interop

SESSION_MS = 3000
SCRAM = "SCRAM-SHA-256"
Unique = Callable[[str], str]
Event = tuple[bytes | None, str | None]
"""A value that was read, or the name of an error."""


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    """Run a broker where dave and frank have SCRAM, and root has PLAIN and all rights. Logins last three seconds."""
    settings = {
        "connections.max.reauth.ms": str(SESSION_MS),
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.share.heartbeat.interval.ms": "500",
        "group.share.min.heartbeat.interval.ms": "500",
    }
    with guarded_broker(
        broker_kind, plain=["root"], scram=["dave", "frank"], super_users=["root"], settings=settings
    ) as broker:
        yield broker


def config(broker: BrokerUnderTest, user: str, **more: object) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN" if user == "root" else SCRAM,
        "sasl.username": user,
        "sasl.password": PASSWORD,
        "topic.metadata.refresh.interval.ms": 500,
        "log_level": 0,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def administer(broker: BrokerUnderTest, method: str, argument: object) -> None:
    """Call a method of librdkafka's admin client as root, and wait for all its results."""
    admin = AdminClient(config(broker, "root"))  # has to live until the last of its futures is done
    for future in getattr(admin, method)(argument).values():
        future.result(20)


# -- users


def log_in(client: WireClient, user: str, password: str) -> SaslAuthenticateResponse:
    assert client.call(SaslHandshakeRequest(SCRAM), 1, SaslHandshakeResponse).error_code == ErrorCode.NONE
    exchange = ScramClient([SCRAM], user, password)
    token = exchange.get_client_first().encode()
    first = client.call(SaslAuthenticateRequest(token), 2, SaslAuthenticateResponse)
    if first.error_code:
        return first
    exchange.set_server_first(bytes(first.auth_bytes).decode())
    token = exchange.get_client_final().encode()
    return client.call(SaslAuthenticateRequest(token), 2, SaslAuthenticateResponse)


def outcome_of_login(broker: BrokerUnderTest, user: str, password: str) -> int:
    with WireClient(("127.0.0.1", broker.port)) as client:
        return log_in(client, user, password).error_code


def is_closed(client: WireClient) -> bool:
    try:
        client.call(MetadataRequest([]), 12, MetadataResponse)
    except (ConnectionClosed, ConnectionError):
        return True
    return False


def set_password(broker: BrokerUnderTest, user: str, password: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    administer(broker, "alter_user_scram_credentials", [UserScramCredentialUpsertion(user, info, password.encode())])
    until(lambda: outcome_of_login(broker, user, password) == ErrorCode.NONE, f"{user} cannot log in")


def remove_user(broker: BrokerUnderTest, user: str) -> None:
    deletion = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)
    administer(broker, "alter_user_scram_credentials", [deletion])
    until(lambda: outcome_of_login(broker, user, "of erin") != ErrorCode.NONE, f"{user} can log in")


@pytest.mark.parametrize("change", ["removed", "another password"])
def test_a_user_who_changes_is_out_when_it_authenticates_again(broker: BrokerUnderTest, change: str) -> None:
    """KIP-368: the connection works until then, because only logins check passwords."""
    set_password(broker, "erin", "of erin")
    with WireClient(("127.0.0.1", broker.port)) as client:
        answer = log_in(client, "erin", "of erin")
        assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, SESSION_MS)
        if change == "removed":
            remove_user(broker, "erin")
        else:
            set_password(broker, "erin", "of erin, again")
        assert not is_closed(client)
        assert log_in(client, "erin", "of erin").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert is_closed(client)


def test_a_session_that_is_over_ends_with_the_next_request(broker: BrokerUnderTest) -> None:
    began = time.monotonic()
    with WireClient(("127.0.0.1", broker.port)) as client:
        assert log_in(client, "dave", PASSWORD).error_code == ErrorCode.NONE
        until(lambda: is_closed(client), "the session never ends")
        assert time.monotonic() - began >= SESSION_MS / 1000


# -- clients that read on in a thread


class Reader:
    """A consumer that reads until the block ends. `values` and `errors` grow meanwhile, in order."""

    def __init__(self, name: str, poll: Callable[[], Iterable[Event]], close: Callable[[], object]) -> None:
        self.name = name
        self.values: list[bytes] = []
        self.errors: list[str] = []
        self._poll = poll
        self._close = close
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), f"{self.name} hangs"

    def _run(self) -> None:
        while not self._stop.is_set():
            for value, error in self._poll():
                if value is not None:
                    self.values.append(value)
                if error is not None:
                    self.errors.append(error)
        self._close()

    def expect(self, values: Iterable[bytes]) -> None:
        wanted = set(values)
        until(lambda: wanted <= set(self.values), f"{self.name} misses records; errors: {self.errors[-3:]}")

    def expect_error(self, name: str) -> None:
        until(lambda: name in self.errors, f"{self.name} never got {name}, but {self.errors[-3:]}")


def consumer(broker: BrokerUnderTest, user: str, topic: str, group: str, **more: object) -> Reader:
    """Run librdkafka's consumer. With assign=True it reads partition 0 from its start, without a membership."""
    assign = more.pop("assign", False)
    aside: list[str] = []  # what metadata returned comes to a callback, what fetches did comes among the records
    reported = {"error_cb": lambda error: aside.append(error.name())}
    client = Consumer({**config(broker, user, group_id=group, auto_offset_reset="earliest", **more), **reported})
    if assign:
        client.assign([TopicPartition(topic, 0, 0)])
    else:
        client.subscribe([topic])

    def poll() -> Iterator[Event]:
        for message in client.consume(500, 0.1):
            error = message.error()
            yield (message.value(), None) if error is None else (None, error.name())
        while aside:
            yield None, aside.pop(0)

    return Reader(f"{group} of {user}", poll, client.close)


def share_consumer(broker: BrokerUnderTest, user: str, topic: str, group: str) -> Reader:
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[entry])
    administer(broker, "incremental_alter_configs", [resource])
    client = ShareConsumer(config(broker, user, group_id=group))
    client.subscribe([topic])

    def poll() -> Iterator[Event]:
        try:
            for message in client.poll(0.1):
                error = message.error()
                yield (message.value(), None) if error is None else (None, error.name())
        except KafkaException as error:
            yield None, error.args[0].name()

    return Reader(f"{group} of {user}", poll, client.close)


def produce(broker: BrokerUnderTest, topic: str, values: Iterable[bytes]) -> None:
    failures: list[object] = []
    producer = Producer(config(broker, "root"))
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(20) == 0
    assert failures == []


def numbered(text: str) -> list[bytes]:
    return [f"{text} {number}".encode() for number in range(20)]


def create(broker: BrokerUnderTest, *topics: str) -> None:
    administer(broker, "create_topics", [NewTopic(topic, 1, 1) for topic in topics])


def test_nothing_is_lost_while_clients_authenticate_again(broker: BrokerUnderTest, unique: Unique) -> None:
    """librdkafka re-authenticates on busy connections, two or three times here."""
    topic = unique("busy")
    create(broker, topic)
    everything = allowed(ResourceType.TOPIC, topic, "dave", AclOperation.ALL)
    groups = [allowed(ResourceType.GROUP, unique(name), "dave") for name in ("classic", "new", "shared")]
    administer(broker, "create_acls", [everything, *groups])
    written: list[bytes] = []
    errors: list[object] = []
    with ExitStack() as stack:
        readers = [
            stack.enter_context(consumer(broker, "dave", topic, unique("classic"))),
            stack.enter_context(consumer(broker, "dave", topic, unique("new"), group_protocol="consumer")),
            stack.enter_context(share_consumer(broker, "dave", topic, unique("shared"))),
        ]
        producer = Producer(config(broker, "dave", enable_idempotence=True, linger_ms=1))
        end = time.monotonic() + 2.5 * SESSION_MS / 1000
        while time.monotonic() < end:
            written.append(b"%d" % len(written))
            producer.produce(topic, written[-1], on_delivery=lambda error, _: errors.append(error) if error else None)
            producer.poll(0.002)
        assert producer.flush(20) == 0
        assert errors == []
        for reader in readers:
            reader.expect(written)


# -- rights


def allowed(kind: ResourceType, name: str, user: str, operation: AclOperation = AclOperation.READ) -> AclBinding:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, name, literal, f"User:{user}", "*", operation, allow)


def revoke(broker: BrokerUnderTest, acl: AclBinding) -> None:
    fields = (acl.restype, acl.name, acl.resource_pattern_type, acl.principal, acl.host, acl.operation)
    administer(broker, "delete_acls", [AclBindingFilter(*fields, acl.permission_type)])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_right_to_read_that_is_taken_away_and_given_back(
    broker: BrokerUnderTest, unique: Unique, protocol: str
) -> None:
    """Only the client without the right fails; it then continues where it was."""
    topic = unique("guarded")
    create(broker, topic)
    rights = {user: allowed(ResourceType.TOPIC, topic, user) for user in ("dave", "frank")}
    groups = [allowed(ResourceType.GROUP, unique(f"readers-of-{user}"), user) for user in rights]
    administer(broker, "create_acls", [*rights.values(), *groups])
    with (
        consumer(broker, "dave", topic, unique("readers-of-dave"), group_protocol=protocol) as dave,
        consumer(broker, "frank", topic, unique("readers-of-frank"), group_protocol=protocol) as frank,
    ):
        produce(broker, topic, numbered("before"))
        for reader in (dave, frank):
            reader.expect(numbered("before"))
        revoke(broker, rights["dave"])
        dave.expect_error("TOPIC_AUTHORIZATION_FAILED")
        produce(broker, topic, numbered("meanwhile"))
        frank.expect(numbered("meanwhile"))
        assert not set(dave.values) & set(numbered("meanwhile"))
        administer(broker, "create_acls", [rights["dave"]])
        produce(broker, topic, numbered("after"))
        for reader in (dave, frank):
            reader.expect([*numbered("meanwhile"), *numbered("after")])
    assert "TOPIC_AUTHORIZATION_FAILED" not in frank.errors


def test_a_transaction_whose_right_is_taken_away_is_aborted(broker: BrokerUnderTest, unique: Unique) -> None:
    goods, money, till = unique("goods"), unique("money"), unique("till")
    create(broker, goods, money)
    write = {topic: allowed(ResourceType.TOPIC, topic, "dave", AclOperation.WRITE) for topic in (goods, money)}
    own = allowed(ResourceType.TRANSACTIONAL_ID, till, "dave", AclOperation.WRITE)
    administer(broker, "create_acls", [*write.values(), own])
    producer = Producer(config(broker, "dave", transactional_id=till))
    producer.init_transactions(20)

    def transaction(text: str) -> str | None:
        """Write a transaction. Return None, or the error after which it was aborted."""
        producer.begin_transaction()
        try:
            for topic in (goods, money):
                producer.produce(topic, text.encode())
                assert producer.flush(20) == 0
            producer.commit_transaction(20)
        except KafkaException as raised:
            error = raised.args[0]
            assert not error.fatal()
            producer.abort_transaction(20)
            return str(error.name())
        return None

    def reaches(outcome: str | None, text: str) -> None:
        until(lambda: transaction(text) == outcome, f"never {outcome}")

    reaches(None, "before")
    revoke(broker, write[money])
    reaches("TOPIC_AUTHORIZATION_FAILED", "refused")
    administer(broker, "create_acls", [write[money]])
    reaches(None, "after")
    for topic in (goods, money):
        with consumer(
            broker, "root", topic, unique(f"auditors-of-{topic}"), isolation_level="read_committed"
        ) as reader:
            reader.expect([b"before", b"after"])


# -- topics


def test_a_topic_that_is_deleted_under_its_readers_and_created_again(broker: BrokerUnderTest, unique: Unique) -> None:
    """Every kind of consumer reads the new topic from its start, and nothing old again."""
    topic = unique("fleeting")
    create(broker, topic)
    with ExitStack() as stack:
        readers = [
            stack.enter_context(reader)
            for reader in (
                consumer(broker, "root", topic, unique("classic")),
                consumer(broker, "root", topic, unique("new"), group_protocol="consumer"),
                consumer(broker, "root", topic, unique("assigned"), assign=True),
                share_consumer(broker, "root", topic, unique("shared")),
            )
        ]
        produce(broker, topic, numbered("old"))
        for reader in readers:
            reader.expect(numbered("old"))
        administer(broker, "delete_topics", [topic])
        time.sleep(1.5)  # long enough for those who look for it to find that it is gone
        create(broker, topic)
        produce(broker, topic, numbered("new")[:10])
        for reader in readers:
            reader.expect(numbered("new")[:10])
        produce(broker, topic, numbered("new")[10:])
        for reader in readers:
            reader.expect(numbered("new"))
    for reader in readers:
        assert sorted(reader.values[:20]) == sorted(numbered("old")), reader.name
        assert sorted(reader.values[20:]) == sorted(numbered("new")), reader.name
