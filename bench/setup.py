"""Topics and groups for a figure, made through the clients' admin interfaces."""

from __future__ import annotations

import time
from collections.abc import Iterable
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

FAR_ABOVE: Final = {"producer_byte_rate": 1e12, "consumer_byte_rate": 1e12, "request_percentage": 1e6}
"""Quotas that no client on this machine comes near."""
_CLIENT: Final = "client-id"
_THE_DEFAULT: Final = 1  # match type of DescribeClientQuotas
_IN_FORCE_S: Final = 10.0


def create_topic(address: str, topic: str, partitions: int) -> None:
    """Raises when the topic exists."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 2})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(30)


def read_from_start(address: str, groups: Iterable[str]) -> None:
    """Let new share groups start at the first record (librdkafka's admin client cannot set group configs)."""
    resources = [
        ConfigResource(ConfigResourceType.GROUP, group, {"share.auto.offset.reset": "earliest"}) for group in groups
    ]
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        answer = admin.alter_configs(resources, raise_on_unknown=False)
    finally:
        admin.close()
    refused = {name: text for name, text in answer["group"].items() if text != "OK"}
    if refused:
        raise RuntimeError(f"share.auto.offset.reset was refused: {refused}")


def quotas_for_all(address: str) -> None:
    """Have every client counted, and none wait. Returns when the broker says that the quotas are there."""
    entry = AlterClientQuotasRequestEntryData(
        [AlterClientQuotasRequestEntityData(_CLIENT, None)], [OpData(key, value) for key, value in FAR_ABOVE.items()]
    )
    wire = Wire(address)
    try:
        (answer,) = wire.call(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse).entries
        if answer.error_code:
            raise RuntimeError(f"quotas were refused: {answer.error_message}")
        until = time.monotonic() + _IN_FORCE_S
        while _quotas(wire) != FAR_ABOVE:  # Apache Kafka's broker has them a moment after its controller
            if time.monotonic() > until:
                raise RuntimeError(f"after {_IN_FORCE_S:g} s the quotas are {_quotas(wire)}")
            time.sleep(0.05)
    finally:
        wire.close()


def _quotas(wire: Wire) -> dict[str, float]:
    request = DescribeClientQuotasRequest([ComponentData(_CLIENT, _THE_DEFAULT, None)], strict=True)
    found = wire.call(request, 1, DescribeClientQuotasResponse)
    return {value.key: value.value for entry in found.entries or () for value in entry.values}
