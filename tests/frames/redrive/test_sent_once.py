"""Letters that one redrive has sent back: the next one skips them, unless asked not to."""

from __future__ import annotations

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.support.worlds.redrives import QUEUE, RedriveWorld, counts_of, letter


def queue_of(count: int) -> RedriveWorld:
    world = RedriveWorld()
    world.bury(*(letter(b"%d" % number, number, group="gh"[number % 2]) for number in range(count)))
    return world


def values(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def test_a_second_redrive_passes_over_what_the_first_one_sent_back() -> None:
    world = queue_of(4)
    assert counts_of(world.run("first")) == {"REDRIVEN": 4}
    world.bury(letter(b"4", 4))
    assert counts_of(world.run("second")) == {"REDRIVEN": 1, "ALREADY_SENT": 4}
    assert world.values() == values(0, 1, 2, 3, 4)


def test_a_redrive_that_is_asked_to_sends_letters_back_again() -> None:
    world = queue_of(2)
    world.run("first")
    assert counts_of(world.run("second", again=True)) == {"REDRIVEN": 2}
    assert world.values() == values(0, 1, 0, 1)


def test_what_a_filter_left_out_goes_back_with_the_next_redrive() -> None:
    world = queue_of(6)
    assert counts_of(world.run("g", group_id="g")) == {"REDRIVEN": 3, "FILTERED": 3}
    assert counts_of(world.run("all")) == {"REDRIVEN": 3, "ALREADY_SENT": 3}
    assert world.values() == values(0, 2, 4, 1, 3, 5)


def test_what_stayed_goes_back_with_the_next_redrive(world: RedriveWorld) -> None:
    """The letters had stayed because their topic did not exist."""
    world.bury(*(letter(b"%d" % number, number, topic="tu"[number % 2]) for number in range(6)))
    assert counts_of(world.run("first")) == {"REDRIVEN": 3, "NO_TOPIC": 3}
    world.world.create_topic("u")
    assert counts_of(world.run("second")) == {"REDRIVEN": 3, "ALREADY_SENT": 3}
    assert (world.values(), world.values("u")) == (values(0, 2, 4), values(1, 3, 5))


def test_only_a_range_of_offsets_was_sent_back() -> None:
    world = queue_of(6)
    world.run("first", queue_partition=0, first_offset=2, last_offset=3)
    assert counts_of(world.run("second")) == {"REDRIVEN": 4, "ALREADY_SENT": 2}
    assert world.values() == values(2, 3, 0, 1, 4, 5)


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_forgets_nothing(clean: bool) -> None:
    world = queue_of(4)
    world.run("first", group_id="g")
    world.world.restart() if clean else world.world.crash()
    assert counts_of(world.run("second")) == {"REDRIVEN": 2, "ALREADY_SENT": 2}


def test_what_was_sent_back_before_a_redrive_was_cancelled_counts() -> None:
    world = queue_of(20)
    world.start("first", records_per_second=10)
    world.world.clock.advance(500)
    assert world.cancel("first") is ErrorCode.NONE
    sent = len(world.values())
    assert 0 < sent < 20
    assert counts_of(world.run("second")) == {"REDRIVEN": 20 - sent, "ALREADY_SENT": sent}
    assert sorted(world.values(), key=lambda value: int(value or b"")) == values(*range(20))


def test_two_redrives_at_a_time_send_each_letter_once() -> None:
    world = queue_of(40)
    for name in ("first", "second"):
        assert world.start(name, records_per_second=20) is ErrorCode.NONE
    for name in ("first", "second"):
        world.finish(name)
    assert sorted(world.values(), key=lambda value: int(value or b"")) == values(*range(40))


def test_a_redrive_whose_group_is_deleted_is_forgotten() -> None:
    world = queue_of(2)
    world.run("first")
    answer = world.world.connect().call(DeleteGroupsRequest(["shareq.redrive.first"]), 2, DeleteGroupsResponse)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert counts_of(world.run("second")) == {"REDRIVEN": 2}


def test_a_queue_that_was_made_again_begins_without_what_was_known_of_the_other() -> None:
    world = queue_of(2)
    world.run("first")
    world.world.folder.metadata.delete_topics([QUEUE])
    world.world.clock.run_until_idle()
    world.world.create_topic(QUEUE)
    world.bury(letter(b"new", 0))
    assert counts_of(world.run("second")) == {"REDRIVEN": 1}


def test_many_letters_that_stay_one_by_one_end_a_redrive_with_what_helps(world: RedriveWorld) -> None:
    world.bury(*(letter(b"%d" % number, number, topic="tu"[number % 2]) for number in range(1_000)))
    done = world.run("first")
    assert (done.state, done.trouble) == (
        "FAILED",
        "dlq.t-0: too many letters stay between those sent back; name the topic with --source-topic",
    )
    sent = len(world.values())
    assert 80 < sent < 500
    assert counts_of(world.run("second", source_topic="t")) == {
        "REDRIVEN": 500 - sent,
        "ALREADY_SENT": sent,
        "FILTERED": 500,
    }
    assert world.values() == values(*range(0, 1_000, 2))


@pytest.mark.parametrize("model", list(CrashModel))
def test_a_crash_at_every_disk_operation_of_the_second_redrive(model: CrashModel) -> None:
    def run(world: RedriveWorld) -> None:
        if "second" not in world.all_redrives():
            assert world.start("second") is ErrorCode.NONE
        world.finish("second")

    def prepared() -> RedriveWorld:
        world = queue_of(6)
        world.run("first", group_id="g")
        return world

    world = prepared()
    before = world.world.fs.steps
    run(world)
    steps = world.world.fs.steps - before
    assert steps > 10
    for step in range(1, steps + 1):
        world = prepared()
        world.world.fs.crash_at = world.world.fs.steps + step
        with pytest.raises(SimulatedCrash):
            run(world)
        world.world.crash(model)
        run(world)
        assert sorted(world.values(), key=lambda value: int(value or b"")) == values(*range(6)), step
