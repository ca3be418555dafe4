"""The topics of a seed: created, grown, deleted, and created again under the same name.

A partition of one incarnation of a topic is a slot. Its number stands for it in the ledgers and is never used again, so
that whatever the broker carries over from a deleted topic to its successor turns up in the wrong slot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shareq.broker.metadata.store import NewTopic
from tests.simulation.ledger import InvariantBroken, RecordLedger

if TYPE_CHECKING:
    from tests.simulation.world import World

TOPIC, SECOND = "topic", "second"
NAMES: Final = (TOPIC, SECOND)
MOST_PARTITIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Slot:
    index: int
    topic: str
    topic_id: bytes
    partition: int


class Topics:
    """The existing topics, as far as the answers show, and the records put into them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.records = RecordLedger()
        self.slots: list[Slot] = []  # by index, also those of deleted topics
        self.live: list[Slot] = []
        self._by_partition: dict[tuple[bytes, int], Slot] = {}
        self._known: dict[str, tuple[bytes, int]] = {}  # topic id and partitions, of what exists
        self._under_way: str | None = None  # a change of this topic was cut off: it happened, or it did not
        least = max(world.dates.least_segment(), world.shares.least_segment())
        self._segment = str(max(world.rng.choice((300, 1_500, 1 << 20)), least))

    def slot(self, topic_id: bytes, partition: int) -> Slot:
        """Return a partition that exists or existed. Raises KeyError for one that never did."""
        return self._by_partition[topic_id, partition]

    def is_live(self, index: int) -> bool:
        slot = self.slots[index]
        return self._known.get(slot.topic, (b"", 0))[0] == slot.topic_id

    def of(self, name: str) -> list[Slot]:
        return [slot for slot in self.live if slot.topic == name]

    def at(self, name: str, partition: int) -> Slot | None:
        topic_id, _ = self._known.get(name, (b"", 0))
        slot = self._by_partition.get((topic_id, partition))
        return slot if slot is not None and self.is_live(slot.index) else None

    # -- what happens to them

    def create(self, name: str) -> None:
        partitions = 2 if name == TOPIC else 1
        new = NewTopic(name, partitions, {"internal.segment.bytes": self._segment})
        if self._change(name, f"topic {name} is created", lambda: self._world.folder.metadata.create_topic(new)):
            self._world.seen["topics created"] += 1

    def grow(self, name: str) -> None:
        if name not in self._known:
            return
        count = self._known[name][1] + 1
        if count <= MOST_PARTITIONS and self._change(
            name,
            f"topic {name} grows to {count} partitions",
            lambda: self._world.folder.metadata.create_partitions({name: count}),
        ):
            self._world.seen["partitions added"] += 1

    def delete(self, name: str) -> None:
        if self._change(name, f"topic {name} is deleted", lambda: self._world.folder.metadata.delete_topics((name,))):
            self._world.seen["topics deleted"] += 1

    def act(self) -> None:
        rng = self._world.rng
        name = rng.choice(NAMES)
        if name not in self._known:
            self.create(name)
        elif rng.random() < 0.4:
            self.delete(name)
        else:
            self.grow(name)

    def _change(self, name: str, what: str, change: Callable[[], object]) -> bool:
        self._world.note(what)
        self._under_way = name  # stays when the broker dies over it
        try:
            change()
        except OSError as error:
            self._world.note(f"... and was not: {error}")
            self._under_way = None
            self.adopt()
            return False
        self.adopt()
        return True

    def adopt(self) -> None:
        """Adopt the metadata's topics, which must agree with the answers."""
        metadata = self._world.services.metadata
        for name in NAMES:
            image = metadata.topic(name)
            now = None if image is None else (image.topic_id, image.partitions)
            before = self._known.get(name)
            if now != before and name != self._under_way:
                raise InvariantBroken(f"topic {name} is {now}, answered was {before}")
            if now is None:
                self._known.pop(name, None)
            else:
                self._known[name] = now
                for partition in range(now[1]):
                    if (now[0], partition) not in self._by_partition:
                        slot = Slot(len(self.slots), name, now[0], partition)
                        self.slots.append(slot)
                        self._by_partition[now[0], partition] = slot
        self._under_way = None
        gone = [slot for slot in self.live if not self.is_live(slot.index)]
        self.live = [slot for slot in self.slots if self.is_live(slot.index)]
        for slot in gone:
            self._world.on_slot_gone(slot)
