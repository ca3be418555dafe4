"""Batches that the broker itself makes for a clients' topic, appended as clients' batches are.

Compression by the topic's `compression.type` may take longer than a turn of the loop, and there may be many batches
at once: dead letters of many partitions, a round of a redrive. Work that is too much for this turn is done in later
turns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from shareq.broker.foundation.loop.coroutines import drive
from shareq.broker.foundation.loop.effort import AT_ONCE, EFFORT, MOST_EFFORT, elements_of
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.turn_budget import PAUSE, TurnBudget
from shareq.broker.log.admission import Checked, LargeBatch
from shareq.broker.log.append import OnDurable, Origin
from shareq.broker.log.partition_log import PartitionLog
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

_FindLog = Callable[[], PartitionLog | ErrorCode]


def append_in_turns(
    turns: Turns, budget: TurnBudget, find_log: _FindLog, batch: bytearray, now_wall_ms: int, on_durable: OnDurable
) -> ErrorCode:
    """Append an uncompressed batch to the log that `find_log` returns, or return the error.

    After NONE, `on_durable` is called once: with NONE when the batch is durable, with the error if it was lost, or
    with an error found in a later turn. It is not called if the broker stops before.
    """
    log = find_log()
    if isinstance(log, ErrorCode):
        return log
    if EFFORT.spent <= MOST_EFFORT or not log.admission.rewrites:
        try:
            return _append(log, batch, now_wall_ms, on_durable)
        except LargeBatch:
            pass

    def failed(error: Exception) -> None:
        logger.error("%s-%d: a batch of the broker's own is not appended", log.topic, log.partition, exc_info=error)
        on_durable(ErrorCode.UNKNOWN_SERVER_ERROR)

    later = _append_later(log, find_log, batch, now_wall_ms, on_durable, budget)
    drive(later, budget, lambda steps: turns.run(steps, failed), failed)
    return ErrorCode.NONE


async def _append_later(
    log: PartitionLog,
    find_log: _FindLog,
    batch: bytearray,
    now_wall_ms: int,
    on_durable: OnDurable,
    budget: TurnBudget,
) -> None:
    """Append a batch in the next turns, or report the error: its log was deleted, or another broker leads it."""
    await PAUSE
    error = _other(log, find_log)
    try:
        error = error or _append(log, batch, now_wall_ms, on_durable)
    except LargeBatch as large:
        await budget.breathe(elements_of(AT_ONCE))
        checked = await log.admission.check_large(batch, large.header, now_wall_ms, budget.breathe)
        error = _other(log, find_log) or _append(log, batch, now_wall_ms, on_durable, checked)
    if error:
        on_durable(error)


def _other(log: PartitionLog, find_log: _FindLog) -> ErrorCode:
    """Return the error if `log` no longer belongs to the partition, or NONE. A new log may have been created under
    its name.
    """
    found = find_log()
    if found is log:
        return ErrorCode.NONE
    return found if isinstance(found, ErrorCode) else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _append(
    log: PartitionLog, batch: bytearray, now_wall_ms: int, on_durable: OnDurable, checked: Checked | None = None
) -> ErrorCode:
    """Append the batch. Raise `LargeBatch` if it has to be `checked` first, and was not."""
    appended = log.append(
        batch, origin=Origin.CLIENT, now_wall_ms=now_wall_ms, on_durable=on_durable, at_once=True, checked=checked
    )
    return appended if isinstance(appended, ErrorCode) else ErrorCode.NONE
