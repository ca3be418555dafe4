"""Handlers whose work goes on in turns: at once where it is little, in order, and with the same answer."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns, pieces
from shareq.broker.foundation.pending import Pending


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t", 30)
    world.create_topic("u", 30)
    return world


def context(world: BrokerWorld, version: int = 1) -> RequestContext:
    return RequestContext(world.services, world.connect().side, version, "c")


def count_to(last: int, pauses: int) -> Steps[int]:
    for _ in range(pauses):
        yield
    return last


def test_little_work_is_done_at_once(world: BrokerWorld) -> None:
    assert in_turns(context(world), count_to(5, 0)) == 5


def test_the_rest_is_done_one_pause_in_each_turn(world: BrokerWorld) -> None:
    result = in_turns(context(world), count_to(5, 3))
    assert isinstance(result, Pending)
    for _ in range(2):
        world.clock.run_tick()
        assert not result.done
    world.clock.run_until_idle()
    assert result.value == 5


def test_a_turn_that_fails_closes_the_connection(world: BrokerWorld) -> None:
    def steps() -> Steps[int]:
        yield
        raise RuntimeError("a fault")

    client = world.connect()
    in_turns(RequestContext(world.services, client.side, 1, "c"), steps())
    world.clock.run_until_idle()
    assert client.closed


def test_a_turn_is_full_by_what_was_counted() -> None:
    turn = TurnCount(10)
    assert [turn.full(each) for each in (4, 5, 1, 9, 20)] == [False, False, True, False, True]
    assert [list(each) for each in pieces(range(5), 2)] == [[0, 1], [2, 3], [4]]
