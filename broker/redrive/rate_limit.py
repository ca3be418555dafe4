"""The rate of a redrive (`--per-second`): how many letters one round may send back, and the wait for the next one."""

from __future__ import annotations

from typing import Final

_ROUND_MS: Final = 100
"""The time for which a round may use the rate up; every round may send one letter."""


def records_of_a_round(per_second: int, most: int) -> int:
    """Return how many letters a round may send back, `most` at most."""
    return max(1, min(most, per_second * _ROUND_MS // 1_000))


def wait_ms(records: int, per_second: int) -> int:
    """Return the time from the start of a round of this size to the start of the next one."""
    return -(-records * 1_000 // per_second)
