"""The rate of a redrive (`--per-second`): the number of letters that one round may send back, and the wait for the
next round.
"""

from __future__ import annotations

from typing import Final

_ROUND_MS: Final = 100
"""The time in ms for which a round may use the rate. Every round may send at least one letter."""


def records_of_a_round(per_second: int, most: int) -> int:
    """Return the number of letters that a round may send back, at most `most`."""
    return max(1, min(most, per_second * _ROUND_MS // 1_000))


def wait_ms(records: int, per_second: int) -> int:
    """Return the time in ms from the start of a round of this size to the start of the next one."""
    return -(-records * 1_000 // per_second)
