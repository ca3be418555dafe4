from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET
from tests.interop.support.clients.commands import OAUTHBEARER, librdkafka_security

TIMEOUT_S = 30
TOKEN_S = 300
"""The time for which a token counts as new."""

NOBODY = "nobody"
"""The group of consumers that are members of none."""


class Librdkafka:
    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise KafkaException or TimeoutError."""
        login = arguments.get("login")
        security = librdkafka_security(login, arguments.get("tls"))
        settings = {"bootstrap.servers": arguments["bootstrap"], **security, **QUIET, "error_cb": self._note}
        if login is not None and login["mechanism"] == OAUTHBEARER:
            file = Path(login["token_file"])
            settings["oauth_cb"] = lambda _: (file.read_text(), time.time() + TOKEN_S)
        self._last = ""
        try:
            answer: dict[str, Any] = getattr(self, f"_{do}")(settings, arguments)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self._last}") from error
        return answer

    def _note(self, error: KafkaError) -> None:
        """Note the error: the library itself retries for ever, whatever the error."""
        self._last = str(error)
        if error.code() in (KafkaError._SSL, KafkaError._AUTHENTICATION):
            raise KafkaException(error)

    def close(self) -> None:
        """Do nothing: nothing stays open between commands."""

    def _produce(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        transaction = command.get("transaction")
        settings |= {"compression.type": command.get("compression", "none"), "linger.ms": 20}
        settings |= {"enable.idempotence": bool(command.get("idempotent") or transaction)}
        if transaction:
            settings["transactional.id"] = transaction
        producer = Producer(settings)
        if transaction:
            producer.init_transactions(TIMEOUT_S)
            producer.begin_transaction()
        errors: list[object] = []
        headers: list[tuple[str, str | bytes | None]] = list(command.get("headers", {}).items())
        for value in command["values"]:
            producer.produce(
                command["topic"], value, headers=headers, on_delivery=lambda error, _: errors.append(error)
            )
        if producer.flush(TIMEOUT_S):
            raise TimeoutError("not delivered")
        if any(errors):
            raise KafkaException(*filter(None, errors))
        if transaction:
            (producer.abort_transaction if command.get("abort") else producer.commit_transaction)(TIMEOUT_S)
        return {}

    def _fetch(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        settings["isolation.level"] = "read_committed" if command.get("committed") else "read_uncommitted"
        with _consumer(settings, NOBODY) as consumer:
            consumer.assign([TopicPartition(command["topic"], 0, 0)])
            messages = _messages(consumer, command["count"])
        return {"records": [_record(message) for message in messages]}

    def _offsets(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        with _consumer(settings, NOBODY) as consumer:
            earliest, latest = consumer.get_watermark_offsets(TopicPartition(command["topic"], 0), TIMEOUT_S)
        return {"earliest": earliest, "latest": latest}

    def _group(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        settings |= {"auto.offset.reset": "earliest", "group.protocol": command["protocol"]}
        if command.get("instance"):
            settings["group.instance.id"] = command["instance"]
        with _consumer(settings, command["group"]) as consumer:
            consumer.subscribe([command["topic"]])
            messages = _messages(consumer, command["count"])
            consumer.commit(asynchronous=False)
        return {"values": [_record(message)["value"] for message in messages]}

    def _share(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        consumer = ShareConsumer({**settings, "group.id": command["group"], "share.acknowledgement.mode": "explicit"})
        consumer.subscribe([command["topic"]])
        deliveries: list[list[object]] = []
        finished = 0
        for _ in range(TIMEOUT_S * 2):
            for message in consumer.poll(0.5):
                value, count = _record(message)["value"], message.delivery_count()
                deliveries.append([value, count])
                released = value.startswith("release") and count == 1
                finished += not released
                rejected = AcknowledgeType.REJECT if value.startswith("reject") else AcknowledgeType.ACCEPT
                consumer.acknowledge(message, AcknowledgeType.RELEASE if released else rejected)
            if finished >= command["count"]:
                break
            consumer.commit_async()
        consumer.close()  # confirms what is left
        return {"deliveries": deliveries}

    def _create_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        admin = AdminClient(settings)
        return _done(admin.create_topics([NewTopic(command["topic"], command["partitions"], 1)]))

    def _describe_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        topic = AdminClient(settings).list_topics(timeout=TIMEOUT_S).topics.get(command["topic"])
        return {"partitions": 0 if topic is None else len(topic.partitions)}

    def _delete_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        admin = AdminClient(settings)
        return _done(admin.delete_topics([command["topic"]]))

    def _configs(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        admin = AdminClient(settings)
        [future] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, command["topic"])]).values()
        return {"configs": {name: entry.value for name, entry in future.result(TIMEOUT_S).items()}}

    def _groups(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        admin = AdminClient(settings)
        listed = admin.list_consumer_groups().result(TIMEOUT_S).valid
        [future] = admin.describe_consumer_groups([command["group"]]).values()
        return {"listed": [one.group_id for one in listed], "state": future.result(TIMEOUT_S).state.name}

    def _delete_records(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        admin = AdminClient(settings)
        return _done(admin.delete_records([TopicPartition(command["topic"], 0, command["before"])]))


@contextmanager
def _consumer(settings: Mapping[str, Any], group: str) -> Iterator[Consumer]:
    consumer = Consumer({**settings, "group.id": group, "enable.auto.commit": False})
    try:
        yield consumer
    finally:
        try:
            consumer.close()
        except KafkaException as error:
            # It may break off the login of the connection to a coordinator that no call has used.
            if group != NOBODY or not str(error.args[0].str()).startswith("GroupCoordinator: "):
                raise


def _messages(consumer: Consumer, count: int) -> list[Message]:
    found: list[Message] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        if message is None:
            raise TimeoutError(f"{len(found)} of {count} records")
        if (error := message.error()) is not None:
            raise KafkaException(error)
        found.append(message)
    return found


def _record(message: Message) -> dict[str, Any]:
    headers: Any = message.headers() or []
    return {
        "offset": message.offset(),
        "value": (message.value() or b"").decode(),
        "headers": {name: text.decode() for name, text in headers},
    }


def _done(futures: Mapping[Any, Future[Any]]) -> dict[str, Any]:
    for future in futures.values():
        future.result(TIMEOUT_S)
    return {}
