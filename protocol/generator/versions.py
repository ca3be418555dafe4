"""Ranges of versions, and operations on them. Both ends are inclusive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

HIGHEST: Final = 32767
"""The version with which `N+` ends."""

_RANGE: Final = re.compile(r"(\d+)(\+|-(\d+))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions `lowest` to `highest`; empty if lowest > highest (then always 0 and -1)."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse `none`, `N`, `N-M` (N <= M) or `N+`. Raise ValueError otherwise."""
        if text == "none":
            return NONE
        match = _RANGE.fullmatch(text)
        if match is None:
            raise ValueError(f"not a version range: {text!r}")
        lowest = int(match[1])
        highest = HIGHEST if match[2] == "+" else int(match[3] or lowest)
        if not lowest <= highest <= HIGHEST:
            raise ValueError(f"not a version range: {text!r}")
        return cls(lowest, highest)

    @property
    def empty(self) -> bool:
        return self.lowest > self.highest

    @property
    def open_ended(self) -> bool:
        return self.highest == HIGHEST

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def covers(self, other: Versions) -> bool:
        """Return True if every version of `other` is in this range. True for an empty `other`."""
        return other.empty or (self.lowest <= other.lowest and other.highest <= self.highest)

    def __str__(self) -> str:
        if self.empty:
            return "none"
        if self.open_ended:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NONE: Final = Versions(0, -1)


def describe(versions: Iterable[int]) -> str:
    """Return single versions as ranges, for people: `0-2, 5`."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and runs[-1][1] == version - 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
