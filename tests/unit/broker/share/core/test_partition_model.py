"""The share-partition core against the offset-by-offset model, in random lives.

A failing seed prints the steps that led to the failure.
"""

from __future__ import annotations

import pytest

from tests.support.models.share_world import ShareWorld


def live(seed: int, steps: int) -> None:
    world = ShareWorld(seed)
    try:
        world.compare()
        for _ in range(steps):
            world.step()
    except Exception as failure:
        raise AssertionError("\n".join(world.transcript[-25:])) from failure


@pytest.mark.parametrize("first_seed", range(0, 200, 50))
def test_random_lives_agree_with_the_model(first_seed: int) -> None:
    """Every rule for in-flight records (KIP-932) applies, in any order."""
    for seed in range(first_seed, first_seed + 50):
        live(seed, steps=60)


@pytest.mark.parametrize("seed", range(10_000, 10_010))
def test_long_lives_agree_with_the_model(seed: int) -> None:
    live(seed, steps=400)


def test_a_failed_write_splits_a_batch_that_the_log_start_has_cut_and_whose_lock_has_expired() -> None:
    """This is seed 25706: archived below the start offset and available above it, the batch must be split."""
    live(25706, steps=150)
