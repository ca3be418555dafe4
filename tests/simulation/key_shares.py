"""Seeds in which a key may have several records in hand, or windows look past those that wait for their keys:
`shareq.order.*`.

Members never hold more records of a key than it may have in hand. A window goes no further than it may, and no fetch
waits while it may go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.partition import RangeView, SharePartition
from shareq.protocol.names import PARTITION_MAX_RECORD_LOCKS
from shareq.protocol.share import TERMINAL
from tests.simulation import deaths
from tests.simulation.errors import InvariantBroken
from tests.simulation.storage import is_about_storage

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_SEED: Final = 500_000

_LIMIT: Final = 100  # the least that a window may have
_LARGE: Final = 70  # records, sent together now and then


def is_about_key_shares(seed: int) -> bool:
    """Return True for seeds of key shares: from `FIRST_SEED` to the first one with dead letters, on a sound disk."""
    return FIRST_SEED <= seed < deaths.FIRST_SEED and seed % 5 != 4 and not is_about_storage(seed)


class KeyShares:
    """The settings of a seed's world that limit the records of a key in hand, and set the look-ahead."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"key shares {seed}")
        self.on = is_about_key_shares(seed)
        self.per_key = self._rng.choice((1, 2, 3)) if self.on else 1
        self.ahead = self._rng.choice((0, 40, 1_000)) if self.on else 0

    def properties(self) -> dict[str, str]:
        if not self.on:
            return {}
        return {
            PARTITION_MAX_RECORD_LOCKS: str(_LIMIT),
            "shareq.order.records.per.key": str(self.per_key),
            "shareq.order.look.ahead": str(self.ahead),
        }

    def least_segment(self) -> int:
        """Return the least bytes of a segment: it has to hold the largest batch."""
        return 5_000 if self.on else 0

    def size_of_batch(self, usual: int) -> int:
        return _LARGE if self.on and self._rng.random() < 0.3 else usual

    def check(self, core: SharePartition, index: int) -> None:
        """Check that the window goes no further than it may, over whole record batches."""
        beyond = core.in_flight_records - _LIMIT
        if beyond >= self.ahead + _LARGE:
            raise InvariantBroken(f"slot {index}: the window goes {beyond} beyond its limit, more than {self.ahead}")
        self._world.seen["windows that look ahead"] += beyond >= _LARGE

    def room(self, core: SharePartition, ranges: Sequence[RangeView]) -> int:
        """Return by how many offsets the window may extend: the records that wait for their keys or are finished, up to
        `ahead`.
        """
        free = sum(
            view.last_offset - max(view.first_offset, core.start_offset) + 1
            for view in ranges
            if view.last_offset >= core.start_offset
            and (view.waits_for_key or (view.state in TERMINAL and not view.pending))
        )
        return min(free, self.ahead)
