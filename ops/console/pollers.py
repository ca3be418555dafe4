"""The polling of data for views: every second, once for all open browsers, and never without a browser."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from shareq.client.errors import ClientError
from shareq.ops.console.lanes import Busy

logger = logging.getLogger(__name__)

EVERY_S: Final = 1.0
SHARE_OF_TIME: Final = 10
"""The share of its time that a poller may spend on taking samples: slow samples are taken less often."""
LOOKED_AT_S: Final = 5.0
"""The seconds after which a view that no browser asks for is not polled any longer."""
FIRST_LOOK_S: Final = 10.0
MAX_PAUSE_S: Final = 15.0
MAX_POLLERS: Final = 64
HISTORY: Final = 300
"""The most points in a history."""

Look = Callable[[], Awaitable[Any]]
Sample = Callable[[Any], Mapping[str, float | None]]


class Point(NamedTuple):
    """The values at a time, in milliseconds since the epoch."""

    at_ms: int
    values: Mapping[str, float | None]


class Seen(NamedTuple):
    """The state of a poller: its newest data, their time, and the reason why there are no newer ones."""

    made_ms: int | None
    data: Any
    error: str | None
    points: tuple[Point, ...]


class Poller:
    """The poll of one view, as long as browsers ask for it. `Pollers` owns it."""

    def __init__(self, look: Look, sample: Sample | None) -> None:
        self._look = look
        self._sample = sample
        self._data: Any = None
        self._made_ms: int | None = None
        self._error: str | None = None
        self._points: deque[Point] = deque(maxlen=HISTORY)
        self._looked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.asked_at = time.monotonic()

    @property
    def at_work(self) -> bool:
        """True if the poller takes samples, or waits for the next time."""
        return self._task is not None and not self._task.done()

    async def seen(self) -> Seen:
        """Return the newest data. If polling had stopped, wait for new data."""
        self.asked_at = time.monotonic()
        if not self.at_work:
            self._looked.clear()
            self._task = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(FIRST_LOOK_S):
                await self._looked.wait()
        except TimeoutError:
            return Seen(self._made_ms, self._data, "the cluster has not answered yet", tuple(self._points))
        return Seen(self._made_ms, self._data, self._error, tuple(self._points))

    def stop(self) -> None:
        """Stop polling."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        failures = 0
        while time.monotonic() - self.asked_at < LOOKED_AT_S:
            began = time.monotonic()
            failures = 0 if await self._once() else failures + 1
            self._looked.set()
            took = time.monotonic() - began
            pause = max(EVERY_S - took, took * (SHARE_OF_TIME - 1) if took > EVERY_S / SHARE_OF_TIME else 0.0)
            if failures:
                pause = min(EVERY_S * 2 ** (failures - 1), MAX_PAUSE_S)
            await asyncio.sleep(min(pause, MAX_PAUSE_S))

    async def _once(self) -> bool:
        try:
            self._data = await self._look()
        except (ClientError, Busy) as error:
            self._error = str(error)
            return False
        except Exception:
            logger.exception("the console could not make a view")
            self._error = "the console could not make this view: its log says why"
            return False
        self._error, self._made_ms = None, time.time_ns() // 1_000_000
        if self._sample is not None:
            self._points.append(Point(self._made_ms, self._sample(self._data)))
        return True


class Pollers:
    """The pollers, by view. At most MAX_POLLERS: a new one replaces the least recently used."""

    def __init__(self) -> None:
        self._pollers: dict[tuple[str, ...], Poller] = {}

    async def seen(self, key: tuple[str, ...], look: Look, sample: Sample | None = None) -> Seen:
        """Return the newest sample of this key's poller, which is made if need be.

        Raise Busy if all pollers are at work.
        """
        poller = self._pollers.get(key)
        if poller is None:
            self._make_room()
            poller = self._pollers[key] = Poller(look, sample)
        return await poller.seen()

    def close(self) -> None:
        """Stop all pollers."""
        for poller in self._pollers.values():
            poller.stop()
        self._pollers.clear()

    def _make_room(self) -> None:
        if len(self._pollers) < MAX_POLLERS:
            return
        key, oldest = min(self._pollers.items(), key=lambda item: item[1].asked_at)
        if oldest.at_work:
            raise Busy("too many views are open in browsers: close some")
        del self._pollers[key]
