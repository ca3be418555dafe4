"""Connections of the workload's clients: cut by each kill, opened again when the broker is back."""

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
    """The connection ended before the answer: nobody knows whether the request took effect."""


class Stopped(Exception):
    """The work is over."""


class Unreadable(Exception):
    """The broker answered an error that means lost or damaged data."""


@dataclass(slots=True)
class Link:
    """One client's connection to the broker at `address`."""

    address: Callable[[], tuple[str, int]]
    stop: threading.Event
    client_id: str = "storage"
    timeout_s: float = 60  # a traced broker on a machine that has much to do
    _wire: WireClient | None = None

    def ready(self) -> None:
        """Be connected; wait for the broker if need be. Raises Stopped."""
        while self._wire is None:
            if self.stop.is_set():
                raise Stopped
            try:
                self._wire = WireClient(self.address(), client_id=self.client_id, timeout_s=self.timeout_s)
            except OSError:
                time.sleep(RETRY_S)

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        """One exchange. Raises Cut, Stopped."""
        self.ready()
        assert self._wire is not None
        try:
            return self._wire.call(request, version, response_class)
        except (OSError, ConnectionClosed) as error:
            self.drop()
            raise Cut from error

    def send_and_hang_up(self, request: Message, version: int) -> None:
        """Send as if the network failed: the broker gets the request, the client no answer. Raise Cut, Stopped."""
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
