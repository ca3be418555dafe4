"""Python clients that have to authenticate: PLAIN and SCRAM, right and wrong passwords, share consumers, ACLs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import AuthenticationFailedError, KafkaConnectionError
from confluent_kafka import KafkaException, Producer, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaProducer
from kafka.errors import KafkaError

from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.features import MECHANISMS
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker

Security = Callable[[str, str], Mapping[str, str]]


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    users = ["admin", "carol"]
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with guarded_broker(broker_kind, plain=users, scram=users, super_users=["admin"], settings=settings) as broker:
        admin = AdminClient(confluent(broker, "admin"))
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(20)
        yield broker


def confluent(broker: BrokerUnderTest, user: str, mechanism: str = "PLAIN", password: str = PASSWORD) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
        "log_level": 0,
    }


def python(broker: BrokerUnderTest, user: str, mechanism: str, password: str = PASSWORD) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def binding(
    kind: ResourceType, name: str, operation: AclOperation, user: str = "carol", allow: bool = True
) -> AclBinding:
    permission = AclPermissionType.ALLOW if allow else AclPermissionType.DENY
    return AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission)


def admin_of(broker: BrokerUnderTest) -> AdminClient:
    return AdminClient(confluent(broker, "admin"))


def every_acl() -> AclBindingFilter:
    anything: Any = None  # the stubs do not know that it may be
    return AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def grant(broker: BrokerUnderTest, *bindings: AclBinding) -> None:
    admin = admin_of(broker)
    for future in admin.create_acls(list(bindings)).values():
        future.result(20)


def revoke_all(broker: BrokerUnderTest) -> None:
    admin = admin_of(broker)
    for future in admin.delete_acls([every_acl()]).values():
        future.result(20)


def produce(broker: BrokerUnderTest, user: str, mechanism: str, value: bytes) -> str | None:
    """Produce a record. Return None, or the name of the error."""
    errors: list[str] = []
    producer = Producer(confluent(broker, user, mechanism))
    try:
        producer.produce("t", value, on_delivery=lambda error, _: errors.append(error.name()) if error else None)
    except KafkaException as error:
        return str(error.args[0].name())
    assert producer.flush(20) == 0
    return errors[0] if errors else None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["admin", "nobody"])
async def test_a_wrong_password(broker: BrokerUnderTest, mechanism: str, user: str) -> None:
    errors: list[str] = []
    producer = Producer(
        {**confluent(broker, user, mechanism, "hunter2"), "error_cb": lambda error: errors.append(error.name())}
    )
    deadline = time.monotonic() + 20
    while "_AUTHENTICATION" not in errors and time.monotonic() < deadline:
        producer.poll(0.2)
    assert "_AUTHENTICATION" in errors
    with pytest.raises(KafkaError):
        KafkaProducer(**python(broker, user, mechanism, "hunter2"), bootstrap_timeout_ms=1000)
    aio = AIOKafkaProducer(**python(broker, user, mechanism, "hunter2"))
    with pytest.raises((AuthenticationFailedError, KafkaConnectionError)):
        await aio.start()
    await aio.stop()
    assert "hunter2" not in broker.log
    if broker.kind != "apache":  # which logs the reason, and not the user
        assert f"(mechanism {mechanism}, user {user!r})" in broker.log


def test_rights_are_granted_and_taken_away(broker: BrokerUnderTest) -> None:
    revoke_all(broker)
    assert produce(broker, "carol", "SCRAM-SHA-256", b"x") == "TOPIC_AUTHORIZATION_FAILED"
    grant(broker, binding(ResourceType.TOPIC, "t", AclOperation.WRITE))
    assert produce(broker, "carol", "SCRAM-SHA-256", b"x") is None
    grant(broker, binding(ResourceType.TOPIC, "t", AclOperation.WRITE, allow=False))
    assert produce(broker, "carol", "SCRAM-SHA-256", b"x") == "TOPIC_AUTHORIZATION_FAILED"
    revoke_all(broker)


def share_errors(broker: BrokerUnderTest, group: str) -> set[str]:
    consumer = ShareConsumer({**confluent(broker, "carol", "SCRAM-SHA-512"), "group.id": group})
    consumer.subscribe(["t"])
    seen: set[str] = set()
    deadline = time.monotonic() + 20
    try:
        while not seen and time.monotonic() < deadline:
            produce(broker, "admin", "PLAIN", b"shared")
            try:
                for message in consumer.poll(1):
                    error = message.error()
                    seen.add("records" if error is None else error.name())
            except KafkaException as error:
                seen.add(error.args[0].name())
    finally:
        consumer.close()
    return seen


def test_a_share_consumer_needs_its_group_and_its_topic(broker: BrokerUnderTest) -> None:
    """KIP-932: it needs READ on both."""
    revoke_all(broker)
    topic = binding(ResourceType.TOPIC, "t", AclOperation.READ)
    group = binding(ResourceType.GROUP, "shared", AclOperation.READ)
    grant(broker, topic)
    assert share_errors(broker, "shared") == {"GROUP_AUTHORIZATION_FAILED"}
    revoke_all(broker)
    grant(broker, group)
    assert share_errors(broker, "shared") == {"TOPIC_AUTHORIZATION_FAILED"}
    grant(broker, topic)
    assert share_errors(broker, "shared") == {"records"}
    revoke_all(broker)


def test_acls_are_listed(broker: BrokerUnderTest) -> None:
    revoke_all(broker)
    bindings = {binding(ResourceType.TOPIC, "t", AclOperation.READ), binding(ResourceType.GROUP, "g", AclOperation.ALL)}
    grant(broker, *bindings)
    admin = admin_of(broker)
    assert set(admin.describe_acls(every_acl()).result(20)) == bindings
    revoke_all(broker)
    assert admin.describe_acls(every_acl()).result(20) == []


def test_a_user_is_added_and_logs_in(broker: BrokerUnderTest) -> None:
    upsertion = UserScramCredentialUpsertion(
        "dave", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192), b"dave's own"
    )
    admin = admin_of(broker)
    for future in admin.alter_user_scram_credentials([upsertion]).values():
        future.result(20)
    asked: Any = admin.describe_user_scram_credentials(["dave"])
    described = asked["dave"].result(20)
    assert [(info.mechanism, info.iterations) for info in described.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_256, 8192)
    ]
    dave = AdminClient(confluent(broker, "dave", "SCRAM-SHA-256", "dave's own"))
    assert dave.list_topics(timeout=20).topics == {}, "he may describe none"
    assert "dave's own" not in broker.log


def test_users_and_rights_survive_a_restart(broker: BrokerUnderTest) -> None:
    revoke_all(broker)
    grant(broker, binding(ResourceType.TOPIC, "t", AclOperation.WRITE))
    broker.restart()
    assert produce(broker, "carol", "SCRAM-SHA-512", b"x") is None
    revoke_all(broker)
