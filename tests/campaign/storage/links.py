"""Connections of the workload's clients: each kill cuts them, and they reconnect when the broker runs again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.primitives import Message

R = TypeVar("R", bound=Message)

RETRY_S: Final = 0.02


class Cut(Exception):
    """The connection ended before the answer, so it is unknown whether the request took effect."""


class Stopped(Exception):
    """The work is over."""


class Unreadable(Exception):
    """The broker answered with an error that means lost or damaged data."""


@dataclass(slots=True)
class Link:
    address: Callable[[], tuple[str, int]]
    stop: threading.Event
    client_id: str = "storage"
    timeout_s: float = 60  # a traced broker on a machine that has much to do
    _wire: WireClient | None = None

    def ready(self) -> None:
        """Connect, and wait for the broker if it is down. Raise Stopped."""
        while self._wire is None:
            if self.stop.is_set():
                raise Stopped
            try:
                self._wire = WireClient(self.address(), client_id=self.client_id, timeout_s=self.timeout_s)
            except OSError:
                time.sleep(RETRY_S)

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        self.ready()
        assert self._wire is not None
        try:
            return self._wire.call(request, version, response_class)
        except (OSError, ConnectionClosed) as error:
            self.drop()
            raise Cut from error

    def send_and_hang_up(self, request: Message, version: int) -> None:
        """Send a request and close the connection before its answer, as if the network had failed.

        Raise Cut or Stopped.
        """
        self.ready()
        assert self._wire is not None
        try:
            self._wire.send(request, version)
        except OSError as error:
            raise Cut from error
        finally:
            self.drop()

    def drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
