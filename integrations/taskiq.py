"""A broker for taskiq over share groups. See docs/taskiq.md.

broker = ShareqBroker("localhost:9092", topic="tasks")
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final

from pydantic import PrivateAttr
from taskiq import AckableMessage, AsyncBroker, BrokerMessage, TaskiqMessage, TaskiqMiddleware, TaskiqResult
from taskiq.exceptions import TaskRejectedError

from shareq.aio import AcknowledgeType, Producer, ShareConsumer, ShareRecord
from shareq.client.admin import Admin
from shareq.client.admin.topics import NewTopic
from shareq.client.aio.again import Again, Upkeep, is_for_another, may_move_s
from shareq.client.aio.consumer.records import State
from shareq.client.aio.early import MAX_DELAY_S, TOO_FAR, EarlyRecords, not_before_s
from shareq.client.aio.threads import in_thread
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, ConfigError, understood
from shareq.client.network import Network
from shareq.client.share.provision import configure_group, ensure_topic
from shareq.client.share.widest_window import reach
from shareq.protocol.names import AUTO_OFFSET_RESET, NOT_BEFORE

logger = logging.getLogger(__name__)

GROUP_CONFIG: Final[dict[str, str]] = {AUTO_OFFSET_RESET: "earliest"}
DELAY: Final = "delay"
"""A label, and the header of a record: the seconds from its sending to its start."""
KEY: Final = "key"
"""A label: the record's key."""
POLL_S: Final = 60.0
SEND_MS: Final = 30_000
BLOCK_MS: Final = 10_000

_rejected: ContextVar[bool] = ContextVar("rejected", default=True)
"""True while an acknowledgement means a rejection: taskiq acknowledges unreadable records, and unknown tasks, before
any middleware sees them.
"""


class ShareqBroker(AsyncBroker):
    """A broker whose tasks are records of one topic, processed by the members of one share group.

    `group` is named like the topic if not given. `properties` are the client's by Kafka's names, for TLS, SASL and
    timeouts. `partitions`, `replication_factor` (-1: the broker's default) and `topic_config` are for the topic, if it
    has to be created; `group_config` are configs of the group. `renew_s` is how long the lock of a task is renewed,
    `prefetch` how many tasks a worker process acquires beyond those requested by taskiq, `max_delay` the longest
    `delay` in seconds: workers reject a task with a longer one. Raises ConfigError for invalid values.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topic: str = "taskiq",
        group: str | None = None,
        properties: Mapping[str, str] | None = None,
        partitions: int = -1,
        replication_factor: int = -1,
        topic_config: Mapping[str, str] | None = None,
        group_config: Mapping[str, str] | None = None,
        renew_s: float = 86_400.0,
        prefetch: int = 0,
        max_delay: float = MAX_DELAY_S,
    ) -> None:
        super().__init__()
        self._servers = bootstrap_servers
        self._properties = {"client.id": "shareq-taskiq", **(properties or {})}
        self._config = ClientConfig.from_properties({**self._properties, "bootstrap.servers": bootstrap_servers})
        self._topic = NewTopic(topic, partitions, replication_factor, dict(topic_config or {}))
        self._group = group or topic
        self._group_config = GROUP_CONFIG | dict(group_config or {})
        self._renew_s = renew_s
        self._prefetch = prefetch
        if not 0 <= max_delay < math.inf:
            raise ConfigError(f"max_delay is {max_delay!r}: must be a number of seconds, 0 or more")
        self._max_delay = max_delay
        self._producer: Producer | None = None
        self._consumers: list[ShareConsumer] = []
        self.add_middlewares(_Rejections())

    async def startup(self) -> None:
        """Create the topic, unless it exists. Raises BrokerError, Unreachable."""
        await in_thread(self._ensure_topic)
        if self._producer is None:
            self._producer = Producer(
                self._servers, properties=self._properties, delivery_timeout_ms=SEND_MS, max_block_ms=BLOCK_MS
            )
        await super().startup()

    async def shutdown(self) -> None:
        """Release the records in hand, and close the connections."""
        await super().shutdown()
        consumers, self._consumers = self._consumers, []
        for consumer in consumers:
            await consumer.close()
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.close()

    async def kick(self, message: BrokerMessage) -> None:
        """Send a task, and return when it is stored.

        Raises BrokerError, Unreachable (the task may have been stored then), ValueError for a `delay` that is not a
        number, or longer than `max_delay`.
        """
        if self._producer is None:
            raise ClientError("the broker is not started: await its startup() first")
        headers = [("task_id", message.task_id.encode()), ("task_name", message.task_name.encode())]
        if (delay := message.labels.get(DELAY)) is not None:
            seconds = self._delay_s(delay)
            due_ms = max(0, math.ceil((time.time() + seconds) * 1000))
            headers += [(DELAY, str(seconds).encode()), (NOT_BEFORE, b"%d" % due_ms)]
        key = message.labels.get(KEY)
        named = None if key is None else str(key).encode()
        await self._producer.send_and_wait(self._topic.name, message.message, key=named, headers=headers)

    async def listen(self) -> AsyncGenerator[AckableMessage, None]:
        """Yield tasks, each when it is due.

        A task is acknowledged only by its `ack`. Raises the error with which the group is refused.
        """
        early = EarlyRecords(await in_thread(self._configure_group))
        upkeep = Upkeep(early, Again(self._servers, self._group, self._properties))
        consumer = ShareConsumer(
            self._servers,
            self._group,
            [self._topic.name],
            acknowledgement="explicit",
            acquire_mode="record_limit",
            prefetch=self._prefetch,
            renew_s=self._renew_s,
            properties=self._properties,
        )
        self._consumers.append(consumer)
        await consumer.start()
        try:
            while True:
                while (record := early.pop_due(time.time())) is not None:
                    yield _Delivery.of(record, consumer)
                due = early.next_due
                patience_s = POLL_S if due is None else max(0.0, min(POLL_S, due - time.time()))
                for record in await consumer.poll(timeout_s=patience_s, max_records=1):
                    if self._is_kept(consumer, record, early):
                        upkeep.start()
                    elif record.state is State.IN_HAND:
                        yield _Delivery.of(record, consumer)
        finally:  # what taskiq has is acknowledged later; `shutdown` closes the consumer
            await upkeep.stop()
            with contextlib.suppress(ClientError):  # it is closed, or was refused
                await consumer.subscribe([])
                held = [record for record in early.take_all() if record.state is State.IN_HAND]
                consumer.acknowledge(held, AcknowledgeType.RELEASE)

    def _is_kept(self, consumer: ShareConsumer, record: ShareRecord, early: EarlyRecords) -> bool:
        """Return True if the record waits now. A record that must not be worked on here is acknowledged."""
        due, now = _due_s(record), time.time()
        if is_for_another(record.headers, self._group):
            consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        elif due - now > self._max_delay:
            place = f"{record.topic}-{record.partition}@{record.offset}"
            logger.warning("%s: %s: rejected", place, TOO_FAR % (f"its time by label {DELAY}", due, self._max_delay))
            consumer.acknowledge(record, AcknowledgeType.REJECT)
        elif due > now:
            record.held_since = asyncio.get_running_loop().time() + due - now
            early.keep(record, due, may_move_s(record))
            return True
        return False

    def _delay_s(self, delay: Any) -> float:
        try:
            seconds = float(delay)
        except (TypeError, ValueError, OverflowError):
            seconds = math.nan
        if not math.isfinite(seconds):
            raise ValueError(f"label {DELAY} is {delay!r}: must be a number of seconds")
        if seconds > self._max_delay:
            raise ValueError(f"label {DELAY} is {delay!r}: max_delay of the broker allows {self._max_delay:g} s")
        return seconds

    def _ensure_topic(self) -> None:
        with self._admin() as admin:
            ensure_topic(admin, self._topic)

    def _configure_group(self) -> int:
        """Return the group's window."""
        with self._admin() as admin:
            configure_group(admin, self._group, self._group_config, required=False)
            return reach(admin, self._group)

    @contextlib.contextmanager
    def _admin(self) -> Iterator[Admin]:
        with contextlib.closing(Network(self._config)) as network, understood():
            yield Admin(network)


class _Rejections(TaskiqMiddleware):
    """Notes that a task was rejected, for its acknowledgement, which comes in the same asyncio task."""

    def pre_execute(self, message: TaskiqMessage) -> TaskiqMessage:
        _rejected.set(False)
        return message

    def on_error(self, message: TaskiqMessage, result: TaskiqResult[Any], exception: BaseException) -> None:
        _rejected.set(isinstance(exception, TaskRejectedError))


class _Delivery(AckableMessage):
    """A record for taskiq's receiver, which first reads `ack`, in the asyncio task that handles this record.

    If that task ends with an exception (a label that taskiq cannot use, a middleware that raises), nothing else would
    acknowledge the record, and its lock would be renewed: so the record is released, and given up after
    `share.delivery.count.limit` deliveries.
    """

    _record: ShareRecord = PrivateAttr()
    _consumer: ShareConsumer = PrivateAttr()

    @classmethod
    def of(cls, record: ShareRecord, consumer: ShareConsumer) -> _Delivery:
        """Return the delivery of a record that the consumer has in hand."""

        async def ack() -> None:
            await (record.reject() if _rejected.get() else record.accept())

        made = cls(data=record.value or b"", ack=ack)
        made._record, made._consumer = record, consumer
        return made

    def __getattribute__(self, name: str) -> Any:
        if name == "ack" and (task := asyncio.current_task()) is not None:
            task.add_done_callback(self._ended)
        return super().__getattribute__(name)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        record = self._record
        if task.cancelled() or (error := task.exception()) is None or record.state is not State.IN_HAND:
            return  # a worker that stops releases what it has; a task with ack_type manual may have kept its context
        place = f"{record.topic}-{record.partition}@{record.offset}"
        if isinstance(error, ClientError):  # the broker's answer to an acknowledgement: no code of anyone's failed
            logger.error("%s, attempt %d: %s: released", place, record.delivery_count, error)
        else:
            logger.error("%s, attempt %d: taskiq failed: released", place, record.delivery_count, exc_info=error)
        with contextlib.suppress(ClientError):  # its lock has just ended
            self._consumer.acknowledge(record, AcknowledgeType.RELEASE)


def _due_s(record: ShareRecord) -> float:
    """Return when a record's task may begin, in seconds since the epoch; 0 for at once, also if its delay is not a
    number.
    """
    if sent_again := not_before_s(record.headers):
        return sent_again
    for name, value in record.headers:
        if name == DELAY and record.timestamp >= 0:
            with contextlib.suppress(ValueError):
                due_s = record.timestamp / 1000 + float(value or b"0")
                return due_s if math.isfinite(due_s) else 0.0
    return 0.0
