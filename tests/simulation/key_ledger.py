"""The ledger of a group with order by key: no record is delivered together with, or after, a later one of its key.

Where a key may have several records in hand, it never has more than that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

KEYS: Final = 4
EVERY: Final = 20
AMONG: Final = 17


def is_about_order(seed: int) -> bool:
    return seed % EVERY == AMONG


def key_of(value: bytes) -> bytes | None:
    """Return the key of a record with this value; about every fifth has none."""
    number = crc32(value) % (KEYS + 1)
    return b"key %d" % number if number < KEYS else None


class OutOfOrder(AssertionError):
    """An error: a record was delivered although another of its key had to come first."""


@dataclass
class KeyLedger:
    per_key: int = 1
    latest: dict[tuple[int, bytes], int] = field(default_factory=dict)  # the highest offset that was delivered

    def on_delivered(
        self, place: tuple[int, int], value: bytes, held: Mapping[tuple[int, int], bytes], excused: Collection[object]
    ) -> None:
        """Record a delivery, while members held the records with the values `held`.

        `excused` are records delivered again because their archiving was not durable.
        """
        key, (slot, offset) = key_of(value), place
        if key is None:
            return
        others = [other for other, other_value in held.items() if other[0] == slot and key_of(other_value) == key]
        earlier = [other for other in others if other[1] < offset]
        if self.per_key == 1 and earlier:
            raise OutOfOrder(f"{place} was delivered while {earlier[0]} of the same key was held")
        if len(earlier) >= self.per_key or (len(others) >= self.per_key and place not in excused):
            raise OutOfOrder(f"{place} was delivered beside {others}: more than its key may have in hand")
        latest = self.latest.get((slot, key), -1)
        if self.per_key == 1 and offset < latest and place not in excused:
            raise OutOfOrder(f"{place} was delivered after {latest} of the same key")
        self.latest[slot, key] = max(offset, latest)

    def forget(self, slot: int) -> None:
        self.latest = {each: offset for each, offset in self.latest.items() if each[0] != slot}
