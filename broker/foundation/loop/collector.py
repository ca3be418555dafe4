"""Python's garbage collector, held off while long work runs in short pieces.

In a hundred thousand small objects there is nothing that only a collector could free. But it would visit all of them
again and again, and sometimes all objects of the broker: at 0.3 µs each, that takes longer than a step of the work.
"""

from __future__ import annotations

import gc
from typing import Final

FEW_YOUNG: Final = 10_000
"""The number of new objects that the collector visits in a millisecond."""

MOST_YOUNG: Final = 100_000
"""The number of new objects at which the collector visits them, which takes 10 ms."""

YOUNG_LOOKS: Final = 1
"""The number of collections of new objects after which the survivors are collected, too; older ones only by a full
collection.
"""


class Collector:
    """The garbage collector of this process (`COLLECTOR`), which rests while any holder holds it off."""

    __slots__ = ("_holders", "_was_at_work")

    def __init__(self) -> None:
        self._holders: set[object] = set()
        self._was_at_work = False  # before the first of them

    def begin(self) -> None:
        """Begin to collect new objects when there are `MOST_YOUNG` of them, instead of 700 as by default.

        Nearly all objects are freed by their last reference. A request that waits has some dozens of objects: with
        5,000 waiting members, the collector took 300 ms every other second, and found nothing.
        """
        gc.freeze()
        gc.set_threshold(MOST_YOUNG, YOUNG_LOOKS)
        gc.enable()

    def hold_off(self, holder: object) -> None:
        """Stop the collector until every holder, including this one, has let it go. A second call has no effect."""
        if not self._holders:
            self._was_at_work = gc.isenabled()
            gc.disable()
        self._holders.add(holder)

    def let_go(self, holder: object) -> None:
        """Start the collector again, unless others hold it off or it did not run before. A second call has no
        effect.
        """
        if holder in self._holders:
            self._holders.remove(holder)
            if not self._holders and self._was_at_work:
                gc.enable()

    def let_go_by_all(self) -> None:
        """Remove all holders, because their broker is gone."""
        for holder in list(self._holders):
            self.let_go(holder)

    def keep(self) -> None:
        """Exclude all present objects from collection if they are many, because a large state was made, which stays.

        Those objects are still freed by their last reference.
        """
        if not self.has_little_to_look_at():
            gc.freeze()

    def has_little_to_look_at(self) -> bool:
        """Return True if only few of the objects made while the collector rested still exist."""
        return gc.get_count()[0] <= FEW_YOUNG


COLLECTOR: Final = Collector()
