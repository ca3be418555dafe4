"""The judge of the campaign against Celery workers finds lost tasks, and repeated ones that no kill explains."""

from __future__ import annotations

import pytest

from tests.campaign.celery_kills.judge import Kill, judge

ONCE = ["got 1 10 4.5", "begin 1 10 5.0", "end 1 10 6.0"]
AGAIN = ["got 1 11 8.0", "begin 1 11 8.0", "end 1 11 8.5"]


def kill(at: float, worker: int | None = 10) -> Kill:
    return Kill(at, at, worker)


def test_a_task_that_is_done_once_is_good() -> None:
    verdict = judge(ONCE, [1], [kill(5.5)], 1)
    assert (verdict.good, verdict.again) == (True, 0)


@pytest.mark.parametrize("lines", [[], ["got 1 10 4.5", "begin 1 10 5.0"]])
def test_a_task_that_never_ended_is_lost(lines: list[str]) -> None:
    verdict = judge(lines, [1], [kill(5.5)], 1)
    assert (verdict.good, verdict.lost) == (False, (1,))


@pytest.mark.parametrize(
    ("at", "good"),
    [
        (5.5, True),  # at work
        (6.9, True),  # done, and perhaps not acknowledged yet
        (7.1, False),  # acknowledged
        (4.9, False),  # killed before it began: then it would not have begun
        (9.0, False),  # after it was done again
    ],
)
def test_a_task_is_done_again_only_after_a_kill_of_its_worker_in_time(at: float, good: bool) -> None:
    verdict = judge([*ONCE, *AGAIN], [1], [kill(at)], 1)
    assert (verdict.good, verdict.again) == (good, 1)
    assert verdict.unexplained == (() if good else (1,))


@pytest.mark.parametrize(
    ("at", "good"),
    [
        (4.6, True),  # received but not begun: a worker that has not noticed the loss still begins it
        (3.6, True),  # under way to the worker
        (3.4, False),  # not acquired yet
        (6.9, True),
        (7.1, False),
    ],
)
def test_a_kill_of_the_broker_explains_what_a_worker_had(at: float, good: bool) -> None:
    assert judge([*ONCE, *AGAIN], [1], [kill(at, None)], 1).good is good


def test_a_kill_of_another_worker_explains_nothing() -> None:
    verdict = judge([*ONCE, *AGAIN], [1], [kill(5.5, 11), kill(5.6, 12)], 1)
    assert (verdict.good, verdict.unexplained) == (False, (1,))


def test_the_second_worker_may_begin_while_the_first_is_still_ending() -> None:
    lines = ["got 1 10 4.5", "begin 1 10 5.0", "got 1 11 5.2", "begin 1 11 5.2", "end 1 11 6.0"]
    assert judge(lines, [1], [Kill(5.1, 5.4, 10)], 1).good
    assert not judge(lines, [1], [Kill(5.3, 5.4, 10)], 1).good


def test_a_task_that_was_killed_at_work_is_done_again() -> None:
    verdict = judge(["got 1 10 5.0", "begin 1 10 5.0", *AGAIN], [1], [kill(6.0)], 1)
    assert (verdict.good, verdict.again) == (True, 1)


def test_each_execution_has_a_kill_of_its_own() -> None:
    lines = [*ONCE, *AGAIN, "got 1 12 20.0", "begin 1 12 20.0", "end 1 12 20.5"]
    assert judge(lines, [1], [kill(5.5)], 1).unexplained == (1,)
    assert judge(lines, [1], [kill(5.5), kill(8.2)], 1).unexplained == (1,)
    assert judge(lines, [1], [kill(5.5), kill(8.2, 11)], 1).good


def test_a_task_that_one_worker_forgot_and_received_again_is_judged_by_its_last_receipt() -> None:
    """Celery drops tasks that it has not begun when the connection is lost."""
    lines = ["got 1 10 1.0", *ONCE, *AGAIN]
    assert judge(lines, [1], [kill(1.5, None)], 1).unexplained == (1,)


def test_what_was_not_confirmed_is_judged_when_it_was_done() -> None:
    assert judge([*ONCE, *AGAIN], [], [], 1).unexplained == (1,)
