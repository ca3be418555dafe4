"""The provider and the trigger. They need Airflow 3.3, the first release that confirms stored events.

A record is accepted when its events are in Airflow's database. Assets whose triggers have equal arguments share one
trigger, even across DAGs, so one member of the share group serves all of them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from airflow.providers.common.messaging.providers.base_provider import BaseMessageQueueProvider
from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, AdvanceOutcome, SharedStreamProducer

from shareq.aio import AcknowledgeType, ShareConsumer, ShareRecord
from shareq.client.admin import Admin
from shareq.client.aio.threads import in_thread
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, ConfigError, Unreachable, understood
from shareq.client.network import Network
from shareq.client.share.provision import configure_group
from shareq.protocol.names import AUTO_OFFSET_RESET, DELIVERY_COUNT_LIMIT

logger = logging.getLogger(__name__)

SCHEME: Final = "kafka-share"
GROUP: Final = "airflow"
GROUP_CONFIG: Final[dict[str, str]] = {AUTO_OFFSET_RESET: "earliest"}
MORE_DELIVERIES: Final[dict[str, str]] = {DELIVERY_COUNT_LIMIT: "10"}
"""The most deliveries that brokers allow by default: each end of a triggerer costs its records one."""
IN_HAND: Final = 20
"""The most records that wait for Airflow, and may be delivered again after a kill.

Airflow looks once a second, confirms records together when all of them are stored, and fails a trigger behind which
1,024 wait.
"""
RENEW_S: Final = 1_800.0
"""The seconds for which locks are renewed: longer than Airflow waits for its database (`shared_stream_ack_timeout`,
five minutes).
"""
POLL_S: Final = 60.0


class ShareGroupProvider(BaseMessageQueueProvider):
    """The provider of the scheme `kafka-share`, for queues `kafka-share://host:port/topic?group=name`."""

    scheme = SCHEME

    def queue_matches(self, queue: str) -> bool:
        """Return True if this provider serves a queue."""
        return queue.startswith(f"{SCHEME}://")

    def trigger_class(self) -> type[BaseEventTrigger]:
        """Return the class of this provider's triggers."""
        return ShareGroupTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments in a queue's address. Raises ConfigError for an invalid address."""
        parts = urlsplit(queue)
        topic = parts.path.strip("/")
        if not parts.netloc or not topic:
            raise ConfigError(f"queue: {queue!r}: must be {SCHEME}://host:port/topic")
        named = dict(parse_qsl(parts.query))
        if unknown := set(named) - {"group"}:
            raise ConfigError(f"queue: {queue!r}: {', '.join(sorted(unknown))}: only group may be named")
        return {"bootstrap_servers": parts.netloc, "topic": topic, **named}


class ShareGroupTrigger(BaseEventTrigger):
    """A trigger that makes an event of each record that a share group delivers.

    `properties` are the client's by Kafka's names, for TLS, SASL and timeouts; the extra of the connection `conn_id`
    overrides them. `group_config` are configs of the group. There is no filter for records: another triggerer may run
    another trigger of the group, and each would get records meant for the other.
    """

    def __init__(
        self,
        *,
        bootstrap_servers: str,
        topic: str,
        group: str = GROUP,
        properties: Mapping[str, str] | None = None,
        conn_id: str | None = None,
        group_config: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._source = {
            "bootstrap_servers": bootstrap_servers,
            "topic": topic,
            "group": group,
            "properties": dict(properties or {}),
            "conn_id": conn_id,
            "group_config": dict(group_config or {}),
        }

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class, and the arguments of a copy."""
        return f"{ShareGroupTrigger.__module__}.{ShareGroupTrigger.__qualname__}", dict(self._source)

    def shared_stream_key(self) -> Hashable:
        """Return the key that is equal for all triggers that share one member."""
        return tuple(
            (name, tuple(sorted(value.items())) if isinstance(value, dict) else value)
            for name, value in self._source.items()
        )

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Return the member of the group, which is not connected yet."""
        return ShareGroupStream(**kwargs)

    async def filter_shared_stream(self, shared_stream: AsyncIterator[dict[str, Any]]) -> AsyncGenerator[TriggerEvent]:
        """Yield an event for each record."""
        async for payload in shared_stream:
            yield TriggerEvent(payload)

    async def run(self) -> AsyncGenerator[TriggerEvent]:
        """Raise RuntimeError, because only a shared stream learns when an event is stored."""
        raise RuntimeError("shareq.airflow needs the triggerer of Airflow 3.3 or later")
        yield  # an asynchronous generator, as Airflow has it


class ShareGroupStream(SharedStreamProducer):
    """One member of a share group, for the triggers of one queue in one triggerer."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        group: str = GROUP,
        properties: Mapping[str, str] | None = None,
        conn_id: str | None = None,
        group_config: Mapping[str, str] | None = None,
    ) -> None:
        self._servers = bootstrap_servers
        self._topic = topic
        self._group = group
        self._properties = {"client.id": "shareq-airflow", **(properties or {})}
        self._conn_id = conn_id
        self._group_config = GROUP_CONFIG | dict(group_config or {})
        self._consumer: ShareConsumer | None = None
        self._waiting = 0
        self._fewer = asyncio.Event()

    async def open_stream(self) -> AsyncGenerator[tuple[dict[str, Any], ShareRecord]]:
        """Join the group, and yield records, each with its event's payload.

        Raises the error with which the group is refused.
        """
        properties = {**self._properties, **await _of_connection(self._conn_id)}
        config = ClientConfig.from_properties({**properties, "bootstrap.servers": self._servers})
        await in_thread(lambda: self._configure_group(config))
        self._consumer = consumer = ShareConsumer(
            self._servers,
            self._group,
            [self._topic],
            acknowledgement="explicit",
            acquire_mode="record_limit",
            prefetch=0,
            renew_s=RENEW_S,
            properties=properties,
        )
        while True:
            if room := IN_HAND - self._waiting:
                for record in await consumer.poll(timeout_s=POLL_S, max_records=room):
                    self._waiting += 1
                    yield payload_of(record), record
            else:
                self._fewer.clear()
                await self._fewer.wait()

    def get_advance_lane(self, broker_payload: ShareRecord) -> Hashable:
        """Return the record itself as the key: no record waits until another is accepted."""
        return broker_payload

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Acknowledge records, with the next request to their broker. Those whose lock was lost are delivered again."""
        for record, outcome in batch:
            self._waiting -= 1
            self._fewer.set()
            kind = kind_of(outcome)
            if kind is None or self._consumer is None:
                continue
            try:
                self._consumer.acknowledge(record, kind)
            except ClientError as error:
                logger.warning("%s, attempt %d: %s", id_of(record), record.delivery_count, error)

    async def aclose(self) -> None:
        """Release the records in hand, and leave the group."""
        if self._consumer is not None:
            await self._consumer.close()

    def _configure_group(self, config: ClientConfig) -> None:
        with _admin(config) as admin:
            configure_group(admin, self._group, self._group_config, required=False)
            try:
                configure_group(admin, self._group, MORE_DELIVERIES | self._group_config, required=True)
            except Unreachable:
                raise
            except ClientError as error:
                logger.info("share group %s: its limit of deliveries stays: %s", self._group, error)


def kind_of(outcome: AdvanceOutcome) -> AcknowledgeType | None:
    """Return how to acknowledge a record. None: it stays in hand, and is released when its member leaves.

    That is for a record that no trigger saw: released at once, it would be delivered at once, and soon reach its limit.
    """
    if outcome.failed:
        return AcknowledgeType.RELEASE
    if outcome.acked:
        return AcknowledgeType.ACCEPT
    return AcknowledgeType.REJECT if outcome.rejected else None


def id_of(record: ShareRecord) -> str:
    """Return the permanent id of a record, the same at each delivery."""
    return f"{record.topic}-{record.partition}@{record.offset}"


def payload_of(record: ShareRecord) -> dict[str, Any]:
    """Return the payload of an event, which fits JSON. Bytes that are not UTF-8 are in `value_base64`, `key_base64`."""
    return {
        "id": id_of(record),
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "delivery_count": record.delivery_count,
        "headers": {name: (value or b"").decode("utf-8", "replace") for name, value in record.headers},
        **_text("key", record.key),
        **_text("value", record.value),
    }


def _text(name: str, data: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": base64.b64encode(data or b"").decode()}


async def _of_connection(conn_id: str | None) -> dict[str, str]:
    """Return the properties in the extra of a connection; numbers and booleans as Kafka writes them."""
    if conn_id is None:
        return {}
    from airflow.sdk import Connection  # the triggerer alone can ask for one

    found = await Connection.async_get(conn_id)
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in found.extra_dejson.items()
    }


@contextlib.contextmanager
def _admin(config: ClientConfig) -> Iterator[Admin]:
    with contextlib.closing(Network(config)) as network, understood():
        yield Admin(network)
