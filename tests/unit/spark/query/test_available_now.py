from __future__ import annotations

from shareq.client.share.session import TopicIdPartition
from shareq.spark.query.available_now import SETTLED_MS, AvailableNow

ONE: TopicIdPartition = (b"1" * 16, 0)
TWO: TopicIdPartition = (b"1" * 16, 1)


def run(ends: dict[TopicIdPartition, int], starts: dict[TopicIdPartition, int] | None = None) -> AvailableNow:
    return AvailableNow(ends, starts or {}, 0)


def poll(now: AvailableNow, *found: tuple[TopicIdPartition, int, int], in_full: bool = True, at_ms: float = 0) -> None:
    for topic_partition, first, last in found:
        now.acquired(topic_partition, first, last)
    now.polled({ONE, TWO}, at_ms, in_full=in_full)


def test_empty_topics_and_finished_groups_need_no_poll() -> None:
    assert run({ONE: 0}).finished
    assert run({ONE: 10}, {ONE: 10}).finished
    assert not run({ONE: 10}, {ONE: 9}).finished
    assert not run({ONE: 10}, {ONE: -1}).finished  # a start offset that is not decided yet


def test_the_last_offset_of_every_partition_ends_it_without_another_poll() -> None:
    now = run({ONE: 10, TWO: 5})
    poll(now, (ONE, 0, 9))
    assert not now.finished
    poll(now, (TWO, 3, 8))  # goes beyond
    assert now.finished
    assert now.pending
    now.handed_out()
    assert not now.pending


def test_what_came_later_alone_does_not_belong_to_the_run() -> None:
    now = run({ONE: 10})
    poll(now, (TWO, 0, 4))
    poll(now, (ONE, 10, 12))
    assert now.finished
    assert not now.pending


def test_what_nobody_can_be_given_is_left_after_two_empty_polls() -> None:
    now = run({ONE: 10})
    poll(now, (ONE, 0, 5))
    now.handed_out()
    poll(now)
    assert not now.finished
    poll(now)
    assert now.finished


def test_a_poll_that_was_cut_short_says_little_and_yet_a_run_ends() -> None:
    now = run({ONE: 10})
    for _ in range(9):
        poll(now, (TWO, 0, 3), in_full=False)
    assert not now.finished
    poll(now, (TWO, 0, 3), in_full=False)
    assert now.finished


def test_a_poll_that_a_leader_took_no_part_in_says_nothing() -> None:
    now = run({ONE: 10})
    poll(now)
    for _ in range(5):
        now.polled({ONE, TWO}, 0, in_full=True, by_all=False)
    poll(now)
    assert not now.finished
    poll(now)
    assert now.finished


def test_what_was_lost_before_it_was_handed_out_is_waited_for() -> None:
    now = run({ONE: 10, TWO: 5})
    poll(now, (ONE, 0, 9), (TWO, 0, 4))
    now.lost()
    now.nothing_new()
    assert not now.finished
    assert not now.pending
    poll(now, (ONE, 0, 9), (TWO, 0, 4))
    assert now.finished
    assert now.pending


def test_without_an_assignment_it_is_waited() -> None:
    now = run({ONE: 10})
    for _ in range(5):
        now.polled((), 60_000, in_full=True)
    assert not now.finished


def test_partitions_that_another_member_has_are_left_to_it_after_a_while() -> None:
    now = run({ONE: 10, TWO: 10})
    for at_ms in (0, 500, SETTLED_MS - 1):
        now.polled({ONE}, at_ms, in_full=True)
    assert not now.finished
    for at_ms in (SETTLED_MS, SETTLED_MS + 500):
        now.polled({ONE}, at_ms, in_full=True)
    assert now.finished


def test_a_new_assignment_starts_the_count_again() -> None:
    now = run({ONE: 10, TWO: 10})
    now.polled({ONE, TWO}, 0, in_full=True)
    now.polled({ONE}, 100, in_full=True)
    now.polled({ONE, TWO}, 200, in_full=True)
    assert not now.finished


def test_an_assignment_of_just_what_is_left_is_settled_at_once() -> None:
    now = run({ONE: 10, TWO: 10})
    poll(now)
    poll(now)
    assert now.finished


def test_after_a_loss_it_takes_as_much_emptiness_as_at_the_beginning() -> None:
    for now in (run({ONE: 10}), run({ONE: 10})):
        poll(now, in_full=False)
        now.lost()
        for _ in range(9):
            poll(now, in_full=False)
        assert not now.finished
        poll(now, in_full=False)
        assert now.finished


def test_the_time_of_an_assignment_begins_with_its_first_poll() -> None:
    now = AvailableNow({ONE: 10, TWO: 10}, {}, 1_000_000)
    for at_ms in (1_000_000, 1_000_500, 1_000_000 + SETTLED_MS - 1):
        now.polled({ONE}, at_ms, in_full=True)
    assert not now.finished
    for at_ms in (1_000_000 + SETTLED_MS, 1_000_000 + SETTLED_MS + 500):
        now.polled({ONE}, at_ms, in_full=True)
    assert now.finished
