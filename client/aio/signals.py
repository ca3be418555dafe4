"""Signals that end a program on an event loop, also on Windows, whose event loops support none."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable


def on_signal(number: signal.Signals, call: Callable[[], object]) -> None:
    """Have the running loop call a function when the process gets a signal. For the main thread."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, call)
    except NotImplementedError:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
