"""Seeds with dated records, and members that release some with a delay: `shareq.delay.enable`.

Producers know each record's time, members the delays that they set. No record is delivered before its time by the
broker's wall clock, which is set at starts; none waits longer, and no more than half of a window waits. A record with
an invalid time, or one too far ahead, is delivered to nobody, and has a letter in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.partition import SharePartition
from shareq.protocol.ack_delays import Later, tags_of
from shareq.protocol.names import DELAY_ENABLE, DELAY_MAX_MS, NOT_BEFORE, PARTITION_MAX_RECORD_LOCKS
from shareq.protocol.primitives import Tags
from tests.simulation.deaths import is_about_dead_letters
from tests.simulation.errors import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

FIRST_SEED: Final = 4_000_000
MAX_MS: Final = 3_600_000
"""The furthest delivery time: further than the wall clock is set back within one life of the broker."""

Place = tuple[int, int]
Headers = tuple[tuple[str, bytes | None], ...]

_YEARS_MS: Final = 300_000_000_000
_AHEAD_MS: Final = (-5, 1, 60, 700, 3_000, 6_000)
_LATER_MS: Final = (1, 150, 2_000, 6_000)
_NO_TIMES: Final = (b"soon", b"", None, b"-1", b"9" * 30)
_LARGE: Final = 70  # records: more than half of the smaller window
_CHANCES: Final = (45, 45, 5, 5)  # of no header, a time, one too far ahead, and of what is none


def is_about_dates(seed: int) -> bool:
    return seed >= FIRST_SEED and is_about_dead_letters(seed)


class Dates:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"dates {seed}")
        self.on = is_about_dates(seed)
        self._back_ms = 0
        self._sent: dict[bytes, int] = {}

    def properties(self) -> dict[str, str]:
        if not self.on:
            return {}
        window = self._rng.choice(("100", "100", "2000"))
        return {DELAY_ENABLE: "true", DELAY_MAX_MS: str(MAX_MS), PARTITION_MAX_RECORD_LOCKS: window}

    def least_segment(self) -> int:
        """Return the least bytes of a segment: it has to hold the largest batch."""
        return 5_000 if self.on else 0

    def size_of_batch(self, usual: int) -> int:
        return _LARGE if self.on and self._rng.random() < 0.1 else usual

    def headers_for(self, value: bytes, together: int) -> Headers:
        """Return the headers of a record with this value, in a batch of so many records, and remember its time."""
        if not self.on:
            return ()
        rng, wall_ms = self._rng, self._world.clock.wall_ms()
        if together == _LARGE:
            self._sent[value] = wall_ms + rng.choice(_AHEAD_MS[-2:])
            return ((NOT_BEFORE, b"%d" % self._sent[value]),)
        chances = _CHANCES[:2] if self._world.breakers.on else _CHANCES  # of what is refused each leader has a letter
        kind = rng.choices(("none", "time", "far", "no time")[: len(chances)], chances)[0]
        if kind == "none":
            return ()
        time: bytes | None = b"%d" % (wall_ms + rng.choice(_AHEAD_MS))
        if kind == "time":
            self._sent[value] = int(time or b"")
        else:
            self._world.topics.records.refused.add(value)
            time = b"%d" % (wall_ms + _YEARS_MS) if kind == "far" else rng.choice(_NO_TIMES)
        return ((NOT_BEFORE, time),)

    def on_clock_set(self, step_ms: int) -> None:
        self._back_ms += max(-step_ms, 0)

    def furthest_ms(self) -> int:
        """Return the longest wait that the broker may find, rounded up; 0 in a world without delays."""
        return MAX_MS + 1 if self.on else 0

    def longest_ms(self) -> int:
        return max(_AHEAD_MS + _LATER_MS) + self._back_ms if self.on else 0

    # -- given back with a time

    def later_for(self, released: list[Place]) -> dict[Place, int]:
        """Return the delays in milliseconds with which a member releases some of these records."""
        if not self.on:
            return {}
        return {place: self._rng.choice(_LATER_MS) for place in released if self._rng.random() < 0.8}

    # -- what must hold

    def on_delivered(self, group: Group, place: Place, count: int, value: bytes | None) -> None:
        if not self.on or value is None:
            return
        if value in self._world.topics.records.refused:
            raise InvariantBroken(f"{place} was handed out, and was to be refused")
        due_ms, wall_ms = self._sent.get(value, 0), self._world.clock.wall_ms()
        if wall_ms < due_ms:
            raise InvariantBroken(f"{place} was handed out at {wall_ms}, before the time of its sender: {due_ms}")
        if count > 1 and due_ms and place not in group.ledger.counts and self._world.knows_what_is_durable():
            raise InvariantBroken(f"{place} had never been handed out, and has delivery count {count}")
        self._world.seen["dated records handed out"] += due_ms > 0

    def explains(self, place: Place, until_ms: int) -> bool:
        """Return True if the sender's time can be the reason why the record waits, by the wall clock."""
        value = self._world.topics.records.values.get(place[0], {}).get(place[1])
        return self.on and (value is None or self._sent.get(value, 0) + 1 >= until_ms)

    def check_half(self, core: SharePartition, index: int) -> None:
        """Check that new records that wait fill no more than half of the window."""
        half = core.settings.partition_max_record_locks // 2
        new = sum(
            view.last_offset - max(view.first_offset, core.start_offset) + 1
            for view in core.snapshot()
            if view.not_before_ms is not None and not view.delivery_count
        )
        self._world.seen["windows that are half full of what waits"] += new == half
        if new > half:
            raise InvariantBroken(f"slot {index}: {new} records wait that never came, more than {half}")

    def stays_behind(self, core: SharePartition, place: Place) -> bool:
        """Return True if the next record would have to wait, but the window has no room for one more waiting record."""
        if not self.on or core.delayed_records < core.settings.partition_max_record_locks // 2:
            return False
        self._world.seen["dated records that stay behind the window"] += 1
        return self.explains(place, self._world.clock.wall_ms() + 1)


def tags_for(later: Mapping[Place, int], index: int) -> Tags:
    of_slot = sorted((offset, wait_ms) for (slot, offset), wait_ms in later.items() if slot == index)
    return tags_of([Later(offset, offset, wait_ms) for offset, wait_ms in of_slot])
