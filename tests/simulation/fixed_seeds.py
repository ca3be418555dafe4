"""The fixed seeds that `make test` lives through: those of one kind in one file, so that two cores share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from tests.simulation.runner import Outcome, run_seed

SEEDS: Final = 400


class FixedSeeds:
    """The seeds of `seeds` that `is_meant` takes, a chunk of numbers at a time."""

    def __init__(self, is_meant: Callable[[int], bool], *, chunk: int, seeds: range = range(SEEDS)) -> None:
        self.chunks = range(seeds.start, seeds.stop, chunk)
        self._is_meant = is_meant
        self._chunk = chunk
        self._seen: Counter[str] = Counter()
        self._run: set[int] = set()

    def run(self, first: int) -> None:
        """Run the seeds of the chunk that begins with `first`."""
        seeds = [seed for seed in range(first, first + self._chunk) if self._is_meant(seed)]
        outcomes = [run_seed(seed) for seed in seeds]
        failed = [outcome for outcome in outcomes if outcome.failure]
        if failed:
            pytest.fail(_reported(failed), pytrace=False)
        self._run.add(first)
        for outcome in outcomes:
            self._seen.update(outcome.seen)

    def check_happened(self, at_least: Mapping[str, int]) -> None:
        """A simulation in which nothing happens finds nothing."""
        if self._run != set(self.chunks):
            pytest.skip("not all of the fixed seeds were run")
        assert {name: self._seen[name] for name, least in at_least.items() if self._seen[name] < least} == {}


def _reported(failed: list[Outcome]) -> str:
    """The seeds that failed, and how the first of them ended."""
    seeds = ", ".join(str(outcome.seed) for outcome in failed)
    return f"seeds {seeds} failed; `make sim SEEDS=1 ARGS='--from {failed[0].seed}'`\n{failed[0].reported()}"
