"""The client aiokafka: each command is an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.interop.support.clients.commands import OAUTHBEARER, python_security

TIMEOUT_S = 30


class _TokenOfFile(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, file: str) -> None:
        self._file = Path(file)

    async def token(self) -> str:
        return self._file.read_text()


class AioKafka:
    """A client with `Client`'s commands except `share`."""

    def call(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Run a command. Raise KafkaError or TimeoutError."""
        login = arguments.get("login")
        settings = {"bootstrap_servers": arguments["bootstrap"], **python_security(login, arguments.get("tls"))}
        if login is not None and login["mechanism"] == OAUTHBEARER:
            settings["sasl_oauth_token_provider"] = _TokenOfFile(login["token_file"])

        async def answer() -> dict[str, Any]:
            async with asyncio.timeout(TIMEOUT_S):
                found: dict[str, Any] = await getattr(self, f"_{do}")(settings, arguments)
                return found

        return asyncio.run(answer())

    def close(self) -> None:
        """Do nothing: nothing stays open between commands."""

    async def _produce(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        transaction = command.get("transaction")
        compression = command.get("compression", "none")
        settings |= {
            "compression_type": None if compression == "none" else compression,
            "linger_ms": 20,
            "acks": "all",
            "enable_idempotence": bool(command.get("idempotent") or transaction),
            "transactional_id": transaction,
        }
        async with AIOKafkaProducer(**settings) as producer:
            if transaction:
                await producer.begin_transaction()
            headers = [(name, text.encode()) for name, text in command.get("headers", {}).items()]
            values = [value.encode() for value in command["values"]]
            sent = [await producer.send(command["topic"], value, headers=headers) for value in values]
            await asyncio.gather(*sent)
            if transaction:
                await (producer.abort_transaction() if command.get("abort") else producer.commit_transaction())
        return {}

    async def _fetch(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        level = "read_committed" if command.get("committed") else "read_uncommitted"
        place = TopicPartition(command["topic"], 0)
        async with AIOKafkaConsumer(**settings, enable_auto_commit=False, isolation_level=level) as consumer:
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            return {"records": await _records(consumer, command["count"])}

    async def _offsets(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        place = TopicPartition(command["topic"], 0)
        async with AIOKafkaConsumer(**settings, enable_auto_commit=False) as consumer:
            earliest, latest = await consumer.beginning_offsets([place]), await consumer.end_offsets([place])
        return {"earliest": earliest[place], "latest": latest[place]}

    async def _group(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        settings |= {"group_id": command["group"], "auto_offset_reset": "earliest", "enable_auto_commit": False}
        consumer = AIOKafkaConsumer(command["topic"], **settings, group_instance_id=command.get("instance"))
        async with consumer:
            records = await _records(consumer, command["count"])
            await consumer.commit()
        return {"values": [record["value"] for record in records]}

    async def _create_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            await admin.create_topics([NewTopic(command["topic"], command["partitions"], 1)])
        return {}

    async def _describe_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            if command["topic"] not in await admin.list_topics():
                return {"partitions": 0}
            [described] = await admin.describe_topics([command["topic"]])
        return {"partitions": len(described["partitions"])}

    async def _delete_topic(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            await admin.delete_topics([command["topic"]])
        return {}

    async def _configs(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            asked = [ConfigResource(ConfigResourceType.TOPIC, command["topic"])]
            [answer] = await admin.describe_configs(asked)
        [(_error, _text, _kind, _name, entries)] = answer.resources
        return {"configs": {entry[0]: entry[1] for entry in entries}}

    async def _groups(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            listed = await admin.list_consumer_groups()
            [answer] = await admin.describe_consumer_groups([command["group"]])
        [(_error, _group, state, *_)] = answer.groups
        return {"listed": [group for group, _ in listed], "state": state}

    async def _delete_records(self, settings: dict[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
        async with _administrator(settings) as admin:
            await admin.delete_records({TopicPartition(command["topic"], 0): RecordsToDelete(command["before"])})
        return {}


@asynccontextmanager
async def _administrator(settings: Mapping[str, Any]) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**settings)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def _records(consumer: AIOKafkaConsumer, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < count:
        record = await consumer.getone()
        headers = {name: text.decode() for name, text in record.headers}
        found.append({"offset": record.offset, "value": record.value.decode(), "headers": headers})
    return found
