"""A producer on the event loop, as its users see it: each partition with records has a task that sends its batches."""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Self

from shareq.client.aio.network import Network
from shareq.client.chance import CHANCE
from shareq.client.config import ClientConfig
from shareq.client.core.tries import backoff_s
from shareq.client.errors import BrokerError, ClientError, ConfigError
from shareq.client.partitioner import partition_of_key
from shareq.client.produce.batches import Appended, Batch, Lane, Outcome, check, size_of
from shareq.client.produce.delivery import ALL, Delivery
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Compression
from shareq.protocol.records.record_codec import RecordData

logger = logging.getLogger(__name__)

PURPOSE: Final = "produce"
DEFAULT_BATCH_BYTES: Final = 64 << 10
DEFAULT_BUFFER_BYTES: Final = 32 << 20
DEFAULT_REQUEST_BYTES: Final = 1 << 20

KNOWN_S: Final = 1.0
"""The seconds for which a topic's partitions are used before they are looked up again."""
_UNKNOWN: Final[tuple[float, list[int]]] = (0.0, [])

CompressionName = Literal["none", "gzip", "snappy", "lz4", "zstd"]
_SAY_AFTER: Final = 3
"""The failed lookups of a topic before a line is logged: brokers learn of a new topic at different times."""
_COMPRESSIONS: Final = {one.name.lower(): one for one in Compression}


@dataclass(slots=True)
class ProducerMetrics:
    """Counters of a producer since its creation, and its unsent records (`buffered`, `buffered_bytes`)."""

    sent: int = 0
    """Records passed to `send`."""
    appended: int = 0
    failed: int = 0
    requests: int = 0
    """Batches sent, retries included."""
    retries: int = 0
    """Batches sent again after an error."""
    buffered: int = 0
    """Records that are neither written nor failed yet."""
    buffered_bytes: int = 0


class Producer:
    """A producer whose batches form while others are under way. Use it as an asynchronous context manager:

        async with Producer("localhost:9092") as producer:
            await producer.send_and_wait("orders", b"apples", key=b"customer 7")

    With `idempotent`, the default, a record is in the log once and in order, however often it is sent; `acks` is "all"
    then. A record that is not written within `delivery_timeout_ms` fails with Unreachable or the broker's last error,
    and may be in the log all the same. Records of one key go to one partition, the same as with Java's producer; those
    without are spread in batches. `linger_ms` is how long a batch waits for more. `properties` are the client's by
    Kafka's names. There are no transactions here.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        acks: Literal["all", 1] = "all",
        idempotent: bool = True,
        compression: CompressionName = "none",
        linger_ms: float = 0,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
        max_request_bytes: int = DEFAULT_REQUEST_BYTES,
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
        delivery_timeout_ms: int = 120_000,
        max_block_ms: int = 60_000,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self._config = ClientConfig.from_properties({**(properties or {}), "bootstrap.servers": servers})
        if acks not in ("all", 1):
            raise ConfigError(f'acks: {acks!r}: must be "all" or 1')
        if idempotent and acks != "all":
            raise ConfigError('acks: must be "all" for an idempotent producer')
        if compression not in _COMPRESSIONS:
            raise ConfigError(f"compression: {compression!r}: must be one of {', '.join(_COMPRESSIONS)}")
        self._linger_s = linger_ms / 1000
        self._batch_bytes = batch_bytes
        self._max_request_bytes = max_request_bytes
        self._buffer_bytes = buffer_bytes
        self._delivery_timeout_s = delivery_timeout_ms / 1000
        self._max_block_s = max_block_ms / 1000
        self._network = Network(self._config)
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._wakes: dict[tuple[str, int], asyncio.Event] = {}
        self._sticky: dict[str, int] = {}
        self._known: dict[str, tuple[float, list[int]]] = {}  # until when these are a topic's partitions
        self._buffered = 0
        self._waiters: set[asyncio.Future[None]] = set()
        self._flushing = 0
        self._counts: Counter[str] = Counter()
        self._delivery = Delivery(
            self._network,
            self._counts,
            compression=_COMPRESSIONS[compression],
            acks=ALL if acks == "all" else 1,
            idempotent=idempotent,
            purpose=PURPOSE,
        )
        self._gone = asyncio.Event()
        self._closed = False

    @property
    def metrics(self) -> ProducerMetrics:
        """The current values of the metrics."""
        buffered = self._counts["sent"] - self._counts["appended"] - self._counts["failed"]
        return ProducerMetrics(**self._counts, buffered=buffered, buffered_bytes=self._buffered)

    # -- life

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def flush(self) -> None:
        """Send the buffered records, and return when each of them is written or has failed."""
        self._flushing += 1
        try:
            for wake in self._wakes.values():
                wake.set()
            await self._until_buffered(lambda: self._buffered == 0)
        finally:
            self._flushing -= 1

    async def close(self) -> None:
        """Flush, and close the connections. A second call waits for the end of the first."""
        if self._closed:
            await self._gone.wait()
            return
        self._closed = True
        try:
            await self.flush()
        finally:
            for task in self._tasks.values():
                task.cancel()
            self._network.close()
            try:
                await asyncio.gather(*self._tasks.values(), return_exceptions=True)
                await self._network.wait_closed()
            finally:
                self._gone.set()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._tasks:
            warnings.warn(
                f"a producer was never closed: {self.metrics.buffered} records may not be written",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    # -- records

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        *,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[Appended]:
        """Hand a record over, and return a future of its partition and offset. A coroutine: without `await` nothing is
        sent.

        It waits while the buffer is full or the topic unknown, but not for the write, which the future is for. Raises
        TypeError and ValueError for invalid fields, BrokerError for a topic or partition that does not exist after
        `max_block_ms`, ConfigError for a record larger than `max_request_bytes`. The future raises BrokerError,
        Unreachable.
        """
        self._check_open()
        record = RecordData(key, value, tuple(headers), timestamp_ms)
        size = self._checked_size(record)
        loop = asyncio.get_running_loop()
        chosen = self._known_partition(topic, key, partition, loop.time())
        if chosen is None:
            chosen = await self._partition(topic, key, partition)
        if not self._has_room(size):
            await self._until_buffered(lambda: self._has_room(size))
        self._check_open()
        return self._add(topic, chosen, record, size, loop)

    async def send_batch(
        self,
        topic: str,
        records: Iterable[tuple[bytes | None, bytes | None]],
        *,
        partition: int | None = None,
    ) -> asyncio.Future[int]:
        """Hand over keys and values, and return one future of how many they are, when all are written.

        Waits and raises as `send` does; arguments that fit no record raise before any record is handed over. The future
        raises the first error when no request for the batch is pending: the other records may be in the log.
        """
        self._check_open()
        now_ms = time.time_ns() // 1_000_000
        made = [RecordData(key, value, (), now_ms) for key, value in records]
        sizes = [self._checked_size(record) for record in made]
        loop = asyncio.get_running_loop()
        together = _Together(loop.create_future(), self._finished)
        try:
            for record, size in zip(made, sizes, strict=True):
                chosen = self._known_partition(topic, record.key, partition, loop.time())
                if chosen is None:
                    chosen = await self._partition(topic, record.key, partition)
                if not self._has_room(size):
                    await self._until_buffered(partial(self._has_room, size))
                self._check_open()
                self._put(topic, chosen, record, size, together.one_more(size), loop)
        finally:
            together.all_sent()
        return together.future

    async def send_and_wait(
        self,
        topic: str,
        value: bytes | None = None,
        *,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Appended:
        """Send a record as `send` does, and wait until it is written."""
        return await (
            await self.send(topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
        )

    async def partitions_for(self, topic: str) -> list[int]:
        """Return the partitions of a topic, which a broker that creates topics on demand may create."""
        deadline = self._now + self._max_block_s
        failures = 0
        while True:
            ids = await self._network.topic_ids([topic])
            if topic in ids:
                return await self._network.partitions(ids[topic])
            failures += 1
            if self._now >= deadline:
                raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}")
            await self._network.refresh([topic], create=True)
            if topic not in await self._network.topic_ids([topic]):
                if failures == _SAY_AFTER:
                    logger.warning("topic %s does not exist: waiting for it, %g s at most", topic, self._max_block_s)
                await asyncio.sleep(self._backoff_s(failures))

    def _add(
        self, topic: str, partition: int, record: RecordData, size: int, loop: asyncio.AbstractEventLoop
    ) -> asyncio.Future[Appended]:
        future: asyncio.Future[Appended] = loop.create_future()
        timestamp = time.time_ns() // 1_000_000 if record.timestamp_ms is None else record.timestamp_ms

        def outcome(offset: int, append_time_ms: int, error: ClientError | None) -> None:
            self._finished(size, error)
            if future.done():
                return
            if error is not None:
                _fail(future, error)
            else:
                time_ms = timestamp if append_time_ms < 0 else append_time_ms
                future.set_result(Appended(topic, partition, offset, time_ms))

        stamped = record if record.timestamp_ms is not None else RecordData(*record[:3], timestamp)
        self._put(topic, partition, stamped, size, outcome, loop)
        return future

    def _put(
        self,
        topic: str,
        partition: int,
        record: RecordData,
        size: int,
        outcome: Outcome,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Put a record with a timestamp into the batch of its partition."""
        place = topic, partition
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = Lane(topic, partition)
        self._buffered += size
        self._counts["sent"] += 1
        if lane.add(record, size, outcome, loop.time(), self._batch_bytes):
            self._sticky.pop(topic, None)
            self._wakes[place].set()
        task = self._tasks.get(place)
        if task is None or task.done():
            self._wakes[place] = asyncio.Event()
            self._tasks[place] = loop.create_task(self._drain(lane), name=f"produce {topic}-{partition}")

    def _finished(self, size: int, error: ClientError | None) -> None:
        """Note that a record is written, or has failed."""
        self._buffered -= size
        self._counts["appended" if error is None else "failed"] += 1
        if self._waiters:
            self._tell()

    def _checked_size(self, record: RecordData) -> int:
        check(record)
        size = size_of(record)
        if size > self._max_request_bytes:
            raise ConfigError(f"record of {size} bytes: max_request_bytes allows {self._max_request_bytes}")
        return size

    def _has_room(self, size: int) -> bool:
        return not self._buffered or self._buffered + size <= self._buffer_bytes

    def _known_partition(self, topic: str, key: bytes | None, asked: int | None, now: float) -> int | None:
        """Return the partition as `_partition` does, if the topic was looked up recently; None otherwise."""
        until, partitions = self._known.get(topic, _UNKNOWN)
        if now >= until:
            return None
        if asked is not None:
            return asked if asked in partitions else None
        if key is not None:
            return partition_of_key(key, partitions)
        return self._sticky.get(topic)

    async def _partition(self, topic: str, key: bytes | None, asked: int | None) -> int:
        partitions = await self.partitions_for(topic)
        self._known[topic] = self._now + KNOWN_S, partitions
        if asked is not None:
            if asked not in partitions:
                await self._network.refresh([topic])
                partitions = await self.partitions_for(topic)
            if asked not in partitions:
                raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {topic}-{asked}")
            return asked
        if key is not None:
            return partition_of_key(key, partitions)
        chosen = self._sticky.get(topic)
        if chosen not in partitions:
            chosen = self._sticky[topic] = CHANCE.choice(partitions)
        return chosen

    # -- sending

    async def _drain(self, lane: Lane) -> None:
        place = lane.topic, lane.partition
        while lane.batches:
            batch = lane.batches[0]
            await self._linger(lane, batch, self._wakes[place])
            await self._delivery.deliver(lane, batch.began + self._delivery_timeout_s)
            self._sticky.pop(lane.topic, None)  # the next batch without keys may go elsewhere

    async def _linger(self, lane: Lane, batch: Batch, wake: asyncio.Event) -> None:
        until = batch.began + self._linger_s
        while not self._flushing and len(lane.batches) == 1 and self._now < until:
            wake.clear()
            try:
                async with asyncio.timeout_at(until):
                    await wake.wait()
            except TimeoutError:
                return

    # -- inside

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _backoff_s(self, failures: int) -> float:
        return backoff_s(self._config.retry_backoff_ms, self._config.retry_backoff_max_ms, failures)

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError("the producer is closed")

    async def _until_buffered(self, condition: Callable[[], bool]) -> None:
        while not condition():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    def _tell(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Together:
    """The records of one `send_batch` call, which have one future."""

    def __init__(self, future: asyncio.Future[int], finished: Callable[[int, ClientError | None], None]) -> None:
        self.future = future
        self._finished = finished
        self._sent = 0
        self._left = 1  # the call itself
        self._error: ClientError | None = None

    def one_more(self, size: int) -> Outcome:
        """Count a record of this size, and return its outcome."""
        self._sent += 1
        self._left += 1
        return partial(self._outcome, size)

    def all_sent(self) -> None:
        """Note that no more records follow."""
        self._one_less()

    def _outcome(self, size: int, offset: int, append_time_ms: int, error: ClientError | None) -> None:
        self._finished(size, error)
        self._error = self._error or error
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if self._left or self.future.done():
            return
        if self._error is not None:
            _fail(self.future, self._error)
        else:
            self.future.set_result(self._sent)


def _fail(future: asyncio.Future[Any], error: ClientError) -> None:
    future.set_exception(error)
    future.exception()  # a caller that does not look is not warned of it when the program ends
