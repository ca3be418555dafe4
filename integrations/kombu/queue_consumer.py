"""The member of a queue's share group: records are acquired while the channel has room, and settled one by one.

Everything here runs on the engine's loop, unless marked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from shareq.aio import AcknowledgeType, ClientError, LockLost, ShareConsumer, ShareRecord
from shareq.client.aio.again import Again
from shareq.client.aio.consumer.records import State
from shareq.client.aio.early import EarlyRecords
from shareq.kombu.engine import Engine
from shareq.kombu.eta import WaitingTasks, Withdraw

logger = logging.getLogger(__name__)

POLL_S: Final = 60.0
LOOK_S: Final = 0.5
ASSIGN_S: Final = 10.0
CLOSE_S: Final = 12.0
LOOK_AGAIN_S: Final = 0.005
PURGED_AT_ONCE: Final = 500


class QueueConsumer:
    """One queue's consumer. `room` returns how many records may be taken now; `arrived` receives each record, `failed`
    the error that ended it, `lost` is called when the lock of a record in hand is lost. The last three are called on
    the loop. For `withdraw` see `waiting.py`, for `window` `EarlyRecords`.
    """

    def __init__(
        self,
        engine: Engine,
        topic: str,
        renew_s: float,
        room: Callable[[], int],
        arrived: Callable[[QueueConsumer, ShareRecord], None],
        failed: Callable[[Exception], None],
        withdraw: Withdraw,
        window: int,
    ) -> None:
        self.engine = engine
        self._topic = topic
        self._renew_s = renew_s
        self._room = room
        self._arrived = arrived
        self._failed = failed
        self._woken = asyncio.Event()
        self._consumer: ShareConsumer | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._in_hand: set[ShareRecord] = set()
        self._settling: set[asyncio.Task[None]] = set()
        self._closing = False
        again = Again(engine.servers, topic, engine.properties)
        self._waiting = WaitingTasks(EarlyRecords(window), again, withdraw, lambda record: arrived(self, record))

    @property
    def in_hand(self) -> int:
        """The number of records that were delivered but not settled. Any thread may ask."""
        return len(self._in_hand)

    async def open(self) -> None:
        """Join the group, without delivering records yet."""
        self._consumer = ShareConsumer(
            self.engine.servers,
            self._topic,
            [self._topic],
            acknowledgement="explicit",
            acquire_mode="record_limit",
            prefetch=0,
            renew_s=self._renew_s,
            properties=self.engine.properties,
        )
        await self._consumer.start()
        self.engine.watch(self._engine_ended, self.close)

    async def consume(self) -> None:
        """Start to deliver records."""
        self._tasks = [asyncio.create_task(self._to_its_end(work)) for work in (self._pump(), self._look())]

    async def purge(self, timeout_s: float) -> int:
        """Accept all available records, and return their number. Records that other members hold stay."""
        consumer = self._consumer
        assert consumer is not None
        await self._assigned(consumer)
        total = 0
        while found := await consumer.poll(timeout_s=timeout_s, max_records=PURGED_AT_ONCE):
            total += len(found)
            for record in found:
                consumer.acknowledge(record)
            total -= len(await consumer.commit())
        return total

    async def get(self, timeout_s: float) -> ShareRecord | None:
        """Return one record; None if none arrives within `timeout_s` after partitions are assigned."""
        consumer = self._consumer
        assert consumer is not None
        await self._assigned(consumer)
        found = await consumer.poll(timeout_s=timeout_s, max_records=1)
        return self._take(found[0]) if found else None

    def wake(self) -> None:
        """Wake the consumer, which may have room now."""
        self._woken.set()

    def settle(self, record: ShareRecord, kind: AcknowledgeType) -> None:
        """Acknowledge a record; an error is logged, and the record is delivered again."""
        task = asyncio.create_task(self._settle(record, kind))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    def waits(self, record: ShareRecord, ahead_s: float) -> None:
        """Note that Celery keeps the record's task until it is due, in this many seconds."""
        if not self._closing:
            self._waiting.keep(record, ahead_s)

    async def stop(self) -> None:
        """Stop delivering."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def cancel(self) -> None:
        """Stop, and release undelivered records, including those of a pending fetch. Records in hand stay."""
        await self.stop()
        if self._consumer is not None and not self._closing:
            await self._consumer.subscribe([])

    async def close(self) -> None:
        """Stop, send the pending acknowledgements, release the other records, leave the group.

        Harmless the second time.
        """
        if self._closing:
            return
        self._closing = True
        self.engine.unwatch(self._engine_ended)
        try:
            await self._waiting.stop()
            await self.stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    while self._settling:
                        await asyncio.wait(self._settling)
        finally:  # also of a call that is cancelled, by one that waits no longer: else its connections stay open
            self._in_hand.clear()
            if self._consumer is not None:
                await self._consumer.close()

    async def _assigned(self, consumer: ShareConsumer) -> None:
        """Wait until partitions are assigned; a group without free ones assigns none."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ASSIGN_S):
                while not consumer.assignment:
                    await asyncio.sleep(LOOK_AGAIN_S)

    def _engine_ended(self, error: Exception) -> None:
        self._failed(error)

    def _take(self, record: ShareRecord) -> ShareRecord:
        self._in_hand.add(record)
        return record

    async def _to_its_end(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ClientError as error:
            self._failed(error)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Handle a lost connection, which Celery repairs: release the records in hand, and renew no more locks."""
        logger.error("queue %s: its consumer ended", self._topic, exc_info=error)
        self._failed(ConsumerEnded(f"queue {self._topic}: its consumer ended: {type(error).__name__}"))

    async def _pump(self) -> None:
        assert self._consumer is not None
        while True:
            self._woken.clear()
            room = self._room()
            if room < 1:
                await self._woken.wait()
                continue
            found = await self._consumer.poll(timeout_s=POLL_S, max_records=room)
            if self._note_losses():
                return  # what came is released with the rest
            for record in found:
                self._arrived(self, self._take(record))

    async def _look(self) -> None:
        """Report lost locks to Celery as a lost connection: its reserved tasks are forgotten, and delivered again."""
        while True:
            await asyncio.sleep(LOOK_S)
            self._note_losses()

    def _note_losses(self) -> bool:
        self._in_hand = {record for record in self._in_hand if record.state in (State.IN_HAND, State.LOST)}
        gone = {record for record in self._in_hand if record.state is State.LOST}
        if gone:
            self._in_hand -= gone
            self._failed(LocksLost(f"queue {self._topic}: the locks of {len(gone)} messages are lost"))
        return bool(gone)

    async def _settle(self, record: ShareRecord, kind: AcknowledgeType) -> None:
        assert self._consumer is not None
        try:
            await self._consumer.settle(record, kind)
        except LockLost as error:
            logger.warning("%s; the message comes again", error)
        except ClientError as error:
            logger.error("%r: not acknowledged: %s", record, error)
        except Exception as error:
            self._fail(error)
        finally:
            self._in_hand.discard(record)
            self.wake()


class LocksLost(ConnectionError):
    """A loss of locks: unacknowledged records are delivered again, to some consumer.

    Celery sees a lost connection, even if ours is intact: it then forgets the tasks that it has not begun.
    """


class ConsumerEnded(ConnectionError):
    """An error of the consumer, whose records in hand are delivered again."""
