"""The garbage collector, which should run rarely on objects that are freed without it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.loop.collector import MOST_YOUNG, Collector
from tests.support.clients.share_client import ShareClient, acquired_of

MEMBERS = 60
ROUNDS = 20
WAIT_MS = 500


@pytest.fixture
def begun() -> Iterator[None]:
    before = gc.get_threshold()
    Collector().begin()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """Yield the generation of each collection."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


@pytest.mark.usefixtures("begun")
def test_members_that_wait_again_and_again_are_not_looked_at(looks: list[int]) -> None:
    world = BrokerWorld()
    place = (world.create_topic("t").topic_id, 0)
    members = [ShareClient(world, f"m{number}") for number in range(MEMBERS)]
    for member in members:
        member.join("t")
        member.send_fetch(place, max_wait_ms=WAIT_MS)
    looks.clear()
    for _ in range(ROUNDS):
        world.clock.advance(WAIT_MS)
        for member in members:
            assert not acquired_of(member.fetch_answer())
            member.send_fetch(place, max_wait_ms=WAIT_MS)
    assert looks == []


@pytest.mark.usefixtures("begun")
def test_what_only_the_collector_can_free_is_freed(looks: list[int]) -> None:
    for _ in range(2 * MOST_YOUNG):
        circle: list[object] = []
        circle.append(circle)
    assert looks[:1] == [0]
