"""A search for seeds that notice planted faults: `python -m tests.simulation.nodes.noticing [FAULT ...] [MOST
SEEDS]`.
"""

from __future__ import annotations

import sys
from typing import Final

from tests.simulation.nodes import planted
from tests.simulation.nodes.world import run
from tests.support.planting import Fault

WANTED: Final = 3
"""The number of seeds that are kept for each fault, because every change of the product changes the events of seeds."""


STEPS: Final[dict[Fault, str]] = dict.fromkeys(
    (
        planted.records_are_handed_out_without_a_lease,
        planted.a_proof_is_as_old_as_its_answer,
        planted.leases_stand_still_while_a_machine_sleeps,
    ),
    "make_zombie",
)
"""The steps that a fault needs to be noticed. Its seeds take these steps more often than other seeds."""


def noticed_by(fault: Fault, seed: int) -> str | None:
    """Return how a seed that notices the fault ends; None if the seed does not notice it."""
    with fault():
        try:
            run(seed, STEPS.get(fault, ""))
        except (AssertionError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
    return None


def main() -> int:
    names = [each for each in sys.argv[1:] if not each.isdecimal()]
    most = max((int(each) for each in sys.argv[1:] if each.isdecimal()), default=100)
    missed = 0
    for fault in planted.FAULTS:
        if names and fault.__name__ not in names:
            continue
        found: list[int] = []
        for seed in range(most):
            ended = noticed_by(fault, seed)
            if ended is not None:
                found.append(seed)
                print(f"    # {fault.__name__}, {seed}: {ended[:150]}", flush=True)
                if len(found) == WANTED:
                    break
        missed += not found
        print(f"    planted.{fault.__name__}: {tuple(found)},", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
