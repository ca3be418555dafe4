"""Seeds with records that expire: `shareq.ttl.ms` and `shareq.not.after.enable`, beside dates and breakers.

Producers know when each record expires. None that had expired when a member asked is handed out, however often the
broker is killed and its wall clock set. What expires has a letter in the end, not before its time, and opens no
breaker; what has not expired is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.protocol.names import NOT_AFTER, NOT_AFTER_ENABLE, TTL_MS
from shareq.protocol.records.batch import Headers, Record
from tests.simulation.deaths import is_about_dead_letters
from tests.simulation.errors import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_SEED: Final = 6_000_000
_HOUR_MS: Final = 3_600_000  # more than the wall clock is set back within one life of the broker
_LEFT_MS: Final = (150, 2_000, 8_000, _HOUR_MS)
_TTL_MS: Final = (0, 0, 3_000, 12_000)
_NO_TIMES: Final = (b"soon", b"", None, b"-1", b"9" * 30)
_CHANCES: Final = (50, 35, 10, 5)  # of no header, a time, one that is over, and of what is none

Place = tuple[int, int]


def is_about_expiries(seed: int) -> bool:
    """Return True for seeds from `FIRST_SEED` on with dead letters."""
    return seed >= FIRST_SEED and is_about_dead_letters(seed)


class Expiries:
    """The times in a seed's world after which records are handed to nobody."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"expiries {seed}")
        self.on = is_about_expiries(seed)
        self._ttl_ms = self._rng.choice(_TTL_MS)
        self._not_after: dict[bytes, int] = {}
        self._timestamps: dict[bytes, tuple[int, int]] = {}  # the least and the greatest with which it was sent
        self._latest_ms = 0
        self._was_set_back = False

    def properties(self) -> dict[str, str]:
        """Return the properties of a group's configuration."""
        return {TTL_MS: str(self._ttl_ms), NOT_AFTER_ENABLE: "true"} if self.on else {}

    def headers_for(self, value: bytes, date: Headers) -> Headers:
        """Return the headers of a record with this value, and remember its time.

        One with a `date` may still wait for that at the end: it is none that has to have a letter then.
        """
        if not self.on:
            return ()
        rng, wall_ms = self._rng, self._world.clock.wall_ms()
        kind = rng.choices(("none", "time", "over", "no time"), _CHANCES)[0]
        if kind == "none" or (date and kind != "time"):
            return ()
        if kind == "time":
            self._not_after[value] = wall_ms + rng.choice(_LEFT_MS)
            return ((NOT_AFTER, b"%d" % self._not_after[value]),)
        self._world.topics.records.refused.add(value)
        return ((NOT_AFTER, b"%d" % (wall_ms - _HOUR_MS) if kind == "over" else rng.choice(_NO_TIMES)),)

    def on_sent(self, values: Sequence[bytes]) -> None:
        """Note that a producer sends these records now, perhaps again."""
        wall_ms = self._world.clock.wall_ms()
        for value in values if self.on else ():
            least, greatest = self._timestamps.get(value, (wall_ms, wall_ms))
            self._timestamps[value] = min(least, wall_ms), max(greatest, wall_ms)

    def on_clock_set(self, step_ms: int) -> None:
        """Note that the wall clock is to be set, while no broker runs."""
        self._note_time()
        self._was_set_back = self._was_set_back or step_ms < 0

    def _note_time(self) -> None:
        self._latest_ms = max(self._latest_ms, self._world.clock.wall_ms())

    # -- what must hold

    def on_delivered(self, place: Place, value: bytes | None, asked_ms: int) -> None:
        """Note that a record is delivered to a member that asked at the wall time `asked_ms`."""
        if not self.on or value is None:
            return
        last_ms = self._last_ms(value, greatest=True)
        if last_ms is not None and asked_ms > last_ms:
            raise InvariantBroken(f"{place} was handed out after {asked_ms}, and had expired: its time was {last_ms}")
        self._world.seen["mortal records handed out"] += last_ms is not None

    def may_have_expired(self, value: bytes) -> bool:
        """Return True if the broker may have rejected the record, by the latest wall time so far."""
        self._note_time()
        last_ms = self._last_ms(value, greatest=False)
        return last_ms is not None and self._latest_ms > last_ms

    def check_letter(self, place: Place, letter: Record, made_ms: int) -> None:
        """Check that a letter which says that its record expired was not made before its time."""
        if letter.value is None or (b"__dlq.errors.message", b"Record expired.") not in _encoded(letter):
            return
        self._world.seen["letters of expired records"] += 1
        last_ms = self._last_ms(letter.value, greatest=False)
        refused = letter.value in self._world.topics.records.refused
        if not refused and (last_ms is None or (made_ms <= last_ms and not self._was_set_back)):
            raise InvariantBroken(f"{place} was rejected at {made_ms}, before its time: {last_ms}")

    def _last_ms(self, value: bytes, *, greatest: bool) -> int | None:
        """Return the last time at which the record may be handed out; None if there is no such time.

        Of a record that was sent several times it is not known which one is in the log.
        """
        sent, times = self._timestamps.get(value), []
        if value in self._not_after:
            times.append(self._not_after[value])
        if self._ttl_ms and sent is not None:
            times.append(sent[greatest] + self._ttl_ms)
        return min(times, default=None)


def _encoded(letter: Record) -> list[tuple[bytes, bytes | None]]:
    return [(name.encode(), value) for name, value in letter.headers]
