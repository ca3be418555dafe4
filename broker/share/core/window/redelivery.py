"""The wait of a failed record before it may be delivered again: `shareq.redelivery.backoff.*`, our own.

A record fails when it is released, when its lock expires, and when the session of its holder ends. A record at the
delivery count limit does not wait: it is archived.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.share.core.window.delivery_status import NO_DELAY
from shareq.coordinator.ports import RedeliveryBackoff

_MASK: Final = (1 << 64) - 1


def not_before(backoff: RedeliveryBackoff, now_ms: int, offset: int, delivery_count: int) -> int:
    """Return when a record may be delivered again after its `delivery_count`-th delivery failed; `NO_DELAY`: at once.

    The wait is `initial_ms` after the first failure, and `multiplier` times longer after each further one. It is
    multiplied by a factor between 1 - `jitter` and 1 + `jitter`, and is never longer than `max_ms`. The factor depends
    only on `offset`, the first one of the records that failed together, and on the count, so a repeated run has the
    same times.
    """
    if not backoff.initial_ms:
        return NO_DELAY
    wait = backoff.initial_ms * backoff.multiplier ** max(delivery_count - 1, 0)
    if backoff.jitter:
        wait *= 1 + backoff.jitter * (2 * _chance(offset, delivery_count) - 1)
    wait_ms = int(min(wait, backoff.max_ms))
    return now_ms + wait_ms if wait_ms else NO_DELAY


def _chance(offset: int, delivery_count: int) -> float:
    """Return a number from 0 to 1 (both inclusive) that looks random: SplitMix64's mix of both arguments."""
    mixed = (offset * 0x9E3779B97F4A7C15 + delivery_count * 0xD1B54A32D192ED03) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) / _MASK
