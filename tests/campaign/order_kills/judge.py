"""A judge of a group with order by key, who knows only its members' deliveries and acknowledgements."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

# An independent judge: its numbers are KIP-932's, not the product's.
ACCEPT: Final = 1
REJECT: Final = 3
ENDS: Final = (ACCEPT, REJECT)

Place = tuple[int, int]
"""Partition and offset."""


class Held(NamedTuple):
    """A record in a member's hands, until `until_s` (monotonic) at least, unless the member or the broker is lost."""

    member: str
    until_s: float


class Judge:
    """The judge. It is notified of each event when it happens, from any thread.

    `keys`: the keys of each partition's records by offset, None for no key. `per_key`: so many records of a key may be
    in hand; with several, in any order. `broken` has the breaches.
    """

    def __init__(self, keys: Mapping[int, Sequence[int | None]], limit: int, per_key: int = 1) -> None:
        self._keys = keys
        self._per_key = per_key
        self._limit = limit
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int], dict[int, Held]] = {}  # by partition and key, by offset
        self._latest: dict[tuple[int, int], int] = {}
        self._sendings = 0
        self._sent_at: dict[Place, int] = {}  # the last acknowledgement of each record
        self._finished: set[Place] = set()
        self._sent: set[Place] = set()  # an end was sent, and its outcome is not known
        self._counts: dict[Place, int] = {}
        self.seen: Counter[str] = Counter()
        self.broken: list[str] = []
        self.most_in_hand = 0

    @property
    def over(self) -> int:
        """The number of records that are known to have ended, or may have."""
        with self._lock:
            at_limit = {place for place, count in self._counts.items() if count >= self._limit}
            return len(self._finished | self._sent | at_limit)

    def delivered(self, member: str, place: Place, count: int, now_s: float, until_s: float) -> None:
        with self._lock:
            self.seen["deliveries"] += 1
            self.seen["redeliveries"] += place in self._counts
            self._counts[place] = max(count, self._counts.get(place, 0))
            if place in self._finished:
                self.broken.append(f"{place} came to {member} after its end was answered")
            key = self._key(place)
            if key is None:
                return
            held, offset = self._held.setdefault(key, {}), place[1]
            others = {other: hold for other, hold in held.items() if other != offset and now_s < hold.until_s}
            self.most_in_hand = max(self.most_in_hand, 1 + len(others))
            if len(others) >= self._per_key:
                beside = " and ".join(f"{hold.member} had {other}" for other, hold in others.items())
                self.broken.append(f"{place} came to {member} while {beside} of its key")
            latest = self._latest.get(key, -1)
            if self._per_key == 1 and offset < latest:
                self.broken.append(f"{place} came to {member} after {latest} of its key")
            self._latest[key] = max(latest, offset)
            held[offset] = Held(member, until_s)

    def sends(self, place: Place, kind: int) -> None:
        with self._lock:
            key = self._key(place)
            if key is not None:
                self._held.get(key, {}).pop(place[1], None)
            self._sendings += 1
            self._sent_at[place] = self._sendings
            if kind in ENDS:
                self._sent.add(place)

    def answered(self, place: Place, kind: int, accepted: bool) -> None:
        with self._lock:
            self.seen["acknowledgements"] += 1
            self.seen["acknowledgements refused"] += not accepted
            if kind not in ENDS:
                return
            self._sent.discard(place)
            if accepted:
                self._finished.add(place)

    def ends_out_of_order(self) -> list[str]:
        """Return records whose end was sent and answered after the end of a later record of their key.

        Answers may overtake each other on their way to the members' threads, but an acknowledgement sent before a
        record was delivered cannot.
        """
        if self._per_key > 1:
            return []
        with self._lock:
            found, last = [], dict[tuple[int, int], int]()
            for place in sorted(self._finished, key=self._sent_at.__getitem__):
                key = self._key(place)
                if key is not None and place[1] < last.get(key, -1):
                    found.append(f"{place} ended after {last[key]} of its key")
                elif key is not None:
                    last[key] = place[1]
            return found

    def lost(self, member: str | None = None) -> None:
        """Note that the member's connection, or the broker (None), was lost: its records are free."""
        with self._lock:
            for held in self._held.values():
                for offset in [offset for offset, hold in held.items() if member in (None, hold.member)]:
                    del held[offset]

    def left(self) -> list[Place]:
        """Return, after a drain, the records that are not known to have ended and were delivered fewer than limit - 1
        times.

        One delivery is allowed for, because its answer may have been lost with its connection.
        """
        return [place for place in self.unseen_ends() if self._counts.get(place, 0) < self._limit - 1]

    def unseen_ends(self) -> list[Place]:
        with self._lock:
            return [
                (partition, offset)
                for partition, keys in self._keys.items()
                for offset in range(len(keys))
                if (partition, offset) not in self._finished
                and (partition, offset) not in self._sent
                and self._counts.get((partition, offset), 0) < self._limit
            ]

    def _key(self, place: Place) -> tuple[int, int] | None:
        key = self._keys[place[0]][place[1]]
        return None if key is None else (place[0], key)
