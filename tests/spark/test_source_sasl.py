"""A listener with logins and ACLs: the source needs only READ of the topic and the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.commands import SCRAM_MODULE
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker
from tests.spark.support.share_stream import ShareStream
from tests.support.clients.administration import alter_configs_request
from tests.support.clients.sasl import PLAIN_MODULE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP_RESOURCE = 32


@pytest.fixture(scope="module")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    users = ["admin", "spark"]
    with guarded_broker(broker_kind, plain=users, scram=users, super_users=["admin"]) as broker:
        yield broker


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    """Return a stream of ten records and a group that starts at the first, both made by the administrator."""
    stream = ShareStream(spark, broker.bootstrap, unique("topic"), unique("group"), tmp_path)
    admin = AdminClient(login(broker, "admin"))
    admin.create_topics([NewTopic(stream.topic, 1, 1)])[stream.topic].result(20)
    producer = Producer(login(broker, "admin"))
    for number in range(10):
        producer.produce(stream.topic, b"%d" % number)
    assert producer.flush(20) == 0
    properties = {name: str(value) for name, value in login(broker, "admin").items() if name not in QUIET}
    network = Network(ClientConfig.from_properties(properties))
    network.request(None, alter_configs_request(GROUP_RESOURCE, stream.group, {"share.auto.offset.reset": "earliest"}))
    network.close()
    return stream


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN_MODULE), ("SCRAM-SHA-256", SCRAM_MODULE), ("SCRAM-SHA-512", SCRAM_MODULE)]
)
def test_reading_after_a_login(broker: BrokerUnderTest, stream: ShareStream, mechanism: str, module: str) -> None:
    grant(broker, (ResourceType.TOPIC, stream.topic), (ResourceType.GROUP, stream.group))
    rows = stream.load(
        **{
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": mechanism,
            "kafka.sasl.jaas.config": f'{module} required username="spark" password="{PASSWORD}";',
        }
    )
    (batch,) = stream.drain(rows)
    assert len(batch.rows) == 10


@pytest.mark.parametrize(
    ("password", "text"),
    [(PASSWORD, "(TOPIC|GROUP)_AUTHORIZATION_FAILED"), ("wrong-password", "AuthenticationFailed")],
)
def test_what_may_not_be_read_is_reported_without_the_password(stream: ShareStream, password: str, text: str) -> None:
    rows = stream.load(
        **{
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": "spark",
            "kafka.sasl.password": password,
        }
    )
    with pytest.raises(Exception, match=text) as failure:
        stream.drain(rows)
    assert password not in str(failure.value)


def login(broker: BrokerUnderTest, user: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORD,
        **QUIET,
    }


def grant(broker: BrokerUnderTest, *resources: tuple[ResourceType, str]) -> None:
    bindings = [
        AclBinding(
            kind, name, ResourcePatternType.LITERAL, "User:spark", "*", AclOperation.READ, AclPermissionType.ALLOW
        )
        for kind, name in resources
    ]
    admin = AdminClient(login(broker, "admin"))
    for future in admin.create_acls(bindings).values():
        future.result(20)
