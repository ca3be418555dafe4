"""Memory for answers that clients do not take is shared by all connections."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.network.answer_budget import LEAST_BYTES, AnswerBudget

MB = 1024 * 1024


def room(total_bytes: int) -> tuple[AnswerBudget, list[Callable[[], None]]]:
    next_tick: list[Callable[[], None]] = []
    return AnswerBudget(next_tick.append, total_bytes), next_tick


def test_answers_that_are_not_taken_leave_less_for_others() -> None:
    shared, _ = room(100 * MB)
    assert shared.grant() == 50 * MB
    shared.note_unsent(50 * MB)
    assert shared.grant() == 25 * MB
    shared.note_unsent(-50 * MB)
    assert shared.grant() == 50 * MB


def test_a_little_is_always_granted() -> None:
    shared, _ = room(MB)
    shared.note_unsent(10 * MB)
    assert shared.grant() == LEAST_BYTES


def test_what_one_tick_reads_counts_until_the_sockets_have_it() -> None:
    """Waiting fetches that one append wakes are all answered before anything is sent."""
    shared, next_tick = room(100 * MB)
    for expected in (50, 25, 12.5):
        assert shared.grant() == expected * MB
        shared.note_read(shared.grant())
    assert len(next_tick) == 1
    next_tick.pop()()
    assert shared.grant() == 50 * MB


def test_together_they_hold_no_more_than_the_total() -> None:
    shared, _ = room(100 * MB)
    held = 0
    while shared.grant() > LEAST_BYTES:
        held += shared.grant()
        shared.note_unsent(shared.grant())
    assert held <= 100 * MB
