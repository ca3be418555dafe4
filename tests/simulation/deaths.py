"""Dead letters in a seed's world (KIP-1191): which letters must be in the queues at the end, and which must not.

A group has a queue of its own, and mostly keeps its dead records (`shareq.dlq.keep`). Then each record whose REJECT was
answered, or that reached the delivery limit, has a letter in the end, whatever crashed and failed. A letter of a record
that cannot have died, or with another record's content, is always an error.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.records.batch import Record
from shareq.protocol.share import RecordState
from tests.simulation.ledger import GroupLedger, InvariantBroken, Place
from tests.simulation.reading import records_of
from tests.simulation.storage import is_about_storage

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

FIRST_SEED: Final = 1_000_000
"""The first seed with dead-letter queues; the events of lower seeds stay as they were before."""

LONGEST_WAIT_MS: Final = 40_000  # between two tries of a letter
LEAST_LIMIT: Final = 2


def is_about_dead_letters(seed: int) -> bool:
    return seed >= FIRST_SEED and seed % 5 != 4 and not is_about_storage(seed)


class Deaths:
    """The clients' knowledge of deaths in one group; it outlives the group."""

    def __init__(self) -> None:
        self.may_be_dead: set[Place] = set()
        self.rejected: dict[Place, tuple[GroupLedger, int]] = {}  # an answered REJECT, by the state it was about

    def on_delivered(self, place: Place, count: int) -> None:
        if count >= LEAST_LIMIT:
            self.may_be_dead.add(place)

    def on_reject_sent(self, place: Place) -> None:
        self.may_be_dead.add(place)

    def on_rejected(self, place: Place, ledger: GroupLedger) -> None:
        self.rejected[place] = (ledger, ledger.generations[place[0]])


class Queues:
    """The dead-letter queues of a world, their faults, and the final check."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = rng = Random(f"deaths {seed}")
        self.on = is_about_dead_letters(seed)
        self.keeps = rng.random() < 0.75
        self.copies = rng.random() < 0.85
        self.creates = rng.random() < 0.6
        self._room = rng.choice(("1500", "1048588"))

    def properties(self) -> dict[str, str]:
        return {"errors.deadletterqueue.auto.create.topics.enable": str(self.creates).lower()} if self.on else {}

    def configure(self, group: Group) -> None:
        if not self.on:
            return
        self._world.note(f"{group.id}: queue, keeps={self.keeps} copies={self.copies} creates={self.creates}")
        values = {
            "errors.deadletterqueue.topic.name": self.name_of(group),
            "errors.deadletterqueue.copy.record.enable": str(self.copies).lower(),
            "shareq.dlq.keep": str(self.keeps).lower(),
        }
        resource = ResourceName("group", group.id)
        changes = [PutConfig(resource, *each) for each in values.items()]
        assert not self._world.services.metadata.alter_configs(changes).value
        if not self.creates:
            self._make(group)

    def act(self) -> None:
        """Begin or end a fault of a queue: disabled, too small, wrong prefix."""
        world = self._world
        name = self.name_of(self._rng.choice(world.groups))
        if world.services.metadata.topic(name) is None:
            return
        key, values = self._rng.choice(
            (
                ("errors.deadletterqueue.group.enable", ("false", "true", "true")),
                ("max.message.bytes", ("100", "1500", "1048588")),
            )
        )
        value = self._rng.choice(values)
        world.note(f"{name}: {key}={value}")
        world.seen["troubles of dead-letter queues"] += 1
        self._set(name, key, value)

    def finish(self) -> None:
        if not self.on:
            return
        world = self._world
        for group in world.groups:
            name = self.name_of(group)
            if world.services.metadata.topic(name) is not None:
                self._set(name, "errors.deadletterqueue.group.enable", "true")
                self._set(name, "max.message.bytes", "1048588")
            elif not self.creates:
                self._make(group)
        world.advance(LONGEST_WAIT_MS)
        world.settle()

    # -- the end

    def check(self) -> None:
        if not self.on:
            return
        world = self._world
        world.advance(LONGEST_WAIT_MS)
        world.settle()
        for group in world.groups:
            letters = self._letters(group)
            world.seen["dead letters"] += len(letters)
            for letter in letters:
                self._check_letter(group, letter)
            if self.keeps:
                self._check_all_there(group, letters)
            for core in world.cores(group).values():
                left = [view for view in core.snapshot() if view.state is RecordState.ARCHIVING]
                if left:
                    raise InvariantBroken(f"{group.id}: {left} are still archiving")

    def _check_letter(self, group: Group, letter: Record) -> None:
        if _text(letter, "group") != group.id:
            raise InvariantBroken(f"{group.id} has a dead letter of group {_text(letter, 'group')}")
        if letter.value is None or _is_marker(letter):
            return
        records = self._world.topics.records
        slot = records.sent.get(letter.value)
        if slot is None:
            raise InvariantBroken(f"a dead letter holds {letter.value!r}, which nobody sent")
        place = (slot, int(_text(letter, "offset")))
        known = records.values.get(slot, {}).get(place[1], letter.value)
        if known != letter.value:
            raise InvariantBroken(f"a dead letter says {place} was {letter.value!r}, it was {known!r}")
        made_ms = int(_text(letter, "timestamp") or letter.timestamp)
        self._world.expiries.check_letter(place, letter, made_ms)
        may_be_dead = place in group.deaths.may_be_dead or letter.value in records.refused
        if not may_be_dead and not self._world.expiries.may_have_expired(letter.value):
            raise InvariantBroken(f"{place} has a dead letter, and cannot have died")

    def _check_all_there(self, group: Group, letters: list[Record]) -> None:
        world = self._world
        values = {letter.value for letter in letters if letter.value is not None}
        bare = {(_text(each, "topic"), int(_text(each, "partition")), int(_text(each, "offset"))) for each in letters}
        starts = {slot.index: world.log(slot).log_start_offset for slot in world.topics.live}
        for place in sorted(self._dead(group)):
            slot, offset = place
            if slot not in starts or offset < starts[slot]:
                continue  # what has left the log may be lost with a crash
            at = world.topics.slots[slot]
            value = world.topics.records.values.get(slot, {}).get(offset)
            if value not in values and (at.topic, at.partition, offset) not in bare:
                raise InvariantBroken(f"{place} of {group.id} has died without a dead letter: {value!r}")
            world.seen["deaths with a letter"] += 1
        copies = Counter(letter.value for letter in letters if letter.value is not None)
        world.seen["dead letters twice"] += sum(number - 1 for number in copies.values())

    def _dead(self, group: Group) -> set[Place]:
        ledger, records = group.ledger, self._world.topics.records
        rejected = {
            place
            for place, (known_to, generation) in group.deaths.rejected.items()
            if known_to is ledger and ledger.generations[place[0]] == generation
        }
        rejected |= {
            (slot.index, offset)
            for slot in self._world.topics.live
            for offset, value in ledger.written(slot.index, self._world.log(slot).log_start_offset)
            if value in records.refused and (slot.index, offset) not in ledger.perhaps_over
        }
        given_up = {
            place
            for place in ledger.at_limit - ledger.finished - ledger.perhaps_over
            if ledger.maybe_finished[place] <= 0 and ledger.times[place]
        }
        if not ledger.was_committed:
            return rejected | given_up
        return rejected | {
            place
            for place in given_up
            if (value := records.values.get(place[0], {}).get(place[1])) is not None and records.is_committed(value)
        }

    def _letters(self, group: Group) -> list[Record]:
        name = self.name_of(group)
        topic = self._world.services.metadata.topic(name)
        partitions = range(0 if topic is None else topic.partitions)
        logs = [self._world.folder.logs.get(name, partition) for partition in partitions]
        return [letter for log in logs for letter in records_of(log)]

    # -- inside

    def name_of(self, group: Group) -> str:
        return f"dlq.{group.id}"

    def _make(self, group: Group) -> None:
        configs = {"errors.deadletterqueue.group.enable": "true", "max.message.bytes": self._room}
        self._world.folder.metadata.create_topic(NewTopic(self.name_of(group), 1, configs))

    def _set(self, topic: str, key: str, value: str) -> None:
        failure = self._world.services.metadata.alter_configs([PutConfig(ResourceName("topic", topic), key, value)])
        if failure.value:
            self._world.note(f"... and was not set: {failure.value.message}")


def _is_marker(letter: Record) -> bool:
    """Return whether the letter is a copy of a transaction marker, which is an ordinary record to a read_uncommitted
    group.
    """
    return len(letter.key or b"") == 4 and letter.value == bytes(6)


def _text(letter: Record, name: str) -> str:
    key = f"__dlq.errors.{name}"
    return next(((value or b"").decode() for header, value in reversed(letter.headers) if header == key), "")
