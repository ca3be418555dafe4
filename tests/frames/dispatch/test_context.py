"""The notes of a request, which are freed in portions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.turn_budget import PIECE
from tests.support.coroutines import begun


@pytest.fixture
def world() -> BrokerWorld:
    return BrokerWorld()


@pytest.fixture
def ctx(world: BrokerWorld) -> RequestContext:
    return RequestContext(world.services, world.connect().side, 0, None)


@pytest.mark.parametrize("kind", [list, dict.fromkeys])
def test_what_is_held_is_given_back_some_at_a_time(
    world: BrokerWorld, ctx: RequestContext, kind: Callable[[Any], Any]
) -> None:
    held, sizes = kind(range(20 * PIECE + 1)), list[int]()
    begun(world.services.env, ctx.give_back(held))
    sizes.append(len(held))
    while world.clock.run_tick():
        sizes.append(len(held))
    assert max(before - after for before, after in pairwise(sizes)) <= 2 * PIECE
    assert not held
    assert len(world.services.turns) == 0
