"""The times from which on committed offsets may expire, and by which they must have, as clients can know them.

They do not expire while members of their group read the topic, or while a transaction has pending offsets there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.jobs import offsets
from tests.simulation.ledger import InvariantBroken

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup


class Retention:
    """The rules by which one group's offsets may have expired, or must have. Times are wall-clock ms."""

    def __init__(self, group: JobGroup) -> None:
        self._group = group
        self._world = group.world
        self._occupied_ms = 0  # when it was seen last with members
        self._empty_ms: int | None = None  # when it was seen first without any since then
        self._pending: set[tuple[str, int]] = set()  # topics and partitions, when it was looked at last
        self._stable_ms: dict[tuple[str, int], int] = {}  # when they were seen first without pending ones again

    def look(self) -> None:
        """Note which offsets may have expired; the group's shard is available."""
        group, now = self._group, self._world.clock.wall_ms()
        shard = group.shard()
        if shard is not None:
            before, self._pending = self._pending, set(shard.offsets.store.pending(group.id))
            self._stable_ms |= dict.fromkeys(before - self._pending, now)
        live = group.live()
        if live is not None and not live.is_empty:
            self._occupied_ms, self._empty_ms = now, None
            return
        if self._empty_ms is None:
            self._empty_ms = now
        pending = offsets.pending(group)
        for slot, register in group.ledger.registers().items():
            # A classic group keeps them from when it lost its last member, one of KIP-848 from the commit.
            since = max(register.since_ms, self._occupied_ms) if group.protocol == "classic" else register.since_ms
            if slot not in pending and now >= since + self.retention_ms:
                register.may_have_expired = True

    def audit(self) -> None:
        """Check, while nothing is in progress, that expired offsets are gone by the second check for them."""
        group, world, now = self._group, self._world, self._world.clock.wall_ms()
        shard = group.shard()
        if shard is None or self._empty_ms is None or world.faults.happened:
            return
        pending = shard.offsets.store.pending(group.id)
        for topic, partitions in shard.offsets.store.of(group.id).items():
            for partition, committed in partitions.items():
                over = max(committed.commit_ms, self._empty_ms) + self.retention_ms
                over = max(over, self._stable_ms.get((topic, partition), 0), world.jobs.began_ms)
                if now > over + 2 * self._interval_ms and (topic, partition) not in pending:
                    raise InvariantBroken(f"{group.id}: the offset of {topic}-{partition} has expired and stays")

    @property
    def retention_ms(self) -> int:
        return self._world.config.offsets_retention_minutes * 60_000

    @property
    def _interval_ms(self) -> int:
        return self._world.config.offsets_retention_check_interval_ms
