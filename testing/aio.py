"""The helpers of a broker for tests with asyncio. Each call runs in a thread, so the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, overload

from shareq.testing.helpers import WAIT_S, GroupCounts, Headers, Record, Text

if TYPE_CHECKING:
    from shareq.client.producer import Written
    from shareq.testing.clock import Clock
    from shareq.testing.helpers import Helpers

T = TypeVar("T")
FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05


class AsyncHelpers:
    """`Broker.aio`: the broker's helpers as coroutines, one at a time. They mean what those of `Helpers` mean."""

    def __init__(self, broker: Helpers, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock
        self._lock = asyncio.Lock()

    async def _run(self, call: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.to_thread(call)

    async def topic(self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Create a topic and return its name."""
        return await self._run(lambda: self._broker.topic(name, partitions, config))

    async def share_group(
        self,
        name: str | None = None,
        *,
        earliest: bool = True,
        lock_s: float | None = None,
        deliveries: int | None = None,
        dead_letters: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Configure a share group and return its name."""
        return await self._run(
            lambda: self._broker.share_group(
                name,
                earliest=earliest,
                lock_s=lock_s,
                deliveries=deliveries,
                dead_letters=dead_letters,
                config=config,
            )
        )

    async def produce(
        self,
        topic: str,
        *values: Text | None,
        key: Text | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
    ) -> list[Written]:
        """Write records and return where they are."""
        return await self._run(
            lambda: self._broker.produce(topic, *values, key=key, headers=headers, partition=partition)
        )

    async def records(self, topic: str, *, committed_only: bool = False) -> list[Record]:
        """All records that a topic has now."""
        return await self._run(lambda: self._broker.records(topic, committed_only=committed_only))

    async def group_counts(self, group: str, topic: str) -> GroupCounts:
        """Return a share group's counts for the records of a topic."""
        return await self._run(lambda: self._broker.group_counts(group, topic))

    async def undone(self, group: str, topic: str) -> int:
        """Count the records of a topic that a share group is not done with."""
        return await self._run(lambda: self._broker.undone(group, topic))

    @overload
    async def wait_until(
        self, condition: Callable[[], Awaitable[T]], timeout_s: float = WAIT_S, what: str = ""
    ) -> T: ...

    @overload
    async def wait_until(self, condition: Callable[[], T], timeout_s: float = WAIT_S, what: str = "") -> T: ...

    async def wait_until(self, condition: Callable[[], object], timeout_s: float = WAIT_S, what: str = "") -> object:
        """Ask again and again, a function or a coroutine function, until the result is true, and return it."""
        loop = asyncio.get_running_loop()
        ends_s, pause_s = loop.time() + timeout_s, FIRST_PAUSE_S
        while True:
            failure: AssertionError | None = None
            last: object = None
            try:
                asked = condition()
                last = await asked if isinstance(asked, Awaitable) else asked
            except AssertionError as error:
                failure = error
            if last and failure is None:
                return last
            if loop.time() >= ends_s:
                name = what or getattr(condition, "__name__", "the condition")
                raise AssertionError(f"not within {timeout_s:g} s: {name} (at last: {failure or last!r})") from failure
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def assert_acknowledged(
        self, group: str, topic: str, records: int | None = None, *, timeout_s: float = WAIT_S
    ) -> None:
        """Wait until a share group has accepted every record of a topic."""
        await self._run(lambda: self._broker.assert_acknowledged(group, topic, records, timeout_s=timeout_s))

    async def assert_dead_lettered(
        self, group: str, *values: Text, queue: str | None = None, timeout_s: float = WAIT_S
    ) -> list[Record]:
        """Wait until the dead-letter queue of a share group has these letters, and return them."""
        return await self._run(
            lambda: self._broker.assert_dead_lettered(group, *values, queue=queue, timeout_s=timeout_s)
        )

    async def advance(self, seconds: float) -> None:
        """Move the broker's time ahead."""
        await self._run(lambda: self._clock.advance(seconds))
