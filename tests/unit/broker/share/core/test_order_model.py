"""Order by key in random lives, checked record by record. A failing seed prints its life."""

from __future__ import annotations

import pytest

from tests.support.models.order_world import OrderWorld


def live(seed: int, steps: int, *, failures: bool = True, switching: bool = False) -> None:
    world = OrderWorld(seed, failures=failures, switching=switching)
    try:
        for _ in range(steps):
            world.step()
        world.drain()
    except Exception as failure:
        raise AssertionError("\n".join([f"seed {seed}", *world.transcript[-40:], str(failure)])) from failure


@pytest.mark.parametrize("first_seed", range(0, 100, 50))
def test_random_lives_keep_the_order_of_each_key(first_seed: int) -> None:
    """Every acknowledgement, expiry, limit, delay, dead letter, session end, crash, compaction and transaction is mixed
    in.
    """
    for seed in range(first_seed, first_seed + 50):
        live(seed, steps=120, failures=seed % 2 == 0)


@pytest.mark.parametrize("first_seed", range(1_000, 1_050, 25))
def test_order_holds_whenever_it_is_switched_on(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + 25):
        live(seed, steps=150, switching=True)
