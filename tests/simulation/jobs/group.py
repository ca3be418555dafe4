from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.coordinator.group.classic.group import ClassicGroup
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.routing import group_partition_for
from tests.simulation.jobs.ledger import OffsetLedger
from tests.simulation.jobs.retention import Retention
from tests.simulation.ledger import InvariantBroken
from tests.simulation.topics import TOPIC, Slot

if TYPE_CHECKING:
    from shareq.coordinator.group.shard import GroupCoordinatorShard
    from tests.simulation.jobs.worker import Worker
    from tests.simulation.world import World

PROTOCOLS: Final = ("classic", "classic", "consumer", "consumer", "mixed")


class JobGroup:
    """A group of a job.

    `copies`: its members copy what they read, in transactions; otherwise they commit offsets plainly. `committed`: they
    read with read_committed.
    """

    def __init__(self, world: World, group_id: str) -> None:
        rng = world.rng
        self.world = world
        self.id = group_id
        self.protocol = rng.choice(PROTOCOLS)
        self.copies = rng.random() < 0.75
        self.committed = rng.random() < 0.6
        self.ledger = OffsetLedger(group_id, world.clock.wall_ms)
        self.retention = Retention(self)
        self.workers: list[Worker] = []
        self.assigned: dict[int, list[frozenset[Slot]]] = {}  # what the leaders of each generation said
        self._kind: type | None = None  # of the live group, when it was last looked at
        self.member_left = False  # since it was seen with members
        self._occupied_ms = -1
        self._epoch = 0  # generation or group epoch that a member received, and that stands in the log
        self._members = 0

    def source(self) -> list[Slot]:
        return self.world.topics.of(TOPIC)

    def has_now(self) -> list[frozenset[Slot]]:
        return [worker.membership.assigned for worker in self.workers]

    def new_member_id(self) -> str:
        self._members += 1
        return f"{self.id}-{self._members}"

    # -- what members received

    def on_generation(self, generation: int) -> None:
        if generation < self._epoch and self.protocol != "mixed":
            raise InvariantBroken(f"{self.id}: generation {self._epoch} became {generation}")

    def on_synced(self, generation: int) -> None:
        self.on_generation(generation)
        self._epoch = max(self._epoch, generation)

    def on_epoch(self, epoch: int) -> None:
        self._epoch = max(self._epoch, epoch)

    # -- looking inside

    def shard(self) -> GroupCoordinatorShard | None:
        """Return the shard that has the group; None if there is none or it is unavailable."""
        partitions = self.world.services.groups.coordinator.partitions
        if not partitions.count:
            return None
        partition = partitions.get(group_partition_for(self.id, partitions.count))
        return None if partition.is_lost else partition.shard

    def live(self) -> ClassicGroup | ConsumerGroup | None:
        shard = self.shard()
        if shard is None:
            return None
        return shard.classic.group(self.id) or shard.consumer.group(self.id)

    def live_consumer_group(self) -> ConsumerGroup | None:
        live = self.live()
        return live if isinstance(live, ConsumerGroup) else None

    def has_member(self, member_id: str) -> bool:
        live = self.live()
        return live is not None and member_id in live.members

    def look(self) -> None:
        """Check that the group's epoch has not gone back, unless the group started over.

        It does when it is deleted, expires, or changes its kind without members.
        """
        if self.shard() is None:
            return
        self.retention.look()
        live = self.live()
        if live is None:
            self._is_gone()
            return
        self.world.seen["groups that changed their kind"] += self._kind not in (None, type(live))
        self._kind = type(live)
        if not live.is_empty:
            self._occupied_ms = self.world.clock.now_ms()
            self.member_left = False
        if self.protocol == "mixed":
            return
        epoch = live.generation if isinstance(live, ClassicGroup) else live.group_epoch
        if epoch < self._epoch:
            raise InvariantBroken(f"{self.id}: epoch {self._epoch} was answered, it became {epoch}")

    def _is_gone(self) -> None:
        had_members_just_now = self._occupied_ms == self.world.clock.now_ms() and not self.member_left
        if self._epoch and had_members_just_now:
            raise InvariantBroken(f"{self.id} is gone, it had members, and epoch {self._epoch} was answered")
        self.world.seen["groups that went"] += self._kind is not None
        self._kind, self._epoch = None, 0
        self.assigned.clear()
