"""The fixed seeds of `make test`: one kind per file, so that two cores share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from tests.simulation.runner import run_seed
from tests.support.fixed_seeds import FixedSeeds

SEEDS: Final = 400


def fixed_seeds(is_meant: Callable[[int], bool], *, chunk: int, seeds: range = range(SEEDS)) -> FixedSeeds:
    """Return the seeds that `is_meant` selects, `chunk` of them per test."""
    return FixedSeeds(_lived, [seed for seed in seeds if is_meant(seed)], chunk=chunk)


def _lived(seed: int) -> Counter[str]:
    outcome = run_seed(seed)
    if outcome.failure:
        pytest.fail(f"`make sim SEEDS=1 ARGS='--from {seed}'`\n{outcome.reported()}", pytrace=False)
    return outcome.seen
