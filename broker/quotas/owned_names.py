"""Who made which names, so that one owner's do not become too many. Pure: time comes in as a number.

An owner is a user, or of those who did not authenticate a machine. A name is counted where it would be made; one that
is gone is found at the next sweep of its owner's, and an owner is swept only at its bound. What other owners have is
not looked at: they cannot be refused because of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Protocol

SWEEP_INTERVAL_MS: Final = 1_000
"""An owner at its bound has its names looked through once in so long at most, however often it asks."""


class Places(Protocol):
    """Where names are. A place is found once for each that is counted: names may be long."""

    def place_of(self, name: str) -> int:
        """The place of a name, whether it exists or not."""

    def has(self, name: str, place: int) -> bool:
        """Whether the name exists there."""


class OwnedNames:
    """The names of one kind. `most` >= 1 is how many an owner may have."""

    __slots__ = ("_names", "_owner_of", "_places", "_swept_ms", "most")

    def __init__(self, most: int, places: Places) -> None:
        self.most = most
        self._places = places
        self._owner_of: dict[str, Hashable] = {}
        self._names: dict[Hashable, dict[str, int]] = {}  # to the places
        self._swept_ms: dict[Hashable, int] = {}  # of owners that were at their bound

    def __contains__(self, name: str) -> bool:
        return name in self._owner_of

    def count(self, owner: Hashable) -> int:
        """How many names are counted for an owner, those included that are gone and were not swept."""
        return len(self._names.get(owner, ()))

    def admit(self, name: str, owner: Hashable, now_ms: int) -> bool:
        """Whether the owner may use the name, which is made by that if it does not exist; then it is counted.

        A name that exists is never refused. One that is nobody's, as all are after a start, becomes the asker's, be it
        beyond its bound: the owner may make no other until it has fewer.
        """
        holder = self._owner_of.get(name)
        if holder == owner:
            return True
        place = self._places.place_of(name)
        if self._places.has(name, place):
            if holder is None:
                self._add(name, place, owner)
            return True
        if self.count(owner) >= self.most:
            self._sweep(owner, now_ms)
            if self.count(owner) >= self.most:
                return False
        self.drop(name)  # another owner's, and gone
        self._add(name, place, owner)
        return True

    def settle(self, name: str, owner: Hashable) -> None:
        """The request that was to make the name has been answered: count it if it did, at the place it has now."""
        place = self._places.place_of(name)
        if not self._places.has(name, place):
            self.drop(name)
        elif self._owner_of.get(name, owner) == owner:
            self._add(name, place, owner)

    def drop(self, name: str) -> None:
        """The name is gone, or was not made. Nothing happens when it is nobody's."""
        owner = self._owner_of.pop(name, None)
        if owner is None:
            return
        names = self._names[owner]
        del names[name]
        if not names:
            del self._names[owner]
            self._swept_ms.pop(owner, None)

    def _add(self, name: str, place: int, owner: Hashable) -> None:
        self._owner_of[name] = owner
        self._names.setdefault(owner, {})[name] = place

    def _sweep(self, owner: Hashable, now_ms: int) -> None:
        swept_ms = self._swept_ms.get(owner)
        if swept_ms is not None and now_ms - swept_ms < SWEEP_INTERVAL_MS:
            return
        self._swept_ms[owner] = now_ms
        has = self._places.has
        for name in [name for name, place in self._names[owner].items() if not has(name, place)]:
            self.drop(name)
