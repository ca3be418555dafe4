"""The journal of a migration: a compacted topic at the target, so that any machine can go on. Pure.

Keys and values are JSON. What is about to be done is written before it is done, and what was done afterwards, so that a
run that is killed leaves nothing at the target that the next one does not know for its own.

    {"kind": "migration"}                               the source's cluster id, the producer of all that is written
    {"kind": "topic", "topic"}                          its id; whether its properties are final
    {"kind": "position", "id", "partition"}             an offset sync: where the copy is
    {"kind": "verified", "id", "partition"}             an offset sync: up to where the target was read and compared
    {"kind": "sync", "id", "partition", "number"}       an offset sync that is kept
    {"kind": "offsets", "group", "id", "partition"}     the offset committed for a consumer group; whether it is done
    {"kind": "state", "group", "id", "partition"}       the start of a share group's state that is written; as above

`id` is that of the topic at the target: of one that was deleted there, and is copied once more, nothing counts.

It is never behind by more than the copy can find out: what is between a position and the end of the target's log was
copied from the same records in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from shareq.ops.migrate.offset_syncs import OffsetSync

FORMAT: Final = 1
Copied = tuple[str, int]
"""A partition at the target, by its topic's id."""
OfGroup = tuple[str, str, int]
"""Group, topic's id, partition."""
Entry = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Key and value."""


class NotAJournal(ValueError):
    """Records that no release of this command wrote, or a newer one."""


class MovedTopic(NamedTuple):
    """A topic of the target that the migration makes. `topic_id` is "" before it is known to be made; a final one is
    opened for producers, and copied no more.
    """

    topic_id: str = ""
    is_final: bool = False


class Handed(NamedTuple):
    """An offset that a group gets at the target; `is_done` once it has it, and is its own from then on."""

    offset: int
    is_done: bool


def name_of(source_cluster_id: str) -> str:
    """Return the name of the topic at the target."""
    return f"shareq-migrate.{source_cluster_id}.internal"


class Journal:
    """The journal's entries, replayed. Changed by `replay` alone."""

    def __init__(self) -> None:
        self.source = ""
        self.producer = (-1, -1)
        self.topics: dict[str, MovedTopic] = {}
        self.positions: dict[Copied, OffsetSync] = {}
        self.verified: dict[Copied, OffsetSync] = {}
        self.syncs: dict[Copied, list[OffsetSync]] = {}
        self.offsets: dict[OfGroup, Handed] = {}
        self.states: dict[OfGroup, Handed] = {}

    def replay(self, key: bytes, value: bytes) -> None:
        """Take in a record. Raises NotAJournal."""
        try:
            self._replay(json.loads(key), json.loads(value))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise NotAJournal(f"a record is not understood: {error!r}") from None

    def _replay(self, key: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        match key["kind"]:
            case "migration":
                if value["format"] != FORMAT:
                    raise NotAJournal(f"format {value['format']}, where this release has {FORMAT}")
                self.source = str(value["source"])
                self.producer = int(value["producer"][0]), int(value["producer"][1])
            case "topic":
                self.topics[key["topic"]] = MovedTopic(str(value["topic_id"]), bool(value["final"]))
            case "position":
                self.positions[_copied(key)] = _sync_of(value)
            case "verified":
                self.verified[_copied(key)] = _sync_of(value)
            case "sync":
                self._keep(_copied(key), int(key["number"]), _sync_of(value))
            case "offsets":
                self.offsets[key["group"], *_copied(key)] = Handed(int(value["offset"]), bool(value["done"]))
            case "state":
                self.states[key["group"], *_copied(key)] = Handed(int(value["offset"]), bool(value["done"]))
            case kind:
                raise NotAJournal(f"kind {kind!r}")

    def _keep(self, copied: Copied, number: int, sync: OffsetSync) -> None:
        """Compaction keeps the last record of each number, and their order."""
        found = self.syncs.setdefault(copied, [])
        if number < len(found):
            found[number] = sync
        elif number == len(found):
            found.append(sync)
        else:
            raise NotAJournal(f"sync {number} of partition {copied[1]}, where {len(found)} came before")

    def copied(self, topic: str, partition: int) -> Copied:
        """Return the topic id and the partition at the target. The topic is known to be made."""
        return self.topics[topic].topic_id, partition

    def syncs_of(self, copied: Copied) -> list[OffsetSync]:
        """Return the syncs of a partition, ascending; the last is where its copy is. Empty before it has begun."""
        found = list(self.syncs.get(copied, ()))
        position = self.positions.get(copied)
        if position is not None and (not found or position.upstream > found[-1].upstream):
            found.append(position)
        return found


def migration(source: str, producer: tuple[int, int]) -> Entry:
    """Return the entry that begins a migration."""
    return {"kind": "migration"}, {"format": FORMAT, "source": source, "producer": list(producer)}


def topic(name: str, moved: MovedTopic) -> Entry:
    """Return the entry of a topic."""
    return {"kind": "topic", "topic": name}, {"topic_id": moved.topic_id, "final": moved.is_final}


def position(copied: Copied, sync: OffsetSync) -> Entry:
    """Return the entry of a copy's position."""
    return _key("position", copied), sync._asdict()


def verified(copied: Copied, sync: OffsetSync) -> Entry:
    """Return the entry of what was compared."""
    return _key("verified", copied), sync._asdict()


def kept(copied: Copied, number: int, sync: OffsetSync) -> Entry:
    """Return the entry of a sync that is kept; `number` counts from 0."""
    return _key("sync", copied) | {"number": number}, sync._asdict()


def offsets(group: str, copied: Copied, handed: Handed) -> Entry:
    """Return the entry of a consumer group's offset."""
    return _key("offsets", copied) | {"group": group}, {"offset": handed.offset, "done": handed.is_done}


def state(group: str, copied: Copied, handed: Handed) -> Entry:
    """Return the entry of a share group's state."""
    return _key("state", copied) | {"group": group}, {"offset": handed.offset, "done": handed.is_done}


def encoded(entry: Entry) -> tuple[bytes, bytes]:
    """Return key and value as they are written: the same bytes for the same key, since compaction compares them."""
    key, value = (json.dumps(part, sort_keys=True, separators=(",", ":")).encode() for part in entry)
    return key, value


def _key(kind: str, copied: Copied) -> dict[str, Any]:
    return {"kind": kind, "id": copied[0], "partition": copied[1]}


def _copied(key: Mapping[str, Any]) -> Copied:
    return str(key["id"]), int(key["partition"])


def _sync_of(value: Mapping[str, Any]) -> OffsetSync:
    return OffsetSync(*(int(value[name]) for name in OffsetSync._fields))
