"""Members that let acquisition locks run out."""

from __future__ import annotations

from typing import Final

MOST_LAPSED: Final = 1_000
"""That are kept of one share partition: a group has 200 members, unless it is configured otherwise."""


class Lapsed:
    """The members whose locks ran out, and that have acknowledged nothing since. Owned by one `SharePartition`.

    Other members that wait get records before them: a client that fetches what it does not work on, or hangs, would
    else use up the deliveries of records that others are waiting for.
    """

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: dict[str, None] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def add(self, member_id: str) -> None:
        """Note that a lock of the member ran out."""
        self._members.pop(member_id, None)
        self._members[member_id] = None
        if len(self._members) > MOST_LAPSED:
            del self._members[next(iter(self._members))]

    def discard(self, member_id: str) -> None:
        """Forget a member that acknowledges: it is at work."""
        self._members.pop(member_id, None)
