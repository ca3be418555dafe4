from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.interop.support.clients.commands import OAUTHBEARER, python_security

TIMEOUT_S = 30


class _TokenOfFile(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = Path(file)

    def token(self) -> str:
        return self._file.read_text()


class KafkaPython:
    """A client with `Client`'s commands except `share`."""

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise KafkaError or TimeoutError."""
        login = arguments.get("login")
        settings = {"bootstrap_servers": arguments["bootstrap"], **python_security(login, arguments.get("tls"))}
        if login is not None and login["mechanism"] == OAUTHBEARER:
            settings["sasl_oauth_token_provider"] = _TokenOfFile(login["token_file"])
        answer: dict[str, Any] = getattr(self, f"_{do}")(settings, arguments)
        return answer

    def close(self) -> None:
        """Do nothing: nothing stays open between commands."""

    def _produce(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        transaction = command.get("transaction")
        compression = command.get("compression", "none")
        settings |= {
            "compression_type": None if compression == "none" else compression,
            "linger_ms": 20,
            "acks": "all",
            "enable_idempotence": bool(command.get("idempotent") or transaction),
        }
        if transaction:
            settings["transactional_id"] = transaction
        with closing(KafkaProducer(**settings)) as producer:
            if transaction:
                producer.init_transactions()
                producer.begin_transaction()
            headers = [(name, text.encode()) for name, text in command.get("headers", {}).items()]
            sent = [producer.send(command["topic"], value.encode(), headers=headers) for value in command["values"]]
            for future in sent:
                future.get(TIMEOUT_S)
            if transaction:
                (producer.abort_transaction if command.get("abort") else producer.commit_transaction)()
        return {}

    def _fetch(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        settings["isolation_level"] = "read_committed" if command.get("committed") else "read_uncommitted"
        place = TopicPartition(command["topic"], 0)
        with closing(_consumer(settings)) as consumer:
            consumer.assign([place])
            consumer.seek_to_beginning(place)
            records = _records(consumer, command["count"])
        return {"records": records}

    def _offsets(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        place = TopicPartition(command["topic"], 0)
        with closing(_consumer(settings)) as consumer:
            earliest, latest = consumer.beginning_offsets([place]), consumer.end_offsets([place])
        return {"earliest": earliest[place], "latest": latest[place]}

    def _group(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        settings |= {"group_id": command["group"], "auto_offset_reset": "earliest"}
        if command["protocol"] == "consumer":
            settings["group_protocol"] = "consumer"
        if command.get("instance"):
            settings["group_instance_id"] = command["instance"]
        with closing(_consumer(settings)) as consumer:
            consumer.subscribe([command["topic"]])
            records = _records(consumer, command["count"])
            consumer.commit()
        return {"values": [record["value"] for record in records]}

    def _create_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            admin.create_topics([NewTopic(command["topic"], command["partitions"], 1)])
        return {}

    def _describe_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            if command["topic"] not in admin.list_topics():
                return {"partitions": 0}
            [described] = admin.describe_topics([command["topic"]])
        return {"partitions": len(described["partitions"])}

    def _delete_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            admin.delete_topics([command["topic"]])
        return {}

    def _configs(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            described = admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, command["topic"])], config_filter="all"
            )
        configs = described["topic"][command["topic"]]
        return {"configs": {name: _value(entry) for name, entry in configs.items()}}

    def _groups(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            listed = admin.list_groups()
            described = admin.describe_groups([command["group"]])
        return {
            "listed": [one["group_id"] for one in listed],
            "state": described[command["group"]]["group_state"],
        }

    def _delete_records(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with closing(KafkaAdminClient(**settings)) as admin:
            admin.delete_records({TopicPartition(command["topic"], 0): command["before"]})
        return {}


def _consumer(settings: Mapping[str, Any]) -> KafkaConsumer:
    return KafkaConsumer(**settings, enable_auto_commit=False, consumer_timeout_ms=TIMEOUT_S * 1000)


def _records(consumer: KafkaConsumer, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < count:
        record = next(consumer)  # StopIteration after the timeout
        headers = {name: text.decode() for name, text in record.headers}
        found.append({"offset": record.offset, "value": record.value.decode(), "headers": headers})
    return found


def _value(entry: Any) -> Any:
    return entry["value"] if isinstance(entry, Mapping) else entry
