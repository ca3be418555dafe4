"""Sends a record that waits for its time to the end of its partition, and accepts it where it was.

A record with the same key, value, headers and time is appended, with three additional headers: the time it waits for
(`shareq.not.before.ms`), its group, and the time of the copy. Members of other groups that know the headers accept the
copy without using it: they get the original. A crash between the two steps leaves both records, so delivery is at least
once, as everywhere here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from typing import Final, Protocol

from shareq.client.aio.consumer.records import ShareRecord, State
from shareq.client.aio.early import EarlyRecords, ms_of
from shareq.client.aio.network import Network
from shareq.client.aio.producer import Producer
from shareq.client.config import ClientConfig
from shareq.client.core.list_offsets import LATEST, offset_at
from shareq.client.errors import BrokerError, ClientError
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.names import NOT_BEFORE
from shareq.protocol.records.record_codec import Headers

logger = logging.getLogger(__name__)

GROUP: Final = "shareq.sent.again.group"
SINCE: Final = "shareq.sent.again.ms"
LOOK_S: Final = 10.0
"""The seconds between two queries of the end offsets of logs in which records wait."""
SEND_MS: Final = 30_000
AT_ONCE: Final = 100
PAUSE_S: Final = 60.0
BYTES_PER_S: Final = 1_000
"""A copy is sent again after a minute at the earliest, or after a second for each of this many bytes: if most records
wait, they would otherwise be copied in circles."""
_ASK_MS: Final = 5_000


def is_for_another(headers: Headers, group: str) -> bool:
    """Return whether a member of another group has sent the record again: this group has the first one."""
    return any(name == GROUP and value != group.encode() for name, value in headers)


def may_move_s(record: ShareRecord) -> float:
    """Return the time from which a record may be sent again, in seconds since the epoch; 0 for at once."""
    since = ms_of(record.headers, SINCE)
    size = len(record.value or b"") + len(record.key or b"")
    return since / 1000 + max(PAUSE_S, size / BYTES_PER_S) if since else 0.0


def headers_again(headers: Headers, group: str, due: float, now: float) -> Headers:
    """Return the headers of the copy that replaces a record."""
    kept = tuple(each for each in headers if each[0] not in (NOT_BEFORE, GROUP, SINCE))
    times = (NOT_BEFORE, b"%d" % round(due * 1000)), (SINCE, b"%d" % round(now * 1000))
    return (*kept, *times, (GROUP, group.encode()))


class Again:
    """The copies of one member's waiting records. Connections are opened only once a record waits."""

    def __init__(self, servers: str, group: str, properties: Mapping[str, str]) -> None:
        self._servers = servers
        self._group = group
        self._properties = dict(properties)
        self._network: Network | None = None
        self._producer: Producer | None = None
        self._warned: set[str] = set()

    async def look(self, early: EarlyRecords) -> None:
        """Note the ends of the logs in which records wait. An end that cannot be read keeps its last value."""
        if self._network is None:
            config = ClientConfig.from_properties({**self._properties, "bootstrap.servers": self._servers})
            self._network = Network(config)
        for tp, topic in early.partitions().items():
            with contextlib.suppress(ClientError):
                early.reached(tp, await self._end(self._network, tp, topic))

    async def send(self, record: ShareRecord, due: float) -> bool:
        """Send a record again, and accept the original. Return False if it was not sent, and must still be kept."""
        if any("\ufffd" in name for name, _ in record.headers):
            return False  # the bytes that were there are not known here
        if self._producer is None:
            self._producer = Producer(self._servers, properties=self._properties, delivery_timeout_ms=SEND_MS)
        headers = headers_again(record.headers, self._group, due, time.time())
        at_ms = record.timestamp if record.timestamp >= 0 else None
        try:
            await self._producer.send_and_wait(
                record.topic,
                record.value,
                key=record.key,
                headers=headers,
                partition=record.partition,
                timestamp_ms=at_ms,
            )
        except ClientError as error:
            if record.topic not in self._warned:
                self._warned.add(record.topic)
                logger.warning(
                    "%s: a record that waits takes half of the window and cannot be sent again: %s", record.topic, error
                )
            return False
        with contextlib.suppress(ClientError):  # it comes again: then there are two
            await record.accept()
        return True

    async def close(self) -> None:
        """Close the connections."""
        if self._producer is not None:
            await self._producer.close()
        if self._network is not None:
            self._network.close()
            await self._network.wait_closed()

    async def _end(self, network: Network, tp: TopicIdPartition, topic: str) -> int:
        leader = await network.leader(*tp)
        if leader is None:
            return 0
        try:
            return await offset_at(network, leader, (topic, tp[1]), LATEST, timeout_ms=_ASK_MS)
        except BrokerError:
            return 0


class Mover(Protocol):
    """The part of `Again` that `Upkeep` needs."""

    async def look(self, early: EarlyRecords) -> None: ...

    async def send(self, record: ShareRecord, due: float) -> bool: ...

    async def close(self) -> None: ...


class Upkeep:
    """A task that sends crowding records again while any wait: `start` when one is kept, `stop` at the end."""

    def __init__(self, early: EarlyRecords, mover: Mover) -> None:
        self._early = early
        self._mover = mover
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task unless it runs already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="records that wait")

    async def stop(self) -> None:
        """Stop the task, and close the connections. A record that is being sent may then be in the log twice."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._mover.close()

    async def _run(self) -> None:
        while len(self._early):
            try:
                self._early.drop_lost()
                await self._mover.look(self._early)
                while moving := self._early.crowding(time.time(), AT_ONCE):
                    await asyncio.gather(*(self._move(record, due) for record, due in moving))
            except ClientError as error:  # refused for good: they stay where they are
                logger.warning("records that wait are not sent again: %s", error)
                return
            await asyncio.sleep(LOOK_S)

    async def _move(self, record: ShareRecord, due: float) -> None:
        if not await self._mover.send(record, due) and record.state is not State.LOST:
            self._early.keep(record, due, time.time() + PAUSE_S)
