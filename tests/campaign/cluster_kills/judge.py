"""The judge of the journals: no record is lost or repeated after its confirmation, and the states agree. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

Place = tuple[int, int]
"""Partition and offset."""


@dataclass
class Seen:
    """The entries of the consumers' journals, and their times.

    `last` is the time of the last confirmation, `by_client` has the times of all confirmations by kind of client.
    """

    delivered: dict[Place, list[float]] = field(default_factory=dict)
    tried: set[Place] = field(default_factory=set)
    confirmed: dict[Place, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    last: float = 0.0
    by_client: dict[str, list[float]] = field(default_factory=dict)

    def read(self, lines: Iterable[str], client: str = "") -> None:
        """Add the lines of one journal (see `journal.py`) of a consumer of this kind."""
        for line in lines:
            kind, time, *words = line.split(" ")
            if kind == "E":
                self.errors[" ".join(words)] += 1
                continue
            partition, at = int(words[0]), float(time)
            if kind == "C":
                self.by_client.setdefault(client, []).append(at)
            for offset in map(int, words[1].split(",")):
                place = partition, offset
                if kind == "D":
                    self.delivered.setdefault(place, []).append(at)
                elif kind == "A":
                    self.tried.add(place)
                else:
                    self.confirmed[place] = min(at, self.confirmed.get(place, at))
                    self.last = max(self.last, at)


@dataclass
class Verdict:
    """The result of a run, or of a round. `broken` has a line for each fault."""

    records: int
    lost: list[Place]
    again: list[Place]
    unlike: list[Place]
    twice: int
    unknown: int

    def since(self, before: Verdict) -> Verdict:
        return Verdict(
            records=self.records - before.records,
            lost=sorted(set(self.lost) - set(before.lost)),
            again=sorted(set(self.again) - set(before.again)),
            unlike=sorted(set(self.unlike) - set(before.unlike)),
            twice=self.twice - before.twice,
            unknown=self.unknown - before.unknown,
        )

    @property
    def broken(self) -> list[str]:
        return [
            *(f"partition {each[0]} offset {each[1]}: never confirmed" for each in self.lost),
            *(f"partition {each[0]} offset {each[1]}: came again after its confirmation" for each in self.again),
            *(f"partition {each[0]} offset {each[1]}: confirmed, and open by its state" for each in self.unlike),
        ]


def judged(
    seen: Seen,
    produced: Collection[Place],
    is_finished: Callable[[Place], bool],
) -> Verdict:
    """Return the verdict on produced records. `is_finished`: whether the state topic has a record as finished.

    An acknowledged record without an answer is not lost if the state has it as finished.
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
        twice=sum(len(times) > 1 for times in seen.delivered.values()),
        unknown=len(unknown),
    )


def longest_pause(confirmations: Iterable[float], at: float, until: float) -> float:
    """Return the longest time without a confirmation that begins between a fault and `until`.

    It is infinite if none came after `until`, because the work did not resume. The time to the next confirmation would
    not do: answers of a killed owner may be read after its end.
    """
    times = sorted(each for each in confirmations if each > at)
    behind = next((each for each in times if each >= until), float("inf"))
    points = [at, *(each for each in times if each < until), behind]
    return max(later - earlier for earlier, later in pairwise(points))


def by_partition(places: Iterable[Place]) -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = {}
    for partition, offset in places:
        found.setdefault(partition, []).append(offset)
    return found
