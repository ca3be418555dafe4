"""The helpers of a broker for tests with asyncio. Each call runs in a thread, so it does not block the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from shareq.testing.helpers import WAIT_S, Helpers

if TYPE_CHECKING:
    from shareq.testing.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")
FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05


def _in_thread(
    helper: Callable[Concatenate[Helpers, P], T],
) -> Callable[Concatenate[AsyncHelpers, P], Coroutine[Any, Any, T]]:
    """Return a helper as a coroutine method that runs it in a thread."""

    @wraps(helper)
    async def run(self: AsyncHelpers, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(partial(getattr(self._broker, helper.__name__), *args, **kwargs))

    return run


class AsyncHelpers:
    """`Broker.aio`: the methods of `Helpers` as coroutines, one at a time."""

    topic = _in_thread(Helpers.topic)
    share_group = _in_thread(Helpers.share_group)
    produce = _in_thread(Helpers.produce)
    records = _in_thread(Helpers.records)
    group_counts = _in_thread(Helpers.group_counts)
    undone = _in_thread(Helpers.undone)
    assert_acknowledged = _in_thread(Helpers.assert_acknowledged)
    assert_dead_lettered = _in_thread(Helpers.assert_dead_lettered)

    def __init__(self, broker: Helpers, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock
        self._lock = asyncio.Lock()

    async def _run(self, call: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.to_thread(call)

    @overload
    async def wait_until(
        self, condition: Callable[[], Awaitable[T]], timeout_s: float = WAIT_S, what: str = ""
    ) -> T: ...

    @overload
    async def wait_until(self, condition: Callable[[], T], timeout_s: float = WAIT_S, what: str = "") -> T: ...

    async def wait_until(self, condition: Callable[[], object], timeout_s: float = WAIT_S, what: str = "") -> object:
        """Call a function, or a coroutine function, again and again until its result is true, and return the result."""
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

    async def advance(self, seconds: float) -> None:
        """Move the broker's time ahead."""
        await self._run(lambda: self._clock.advance(seconds))
