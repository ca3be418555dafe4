"""The simulation must be able to fail: each planted fault is noticed within a few fixed seeds, for the right reason."""

from __future__ import annotations

from typing import Final

import pytest

from tests.simulation import planted, planted_again, planted_groups, planted_logs
from tests.simulation.planted import Fault
from tests.simulation.runner import run_seed

SEEDS: Final = 150  # most are caught by one of the first five
FAULTS: Final = {**planted.FAULTS, **planted_groups.FAULTS, **planted_logs.FAULTS, **planted_again.FAULTS}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_caught(fault: Fault) -> None:
    with fault():
        failures = (run_seed(seed) for seed in range(SEEDS))
        caught = next((outcome for outcome in failures if outcome.failure), None)
    assert caught is not None, f"{SEEDS} seeds and nobody noticed"
    assert any(words in caught.failure for words in FAULTS[fault]), caught.told()


def test_faults_are_gone_afterwards() -> None:
    for fault in FAULTS:
        with fault():
            pass
    assert run_seed(0).failure == ""
