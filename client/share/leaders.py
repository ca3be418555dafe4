"""The share sessions of one member, one for each leader, and which of its locks can still be its own. Sans-IO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from shareq.client.share.session import Place, ShareSession

NO_CONNECTION: Final = -1


class Leader:
    """A broker that leads partitions of the member, and the session with it.

    `connection` is the epoch of the connection that opened the session; `ready_ms` the time before which it is not
    asked again, after an error.
    """

    __slots__ = ("connection", "node", "opened", "ready_ms", "session")

    def __init__(self, node: int, session: ShareSession) -> None:
        self.node = node
        self.session = session
        self.connection = NO_CONNECTION
        self.opened = False
        self.ready_ms = 0


class ShareLeaders:
    """All leaders of one member.

    `generation` grows for a partition whenever the locks acquired on it can no longer be relied on: its session ended,
    or it has another leader.
    """

    def __init__(self, group_id: str, member_id: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._leaders: dict[int, Leader] = {}
        self._homes: dict[Place, Leader] = {}  # whose session acquired last; kept when the partition is taken away
        self.generation: dict[Place, int] = {}

    def __iter__(self) -> Iterator[Leader]:
        return iter(tuple(self._leaders.values()))

    def place(self, nodes: Mapping[Place, int | None]) -> None:
        """Spread the assigned partitions over the sessions of their leaders. An unknown leader: where it was."""
        by_leader: dict[int, set[Place]] = {}
        for place, node in nodes.items():
            home = self._homes.get(place)
            if node is not None and (home is None or home.node != node):
                if home is not None:
                    self.outdate(place)
                home = self._homes[place] = self._leader(node)
            if home is None:
                continue
            self.generation.setdefault(place, 0)
            by_leader.setdefault(home.node, set()).add(place)
        for leader in self._leaders.values():
            leader.session.assign(by_leader.get(leader.node, ()))

    def home(self, place: Place) -> Leader | None:
        """The leader whose session acquires, or last acquired, on the partition."""
        return self._homes.get(place)

    def outdate(self, place: Place) -> None:
        """What was acquired on the partition so far is no longer ours."""
        self.generation[place] = self.generation.get(place, 0) + 1

    def lose(self, leader: Leader) -> None:
        """The session with this leader is gone, and its locks with it."""
        leader.session.lose()
        leader.connection = NO_CONNECTION
        if leader.opened:
            leader.opened = False
            for place, home in self._homes.items():
                if home is leader:
                    self.outdate(place)

    def _leader(self, node: int) -> Leader:
        leader = self._leaders.get(node)
        if leader is None:
            leader = self._leaders[node] = Leader(node, ShareSession(self._group_id, self._member_id))
        return leader
