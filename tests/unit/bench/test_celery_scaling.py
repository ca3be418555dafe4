"""The tasks per second while all processes were busy, from the journal of the tasks."""

from __future__ import annotations

import pytest

from bench.celery_scaling import steady
from bench.queues.job import Done


def one_after_another(first_s: float, count: int) -> list[Done]:
    return [Done(0, 0.0, first_s + number, first_s + number + 0.999) for number in range(count)]


def test_the_time_before_all_are_at_work_does_not_count() -> None:
    journal = [*one_after_another(0.0, 30), *one_after_another(20.5, 10)]
    most, rate = steady(journal, places=2)
    assert most == 2
    assert rate == pytest.approx(2.0, rel=0.15)  # without it: 40 tasks in 31 s


def test_the_end_of_the_last_tasks_does_not_count() -> None:
    journal = [*one_after_another(0.0, 90), Done(0, 0.0, 1.5, 1000.0)]
    assert steady(journal, places=2)[1] == pytest.approx(1.0, rel=0.05)


def test_fewer_at_once_than_there_are_places_is_seen() -> None:
    assert steady(one_after_another(0.0, 20), places=2)[0] == 1
