"""What keeps a member in its group: heartbeats, and which broker leads what is assigned.

Two tasks, so that brokers that are away never hold a heartbeat up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from shareq.client.aio.network import Network
from shareq.client.core.tries import backoff_s
from shareq.client.errors import BrokerError, ClientError, Unreachable, is_transient, understood
from shareq.client.share.driver import ABSENT_MS, LONGEST_PAUSE_MS
from shareq.client.share.leaders import ShareLeaders
from shareq.client.share.member import ShareMember, Verdict
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatResponse
from shareq.protocol.share import JOIN_EPOCH

logger = logging.getLogger(__name__)

PURPOSE: Final = "group"
LEAVE_S: Final = 5.0


class Membership:
    """Calls `spread` whenever leaders were assigned to sessions, and `refuse` when trying again would not help."""

    def __init__(
        self,
        network: Network,
        member: ShareMember,
        leaders: ShareLeaders,
        spread: Callable[[], None],
        refuse: Callable[[ClientError], None],
    ) -> None:
        self._network = network
        self._member = member
        self._leaders = leaders
        self._spread = spread
        self._refuse = refuse
        self._names: dict[bytes, str] = {}
        self._missing: set[str] = set()
        self._beat_now = asyncio.Event()
        self._look_now = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Join, and stay until `leave` or `cancel`."""
        self._tasks = [
            asyncio.create_task(self._run(self._keep_up), name="heartbeats"),
            asyncio.create_task(self._run(self._follow_leaders), name="leaders"),
        ]

    def subscribe(self, topics: list[str]) -> None:
        """Other topics. Nothing more is asked for of those that are dropped: it would have to be released again."""
        self._member.subscribe(topics)
        kept = [tp for tp in self._member.assignment or () if self._names.get(tp[0]) in topics]
        self._leaders.assign(dict.fromkeys(kept))
        self._beat_now.set()
        self._look_now.set()

    def look_again(self) -> None:
        """A leader is not where it was."""
        self._look_now.set()

    def name_of(self, topic_id: bytes) -> str:
        """A topic's name; its id in hexadecimal digits if no name is known."""
        return self._names.get(topic_id) or topic_id.hex()

    async def leave(self) -> None:
        """The last heartbeat, as far as the coordinator answers."""
        self.cancel()
        if self._member.epoch == JOIN_EPOCH:
            return
        with contextlib.suppress(ClientError, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                node = await self._network.coordinator(self._member.group_id, once=True)
                await self._network.request_once(node, self._member.leave_request(), purpose=PURPOSE)

    def cancel(self) -> None:
        """Stop without a word."""
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Return when nothing of it runs any more, after `cancel`."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, forever: Callable[[], Awaitable[None]]) -> None:
        try:
            await forever()
        except ClientError as error:
            self._refuse(error)
        except Exception as error:
            logger.exception("a task of share group %s failed", self._member.group_id)
            self._refuse(ClientError(f"share group {self._member.group_id}: {error!r}"))

    # -- heartbeats

    async def _keep_up(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._beat_now.clear()
            if not self._member.topics and self._member.epoch == JOIN_EPOCH:
                await self._beat_now.wait()
                continue
            pause_s = await self._beat()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(loop.time() + pause_s):
                    await self._beat_now.wait()

    async def _beat(self) -> float:
        """One heartbeat. Returns how long to wait before the next, in seconds."""
        group_id = self._member.group_id
        backoff = self._network.config.retry_backoff_ms / 1000
        try:
            node = await self._network.coordinator(group_id)
            answer = await self._network.request_once(node, self._member.request(), purpose=PURPOSE)
        except ClientError as error:
            self._member.unanswered()
            if not is_transient(error):
                raise
            self._network.forget_coordinator(group_id)
            return ABSENT_MS / 1000
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        before = self._member.assignment
        now_ms = round(asyncio.get_running_loop().time() * 1000)
        with understood(f"an answer to a heartbeat of share group {group_id}"):
            verdict = self._member.answered(answer, now_ms)
        if self._member.assignment != before:
            self._look_now.set()
        if verdict is Verdict.REFUSED:
            raise BrokerError(answer.error_code, f"share group {group_id}", answer.error_message)
        if verdict is Verdict.MOVED:
            self._network.forget_coordinator(group_id)
        if verdict is Verdict.STEADY:
            return max(0.0, (self._member.due_ms - now_ms) / 1000)
        return 0.0 if verdict is Verdict.AGAIN else backoff

    # -- leaders

    async def _follow_leaders(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            self._look_now.clear()
            settled = await self._look()
            failures = 0 if settled else failures + 1
            pause_s = self._network.config.metadata_max_age_ms / 1000
            if not settled:
                pause_s = backoff_s(self._network.config.retry_backoff_ms, LONGEST_PAUSE_MS, failures)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(loop.time() + pause_s):
                    await self._look_now.wait()
                    await asyncio.sleep(backoff_s(self._network.config.retry_backoff_ms, LONGEST_PAUSE_MS, 1))

    async def _look(self) -> bool:
        """Give every assigned partition of the topics to its leader. Returns whether each has one."""
        if self._member.assignment is None:
            return True
        topics = self._member.topics
        assigned = [tp for tp in self._member.assignment if self._names.get(tp[0]) in (None, *topics)]
        if not assigned or not topics:
            self._leaders.assign({})
            self._spread()
            with contextlib.suppress(ClientError):  # what is refused of topics, the heartbeat is refused, too
                await self._ids(topics)
            return True
        try:
            ids = await self._ids(topics)
            self._names |= {topic_id: name for name, topic_id in ids.items()}
            known = [tp for tp in assigned if tp[0] in self._names]
            nodes = {tp: await self._network.leader(*tp) for tp in known}
        except Unreachable:
            return False
        self._leaders.assign({tp: node for tp, node in nodes.items() if self._names[tp[0]] in self._member.topics})
        self._spread()
        return len(nodes) == len(assigned) and None not in nodes.values()

    async def _ids(self, topics: list[str]) -> dict[str, bytes]:
        """Ask for the ids of topics. One that does not exist is logged once: nothing else would show it."""
        if not topics:
            return {}
        await self._network.refresh(topics)
        ids = await self._network.topic_ids(topics)
        missing = {name for name in topics if name not in ids}
        for name in sorted(missing - self._missing):
            logger.warning("topic %s does not exist: share group %s waits for it", name, self._member.group_id)
        self._missing = missing
        return ids
