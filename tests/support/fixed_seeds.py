"""The fixed seeds of a simulation, some in each test, and the events they caused together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pytest


class FixedSeeds:
    """`seeds` in tests of `chunk` each. `run` returns how often each event happened in a seed's run."""

    def __init__(self, run: Callable[[int], Counter[str]], seeds: Sequence[int], *, chunk: int) -> None:
        self._run: Final = run
        self._seeds: Final = seeds
        self._chunk: Final = chunk
        self._seen: Counter[str] = Counter()
        self._ran: set[int] = set()

    @property
    def firsts(self) -> Sequence[int]:
        return self._seeds[:: self._chunk]

    def run_from(self, first: int) -> None:
        at = self._seeds.index(first)
        for seed in self._seeds[at : at + self._chunk]:
            self._seen.update(self._run(seed))
            self._ran.add(seed)

    def too_seldom(self, at_least: Mapping[str, int]) -> dict[str, int]:
        """Return the events that happened less often than required, with their counts.

        Skips the test unless all seeds were run.
        """
        if len(self._ran) < len(self._seeds):
            pytest.skip("not all of the fixed seeds were run")
        return {name: self._seen[name] for name, least in at_least.items() if self._seen[name] < least}
