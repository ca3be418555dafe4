"""Owners of names, and a limit on each owner's names. Pure: time comes in as a number.

An owner is a user, or the address of unauthenticated clients. A name is counted when it is about to be created.
Removed names are noticed later: each new name causes a check of a few names, of its owner and of another one in
turn; for an owner at its limit, all its names are checked. Other owners' names never count against an owner.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, Protocol, TypeVar

SWEEP_INTERVAL_MS: Final = 1_000
"""The shortest time in ms between two checks of the names of an owner at its limit."""

SWEEP_NAMES: Final = 5_000
"""The most names checked at a time, 2 µs each; the next check continues with those that follow."""

_PENDING: Final = -1  # in place of the place: the request that makes the name is not answered yet
_LOOKS: Final = 2  # names checked with each new one, of its owner and of another, so that few removed names stay

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Places(Protocol[K_contra]):
    """The places where names exist. The place of each counted name is looked up only once, since names may be long."""

    def place_of(self, name: K_contra) -> int:
        """Return the place of a name, which need not exist."""

    def has(self, name: K_contra, place: int) -> bool:
        """Return True if the name exists at that place."""

    def keeps(self, name: K_contra, place: int) -> bool:
        """Return the same as `has`, for a counted name whose owner is at its limit. A name that is no longer needed
        may be removed here.
        """


class OwnedNames(Generic[K]):
    """The names of one kind. `most` >= 1 is the number of names that an owner may have."""

    __slots__ = ("_names", "_owner_of", "_places", "_swept_ms", "most")

    def __init__(self, most: int, places: Places[K]) -> None:
        self.most = most
        self._places = places
        self._owner_of: dict[K, Hashable] = {}
        self._names: OrderedDict[Hashable, OrderedDict[K, int]] = OrderedDict()  # to the places
        self._swept_ms: dict[Hashable, int] = {}  # of owners that were at their bound

    def __contains__(self, name: K) -> bool:
        return name in self._owner_of

    def __len__(self) -> int:
        return len(self._owner_of)

    def owner_of(self, name: K) -> Hashable | None:
        """Return the owner for which the name is counted; None if it is not counted."""
        return self._owner_of.get(name)

    def count(self, owner: Hashable) -> int:
        """Return the number of names counted for an owner, including removed ones that have not been noticed."""
        return len(self._names.get(owner, ()))

    def admit(self, name: K, owner: Hashable, now_ms: int, *, at_once: bool = False) -> bool:
        """Return True if the owner may use `name`; a name that does not exist is counted for it then.

        A name that exists is never refused. A name without an owner, as all are after a start, is counted for the
        caller even beyond its limit; the caller then may create no other until it has fewer. Call `settle` once the
        name was created, or could not be, unless that happens `at_once`.
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
        self._add(name, place if at_once else _PENDING, owner)
        return True

    def settle(self, name: K, owner: Hashable) -> None:
        """Count the name for its owner if the request that was to create it did so. The name's place is looked up
        again.
        """
        place = self._places.place_of(name)
        if not self._places.has(name, place):
            self.drop(name)
        elif self._owner_of.get(name, owner) == owner:
            self._add(name, place, owner)

    def drop(self, name: K) -> None:
        """Forget a name that was removed, or not created. Do nothing if it is not counted."""
        owner = self._owner_of.pop(name, None)
        if owner is None:
            return
        names = self._names[owner]
        del names[name]
        if not names:
            del self._names[owner]
            self._swept_ms.pop(owner, None)

    def _add(self, name: K, place: int, owner: Hashable) -> None:
        if name not in self._owner_of and self._names:
            self._look(owner, _LOOKS)
            if self._names:
                other = next(iter(self._names))
                self._names.move_to_end(other)
                self._look(other, _LOOKS)
        self._owner_of[name] = owner
        names = self._names.get(owner)
        if names is None:
            names = self._names[owner] = OrderedDict()
        names[name] = place

    def _sweep(self, owner: Hashable, now_ms: int) -> None:
        swept_ms = self._swept_ms.get(owner)
        if swept_ms is not None and now_ms - swept_ms < SWEEP_INTERVAL_MS:
            return
        self._swept_ms[owner] = now_ms
        self._look(owner, SWEEP_NAMES, at_bound=True)

    def _look(self, owner: Hashable, most: int, *, at_bound: bool = False) -> None:
        """Check some of the owner's names, beginning with those not checked for longest."""
        names = self._names.get(owner)
        if not names:
            return
        places = self._places
        for _ in range(min(most, len(names))):
            name, place = next(iter(names.items()))
            names.move_to_end(name)
            if place == _PENDING:
                if not at_bound:
                    continue
                place = places.place_of(name)
            if not (places.keeps if at_bound else places.has)(name, place):
                self.drop(name)
