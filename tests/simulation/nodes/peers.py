"""Connections between nodes, whose ends show each other's deaths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.simulation.nodes.process import ProcessClock

if TYPE_CHECKING:
    from tests.simulation.nodes.world import NodesWorld

AGAIN_MS: Final = 1_000


class NodePeers:
    """The `PeerLinks` of one process. A stopped peer accepts connections: its machine answers."""

    def __init__(
        self, world: NodesWorld, clock: ProcessClock, opened: Callable[[str], None], lost: Callable[[str, bool], None]
    ) -> None:
        self._world = world
        self._clock = clock
        self._opened, self._lost = opened, lost
        self._hosts: dict[str, str] = {}
        self._open: set[str] = set()

    def connect(self, peer: str, host: str, port: int) -> None:
        self._hosts[peer] = host
        self._try(peer)

    def _try(self, peer: str) -> None:
        if peer not in self._hosts or peer in self._open:
            return
        host = self._hosts[peer]
        if any(node.name == host and node.listens and not node.refuses for node in self._world.nodes.values()):
            self._open.add(peer)
            self._clock.call_soon(partial(self._opened, peer))
        else:
            self._clock.call_soon(partial(self._lost, peer, True))
            self._clock.call_at(self._clock.now_ms() + AGAIN_MS, partial(self._try, peer))

    def reset(self, host: str) -> None:
        """End the process at that address: its connections are reopened or lost."""
        for peer in [each for each in self._open if self._hosts.get(each) == host]:
            self._open.discard(peer)
            self._clock.deliver(partial(self._try, peer))

    def disconnect(self, peer: str) -> None:
        self._hosts.pop(peer, None)
        self._open.discard(peer)

    def close(self) -> None:
        self._hosts.clear()
        self._open.clear()
