"""The simulation must be able to fail: a known seed notices each planted fault, for the right reason.

Nothing is searched for here; `python -m tests.simulation.noticing` does that.
"""

from __future__ import annotations

import pytest

from tests.simulation.known_seeds import KNOWN
from tests.simulation.noticing import FAULTS, JOB_FAULTS, first_to_notice, is_about
from tests.simulation.runner import Outcome, run_seed
from tests.support.planting import Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_noticed(fault: Fault) -> None:
    name, tried = fault.__name__, list[Outcome]()
    if first_to_notice(fault, KNOWN[name], tried.append) is None:
        ends = "\n".join(f"seed {outcome.seed}: {outcome.failure or 'passed'}" for outcome in tried)
        pytest.fail(
            f"none of the known seeds notices it. `.venv/bin/python -m tests.simulation.noticing {name}` looks for "
            f"others, which go into known_seeds.py. What they ended with:\n{ends}",
            pytrace=False,
        )


def test_a_seed_that_does_not_meet_the_fault_does_not_notice_it() -> None:
    fault, about_share_groups = next(iter(JOB_FAULTS)), 0
    assert not is_about(fault, about_share_groups)
    assert first_to_notice(fault, [about_share_groups]) is None


def test_faults_are_removed_afterwards() -> None:
    for fault in FAULTS:
        with fault():
            pass
    assert run_seed(0).failure == ""


def test_each_fault_has_known_seeds() -> None:
    assert KNOWN.keys() == {fault.__name__ for fault in FAULTS}
    assert all(KNOWN.values())
