"""The judgement of members' journals before and after a move. Pure.

No record may be lost, be delivered again after its confirmation, or lose its failed attempts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

RELEASE: Final = 2
OLD, NEW = "old", "new"
"""The two sides of a move."""
_OF_THE_CLIENT: Final = "_"
"""The beginnings of errors that librdkafka itself finds, which leave the broker's outcome unknown.

All others are the broker's answers.
"""
Place = tuple[int, int]
"""Partition and offset."""


class _Held(NamedTuple):
    row: int
    verdict: int
    sent_at: float | None = None


class Attempt(NamedTuple):
    """An acknowledgement without an answer: of a row, at a side, at a time."""

    row: int
    side: str
    at: float


@dataclass
class Seen:
    """The entries of all journals. Times are in seconds. A row is confirmed once it is accepted or rejected."""

    confirmed: dict[int, float] = field(default_factory=dict)
    confirmed_at: dict[str, list[float]] = field(default_factory=lambda: {OLD: [], NEW: []})
    released: dict[int, float] = field(default_factory=dict)
    delivered: list[tuple[int, float, int]] = field(default_factory=list)
    unanswered: list[Attempt] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    _held: dict[tuple[str, str], dict[Place, _Held]] = field(default_factory=dict)

    def read(self, side: str, journal: str, lines: Iterable[str]) -> None:
        held = self._held.setdefault((side, journal), {})
        for line in lines:
            entry: dict[str, Any] = json.loads(line)
            at = entry["t"] / 1e9
            if "failed" in entry:
                self.errors[f"{side}: {entry['failed']}"] += 1
            for partition, offset, row, count, verdict in entry.get("got", ()):
                self.delivered.append((row, at, count))
                held[partition, offset] = _Held(row, verdict)
            for place in map(tuple, entry.get("sent", ())):
                held[place] = held[place]._replace(sent_at=at)
            for place in map(tuple, entry.get("acked", ())):
                if place in held:  # else a gap, which the client acknowledges by itself
                    self._answered(side, held.pop(place), entry["error"], at)

    def _answered(self, side: str, held: _Held, error: str | None, at: float) -> None:
        if error is not None:
            self.errors[f"{side}: acknowledgement {error}"] += 1
            if error.startswith(_OF_THE_CLIENT) and held.sent_at is not None:
                self.unanswered.append(Attempt(held.row, side, held.sent_at))
        elif held.verdict == RELEASE:
            self.released.setdefault(held.row, at)
        else:
            self.confirmed.setdefault(held.row, at)
            self.confirmed_at[side].append(at)

    def open_attempts(self) -> list[Attempt]:
        """Return the acknowledgements with an unknown outcome, once all members have ended."""
        never = [
            Attempt(each.row, side, each.sent_at)
            for (side, _), held in self._held.items()
            for each in held.values()
            if each.sent_at is not None
        ]
        return self.unanswered + never


class Verdict(NamedTuple):
    """The result of a move.

    Rows are `lost`, came `again` after their confirmation, or are `unlike`: their failed attempt was forgotten.
    `unknown`: rows without a confirmation, whose lost answer could have been one.
    """

    lost: list[int]
    again: list[int]
    unlike: list[int]
    unknown: int
    twice: int

    @property
    def broken(self) -> list[str]:
        return [
            *(f"row {row}: never confirmed" for row in self.lost),
            *(f"row {row}: came again after its confirmation" for row in self.again),
            *(f"row {row}: came as if for the first time after a failed attempt" for row in self.unlike),
        ]


def judged(seen: Seen, rows: int, moved_at: float) -> Verdict:
    """Return the verdict on rows 0 to `rows` - 1, when the new side has none left to deliver.

    Acknowledgements sent to the old side after `moved_at`, the end of the cut-over, cannot have been confirmed.
    """
    may_be = {each.row for each in seen.open_attempts() if each.side == NEW or each.at < moved_at}
    open_rows = set(range(rows)) - seen.confirmed.keys()
    times = Counter(row for row, _, _ in seen.delivered)
    return Verdict(
        lost=sorted(open_rows - may_be),
        again=sorted({row for row, at, _ in seen.delivered if at > seen.confirmed.get(row, at)}),
        unlike=sorted({row for row, at, count in seen.delivered if count == 1 and at > seen.released.get(row, at)}),
        unknown=len(open_rows & may_be),
        twice=sum(each > 1 for each in times.values()),
    )


def pause_s(seen: Seen) -> float | None:
    """Return the seconds from the old side's last confirmation to the new side's first one; None if one is missing."""
    old, new = seen.confirmed_at[OLD], seen.confirmed_at[NEW]
    return min(new) - max(old) if old and new else None


def pause_parts_s(seen: Seen, strikes: Sequence[tuple[float, float]], began: float, ended: float) -> list[float]:
    """Return the parts of the pause, none if there was no pause.

    They are the time that a struck process was down, the rest until the command's last run `began`, the time of that
    run without confirmations, and the time since it `ended`.
    """
    old, new = seen.confirmed_at[OLD], seen.confirmed_at[NEW]
    if not old or not new:
        return []
    last, first = max(old), min(new)
    before, run, behind = (right - left for left, right in pairwise([last, max(last, began), max(last, ended), first]))
    down = sum(max(min(up, began) - max(struck, last), 0.0) for struck, up in strikes)
    return [round(each, 2) for each in (down, before - down, run, behind)]
