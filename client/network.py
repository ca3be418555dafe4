"""The brokers of a cluster for callers that block: the core's coroutines as plain calls.

One thread at a time: a caller that shares a `Network` between threads holds a lock around every call, results included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar

from shareq.client.config import Address, ClientConfig
from shareq.client.core import ports
from shareq.client.core.network import GROUP, NetworkCore
from shareq.client.core.tries import Clock, Tries
from shareq.client.errors import BrokerError, ClientError
from shareq.client.sockets import SocketDriver, run_now
from shareq.protocol.primitives import Message

__all__ = ["Exchange", "Network", "Tries"]

T = TypeVar("T")


class Run(Protocol):
    """Runs a coroutine of a core to its end, and returns what it returns."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


class Exchange:
    """A request that was sent. One thread at a time, as for its network."""

    __slots__ = ("_run", "sent")

    def __init__(self, sent: ports.Exchange, run: Run) -> None:
        self.sent = sent
        self._run = run

    @property
    def done(self) -> bool:
        """Return whether `result` would not wait."""
        return self.sent.done

    def result(self) -> Message:
        """Wait for the answer. Raises Disconnected if none comes by its deadline, or the connection ends."""
        return self._run(self.sent.answer())


class Network:
    """`NetworkCore` for callers that block: the methods of the same names mean the same.

    By default on sockets of its own. `clock` is in seconds, `sleep` waits for some; without `tries_again` no call tries
    again. `over` gives one on a core that another driver serves.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        tries_again: bool = True,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.core = NetworkCore(config, SocketDriver(config, clock, sleep), once=not tries_again)
        self._run: Run = run_now

    @classmethod
    def over(cls, core: NetworkCore, run: Run) -> Self:
        """Return one whose calls `run` hands to the driver of `core`, and waits for."""
        made = cls.__new__(cls)
        made.core, made._run = core, run
        return made

    @property
    def config(self) -> ClientConfig:
        return self.core.config

    def request(
        self,
        node: int | None,
        message: Message,
        *,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> Message:
        return self._run(
            self.core.request(node, message, timeout_ms=timeout_ms, min_version=min_version, max_version=max_version)
        )

    def submit(
        self,
        node: int,
        message: Message,
        *,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        on: ports.Connection | None = None,
    ) -> Exchange:
        work = self.core.submit(
            node, message, timeout_ms=timeout_ms, min_version=min_version, max_version=max_version, on=on
        )
        return Exchange(self._run(work), self._run)

    def collect(self, exchanges: Sequence[Exchange]) -> None:
        self._run(self.core.collect([exchange.sent for exchange in exchanges]))

    def connection(self, node: int) -> ports.Connection:
        return self._run(self.core.connection(node))

    def tries(self, timeout_ms: int | None = None) -> Tries:
        return self.core.tries(timeout_ms)

    def wait(self, tries: Tries, error: ClientError) -> None:
        self._run(self.core.wait(tries, error))

    def close(self) -> None:
        self.core.close()

    def topic_ids(self, names: Collection[str], *, timeout_ms: int | None = None) -> dict[str, bytes]:
        return self._run(self.core.topic_ids(names, timeout_ms=timeout_ms))

    def leader(self, topic_id: bytes, partition: int) -> int | None:
        return self._run(self.core.leader(topic_id, partition))

    def partitions(self, topic_id: bytes) -> list[int]:
        return self._run(self.core.partitions(topic_id))

    def refresh(self, topics: Iterable[str | bytes], *, timeout_ms: int | None = None) -> None:
        self._run(self.core.refresh(topics, timeout_ms=timeout_ms))

    def coordinators(
        self, keys: Sequence[str], kind: int = GROUP, *, timeout_ms: int | None = None
    ) -> dict[str, int | BrokerError]:
        return self._run(self.core.coordinators(keys, kind, timeout_ms=timeout_ms))

    def coordinator(self, group_id: str, *, timeout_ms: int | None = None) -> int:
        return self._run(self.core.coordinator(group_id, timeout_ms=timeout_ms))

    def forget_coordinator(self, group_id: str) -> None:
        self.core.forget_coordinator(group_id)

    def brokers(self, *, timeout_ms: int | None = None) -> dict[int, Address]:
        return self._run(self.core.brokers(timeout_ms=timeout_ms))

    def controller(self, *, timeout_ms: int | None = None) -> int | None:
        return self._run(self.core.controller(timeout_ms=timeout_ms))

    def topic_name(self, topic_id: bytes) -> str | None:
        return self.core.topic_name(topic_id)
