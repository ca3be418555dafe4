"""Topics, group configs and records for a test, made through the clients' own interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

QUIET = {"log_level": 0}  # brokers are killed on purpose here: librdkafka need not log it


def create_topic(bootstrap: str, topic: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic; names of configs have `_` for `.`. Raises if it exists."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    _create(bootstrap, NewTopic(topic, partitions, 1, config=named))


def create_replicated_topic(bootstrap: str, topic: str, partitions: int, replicas: int) -> None:
    """Create a topic with several replicas. Raises if it exists."""
    _create(bootstrap, NewTopic(topic, partitions, replicas))


def _create(bootstrap: str, topic: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    for future in admin.create_topics([topic]).values():
        future.result(30)


def configure_group(bootstrap: str, group: str, configs: Mapping[str, str]) -> None:
    """Set configs of a group, which need not exist. Raises if the broker refuses one.

    librdkafka's admin client cannot set group configs, so this uses kafka-python's.
    """
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        answer = admin.alter_configs(
            [ConfigResource(ConfigResourceType.GROUP, group, dict(configs))], raise_on_unknown=False
        )
    finally:
        admin.close()
    refused = {name: text for name, text in answer["group"].items() if text != "OK"}
    if refused:
        raise RuntimeError(f"group {group} refused {dict(configs)}: {refused}")


def read_from_start(bootstrap: str, group: str) -> None:
    """Let a new share group begin at the first record; the default is the end of the log."""
    configure_group(bootstrap, group, {"share.auto.offset.reset": "earliest"})


def produce(bootstrap: str, topic: str, values: Iterable[tuple[int, bytes]], *, batch_records: int = 1000) -> None:
    """Write (partition, value) records and wait until the broker has confirmed every one.

    `batch_records` bounds a record batch: share consumers mostly get whole batches.
    """
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.num.messages": batch_records, **QUIET})
    for partition, value in values:
        producer.produce(
            topic, value, partition=partition, on_delivery=lambda error, _: failures.append(error) if error else None
        )
    left = producer.flush(60)
    assert not left, f"{left} records were not confirmed within 60 s"
    assert not failures, failures[:3]
