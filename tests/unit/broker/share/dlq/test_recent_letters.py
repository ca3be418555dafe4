from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.share.dlq.recent_letters import RecentLetters

WINDOW_MS = 10_000
PART_MS = WINDOW_MS // 100


def test_letters_within_the_window_are_counted_together() -> None:
    recent = RecentLetters()
    assert [recent.add(2, now_ms, WINDOW_MS) for now_ms in (0, 1, 5_000, 10_000)] == [2, 4, 6, 8]


def test_letters_leave_with_the_window() -> None:
    recent = RecentLetters()
    recent.add(5, 0, WINDOW_MS)
    recent.add(7, 6_000, WINDOW_MS)
    assert recent.add(1, WINDOW_MS + PART_MS, WINDOW_MS) == 8
    assert recent.add(1, 6_000 + WINDOW_MS + PART_MS, WINDOW_MS) == 2


def test_another_window_begins_again() -> None:
    recent = RecentLetters()
    recent.add(5, 0, WINDOW_MS)
    assert recent.add(1, 1, 2 * WINDOW_MS) == 1


def test_a_million_letters_are_a_hundred_numbers() -> None:
    recent = RecentLetters()
    for now_ms in range(30_000):
        found = recent.add(40, now_ms, WINDOW_MS)
    assert 40 * WINDOW_MS <= found <= 40 * (WINDOW_MS + PART_MS)
    assert len(recent._parts) <= 101


@given(st.lists(st.tuples(st.integers(0, 6_000), st.integers(1, 50)), max_size=60))
def test_no_letter_of_the_window_is_missing_and_none_is_a_hundredth_older(steps: list[tuple[int, int]]) -> None:
    recent, now_ms = RecentLetters(), 0
    came: list[tuple[int, int]] = []
    for pause_ms, letters in steps:
        now_ms += pause_ms
        came.append((now_ms, letters))
        least = sum(number for at, number in came if at > now_ms - WINDOW_MS)
        most = sum(number for at, number in came if at > now_ms - WINDOW_MS - PART_MS)
        assert least <= recent.add(letters, now_ms, WINDOW_MS) <= most
