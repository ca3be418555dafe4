"""Threads that send requests to the cluster: each with its own connections, and a limit on waiting calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import Unreachable
from shareq.client.network import Network

T = TypeVar("T")


class Busy(Exception):
    """Too many waiting calls."""


class Lane:
    """A lane that calls functions in `threads` threads; at most `waiting` calls wait or run.

    The console's loop owns it.
    """

    def __init__(self, name: str, config: ClientConfig, threads: int, waiting: int) -> None:
        self._config = config
        self._waiting = waiting
        self._calls = 0
        self._local = threading.local()
        self._networks: list[Network] = []
        self._closing = threading.Event()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"console-{name}")

    async def call(self, function: Callable[[Admin], T]) -> T:
        """Call a function with an administrator's client, and return its result. Raises its errors, and Busy."""
        if self._calls >= self._waiting:
            raise Busy("the console has too many questions to the cluster under way: try again soon")
        self._calls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._run, function)
        finally:
            self._calls -= 1

    def close(self) -> None:
        """Begin no more calls, and wait for the running ones, which stop retrying failures."""
        self._closing.set()
        self._executor.shutdown(wait=True, cancel_futures=True)
        for network in self._networks:
            network.close()

    def _pause(self, seconds: float) -> None:
        """Wait before a retry. Raises Unreachable instead if the lane was closed."""
        if self._closing.wait(seconds):
            raise Unreachable("the console ends")

    def _run(self, function: Callable[[Admin], T]) -> T:
        admin: Admin | None = getattr(self._local, "admin", None)
        if admin is None:
            network = Network(self._config, sleep=self._pause)
            self._networks.append(network)
            admin = self._local.admin = Admin(network)
        return function(admin)
