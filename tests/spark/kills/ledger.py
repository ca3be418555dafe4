"""The judgement of a cell from four sources:

Spark's sink, its checkpoint, the other member, the source's journal. Pure.

A record is identified by its place, (partition, offset), and by its value, a number from the producer.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Place: TypeAlias = tuple[int, int]
"""(partition, offset)"""


class Row(NamedTuple):
    partition: int
    offset: int
    value: int

    @property
    def place(self) -> Place:
        return self.partition, self.offset


class Range(NamedTuple):
    """Offsets of one partition, both included."""

    partition: int
    first: int
    last: int

    def places(self) -> Iterable[Place]:
        return ((self.partition, offset) for offset in range(self.first, self.last + 1))


def content_hash(rows: Iterable[Row]) -> str:
    """Return a hash that is equal for equal rows in any order."""
    return hashlib.sha256(repr(sorted(tuple(row) for row in rows)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a micro-batch whose rows reached the sink."""

    batch_id: int
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Acquired:
    """The event of a session that acquired records and delivered them as a batch."""

    session: str
    ranges: Sequence[Range]


@dataclass(frozen=True, slots=True)
class Confirmed:
    ranges: Sequence[Range]


@dataclass(frozen=True, slots=True)
class Ended:
    """The event in which a session, or all, ended with its locks: a kill, a stop, or the broker's death."""

    session: str | None = None


Event: TypeAlias = Acquired | Confirmed | Ended


@dataclass(frozen=True, slots=True)
class Checkpoint:
    logged: Mapping[int, Collection[Range]] = field(default_factory=dict)
    """The ranges of each micro-batch in the offset log."""
    committed: Collection[int] = ()
    """The micro-batches in the commit log."""

    @property
    def open(self) -> set[int]:
        """The micro-batches that are in the offset log, but not in the commit log."""
        return self.logged.keys() - set(self.committed)


@dataclass(frozen=True, slots=True)
class Witnesses:
    produced: Mapping[Place, int]
    """The value of each record that the broker confirmed."""
    attempts: Sequence[Attempt]
    """The attempts in the order in which they reached the sink."""
    at_kill: Checkpoint
    at_starts: Sequence[Checkpoint]
    """The checkpoint that each start of the query after the kill found."""
    at_end: Checkpoint
    events: Sequence[Event]
    """The events of the source, in order."""
    competitor: Mapping[Place, int] = field(default_factory=dict)
    """Records whose ACCEPT by the other member was confirmed."""
    unknown: Mapping[Place, int] = field(default_factory=dict)
    """Records that the other member worked on and whose ACCEPT was cut off: the broker may know of it or not."""


@dataclass(frozen=True, slots=True)
class Verdict:
    lost: Sequence[Place]
    doubled: Sequence[Place]
    """The places of records in more than one micro-batch of the checkpoint, or twice in one."""
    replayed: Sequence[int]
    """Micro-batches that a start found in the offset log and not in the commit log: Spark ran them again."""
    compared: Sequence[int]
    """Micro-batches that the sink got more than once."""
    changed: Sequence[int]
    """Micro-batches that differ when they come again, or from the offset log."""
    shared: Sequence[Place]
    """Records of Spark and the other member whose lock Spark lost before the ACCEPT: the contract allows it."""
    stolen: Sequence[Place]
    """Records of Spark and the other member that Spark held or had acknowledged: the contract forbids it."""
    altered: Sequence[Place]
    """Records whose value differs from the one that was produced at their place."""
    records: int
    in_spark: int
    in_competitor: int
    cut_off: int

    @property
    def faults(self) -> list[str]:
        """The breaches of the contract, in words; empty if there are none."""
        found = (
            (self.lost, "lost"),
            (self.doubled, "twice within Spark"),
            (self.changed, "micro-batches that changed"),
            (self.stolen, "given to the other member while Spark held or had acknowledged them"),
            (self.altered, "with another value"),
        )
        return [f"{len(one)} {what}: {_some(one)}" for one, what in found if one]


def judge(seen: Witnesses) -> Verdict:
    batches = _batches_by_place(seen.attempts)
    both = sorted(batches.keys() & seen.competitor.keys())
    open_to_others = _lost_before_accept(seen.events)
    repeats = sorted(batch for batch, hashes in _hashes(seen.attempts).items() if len(hashes) > 1)
    return Verdict(
        lost=sorted(seen.produced.keys() - batches.keys() - seen.competitor.keys() - seen.unknown.keys()),
        doubled=sorted(_doubled(batches, seen.attempts)),
        replayed=_replayed(seen),
        compared=repeats,
        changed=sorted(_changed(seen)),
        shared=[place for place in both if place in open_to_others],
        stolen=[place for place in both if place not in open_to_others],
        altered=sorted(_altered(seen)),
        records=len(seen.produced),
        in_spark=len(batches),
        in_competitor=len(seen.competitor),
        cut_off=len(seen.unknown),
    )


def _batches_by_place(attempts: Iterable[Attempt]) -> dict[Place, set[int]]:
    batches: dict[Place, set[int]] = defaultdict(set)
    for attempt in attempts:
        for row in attempt.rows:
            batches[row.place].add(attempt.batch_id)
    return batches


def _doubled(batches: Mapping[Place, set[int]], attempts: Iterable[Attempt]) -> set[Place]:
    doubled = {place for place, ids in batches.items() if len(ids) > 1}
    for attempt in attempts:
        once: set[Place] = set()
        for row in attempt.rows:
            (doubled if row.place in once else once).add(row.place)
    return doubled


def _hashes(attempts: Iterable[Attempt]) -> dict[int, list[str]]:
    hashes: dict[int, list[str]] = defaultdict(list)
    for attempt in attempts:
        if attempt.rows:
            hashes[attempt.batch_id].append(content_hash(attempt.rows))
    return hashes


def _replayed(seen: Witnesses) -> list[int]:
    return sorted({batch for start in seen.at_starts for batch in start.open if start.logged[batch]})


def _changed(seen: Witnesses) -> set[int]:
    """Return the micro-batches that changed: between attempts, from the offset log, or in the offset log itself."""
    changed = {batch for batch, hashes in _hashes(seen.attempts).items() if len(set(hashes)) > 1}
    at_end = {batch: _places(ranges) for batch, ranges in seen.at_end.logged.items()}
    for before in (seen.at_kill, *seen.at_starts):
        changed |= {batch for batch, ranges in before.logged.items() if at_end.get(batch) != _places(ranges)}
    for attempt in seen.attempts:
        if {row.place for row in attempt.rows} != at_end.get(attempt.batch_id, set()):
            changed.add(attempt.batch_id)
    reached = {attempt.batch_id for attempt in seen.attempts}
    return changed | {batch for batch, places in at_end.items() if places and batch not in reached}


def _places(ranges: Iterable[Range]) -> set[Place]:
    return {place for one in ranges for place in one.places()}


def _lost_before_accept(events: Iterable[Event]) -> set[Place]:
    """Return the records that others could acquire at some time between Spark's acquisition and its ACCEPT."""
    held: dict[Place, str] = {}
    free: set[Place] = set()
    for event in events:
        if isinstance(event, Acquired):
            held.update(dict.fromkeys(_places(event.ranges), event.session))
        elif isinstance(event, Confirmed):
            for place in _places(event.ranges):
                held.pop(place, None)
        else:
            gone = {place for place, session in held.items() if event.session in (None, session)}
            free |= gone
            for place in gone:
                del held[place]
    return free


def _altered(seen: Witnesses) -> set[Place]:
    """Return the places where a record was reported with another value than the producer's.

    The sink may also have a value at a place without a confirmation: the producer's confirmation was lost.
    """
    reported = [(row.place, row.value) for attempt in seen.attempts for row in attempt.rows]
    reported += [*seen.competitor.items(), *seen.unknown.items()]
    return {place for place, value in reported if seen.produced.get(place, value) != value}


def _some(items: Sequence[object]) -> str:
    return ", ".join(map(str, items[:5])) + (", ..." if len(items) > 5 else "")
