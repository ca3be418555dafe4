"""Tasks that Celery keeps until their ETA. One that would block its queue is taken back, and sent to the log's end.

Runs on the engine's loop. Celery's own timer keeps the tasks, in the thread of its event loop, which `withdraw` asks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from shareq.client.aio.again import PAUSE_S, Again, Upkeep, may_move_s
from shareq.client.aio.consumer.records import ShareRecord, State
from shareq.client.aio.early import EarlyRecords

Withdraw = Callable[[ShareRecord, Callable[[bool], None]], None]
SOON_S: Final = 5.0
"""The seconds before its time in which a task is left with Celery: it could begin while it is sent again."""


class WaitingTasks:
    """The waiting tasks of one consumer.

    `withdraw` reports whether Celery gave up the record's task; `hand_on` gives it to Celery again if sending failed.
    """

    def __init__(
        self, early: EarlyRecords, again: Again, withdraw: Withdraw, hand_on: Callable[[ShareRecord], None]
    ) -> None:
        self._early = early
        self._again = again
        self._withdraw = withdraw
        self._hand_on = hand_on
        self._upkeep = Upkeep(early, self)
        self._may_move: dict[ShareRecord, float] = {}

    def keep(self, record: ShareRecord, ahead_s: float) -> None:
        """Note that Celery keeps the record's task for this many seconds.

        Its lock is renewed as if the record had been delivered then.
        """
        record.held_since = asyncio.get_running_loop().time() + ahead_s
        self._early.keep(record, time.time() + ahead_s, self._may_move.pop(record, may_move_s(record)))
        self._upkeep.start()

    async def stop(self) -> None:
        """Stop sending."""
        await self._upkeep.stop()

    # -- for `Upkeep`

    async def look(self, early: EarlyRecords) -> None:
        """Note the ends of logs, and forget the tasks that Celery has begun."""
        while early.pop_due(time.time() + SOON_S) is not None:
            pass
        await self._again.look(early)

    async def send(self, record: ShareRecord, due: float) -> bool:
        """Take a task back from Celery and send its record again. Return True also for a task that no longer waits."""
        if record.state is not State.IN_HAND or due - time.time() < SOON_S:
            return True
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bool] = loop.create_future()

        def answer(given_back: bool) -> None:
            if not answered.done():
                answered.set_result(given_back)

        self._withdraw(record, lambda given_back: _call(loop, answer, given_back))
        if await answered and not await self._again.send(record, due):
            self._may_move[record] = time.time() + PAUSE_S
            self._hand_on(record)
        return True

    async def close(self) -> None:
        """Close the connections."""
        await self._again.close()


def _call(loop: asyncio.AbstractEventLoop, answer: Callable[[bool], None], given_back: bool) -> None:
    loop.call_soon_threadsafe(answer, given_back)
