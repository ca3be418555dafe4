from __future__ import annotations

import pytest

from tests.support.fakes.coordinator_partition import Rig
from tests.support.fakes.note_shard import NoteShard, note, result

# -- time


def test_the_timer_calls_at_the_deadline_and_its_records_are_written(rig: Rig) -> None:
    rig.partition.shard.deadline = rig.ports.clock.now_ms() + 100
    rig.schedule("arms")
    rig.partition.shard.due = (note("expired"),)
    rig.ports.clock.advance(99)
    assert rig.partition.shard.deadlines_seen == []
    rig.ports.clock.advance(1)
    assert rig.partition.shard.deadlines_seen == [1_100]
    rig.ports.logs.flush()
    assert rig.names() == ["expired"]
    assert rig.ports.clock.next_timer_ms() is None


def test_a_deadline_that_moved_on_is_looked_at_again(rig: Rig) -> None:
    shard = rig.partition.shard
    shard.deadline = 1_100
    rig.schedule("arms")
    shard.deadline = 1_300
    rig.schedule("moves on")
    assert rig.ports.clock.next_timer_ms() == 1_100
    rig.ports.clock.advance(200)
    assert (shard.deadlines_seen, rig.ports.clock.next_timer_ms()) == ([], 1_300)
    rig.ports.clock.advance(100)
    assert shard.deadlines_seen == [1_300]


def test_an_earlier_deadline_replaces_the_timer(rig: Rig) -> None:
    shard = rig.partition.shard
    for deadline in (1_300, 1_100):
        shard.deadline = deadline
        rig.schedule("arms")
    rig.ports.clock.advance(100)
    assert shard.deadlines_seen == [1_100]
    shard.deadline = 1_500
    rig.schedule("arms")
    shard.deadline = None
    rig.schedule("disarms")
    assert rig.ports.clock.next_timer_ms() is None
    shard.deadline = 1_500
    rig.schedule("arms again")
    rig.ports.clock.advance(500)
    assert shard.deadlines_seen == [1_100, 1_500]


def test_a_new_partition_and_a_reloaded_one_have_their_timers(rig: Rig) -> None:
    made: list[NoteShard] = []

    def with_deadline() -> NoteShard:
        made.append(NoteShard())
        made[-1].deadline = rig.ports.clock.now_ms() + 50
        return made[-1]

    ports = rig.ports
    partition = rig.unloaded(with_deadline)
    assert ports.clock.next_timer_ms() is None
    made.clear()
    partition.load_now()
    assert ports.clock.next_timer_ms() == 1_050
    ports.clock.advance(20)
    partition.schedule(lambda: result("x", note("bad")), lambda error: error.name)
    ports.clock.advance(100)
    assert [shard.deadlines_seen for shard in made] == [[], [1_070]]


@pytest.mark.parametrize("end", ["resign", "close"])
def test_there_is_no_timer_behind_the_end(end: str, rig: Rig) -> None:
    rig.partition.shard.deadline = 1_100
    rig.schedule("arms")
    (rig.partition.resign if end == "resign" else rig.partition.close)()
    rig.ports.clock.advance(1_000)
    assert rig.partition.shard.deadlines_seen == []


def test_a_timer_whose_records_are_lost_harms_nobody(rig: Rig) -> None:
    rig.partition.shard.deadline = 1_100
    rig.partition.shard.due = (note("expired"),)
    rig.schedule("arms")
    rig.ports.clock.advance(100)
    rig.ports.logs.lose_all()
    rig.schedule("next", note("a"))
    rig.ports.logs.flush()
    assert (rig.answers, rig.names()) == (["arms", "next"], ["a"])
