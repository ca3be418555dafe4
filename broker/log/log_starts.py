"""The start offsets of logs: DeleteRecords and retention move them, and remove the segments left behind.

The new starts of all logs are first saved with one write; then they take effect; then the segments below them are
removed. A crash in between leaves segments that the next start removes. Before segments are removed, the starts are
on stable storage: otherwise a power loss might leave logs without their first segments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import PAUSE
from shareq.broker.log.folders import TopicPartition
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.checkpoints import LOG_START_FILE
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.retention import expired_segments
from shareq.protocol.errors import ErrorCode

logger = logging.getLogger(__name__)

TO_HIGH_WATERMARK: Final = -1  # DeleteRecords: everything

SAVED_TOGETHER: Final = 500
"""The work done after one write of all starts, at most 5 ms; each log whose start moves counts as one unit."""

_REMOVED: Final = 5  # the work of removing a segment
_ROLLED: Final = 50  # the work of sealing a segment without waiting for a sync


class LogStarts:
    """The start offsets of a broker's logs. Owned by the manager. `offsets` are the starts that have been moved, as
    they are saved.

    `save` writes a checkpoint file, to stable storage if its last argument is True; after an OSError the old file
    stays. `on_moved` notes the logs' new promises. Work that waits for the disk passes the `gate` first; so does
    sealing a segment of a log that `syncs`. After all starts have moved, `listeners` are called with each of these
    logs.
    """

    def __init__(
        self,
        fs: Fs,
        save: Callable[[str, Mapping[TopicPartition, int], bool], None],
        on_moved: Callable[[Iterable[PartitionLog]], None],
        gate: CommitGate,
        syncs: Callable[[PartitionLog], bool] = lambda _log: False,
    ) -> None:
        self._fs = fs
        self._save = save
        self._on_moved = on_moved
        self._gate = gate
        self._syncs = syncs
        self._stopped = False
        self.offsets: dict[TopicPartition, int] = {}
        self.listeners: list[Callable[[PartitionLog], None]] = []

    def save(self) -> None:
        """Write the checkpoint. Raise OSError if that fails."""
        self._save(LOG_START_FILE, self.offsets, False)

    def delete_records(self, cuts: Mapping[PartitionLog, int]) -> dict[PartitionLog, ErrorCode]:
        """Move the start of each log to its offset; return for each its error or NONE. A start never moves back.

        TO_HIGH_WATERMARK deletes every record below the high watermark; an offset beyond that gets
        OFFSET_OUT_OF_RANGE. KAFKA_STORAGE_ERROR if the new starts could not be saved: then none of them moved.
        """
        results: dict[PartitionLog, ErrorCode] = {}
        starts: dict[PartitionLog, int] = {}
        for log, offset in cuts.items():
            start = self._start_at(log, offset)
            if isinstance(start, ErrorCode):
                results[log] = start
                continue
            results[log] = ErrorCode.NONE
            if start != log.log_start_offset:
                starts[log] = start
        if not self._move(starts, "by request"):
            results.update(dict.fromkeys(starts, ErrorCode.KAFKA_STORAGE_ERROR))
        return results

    def apply_retention(self, logs: Iterable[PartitionLog], now_wall_ms: int) -> bool:
        """Delete the segments that have expired by the retention time and size of their logs. Return False if the
        new starts could not be saved, and nothing was deleted.
        """
        starts: dict[PartitionLog, int] = {}
        for log in logs:
            start = self._retained_from(log, now_wall_ms)
            if start != log.log_start_offset:
                starts[log] = start
        return self._move(starts, "by retention")

    async def delete_many(self, cuts: Mapping[PartitionLog, int]) -> dict[PartitionLog, ErrorCode]:
        """Call `delete_records` for some logs in each turn: as many as `SAVED_TOGETHER` allows."""
        results: dict[PartitionLog, ErrorCode] = {}
        left = list(cuts)[::-1]
        while left:
            if results:
                await PAUSE
            await self._gate.passing()
            part = _part_of(left, lambda log: self._cut_work(log, _below(log, cuts[log])))
            results.update(self.delete_records({log: cuts[log] for log in part}))
        return results

    def retain_many(
        self, logs: Sequence[PartitionLog], wall_ms: Callable[[], int], done: Callable[[bool], None]
    ) -> None:
        """Call `apply_retention` for some logs in each turn (`SAVED_TOGETHER`), the first at once if the gate is
        free.

        At the end, `done` is called with True if all new starts were saved, unless `stop` was called before.
        """
        left = list(logs)[::-1]
        saved = True

        def go_on() -> Pending[None]:
            nonlocal saved
            if left and not self._stopped:
                part = _part_of(left, lambda log: self._retention_work(log, wall_ms()))
                saved = self.apply_retention(part, wall_ms()) and saved
                self._gate.committed()
                self._gate.pass_then(go_on)
            elif not self._stopped:
                done(saved)
            return completed(None)

        self._gate.pass_then(go_on)

    def stop(self) -> None:
        """Stop: delete nothing in later turns, because the logs are closed."""
        self._stopped = True

    def is_due(self, log: PartitionLog, now_wall_ms: int) -> bool:
        """Return True if `apply_retention` may delete segments of the log."""
        return self._expired(log, now_wall_ms) > 0

    def _retention_work(self, log: PartitionLog, now_wall_ms: int) -> int:
        expired = self._expired(log, now_wall_ms)
        if expired and expired == len(log.segment_list):
            return (SAVED_TOGETHER if self._syncs(log) else _ROLLED) + _REMOVED * expired
        return self._cut_work(log, log.segment_list.all()[:expired])

    def _cut_work(self, log: PartitionLog, going: Sequence[Segment]) -> int:
        """Return the work of removing these segments of a log; that of a whole turn if a snapshot of its producers
        has to be written.
        """
        if going and len(log.producers):
            from shareq.broker.log.recovery.producers import lacks_snapshot  # as in `_keeps_producers`

            try:
                if lacks_snapshot(self._fs, log.folder, log.segment_list.base_of(len(going))):
                    return SAVED_TOGETHER
            except OSError:
                return SAVED_TOGETHER  # it is tried, and logged
        return 1 + _REMOVED * len(going)

    def _start_at(self, log: PartitionLog, wanted: int) -> int | ErrorCode:
        """Return the log's start offset after its records below `wanted` are deleted, or the error.

        KAFKA_STORAGE_ERROR if the producers' state could not be kept without these records.
        """
        if log.refusal:
            return log.refusal
        offset = log.high_watermark if wanted == TO_HIGH_WATERMARK else wanted
        if offset > log.high_watermark or offset < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        start = max(offset, log.log_start_offset)
        return start if self._keeps_producers(log, start) else ErrorCode.KAFKA_STORAGE_ERROR

    def _retained_from(self, log: PartitionLog, now_wall_ms: int) -> int:
        """Return the log's start offset by its retention time and size.

        Seal the active segment if that has expired, too.
        """
        segments = log.segment_list
        expired = self._expired(log, now_wall_ms)
        if expired and expired == len(segments) and not log.roll(now_wall_ms):
            expired -= 1  # the active segment stays
        start = max(log.log_start_offset, segments.base_of(expired)) if expired else log.log_start_offset
        return start if self._keeps_producers(log, start) else log.log_start_offset

    def _expired(self, log: PartitionLog, now_wall_ms: int) -> int:
        """Return how many segments have expired by the log's retention time and size."""
        if not log.settings.delete or log.refusal:
            return 0
        return expired_segments(log.segment_list, log.settings, now_wall_ms, log.log_end_offset, log.high_watermark)

    def _keeps_producers(self, log: PartitionLog, start: int) -> bool:
        """Return True if the broker's next start can restore the log's producers without the segments below `start`.

        Write a snapshot of the producers if none exists.
        """
        going = log.segment_list.before(start)
        if not going or not len(log.producers):
            return True
        from shareq.broker.log.recovery.producers import keep_producers  # not what a start without logs needs

        try:
            keep_producers(self._fs, log.folder, going, log.segment_list.base_of(len(going)))
        except OSError as error:
            logger.error("%s: producer snapshot not written, nothing is deleted: %s", log.folder, error)
            return False
        return True

    def _move(self, starts: Mapping[PartitionLog, int], why: str) -> bool:
        """Save the new starts, then apply them. Return False if they could not be saved: then nothing is deleted."""
        if not starts:
            return True
        changed = {**self.offsets, **{(log.topic, log.partition): start for log, start in starts.items()}}
        try:
            self._save(LOG_START_FILE, changed, any(log.segment_list.before(start) for log, start in starts.items()))
        except OSError as error:
            logger.error("%s not written, nothing is deleted: %s", LOG_START_FILE, error)
            return False
        self.offsets = changed
        before = {log: log.log_start_offset for log in starts}
        for log, start in starts.items():
            log.log_start_offset = start
        for log in starts:
            for listener in self.listeners:
                listener(log)
        for log, start in starts.items():
            removed = log.remove_deleted_segments()
            logger.info(
                "%s-%d: log start offset %d -> %d %s, %d segments deleted",
                log.topic,
                log.partition,
                before[log],
                start,
                why,
                removed,
            )
        self._on_moved(starts)
        return True


def _below(log: PartitionLog, wanted: int) -> Sequence[Segment]:
    """Return the segments to remove if the log's start moves to this offset; none if it may not."""
    offset = log.high_watermark if wanted == TO_HIGH_WATERMARK else wanted
    return log.segment_list.before(offset) if log.log_start_offset < offset <= log.high_watermark else ()


def _part_of(left: list[PartitionLog], work: Callable[[PartitionLog], int]) -> list[PartitionLog]:
    """Remove and return the logs at the end of the list whose work fits into `SAVED_TOGETHER`, at least one."""
    part = [left.pop()]
    done = work(part[0])
    while left and (done := done + work(left[-1])) <= SAVED_TOGETHER:
        part.append(left.pop())
    return part
