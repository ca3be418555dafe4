"""Topics and groups for a figure, made through the clients' admin interfaces."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from bench.client.wire import Wire
from shareq.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
FAR_ABOVE: Final = {"producer_byte_rate": 1e12, "consumer_byte_rate": 1e12, "request_percentage": 1e6}
"""Quotas far above the use of any client on this machine."""
Entity = tuple[str, str | None]
"""An entity's kind (client-id, user or ip) and its name; None for the default."""
_CLIENT: Final = "client-id"
_OF_THE_NAME, _THE_DEFAULT = 0, 1  # match types of DescribeClientQuotas
_IN_FORCE_S: Final = 10.0


def create_topic(address: str, topic: str, partitions: int, config: Mapping[str, str] = NOTHING) -> None:
    """Create a topic. Raises when it exists."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 2})
    for future in admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config))]).values():
        future.result(30)


def read_from_start(address: str, groups: Iterable[str]) -> None:
    """Let new share groups start at the first record."""
    _configure(address, groups, {"share.auto.offset.reset": "earliest"})


def order_by_key(address: str, group: str, more: Mapping[str, str] = NOTHING) -> None:
    """Give a share group order by key, and let it start at the first record."""
    _configure(address, [group], {"share.auto.offset.reset": "earliest", "shareq.order": "key", **more})


def with_delays(address: str, group: str, more: Mapping[str, str] = NOTHING) -> None:
    """Give a share group delays, and let it start at the first record."""
    _configure(address, [group], {"share.auto.offset.reset": "earliest", "shareq.delay.enable": "true", **more})


def with_time_to_live(address: str, group: str) -> None:
    """Let records of a share group that starts at the first one expire, by their age and by a header."""
    expiry = {"shareq.ttl.ms": "3600000", "shareq.not.after.enable": "true"}
    _configure(address, [group], {"share.auto.offset.reset": "earliest", **expiry})


def _configure(address: str, groups: Iterable[str], configs: Mapping[str, str]) -> None:
    """Set configs of a group by kafka-python, because librdkafka's admin client cannot."""
    resources = [ConfigResource(ConfigResourceType.GROUP, group, dict(configs)) for group in groups]
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        answer = admin.alter_configs(resources, raise_on_unknown=False)
    finally:
        admin.close()
    refused = {name: text for name, text in answer["group"].items() if text != "OK"}
    if refused:
        raise RuntimeError(f"{dict(configs)} was refused: {refused}")


def quotas_for_all(address: str) -> None:
    """Give all clients quotas, which makes the broker count them, but so high that none waits."""
    set_quotas(address, {(_CLIENT, None): FAR_ABOVE})


def set_quotas(address: str, wanted: Mapping[Entity, Mapping[str, float]]) -> None:
    """Set quotas of entities, and wait until the broker reports them. Raise RuntimeError if it refuses."""
    wire = Wire(address)
    try:
        for entity, values in wanted.items():
            _set(wire, entity, values)
    finally:
        wire.close()


def _set(wire: Wire, entity: Entity, values: Mapping[str, float]) -> None:
    kind, name = entity
    ops = [OpData(key, value) for key, value in values.items()]
    entry = AlterClientQuotasRequestEntryData([AlterClientQuotasRequestEntityData(kind, name)], ops)
    (answer,) = wire.call(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse).entries
    if answer.error_code:
        raise RuntimeError(f"quotas were refused: {answer.error_message}")
    until = time.monotonic() + _IN_FORCE_S
    while _quotas(wire, entity) != values:  # Apache Kafka's broker has them a moment after its controller
        if time.monotonic() > until:
            raise RuntimeError(f"after {_IN_FORCE_S:g} s the quotas are {_quotas(wire, entity)}")
        time.sleep(0.05)


def _quotas(wire: Wire, entity: Entity) -> dict[str, float]:
    kind, name = entity
    component = ComponentData(kind, _THE_DEFAULT if name is None else _OF_THE_NAME, name)
    found = wire.call(DescribeClientQuotasRequest([component], strict=True), 1, DescribeClientQuotasResponse)
    return {value.key: value.value for entry in found.entries or () for value in entry.values}
