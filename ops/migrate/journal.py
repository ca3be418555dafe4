"""The journal of a migration: a compacted topic at the target, so that any machine can continue. Pure.

Keys and values are JSON. Each change is recorded before it is made, and again afterwards, so that a killed run leaves
nothing at the target that the next one does not recognise as its own.

    {"kind": "migration"}                               the source's cluster id, the producer of all that is written
    {"kind": "topic", "topic"}                          its id; whether its properties are final
    {"kind": "position", "id", "partition"}             an offset sync: where the copy is; the syncs that are kept, and
                                                        the runs behind the last of them
    {"kind": "verified", "id", "partition"}             an offset sync: up to where the target was read and compared
    {"kind": "sync", "id", "partition", "number"}       an offset sync that is kept, and the runs in front of it
    {"kind": "offsets", "group", "id", "partition"}     the offset committed for a consumer group; whether it is done
    {"kind": "state", "group", "id", "partition"}       the start of a share group's state; as above; its ranges, and
                                                        whether the target takes these

`id` is the id of the topic at the target: entries about a topic deleted there do not count for its new copy.

It is never further behind than the copy can find out: records between a position and the end of the target's log were
copied from the same records in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from shareq.ops.migrate.group_ports import StateRange
from shareq.ops.migrate.offset_syncs import OffsetSync

FORMAT: Final = 2
Copied = tuple[str, int]
"""A partition at the target, by its topic's id."""
OfGroup = tuple[str, str, int]
"""A group, a topic's id, and a partition."""
Entry = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A key and a value."""


class NotAJournal(ValueError):
    """A topic whose records were not written by this command, or by a newer release."""


class MovedTopic(NamedTuple):
    """A topic of the target that the migration creates.

    `topic_id` is "" until its creation is known; a final topic is open for producers, and is not copied any longer.
    """

    topic_id: str = ""
    is_final: bool = False


class Handed(NamedTuple):
    """An offset that a group gets at the target; `is_done` once the group has it, and may change it. For a share group,
    `ranges` are the known states of the records behind it; the target may or may not accept them (`takes_ranges`).
    """

    offset: int
    is_done: bool = False
    ranges: tuple[StateRange, ...] = ()
    takes_ranges: bool = True


class _Kept(NamedTuple):
    """A kept sync. Its runs, which may be many, are in the journal's record at this offset."""

    sync: OffsetSync
    at: int


class _Tail(NamedTuple):
    """The runs from the last of so many kept syncs up to the position."""

    kept: int
    runs: Sequence[int]


def name_of(source_cluster_id: str) -> str:
    """Return the name of the journal's topic at the target."""
    return f"shareq-migrate.{source_cluster_id}.internal"


class Journal:
    """The journal's entries, replayed. Only `replay` changes them."""

    def __init__(self) -> None:
        self.source = ""
        self.producer = (-1, -1)
        self.topics: dict[str, MovedTopic] = {}
        self.positions: dict[Copied, OffsetSync] = {}
        self.verified: dict[Copied, OffsetSync] = {}
        self._kept: dict[Copied, dict[int, _Kept]] = {}
        self._tails: dict[Copied, _Tail] = {}
        self.offsets: dict[OfGroup, Handed] = {}
        self.states: dict[OfGroup, Handed] = {}

    def replay(self, key: bytes, value: bytes, at: int) -> None:
        """Apply the record at an offset. Raises NotAJournal."""
        try:
            self._replay(json.loads(key), json.loads(value), at)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise NotAJournal(f"a record is not understood: {error!r}") from None

    def _replay(self, key: Mapping[str, Any], value: Mapping[str, Any], at: int) -> None:
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
                self._tails[_copied(key)] = _Tail(int(value["kept"]), tuple(map(int, value["runs"])))
            case "verified":
                self.verified[_copied(key)] = _sync_of(value)
            case "sync":
                self._keep(_copied(key), int(key["number"]), _Kept(_sync_of(value), at))
            case "offsets":
                self.offsets[key["group"], *_copied(key)] = Handed(int(value["offset"]), bool(value["done"]))
            case "state":
                ranges = tuple(StateRange(*map(int, each)) for each in value["ranges"])
                handed = Handed(int(value["offset"]), bool(value["done"]), ranges, bool(value["takes_ranges"]))
                self.states[key["group"], *_copied(key)] = handed
            case kind:
                raise NotAJournal(f"kind {kind!r}")

    def _keep(self, copied: Copied, number: int, kept: _Kept) -> None:
        """Keep a sync, and drop kept ones with a higher number, which the target has lost.

        Compaction keeps the last record of each number, so higher ones may come first.
        """
        found = self._kept.setdefault(copied, {})
        for above in [each for each in found if each >= number]:
            del found[above]
        found[number] = kept

    def check(self) -> None:
        """Raise NotAJournal if a part of the replayed journal is missing."""
        for copied, found in self._kept.items():
            if len(found) <= max(found):
                raise NotAJournal(f"{len(found)} syncs of partition {copied[1]}, the last with number {max(found)}")

    def copied(self, topic: str, partition: int) -> Copied:
        """Return the topic id and the partition at the target. The journal must know the topic's id."""
        return self.topics[topic].topic_id, partition

    def syncs_of(self, copied: Copied) -> list[OffsetSync]:
        """Return the syncs of a partition, ascending; the last is the position of its copy.

        Empty before the copy has begun.
        """
        found = self.kept_of(copied)
        position = self.positions.get(copied)
        is_behind = position is not None and found and position.upstream > found[-1].upstream
        if is_behind and position is not None and self._tails[copied].kept == len(found):
            found.append(position)
        return found

    def kept_of(self, copied: Copied) -> list[OffsetSync]:
        """Return the kept syncs of a partition, ascending."""
        return [each.sync for each in self._kept.get(copied, {}).values()]

    def tail_of(self, copied: Copied) -> Sequence[int]:
        """Return the runs behind the last of these syncs, up to the last of `syncs_of`."""
        tail = self._tails.get(copied)
        return tail.runs if tail is not None and tail.kept == len(self._kept.get(copied, ())) else ()

    def runs_at(self, copied: Copied, number: int) -> int:
        """Return the offset of the journal's record with the runs before a kept sync."""
        return self._kept[copied][number].at


def migration(source: str, producer: tuple[int, int]) -> Entry:
    """Return the entry that begins a migration."""
    return {"kind": "migration"}, {"format": FORMAT, "source": source, "producer": list(producer)}


def topic(name: str, moved: MovedTopic) -> Entry:
    """Return the entry of a topic."""
    return {"kind": "topic", "topic": name}, {"topic_id": moved.topic_id, "final": moved.is_final}


def position(copied: Copied, sync: OffsetSync, kept: int, runs: Sequence[int]) -> Entry:
    """Return the entry of a copy's position, with the runs behind the last of so many kept syncs."""
    return _key("position", copied), {**sync._asdict(), "kept": kept, "runs": list(runs)}


def verified(copied: Copied, sync: OffsetSync) -> Entry:
    """Return the entry that notes compared records."""
    return _key("verified", copied), sync._asdict()


def kept(copied: Copied, number: int, sync: OffsetSync, runs: Sequence[int]) -> Entry:
    """Return the entry of a kept sync; `number` counts from 0. The runs are those behind the previous sync."""
    return _key("sync", copied) | {"number": number}, {**sync._asdict(), "runs": list(runs)}


def offsets(group: str, copied: Copied, handed: Handed) -> Entry:
    """Return the entry of a consumer group's offset."""
    return _key("offsets", copied) | {"group": group}, {"offset": handed.offset, "done": handed.is_done}


def state(group: str, copied: Copied, handed: Handed) -> Entry:
    """Return the entry of a share group's state."""
    value = {"offset": handed.offset, "done": handed.is_done, "takes_ranges": handed.takes_ranges}
    return _key("state", copied) | {"group": group}, {**value, "ranges": list(handed.ranges)}


def runs_in(value: bytes) -> list[int]:
    """Return the runs in a record's value. Raises NotAJournal."""
    try:
        return [int(each) for each in json.loads(value)["runs"]]
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise NotAJournal(f"a record is not understood: {error!r}") from None


def encoded(entry: Entry) -> tuple[bytes, bytes]:
    """Return key and value as written: the same bytes for the same key, since compaction compares them."""
    key, value = (json.dumps(part, sort_keys=True, separators=(",", ":")).encode() for part in entry)
    return key, value


def _key(kind: str, copied: Copied) -> dict[str, Any]:
    return {"kind": kind, "id": copied[0], "partition": copied[1]}


def _copied(key: Mapping[str, Any]) -> Copied:
    return str(key["id"]), int(key["partition"])


def _sync_of(value: Mapping[str, Any]) -> OffsetSync:
    return OffsetSync(*(int(value[name]) for name in OffsetSync._fields))
