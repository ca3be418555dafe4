"""Fixed seeds of nodes before a simulated cluster; `make sim-nodes SEEDS=n` runs more. And faults that are planted."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.simulation.nodes import planted
from tests.simulation.nodes.known_seeds import KNOWN_SEEDS
from tests.simulation.nodes.noticing import noticed_by
from tests.simulation.nodes.world import run
from tests.support.planting import Fault

SEEDS: Final = range(4, 12)
CHUNK: Final = 2
AT_LEAST: Final = {
    "confirmed": 1_000,
    "owners of slots": 30,
    "nodes killed": 5,
    "nodes held": 3,
    "zombies": 4,
    "machines suspended": 1,
    "cuts": 5,
    "silences": 1,
    "clean elections that lost appends": 1,
    "records lost by elections": 2,
    "rights taken away": 2,
    "topics made later": 2,
    "compactions": 10,
}

_seen: Counter[str] = Counter()
_ran: set[int] = set()


@pytest.mark.parametrize("first", SEEDS[::CHUNK])
def test_nothing_is_lost_or_comes_again_after_it_was_confirmed(first: int) -> None:
    for seed in range(first, first + CHUNK):
        _seen.update(run(seed))
        _ran.add(seed)


def test_enough_happened_over_the_fixed_seeds() -> None:
    if len(_ran) < len(SEEDS):
        pytest.skip("not all of the fixed seeds were run")
    assert {name: _seen[name] for name, least in AT_LEAST.items() if _seen[name] < least} == {}


def test_every_planted_fault_has_a_known_seed() -> None:
    assert set(KNOWN_SEEDS) == set(planted.FAULTS)


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    assert any(noticed_by(fault, seed) for seed in KNOWN_SEEDS[fault]), "`noticing.py` looks for other seeds"
