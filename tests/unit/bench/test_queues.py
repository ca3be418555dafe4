"""The journal of jobs, the cost of a kill computed from it, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.queues.job import JOURNAL, Done, count, read, work
from bench.queues.measure import Kill, cost_of_kills


def done(number: int, ended_s: float) -> Done:
    return Done(number, 0.0, ended_s - 0.01, ended_s)


def test_a_job_writes_one_line_and_half_a_line_is_left_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setenv(JOURNAL, str(journal))
    work(7, 1.5, 0.0)
    with journal.open("a") as file:
        file.write("8 1.5 1.6")
    (only,) = read(journal)
    assert (only.number, only.sent_s) == (7, 1.5)
    assert only.begun_s <= only.ended_s
    assert count(journal) == 1


def test_what_was_not_taken_is_neither_missing_nor_doubled() -> None:
    journal = [done(1, 1.0), done(2, 1.5), done(2, 4.5), done(9, 5.0), done(9, 5.5)]
    assert cost_of_kills({1, 2, 3}, journal, ended=1) == Kill(taken=3, missing=1, doubled=1, longest_s=3.0, ended=1)


def test_a_journal_without_jobs_has_all_missing() -> None:
    assert cost_of_kills({1, 2}, [], ended=0) == Kill(taken=2, missing=2, doubled=0, longest_s=0.0, ended=0)
