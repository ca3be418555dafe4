"""A simulated cluster with its clock and chance, and a way to send requests and wait: the base of unit tests."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import LinkFailure, Purpose
from shareq.protocol.primitives import Message
from tests.support.cluster.cluster import SimulatedCluster
from tests.support.cluster.link import SimulatedLink
from tests.support.cluster.settings import ClusterSettings

T = TypeVar("T")


class ClusterWorld:
    """A cluster on a virtual clock, with one node's link that knows all brokers."""

    def __init__(self, settings: ClusterSettings | None = None, seed: int = 0) -> None:
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(seed), MemFs(self.clock.call_soon))
        self.cluster = SimulatedCluster(self.env, settings)
        self.link = self.new_link("node")

    def new_link(self, name: str, request_timeout_ms: int = 30_000) -> SimulatedLink:
        link = self.cluster.link(name, request_timeout_ms=request_timeout_ms)
        link.know(self.cluster.addresses)
        return link

    def wait(self, pending: Pending[T]) -> T:
        self.clock.run_until_idle()
        while not pending.done:
            assert self.clock.advance_to_next_timer(), "nothing is going to happen any more"
        return pending.value

    def ask(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        max_version: int | None = None,
    ) -> Message | LinkFailure:
        return self.wait(self.link.send(node, message, purpose=purpose, timeout_ms=timeout_ms, max_version=max_version))
