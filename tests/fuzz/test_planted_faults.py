"""The fuzzer must be able to fail: a known world notices each planted fault, for the right reason.

If a change has altered that world, one of the next ones notices it.
"""

from __future__ import annotations

import pytest

from tests.fuzz.planted import FAULTS
from tests.fuzz.runner import run_world
from tests.support.planting import Fault

KNOWN = {
    "handler_raises_on_null": 2,
    "handler_trusts_a_number": 57,
    "answer_in_another_version": 2,
    "answer_swallowed": 6,
    "slow_with_many": 8,
    "unexplained_server_error": 33,
}
"""The first world that notices each fault, if it is not world 0."""
TRIED = 8
TRACED_EVERY = 10  # worlds: those that end in 7 look at memory


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_noticed(fault: Fault) -> None:
    first = KNOWN.get(fault.__name__, 0)
    step = TRACED_EVERY if "memory for" in FAULTS[fault] else 1
    tried: list[str] = []
    for seed in range(first, first + step * TRIED, step):
        with fault():
            failure = run_world(seed).failure
        if failure and FAULTS[fault] in failure:
            return
        tried.append(f"world {seed}: {failure[:300] or 'passed'}")
    pytest.fail("not noticed:\n" + "\n".join(tried), pytrace=False)


def test_faults_are_removed_afterwards() -> None:
    for fault in FAULTS:
        with fault():
            pass
    assert run_world(0).failure == ""
