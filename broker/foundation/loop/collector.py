"""Python's collector, held off while something long goes on in short pieces.

A hundred thousand small objects contain nothing that only a collector could free, but the collector would visit all of
them again and again, and sometimes all objects of the broker: 0.3 µs each, longer than a step of the work.
"""

from __future__ import annotations

import gc
from typing import Final

FEW_YOUNG: Final = 10_000
"""Objects that the collector has not seen, and that it looks at in a millisecond."""

MOST_YOUNG: Final = 100_000
"""The growth in objects after which it looks at the young ones, 10 ms of them."""

YOUNG_LOOKS: Final = 1
"""Looks at the young behind which it looks at those that survived them, too, and no more until a full one."""


class Collector:
    """The garbage collector of this process (`COLLECTOR`), which rests while any part of the broker holds it off."""

    __slots__ = ("_holders", "_was_at_work")

    def __init__(self) -> None:
        self._holders: set[object] = set()
        self._was_at_work = False  # before the first of them

    def begin(self) -> None:
        """Begin to collect among new objects when `MOST_YOUNG` of them exist, not 700 as by default.

        Nearly all is freed by its last reference. A request that waits is some dozens of objects: with 5,000 members
        that wait, the collector took half of the time, 300 ms every other second, to find nothing.
        """
        gc.freeze()
        gc.set_threshold(MOST_YOUNG, YOUNG_LOOKS)
        gc.enable()

    def hold_off(self, holder: object) -> None:
        """Stop the collector until this holder, and every other one, lets it go. Harmless the second time."""
        if not self._holders:
            self._was_at_work = gc.isenabled()
            gc.disable()
        self._holders.add(holder)

    def let_go(self, holder: object) -> None:
        """Be at work again, unless others hold it off or it was not at work before. Harmless the second time."""
        if holder in self._holders:
            self._holders.remove(holder)
            if not self._holders and self._was_at_work:
                gc.enable()

    def let_go_by_all(self) -> None:
        """Release all holders: their broker is gone."""
        for holder in list(self._holders):
            self.let_go(holder)

    def keep(self) -> None:
        """Exclude all present objects from collection, if they are many: a large state was made, which stays.

        What is freed by its last reference still is.
        """
        if not self.has_little_to_look_at():
            gc.freeze()

    def has_little_to_look_at(self) -> bool:
        """Return True if few objects were made, and still exist, since the collector rests."""
        return gc.get_count()[0] <= FEW_YOUNG


COLLECTOR: Final = Collector()
