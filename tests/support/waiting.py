"""Waiting in real time for another process, thread or task; long enough for a busy machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from shareq.testing.waiting import wait_until

T = TypeVar("T")
PATIENCE_S: Final = 60.0


def until(condition: Callable[[], T], what: str = "") -> T:
    """Poll until the result is true, and return it. AssertionError, with `what`, after `PATIENCE_S`."""
    return wait_until(condition, PATIENCE_S, what)


async def comes_true(condition: Callable[[], object]) -> None:
    """Yield to the loop until the condition holds. TimeoutError after `PATIENCE_S`."""
    pause_s = 0.001
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.01)
