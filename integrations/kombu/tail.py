"""Follows a topic of one partition from its end on, for all listeners in this process. On an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from shareq.client.aio.network import Network
from shareq.client.core.list_offsets import EARLIEST, LATEST, offset_at
from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.client.fetch import BY_TOPIC_ID, whole_batches
from shareq.protocol.errors import ErrorCode, MalformedMessage, is_retriable
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.records.record_codec import Record

logger = logging.getLogger(__name__)

WAIT_MS: Final = 5000
MOST_BYTES: Final = 4 << 20
PAUSE_S: Final = 0.2
OPEN_S: Final = 10.0

Listener = Callable[[Record], None]


class Tail:
    """A follower that fetches while it has listeners; each gets the records written after its `listen` ended."""

    def __init__(self, network: Network, topic: str) -> None:
        self._network = network
        self._topic = topic
        self._listeners: dict[Listener, int] = {}
        self._position = 0
        self._task: asyncio.Task[None] | None = None

    async def listen(self, listener: Listener) -> None:
        """Call `listener` with each new record. Raises BrokerError, Unreachable."""
        async with asyncio.timeout(OPEN_S):
            end = await self._offset(LATEST)
        self._listeners[listener] = end
        if self._task is None:
            self._position = end
            self._task = asyncio.create_task(self._follow(), name=f"tail of {self._topic}")

    def forget(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        self._listeners.pop(listener, None)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _follow(self) -> None:
        while True:
            try:
                await self._fetch()
            except ClientError as error:
                logger.info("topic %s: %s; trying again", self._topic, error)
                await asyncio.sleep(PAUSE_S)
                with contextlib.suppress(ClientError):
                    await self._network.refresh([self._topic])
            except Exception:
                logger.exception("topic %s: a fetch failed", self._topic)
                await asyncio.sleep(PAUSE_S)

    async def _fetch(self) -> None:
        topic_id, leader = await self._leader()
        row = FetchPartition(0, fetch_offset=self._position, partition_max_bytes=MOST_BYTES)
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=MOST_BYTES,
            topics=[FetchTopic(topic_id=topic_id, partitions=[row])],
        )
        answer = await self._network.request_once(
            leader, request, purpose=f"tail {self._topic}", min_version=BY_TOPIC_ID
        )
        assert isinstance(answer, FetchResponse)
        _check(answer.error_code, self._topic)
        for topic in answer.responses:
            for partition in topic.partitions:
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._position = await self._offset(EARLIEST)
                    return
                _check(partition.error_code, self._topic)
                self._take(bytes(partition.records or b""))

    def _take(self, data: bytes) -> None:
        size, following = whole_batches(data)
        for at, header in batch_headers(memoryview(data)[:size]):
            if header.is_control:
                continue
            for record in self._records_of(data[at : at + header.size], header.base_offset):
                self._position = record.offset + 1
                self._hand_on(record)
        self._position = max(self._position, following)

    def _records_of(self, batch: bytes, base: int) -> list[Record]:
        """Return the remaining records of a batch; none for an unreadable one, which would block the rest."""
        try:
            return decode_records(batch, first=self._position)
        except MalformedMessage as error:
            logger.error("topic %s: the batch at offset %d is passed over: %s", self._topic, base, error)
            return []

    def _hand_on(self, record: Record) -> None:
        for listener, begin in list(self._listeners.items()):
            if record.offset >= begin:
                listener(record)

    async def _leader(self) -> tuple[bytes, int]:
        ids = await self._network.topic_ids([self._topic])
        if self._topic not in ids:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {self._topic}")
        leader = await self._network.leader(ids[self._topic], 0)
        if leader is None:
            raise Unreachable(f"partition {self._topic}-0 has no leader")
        return ids[self._topic], leader

    async def _offset(self, time: int) -> int:
        """Return the log's end or start; wait for a leader."""
        while True:
            try:
                _, leader = await self._leader()
                return await offset_at(self._network, leader, (self._topic, 0), time)
            except (Unreachable, BrokerError) as error:
                passing = isinstance(error, Unreachable) or is_retriable(error.code)
                if not passing:
                    raise
                await asyncio.sleep(PAUSE_S)
                with contextlib.suppress(ClientError):
                    await self._network.refresh([self._topic])


def _check(code: int, topic: str) -> None:
    if code:
        raise BrokerError(code, f"partition {topic}-0")
