"""Topics and groups for a figure, made through the clients' admin interfaces."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient


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
