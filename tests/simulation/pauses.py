"""Seeds in which share groups are paused and resumed (`shareq.paused`): nothing is delivered during a pause.

The broker's answers show which groups are paused. The broker must count no delivery for a paused group. After a
resumption, and some time, no fetch waits for available records (`waits.py`). Nothing is lost in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from tests.simulation.deaths import is_about_dead_letters
from tests.simulation.errors import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

FIRST_SEED: Final = 3_000_000


def is_about_pauses(seed: int) -> bool:
    return seed >= FIRST_SEED and is_about_dead_letters(seed)


@dataclass
class PauseLedger:
    """The pause of a group, as its operator knows it; it outlives the group."""

    paused: bool = False
    sure: bool = True  # that was answered, and a start has to find it
    asked: int = 0  # how often it was to be changed
    delivered: dict[SharePartitionKey, int] = field(default_factory=dict)  # before the pause, by this broker
    by_breaker: bool = False

    def on_asked(self) -> None:
        """Note a request to pause or resume: either may be true until the answer."""
        self.asked += 1
        self.sure = self.by_breaker = False

    def on_answered(self, paused: bool, delivered: dict[SharePartitionKey, int]) -> None:
        """Note the answer. `delivered` is what the broker has counted for the group so far."""
        self.paused, self.sure, self.delivered = paused, True, delivered

    def on_seen(self, group: Group, paused: bool, delivered: dict[SharePartitionKey, int]) -> None:
        """Note whether the group is paused, according to a broker that was started or has refused the change."""
        self._look_at_breaker(group)
        if self.sure and paused != self.paused:
            raise InvariantBroken(f"{group.id}: shareq.paused is {paused}, answered was {self.paused}")
        self.paused, self.delivered = paused, delivered

    def mark(self) -> int | None:
        """Return the mark of a fetch that is sent now; None if the group may get records."""
        return self.asked if self.paused and self.sure else None

    def on_answer(self, group: Group, mark: int | None, answer: ShareFetchResponse) -> None:
        if mark is None or mark != self.asked or not self.paused:
            return
        group.world.seen["fetches of paused groups"] += 1
        rows = [row for topic in answer.responses for row in topic.partitions]
        if any(row.acquired_records for row in rows):
            raise InvariantBroken(f"{group.id} was handed out records, and was paused before they were asked for")

    def look(self, group: Group) -> None:
        """Check during a pause that nothing was delivered since it began."""
        self._look_at_breaker(group)
        if not self.paused:
            return
        for key, count in delivered_by(group).items():
            before = self.delivered.get(key, 0)
            if count > before:
                raise InvariantBroken(f"{key.text()}: {count - before} records were handed out during a pause")
            self.delivered[key] = count  # counted again from 0, if its state was deleted

    def _look_at_breaker(self, group: Group) -> None:
        if group.world.breakers.look(group):
            self.on_asked()
            self.by_breaker = True
            self.on_answered(True, delivered_by(group))


def delivered_by(group: Group) -> dict[SharePartitionKey, int]:
    counted = group.world.services.share.partitions.counters.partitions
    return {key: each.deliveries for key, each in counted.items() if key.group_id == group.id}


class Pauses:
    """The operator who pauses the groups of a seed's world, and resumes them."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self.on = is_about_pauses(seed)

    def act(self) -> None:
        rng = self._world.rng
        rng.choice(self._world.groups).pause(paused=rng.random() < 0.6)

    def end(self) -> None:
        for group in self._world.groups:
            if group.pauses.paused or not group.pauses.sure:
                group.pause(paused=False)
            if group.pauses.paused:
                raise InvariantBroken(f"{group.id} cannot be resumed")
