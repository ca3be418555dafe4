"""Seeds in which failed records wait: `shareq.redelivery.backoff.*`, with crashes and a wall clock that is set.

The waits and their ends are derived from the clients' view, the settings and the clock, and compared with the broker:
no record waits too long, due records are delivered to waiting fetches, and the waits are persisted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.partition import RangeView
from shareq.broker.share.fetch import ShareFetch
from shareq.broker.share.leader import LeaderState, Parked, SharePartitionLeader
from shareq.coordinator.ports import RedeliveryBackoff
from shareq.coordinator.share.share_state import ShareState
from shareq.protocol.share import RecordState
from tests.simulation.errors import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

Place = tuple[int, int]

# Numbers of which none is a known seed of another fault, so that those live as they did.
_AMONG: Final = ((21, 19), (22, 14), (23, 21))
_SHARE_SEEDS_ALONE: Final = (5, 4), (10, 3)
NO_BACKOFF: Final = RedeliveryBackoff()
STEPS_MS: Final = (0, 0, 700, -700, 20_000, -20_000)


def is_about_waits(seed: int) -> bool:
    """Return True for about one seed in ten; for none about jobs or storage."""
    if any(seed % every == rest for every, rest in _SHARE_SEEDS_ALONE):
        return False
    return any(seed % every == rest for every, rest in _AMONG)


def backoff_of(seed: int) -> RedeliveryBackoff:
    """Return the constant backoff of the seed's groups. The drain waits longer than the longest backoff."""
    if not is_about_waits(seed):
        return RedeliveryBackoff()
    rng = Random(f"backoff {seed}")
    return RedeliveryBackoff(
        rng.choice((300, 1_000, 2_500)), rng.choice((3_000, 6_000)), rng.choice((1.0, 2.0)), rng.choice((0.0, 0.5))
    )


def properties_of(backoff: RedeliveryBackoff) -> dict[str, str]:
    if not backoff.initial_ms:
        return {}
    names = ("max.ms", "multiplier", "jitter", "ms")
    values = (backoff.max_ms, backoff.multiplier, backoff.jitter, backoff.initial_ms)
    return {f"shareq.redelivery.backoff.{name}": str(value) for name, value in zip(names, values, strict=True)}


@dataclass
class Waits:
    """The times when failed records of one group may be delivered again, as far as clients can know."""

    backoff: RedeliveryBackoff = NO_BACKOFF
    # The delivery count, and when that delivery can have failed at the earliest.
    failed: dict[Place, tuple[int, int]] = field(default_factory=dict)
    # Until when those wait that members gave back with a time, as was answered.
    given: dict[Place, int] = field(default_factory=dict)
    checked: int = 0

    def on_delivered(self, place: Place, count: int, now_ms: int, lock_ends_ms: int) -> None:
        """Note the `count`-th delivery of a record; without an acknowledgement it fails at `lock_ends_ms`."""
        before, given = self.failed.get(place), self.given.pop(place, None)
        if given is not None or (before is not None and count == before[0] + 1):
            due = before[1] + self._least(before[0]) if given is None and before is not None else given or 0
            if now_ms < due:
                raise InvariantBroken(f"{place} was delivered at {now_ms}, before its time: it waits until {due}")
            self.checked += 1
        if self.backoff.initial_ms:
            self.failed[place] = (count, lock_ends_ms)

    def on_failed(self, place: Place, now_ms: int) -> None:
        known = self.failed.get(place)
        if known is not None:
            self.failed[place] = (known[0], min(known[1], now_ms))

    def on_given_back(self, place: Place, until_ms: int) -> None:
        """Note a confirmed release with a delay: the record waits until `until_ms`."""
        self.given[place] = until_ms

    def forget(self, slot: int | None = None) -> None:
        self.failed = {} if slot is None else {place: each for place, each in self.failed.items() if place[0] != slot}
        self.given = {} if slot is None else {place: each for place, each in self.given.items() if place[0] != slot}

    def on_lost(self, place: Place) -> None:
        """Note a delivery that failed at an unknown time, or was released with an unknown delay."""
        self.failed.pop(place, None)
        self.given.pop(place, None)

    def on_clock_set(self, step_ms: int) -> None:
        """Note that the broker has started with another wall clock; one that was set forward ends waits early."""
        if step_ms > 0:
            self.failed = {place: (count, at - step_ms) for place, (count, at) in self.failed.items()}
            self.given = {place: at - step_ms for place, at in self.given.items()}

    def _least(self, count: int) -> int:
        backoff = self.backoff
        wait = min(backoff.initial_ms * backoff.multiplier ** (count - 1) * (1 - backoff.jitter), backoff.max_ms)
        return int(wait) - 1


def check_waits(world: World) -> None:
    """Check, after some time, that no due record waits, that none waits too long, and that no fetch waits in vain."""
    for group in world.groups:
        for slot in world.topics.live:
            leader = world.services.share.partitions.get(world.key(group, slot))
            if leader is None or leader.state is not LeaderState.ACTIVE:
                continue
            ranges = leader.core.snapshot()
            _check_times(group, ranges, world.clock.now_ms(), slot.index)
            if world.dates.on:
                world.dates.check_half(leader.core, slot.index)
            if world.shares.on:
                world.shares.check(leader.core, slot.index)
            if (
                not group.administered
                and not group.pauses.paused
                and any(_waits_for_records(world, leader, each) for each in leader.waiters)
            ):
                _check_nothing_is_there(world, leader, ranges, slot.index)


def _waits_for_records(world: World, leader: SharePartitionLeader, fetch: Parked) -> bool:
    """Return False for the fetch of a member that let locks expire, and so leaves the records to others.

    That may have ended since the fetch last woke; then the fetch gets the records at the end of its wait.
    """
    if isinstance(fetch, ShareFetch) and leader.is_for_others(fetch.member_id, now_ms=0):
        world.seen["fetches that left records to others"] += 1
        return False
    return True


def _check_times(group: Group, ranges: Sequence[RangeView], now_ms: int, index: int) -> None:
    for view in ranges:
        if view.not_before_ms is None:
            continue
        group.world.seen["ranges that wait"] += 1
        if view.not_before_ms <= now_ms:
            raise InvariantBroken(f"slot {index}: at {now_ms} it still waits: {view}")
        if view.not_before_ms > now_ms + max(group.ledger.waits.backoff.max_ms, group.world.dates.furthest_ms()):
            raise InvariantBroken(f"slot {index}: at {now_ms} it waits longer than it may: {view}")


def _check_nothing_is_there(
    world: World, leader: SharePartitionLeader, ranges: Sequence[RangeView], index: int
) -> None:
    core, log = leader.core, leader.log
    end = log.last_stable_offset
    for view in ranges:
        free = view.state is RecordState.AVAILABLE and not view.pending and view.not_before_ms is None
        if (
            free
            and not view.waits_for_key
            and max(view.first_offset, log.log_start_offset) < min(view.last_offset + 1, end)
        ):
            raise InvariantBroken(f"slot {index}: fetches wait although there is {view}")
    following = core.end_offset + (core.in_flight_batches > 0)
    room = core.settings.partition_max_record_locks - core.in_flight_records + world.shares.room(core, ranges)
    following = max(following, log.log_start_offset)
    if not core.start_is_durable or room <= 0 or following >= end:
        return
    if not world.dates.stays_behind(core, (index, following)):
        raise InvariantBroken(f"slot {index}: fetches wait although there are records from {following} to {end}")


def check_persisted(world: World, ranges: Sequence[RangeView], state: ShareState, index: int) -> None:
    """Check that waits in memory are persisted.

    A record persisted as available with a delivery count is persisted together with its waiting time.
    """
    ahead = world.clock.wall_ms() - world.clock.now_ms()
    counts = {
        offset: batch.delivery_count
        for batch in state.batches
        if batch.delivery_state == RecordState.AVAILABLE
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    times = {offset: (count, time) for first, last, time, count in state.delays for offset in range(first, last + 1)}
    for view in ranges:
        if view.not_before_ms is None:
            continue
        for offset in range(view.first_offset, view.last_offset + 1):
            if counts.get(offset) != view.delivery_count:
                continue  # it is in memory alone: its state write has failed
            if world.dates.explains((index, offset), view.not_before_ms + ahead):
                continue  # its sender made it wait
            count, time = times.get(offset, (0, 0))
            if count != view.delivery_count or time < view.not_before_ms + ahead:
                raise InvariantBroken(f"{(index, offset)} waits until {view.not_before_ms}, persisted is {count, time}")
