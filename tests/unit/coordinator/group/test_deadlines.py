"""The number of expired members or groups handled at once."""

from __future__ import annotations

from shareq.coordinator.group.deadlines import Deadlines, take_due


def due(*keys: tuple[str, ...]) -> Deadlines[tuple[str, ...]]:
    deadlines: Deadlines[tuple[str, ...]] = Deadlines()
    for key in keys:
        deadlines.set(key, 5)
    return deadlines


def test_as_many_are_taken_as_may_leave_with_one_append() -> None:
    """With longer names fewer are taken: each has four tombstones, of 64 bytes and three for each character."""
    short = [("g", f"m{each}") for each in range(10)]  # 4 * (64 + 9) = 292 bytes
    deadlines = due(*short)
    assert take_due(deadlines, 5, 585) == short[:3]
    assert take_due(deadlines, 5, 584) == short[3:5]
    long = [("g", f"{each}" * 100) for each in range(10)]  # 4 * (64 + 303) = 1,468 bytes
    assert take_due(due(*long), 5, 1_469) == long[:2]
    assert take_due(due(*long), 5, 1_468) == long[:1]


def test_one_is_taken_however_small_the_room_and_none_before_its_time() -> None:
    deadlines = due(("g", "m"), ("g", "n"))
    assert take_due(deadlines, 4, 1_000_000) == []
    assert take_due(deadlines, 5, 0) == [("g", "m")]
