"""The judgement of the journals: nothing is lost or comes again after its confirmation, the states agree. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

Place = tuple[int, int]
"""Partition and offset."""

BEFORE_S: Final = 0.2
"""A confirmation may have been written down so much later than it was given."""


@dataclass
class Seen:
    """The entries of the consumers' journals, and their times. `delivered` in the order of time for each record."""

    delivered: dict[Place, list[float]] = field(default_factory=dict)
    tried: set[Place] = field(default_factory=set)
    confirmed: dict[Place, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def confirmations(self) -> list[float]:
        """Return the times of all, in their order."""
        return sorted(self.confirmed.values())


def read_journals(journals: Iterable[str]) -> Seen:
    """Return what several consumers wrote down. A last line that was cut off by the end of its process is left out."""
    seen = Seen()
    for journal in journals:
        lines = journal.split("\n")
        for line in lines[:-1]:
            kind, time, *words = line.split(" ")
            if kind == "E":
                seen.errors[" ".join(words)] += 1
                continue
            partition = int(words[0])
            for offset in map(int, words[1].split(",")):
                place = partition, offset
                if kind == "D":
                    seen.delivered.setdefault(place, []).append(float(time))
                elif kind == "A":
                    seen.tried.add(place)
                else:
                    seen.confirmed[place] = min(float(time), seen.confirmed.get(place, float(time)))
    for times in seen.delivered.values():
        times.sort()
    return seen


@dataclass
class Verdict:
    """The result of a run.

    `broken` has a line for each fault; `gaps_s` how long each round had no confirmation.
    """

    records: int
    lost: list[Place]
    again: list[Place]
    unlike: list[Place]
    gaps_s: list[float]
    twice: int
    unknown: int

    @property
    def broken(self) -> list[str]:
        """Return what must not be."""
        return [
            *(f"partition {each[0]} offset {each[1]}: never confirmed" for each in self.lost),
            *(f"partition {each[0]} offset {each[1]}: came again after its confirmation" for each in self.again),
            *(f"partition {each[0]} offset {each[1]}: confirmed, and open by its state" for each in self.unlike),
        ]


def judged(
    seen: Seen,
    produced: Collection[Place],
    faults: Iterable[float],
    is_finished: Callable[[Place], bool],
) -> Verdict:
    """Return the verdict on records that were produced. `faults` are the times at which each was made; `is_finished`
    returns whether a record is finished with by the state topic.

    A record that was acknowledged and whose answer nobody got is not lost if the state has it as finished.
    """
    unconfirmed = set(produced) - seen.confirmed.keys()
    unknown = {each for each in unconfirmed & seen.tried if is_finished(each)}
    again = [
        place
        for place, at in seen.confirmed.items()
        if any(delivered > at for delivered in seen.delivered.get(place, ()))
    ]
    return Verdict(
        records=len(produced),
        lost=sorted(unconfirmed - unknown),
        again=sorted(again),
        unlike=sorted(place for place in seen.confirmed if not is_finished(place)),
        gaps_s=[gap_after(seen.confirmations, at) for at in faults],
        twice=sum(len(times) > 1 for times in seen.delivered.values()),
        unknown=len(unknown),
    )


def gap_after(confirmations: list[float], at: float) -> float:
    """Return the longest time without a confirmation that begins about a fault, or soon after it: until the first one
    that comes a while later. Infinite if none came any more.
    """
    before = max((each for each in confirmations if each <= at + BEFORE_S), default=at)
    after = min((each for each in confirmations if each > at + BEFORE_S), default=float("inf"))
    return after - max(before, at)


def by_partition(places: Iterable[Place]) -> Mapping[int, list[int]]:
    """Return offsets by partition."""
    found: dict[int, list[int]] = {}
    for partition, offset in places:
        found.setdefault(partition, []).append(offset)
    return found
