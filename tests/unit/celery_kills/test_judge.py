"""The judge of the campaign against Celery workers finds what is lost, and what is done again without a kill."""

from __future__ import annotations

import pytest

from tests.celery_kills.judge import judge

ONCE = ["begin 1 10 5.0", "end 1 10 6.0"]


def test_a_task_that_is_done_once_is_good() -> None:
    verdict = judge(ONCE, [1], [5.5], 1)
    assert (verdict.good, verdict.again) == (True, 0)


@pytest.mark.parametrize("lines", [[], ["begin 1 10 5.0"]])
def test_a_task_that_never_ended_is_lost(lines: list[str]) -> None:
    verdict = judge(lines, [1], [5.5], 1)
    assert (verdict.good, verdict.lost) == (False, (1,))


@pytest.mark.parametrize(
    ("kill", "good"),
    [
        (5.5, True),  # at work
        (6.9, True),  # done, and perhaps not acknowledged yet
        (7.1, False),  # acknowledged
        (3.9, False),  # long before it was begun
        (9.0, False),  # after it was done again
    ],
)
def test_a_task_is_done_again_only_after_a_kill_of_the_first(kill: float, good: bool) -> None:
    verdict = judge([*ONCE, "begin 1 11 8.0", "end 1 11 8.5"], [1], [kill], 1)
    assert (verdict.good, verdict.again) == (good, 1)
    assert verdict.unexplained == (() if good else (1,))


def test_a_task_that_was_killed_at_work_is_done_again() -> None:
    verdict = judge(["begin 1 10 5.0", "begin 1 11 8.0", "end 1 11 8.5"], [1], [6.0], 1)
    assert (verdict.good, verdict.again) == (True, 1)


def test_each_execution_has_a_kill_of_its_own() -> None:
    lines = [*ONCE, "begin 1 11 8.0", "end 1 11 8.5", "begin 1 12 20.0", "end 1 12 20.5"]
    assert judge(lines, [1], [5.5], 1).unexplained == (1,)
    assert judge(lines, [1], [5.5, 8.2], 1).good


def test_what_was_not_confirmed_is_judged_when_it_was_done() -> None:
    assert judge([*ONCE, "begin 1 11 8.0", "end 1 11 8.5"], [], [], 1).unexplained == (1,)
