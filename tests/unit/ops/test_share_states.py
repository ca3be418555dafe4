"""States read from `__share_group_state`: combined and located as the share coordinator does."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.share import state_batches
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.ops.share_states import StateBatch, combined, place
from tests.support.each import for_each


@for_each("seed", range(200))
def test_batches_are_combined_as_the_share_coordinator_does(seed: int) -> None:
    rng = random.Random(seed)
    rows = []
    for _ in range(rng.randrange(12)):
        first = rng.randrange(40)
        rows.append((first, first + rng.randrange(10), rng.choice((0, 2, 3, 4)), rng.randrange(1, 4)))
    start = rng.randrange(30)
    expected = state_batches.combine([state_batches.StateBatch(*row) for row in rows], start)
    offsets = {offset: each[2:] for each in expected for offset in range(each.first_offset, each.last_offset + 1)}
    found = combined((StateBatch(*row) for row in rows), start)
    assert {offset: each[2:] for each in found for offset in range(each.first, each.last + 1)} == offsets
    assert all(one.last < other.first for one, other in pairwise(found))


@pytest.mark.parametrize("group", ["packers", "a:b", "ä", "😀" * 5])
def test_a_state_is_where_the_share_coordinator_puts_it(group: str) -> None:
    for partition in (0, 7, 2**31 - 1):
        key = SharePartitionKey(group, bytes(range(16)), partition)
        assert place(*key, 50) == share_partition_for(key, 50)
