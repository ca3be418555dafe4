"""A FastStream broker over share groups. See docs/faststream.md.

broker = ShareBroker("localhost:9092")
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Final

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import ConsumerStoppedError, KafkaError
from faststream.exceptions import SetupError
from faststream.kafka import KafkaBroker, KafkaRouter
from faststream.kafka.message import KafkaAckableMessage
from faststream.middlewares import AckPolicy

from shareq.aio import AcknowledgeType, ClientError, ShareConsumer, ShareRecord
from shareq.client.admin import Admin
from shareq.client.aio.threads import in_thread
from shareq.client.config import ClientConfig
from shareq.client.errors import understood
from shareq.client.network import Network
from shareq.client.share.provision import configure_group
from shareq.protocol.names import AUTO_OFFSET_RESET

logger = logging.getLogger(__name__)

GROUP_CONFIG: Final[dict[str, str]] = {AUTO_OFFSET_RESET: "earliest"}
NO_PATTERN: Final = "a share group has topics: neither a pattern nor partitions"
POLL_S: Final = 60.0
MOST: Final = 500
_SAME_AS_ACK: Final = "AckPolicy.REJECT_ON_ERROR has the same effect"
_NAMES: Final = {
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanism",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
}
"""Kafka's names for the settings in FastStream's `security`."""


class ShareBroker(KafkaBroker):
    """FastStream's broker for Kafka, whose subscribers are members of share groups.

    `group_id` of a subscriber is its share group, by default named like its first topic. `ack`, `nack` and `reject` of
    a message accept, release and reject its record, alone; a handler that raises rejects it, unless `ack_policy` says
    otherwise. `properties` are the members' by Kafka's names, in addition to `security`; `group_config` are configs of
    the groups; `renew_s` is how long the lock of a message is renewed. Everything else, publishing included, is
    KafkaBroker's.
    """

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str] = "localhost",
        *,
        properties: Mapping[str, str] | None = None,
        group_config: Mapping[str, str] | None = None,
        renew_s: float = 86_400.0,
        **options: Any,
    ) -> None:
        options.setdefault("ack_policy", AckPolicy.REJECT_ON_ERROR)
        super().__init__(bootstrap_servers, **options)
        self._share_properties = {"client.id": "shareq-faststream", **(properties or {})}
        self._group_config = GROUP_CONFIG | dict(group_config or {})
        self._renew_s = renew_s

    def subscriber(self, *topics: Any, **options: Any) -> Any:
        """Return a subscriber, as KafkaBroker does. Raises SetupError for a pattern, and for chosen partitions."""
        if options.get("pattern") or options.get("partitions"):
            raise SetupError(NO_PATTERN)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _SAME_AS_ACK)  # it is not so here
            made = super().subscriber(*topics, **options)
        _acknowledge_alone(made)
        return made

    async def start(self) -> None:
        """Connect, and start all subscribers, including those of routers."""
        for each in self.subscribers:
            _acknowledge_alone(each)
        await super().start()

    async def _connect(self) -> Callable[..., Any]:
        options = (await super()._connect()).keywords
        servers = options["bootstrap_servers"]
        given = {ours: str(options[name]) for name, ours in _NAMES.items() if options.get(name) is not None}
        properties = {
            **given,
            **self._share_properties,
            "bootstrap.servers": servers if isinstance(servers, str) else ",".join(servers),
        }

        def consumer(*, group_id: str | None = None, enable_auto_commit: bool = False, **_: Any) -> _Consumer:
            return _Consumer(properties, group_id, self._group_config, self._renew_s, accepts_first=enable_auto_commit)

        self.config.broker_config.builder = consumer
        return consumer


class ShareRouter(KafkaRouter):
    """FastStream's router for Kafka, whose handlers reject a message when they raise, like those of ShareBroker.

    KafkaRouter's handlers accept it before they begin, unless they name an `ack_policy`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("ack_policy", AckPolicy.REJECT_ON_ERROR)
        super().__init__(*arguments, **options)


class ShareMessage(KafkaAckableMessage):
    """A message, or a batch of messages, whose records are acknowledged."""

    async def ack(self) -> None:
        """Accept the records."""
        await self._settle(AcknowledgeType.ACCEPT)
        await super(KafkaAckableMessage, self).ack()

    async def nack(self) -> None:
        """Release the records, which any member of the group may get again."""
        await self._settle(AcknowledgeType.RELEASE)
        await super(KafkaAckableMessage, self).nack()

    async def reject(self) -> None:
        """Reject the records, which become dead letters if the group has a queue."""
        await self._settle(AcknowledgeType.REJECT)
        await super(KafkaAckableMessage, self).reject()

    async def _settle(self, kind: AcknowledgeType) -> None:
        if self.committed:
            return
        raws = self.raw_message if isinstance(self.raw_message, tuple) else (self.raw_message,)
        for raw in raws:
            if isinstance(raw, _Raw):  # a test broker's is none
                await raw.member.settle(raw.record, kind)


class _Raw(ConsumerRecord):
    """A record in the form of aiokafka, for handlers that read raw messages."""

    def __init__(self, member: ShareConsumer, record: ShareRecord) -> None:
        key, value = record.key, record.value
        super().__init__(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=0,
            key=key,
            value=value,
            checksum=None,
            serialized_key_size=-1 if key is None else len(key),
            serialized_value_size=-1 if value is None else len(value),
            headers=tuple((name, held or b"") for name, held in record.headers),
        )
        self.member = member
        self.record = record


class _Consumer:
    """A member of a share group, with the methods of aiokafka's consumer that FastStream calls."""

    def __init__(
        self,
        properties: Mapping[str, str],
        group_id: str | None,
        group_config: Mapping[str, str],
        renew_s: float,
        *,
        accepts_first: bool,
    ) -> None:
        self._properties = properties
        self._group_id = group_id
        self._group_config = group_config
        self._renew_s = renew_s
        self._accepts_first = accepts_first
        self._topics: list[str] = []
        self._member: ShareConsumer | None = None

    def subscribe(self, topics: Iterable[str] = (), pattern: str | None = None, listener: object = None) -> None:
        """Note the topics. A share group has no rebalances to listen to. Raises SetupError for a pattern."""
        if pattern is not None:
            raise SetupError(NO_PATTERN)
        self._topics = list(topics)

    def assign(self, partitions: object) -> None:
        """Raise SetupError: the group assigns partitions."""
        raise SetupError(NO_PATTERN)

    async def start(self) -> None:
        """Join the group, in the background."""
        group = self._group_id or self._topics[0]
        config = ClientConfig.from_properties(self._properties)
        await in_thread(lambda: _configure(config, group, self._group_config))
        self._member = ShareConsumer(
            self._properties["bootstrap.servers"],
            group,
            self._topics,
            acknowledgement="explicit",
            acquire_mode="record_limit",
            prefetch=0,
            renew_s=self._renew_s,
            properties={name: value for name, value in self._properties.items() if name != "bootstrap.servers"},
        )
        await self._member.start()

    async def stop(self) -> None:
        """Release the records in hand, and leave the group."""
        member, self._member = self._member, None
        if member is not None:
            await member.close()

    async def getone(self) -> _Raw:
        """Return the next record. Raises KafkaError, ConsumerStoppedError."""
        while not (found := await self._poll(POLL_S, 1)):
            pass
        return found[0]

    async def getmany(
        self, *partitions: object, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[_Raw]]:
        """Return the records that came in time, by partition."""
        found: dict[TopicPartition, list[_Raw]] = {}
        for raw in await self._poll(timeout_ms / 1000, max_records or MOST):
            found.setdefault(TopicPartition(raw.topic, raw.partition), []).append(raw)
        return found

    async def __aiter__(self) -> AsyncIterator[_Raw]:
        with contextlib.suppress(ConsumerStoppedError):
            while True:
                yield await self.getone()

    async def _poll(self, timeout_s: float, most: int) -> list[_Raw]:
        member = self._member
        if member is None:
            raise ConsumerStoppedError
        try:
            records = await member.poll(timeout_s=timeout_s, max_records=most)
            if self._accepts_first:
                member.acknowledge(records)
        except ClientError as error:
            if self._member is None:
                raise ConsumerStoppedError from error
            raise KafkaError(str(error)) from error
        return [_Raw(member, record) for record in records]


def _acknowledge_alone(subscriber: Any) -> None:
    if subscriber.ack_policy is not AckPolicy.ACK_FIRST:
        subscriber.parser.msg_class = ShareMessage


def _configure(config: ClientConfig, group: str, configs: Mapping[str, str]) -> None:
    with contextlib.closing(Network(config)) as network, understood():
        configure_group(Admin(network), group, configs, required=False)
