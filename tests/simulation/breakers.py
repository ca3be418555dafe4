"""Seeds in which groups have a breaker (`shareq.breaker.*`): too many dead letters pause them, and nothing else does.

The answers show how many records have certainly died since the group was resumed or the broker was started: if these
are enough, the group must be paused. The number of records that can have died limits how often it may be paused.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.protocol.names import BREAKER_LETTERS, BREAKER_WINDOW_MS, PAUSED_BY_BREAKER
from tests.simulation.deaths import LEAST_LIMIT, is_about_dead_letters
from tests.simulation.errors import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

FIRST_SEED: Final = 5_000_000
_A_DAY_MS: Final = 86_400_000


def is_about_breakers(seed: int) -> bool:
    return seed >= FIRST_SEED and is_about_dead_letters(seed)


@dataclass
class BreakerLedger:
    """The deaths in a group, as far as its clients can count them; it outlives the group."""

    died: int = 0  # at least, since this broker may have begun to count
    may_have_died: int = 0  # at most, ever
    pauses: int = 0

    def on_rejected(self, *, before: bool) -> None:
        """Record an answered rejection. `before`: it was sent before the broker began to count."""
        self.died += not before

    def on_delivered(self, count: int) -> None:
        """Record a delivery, the `count`-th as far as known: at the delivery limit the record may die, once."""
        self.may_have_died += count >= LEAST_LIMIT

    def on_reject_sent(self) -> None:
        """Record that a rejection was sent, so that the record may die."""
        self.may_have_died += 1

    def on_begun_again(self) -> None:
        """Record that the broker counts from 0, or may do so."""
        self.died = 0


class Breakers:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        rng = Random(f"breakers {seed}")
        self.on = is_about_breakers(seed)
        self._letters = rng.choice((1, 2, 2, 3))
        self._failed_commits = 0

    def properties(self) -> dict[str, str]:
        return {BREAKER_LETTERS: str(self._letters), BREAKER_WINDOW_MS: str(_A_DAY_MS)} if self.on else {}

    def look(self, group: Group) -> bool:
        """Return True if the group's breaker has paused it since the last call."""
        by_breaker = self._world.services.configs.share_group(group.id).paused_by == PAUSED_BY_BREAKER
        if not self.on or not by_breaker or group.pauses.by_breaker:
            return False
        self._world.seen["groups that their breaker paused"] += 1
        ledger = group.breaker
        ledger.pauses += 1
        ledger.on_begun_again()
        if ledger.pauses * self._letters > ledger.may_have_died:
            raise InvariantBroken(
                f"{group.id} was paused by its breaker {ledger.pauses} times: {self._letters} letters do that, and "
                f"{ledger.may_have_died} records may have died"
            )
        return True

    def check(self) -> None:
        """Check, while nothing is under way, that a group that is not paused has had too few deaths for its breaker."""
        if not self.on:
            return
        failed, refuses = self._world.seen["commits that failed"], self._world.folder.disk.refuses_clients()
        for group in self._world.groups:
            if failed != self._failed_commits or refuses or group.administered:
                group.breaker.on_begun_again()  # a pause that cannot be stored is tried again with the next letter
            elif group.breaker.died >= self._letters and not self._world.services.configs.share_group(group.id).paused:
                raise InvariantBroken(
                    f"{group.id} is not paused: {group.breaker.died} records have died, {self._letters} are too many"
                )
        self._failed_commits = failed

    def end(self) -> None:
        """Switch the breakers off, so that the remaining records can be drained."""
        for group in self._world.groups if self.on else ():
            group.set_breaker(0)
        self.on = False
