"""Calls that block, away from the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a new thread, and return its result. A caller that is cancelled does not wait.

    `asyncio.to_thread` would: loop and interpreter end when its threads have, and a call to a broker that is away takes
    a minute.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # it is the function's

    def call() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits for it
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=call, name=getattr(function, "__name__", "call"), daemon=True).start()
    return await future
