"""The upkeep of a membership: heartbeats, and the leaders of assigned partitions.

Two tasks, so that brokers that are away never hold a heartbeat up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from shareq.client.core.tries import backoff_s
from shareq.client.errors import ClientError, Unreachable, is_transient
from shareq.client.share.core import ABSENT_MS, LONGEST_PAUSE_MS, ShareCore
from shareq.protocol.share import JOIN_EPOCH

logger = logging.getLogger(__name__)

LEAVE_MS: Final = 5_000


class Membership:
    """The upkeep of one membership. It calls `spread` when leaders were assigned to sessions, and `refuse` after a
    permanent error.
    """

    def __init__(self, core: ShareCore, spread: Callable[[], None], refuse: Callable[[ClientError], None]) -> None:
        self._core = core
        self._member = core.member
        self._backoff_ms = core.network.config.retry_backoff_ms
        self._spread = spread
        self._refuse = refuse
        self._beat_now = asyncio.Event()
        self._look_now = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Join, and remain a member until `leave` or `cancel`."""
        self._tasks = [
            asyncio.create_task(self._run(self._keep_up), name="heartbeats"),
            asyncio.create_task(self._run(self._follow_leaders), name="leaders"),
        ]

    def subscribe(self, topics: list[str]) -> None:
        """Change to other topics. No more records of dropped topics are requested."""
        self._core.subscribe(topics)
        self._beat_now.set()
        self._look_now.set()

    def look_again(self) -> None:
        """Look for leaders again soon, because one has moved."""
        self._look_now.set()

    async def leave(self) -> None:
        """Send the last heartbeat, if the coordinator answers."""
        self.cancel()
        await self._core.leave(LEAVE_MS)

    def cancel(self) -> None:
        """Stop without a last heartbeat."""
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Return when all tasks have ended after `cancel`."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, forever: Callable[[], Awaitable[None]]) -> None:
        try:
            await forever()
        except ClientError as error:
            self._refuse(error)
        except Exception as error:
            logger.exception("a task of share group %s failed", self._member.group_id)
            self._refuse(ClientError(f"share group {self._member.group_id}: {error!r}"))

    async def _keep_up(self) -> None:
        while True:
            self._beat_now.clear()
            if not self._member.topics and self._member.epoch == JOIN_EPOCH:
                await self._beat_now.wait()
                continue
            try:
                pause_s = await self._core.beat()
            except ClientError as error:
                if not is_transient(error):
                    raise
                pause_s = ABSENT_MS / 1000
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._beat_now.wait()

    async def _follow_leaders(self) -> None:
        failures = 0
        while True:
            self._look_now.clear()
            settled = await self._look()
            failures = 0 if settled else failures + 1
            pause_s = self._core.network.config.metadata_max_age_ms / 1000
            if not settled:
                pause_s = backoff_s(self._backoff_ms, LONGEST_PAUSE_MS, failures)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._look_now.wait()
                    await asyncio.sleep(backoff_s(self._backoff_ms, LONGEST_PAUSE_MS, 1))

    async def _look(self) -> bool:
        """Assign each partition to the session of its leader. Return True if every partition has a leader."""
        if self._member.assignment is None:
            return True
        try:
            return await self._core.look()
        except ClientError as error:
            if not self._member.assignment:
                return True  # what is refused of topics, the heartbeat is refused, too
            if not isinstance(error, Unreachable):
                raise
            return False
        finally:
            self._spread()
