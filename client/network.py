"""The brokers of a cluster for callers that block: the core's coroutines as blocking calls.

One thread at a time: a caller that shares a `Network` between threads holds a lock around every call, results included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from shareq.client.config import ClientConfig
from shareq.client.core.connection import Connection, Sent
from shareq.client.core.network import NetworkCore
from shareq.client.core.tries import Clock, Tries
from shareq.client.sockets import SocketDriver, run_now
from shareq.protocol.primitives import Message

__all__ = ["Exchange", "Network", "Tries"]

P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """A function that runs a coroutine of a core to its end, and returns its result."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


class Exchange:
    """A request that was sent. One thread at a time, as for its network."""

    __slots__ = ("_run", "sent")

    def __init__(self, sent: Sent[Message], run: Run) -> None:
        self.sent = sent
        self._run = run

    @property
    def done(self) -> bool:
        """True if `result` would not wait."""
        return self.sent.done

    def result(self) -> Message:
        """Wait for the answer. Raises Disconnected if none comes by its deadline, or the connection ends."""
        return self._run(self.sent.answer())


def _call(
    method: Callable[Concatenate[NetworkCore, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Network, P], T]:
    """Return a coroutine method of the core as a method that blocks."""

    def call(self: Network, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method(self.core, *args, **kwargs))

    call.__doc__ = method.__doc__
    return call


class Network:
    """The methods of `NetworkCore`, for callers that block.

    By default it has its own sockets; `over` returns one that uses another driver's core. `clock` is in seconds,
    `sleep` waits for some; without `tries_again` no call is repeated.
    """

    request = _call(NetworkCore.request)
    connection = _call(NetworkCore.connection)
    topic_ids = _call(NetworkCore.topic_ids)
    leader = _call(NetworkCore.leader)
    partitions = _call(NetworkCore.partitions)
    refresh = _call(NetworkCore.refresh)
    coordinator = _call(NetworkCore.coordinator)
    coordinators = _call(NetworkCore.coordinators)
    brokers = _call(NetworkCore.brokers)
    controller = _call(NetworkCore.controller)
    wait = _call(NetworkCore.wait)
    _submit = _call(NetworkCore.submit)
    _collect = _call(NetworkCore.collect)

    def __init__(
        self,
        config: ClientConfig,
        *,
        tries_again: bool = True,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._serve(NetworkCore(config, SocketDriver(config, clock, sleep), once=not tries_again), run_now)

    @classmethod
    def over(cls, core: NetworkCore, run: Run) -> Self:
        """Return a network whose calls `run` passes to the driver of `core`, and waits for."""
        made = cls.__new__(cls)
        made._serve(core, run)
        return made

    def _serve(self, core: NetworkCore, run: Run) -> None:
        self.core = core
        self.config = core.config
        self.run = run
        self.tries = core.tries
        self.topic_name = core.topic_name
        self.forget_coordinator = core.forget_coordinator
        self.close = core.close

    def submit(
        self,
        node: int,
        message: Message,
        *,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        on: Connection | None = None,
    ) -> Exchange:
        """Send a request and do not wait for its answer; see `NetworkCore.submit`."""
        sent = self._submit(
            node, message, timeout_ms=timeout_ms, min_version=min_version, max_version=max_version, on=on
        )
        return Exchange(sent, self.run)

    def collect(self, exchanges: Sequence[Exchange]) -> None:
        """Wait for the answers of all, and take each when it comes."""
        self._collect([exchange.sent for exchange in exchanges])
