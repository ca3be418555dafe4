"""The deletion of records that no take-over needs any longer from a slot's log, so that the next take-over reads less.

An owner marks the log with a take-over record of its generation, at offset R. Sooner or later each state is written as
a whole again (its snapshot). When all states have a durable snapshot behind R, all records before R are deleted: the
log then begins with its owner's record, as rule (a) requires.

Even a zombie may delete these records: its own R, and all records that it read, precede its successor's take-over
record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.foundation.pending import Pending
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.slot import Refused, Slot
from shareq.protocol.errors import ErrorCode, is_retriable

logger = logging.getLogger(__name__)

LEAST_OFFSETS: Final = 1_000

NeededFrom = Callable[[], Pending[int | None]]
"""A function that returns the lowest offset that a load still needs. The answer comes when all operations decided
before the call are durable. An offset that is too low does no harm. None: unknown now.
"""


class PruningSettings(NamedTuple):
    """The settings of pruning.

    `interval_ms` is the time between two checks (`share.coordinator.state.topic.prune.interval.ms`). A log of fewer
    than `least_offsets` is left alone.
    """

    interval_ms: int = 300_000
    least_offsets: int = LEAST_OFFSETS


class Pruning:
    """The pruning of one log, until the log ends. `deleted_to` is the log start offset after the last deletion.

    If the node may not delete records, a line in the log says so once, and the topic grows.
    """

    def __init__(
        self,
        clock: Clock,
        slot: Slot,
        log: SlotLog,
        needed_from: NeededFrom,
        settings: PruningSettings = PruningSettings(),  # noqa: B008 - a value
    ) -> None:
        self.deleted_to = log.log_start_offset
        self._clock = clock
        self._slot = slot
        self._log = log
        self._needed_from = needed_from
        self._settings = settings
        self._mark: int | None = None
        self._busy = False
        self._timer = Timer(clock)
        log.over.on_complete(lambda _reason: self._timer.stop())
        self._arm()

    def _arm(self) -> None:
        if not self._log.is_over:
            self._timer.after(self._settings.interval_ms, self._look)

    def _look(self) -> None:
        self._arm()
        if self._busy:
            return
        if self._mark is not None:
            self._busy = True
            self._needed_from().on_complete(self._heard)
        elif self._log.high_watermark - self._log.log_start_offset >= self._settings.least_offsets:
            self._busy = True
            self._log.mark().on_complete(self._marked)

    def _marked(self, offset: int | ErrorCode) -> None:
        self._busy = False
        if not isinstance(offset, ErrorCode):
            self._mark = offset

    def _heard(self, needed_from: int | None) -> None:
        self._busy = False
        mark = self._mark
        # Offsets that a coordinator believes in may be lower than the real ones, so one that is equal is no proof.
        if mark is None or needed_from is None or needed_from <= mark or self._log.is_over:
            return
        self._busy = True
        self._slot.delete_records(mark).on_complete(self._deleted)

    def _deleted(self, answer: int | Refused) -> None:
        self._busy = False
        if isinstance(answer, int):
            self.deleted_to, self._mark = answer, None
            self._log.log_start_offset = max(self._log.log_start_offset, answer)
        elif answer.error is not None and not is_retriable(answer.error):
            logger.warning("%s; the log is not pruned, and take-overs read all of it", answer.text)
            self._timer.stop()
