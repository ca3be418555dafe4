"""Where logs begin: DeleteRecords and retention move that, and remove the segments that it leaves behind.

New starts are saved first, those of all logs with one write; then they are in force; then segments are
removed whose records all lie below. A crash in between leaves segments that the next start removes. Where segments go,
the starts are on stable storage before: else a loss of power might leave logs without their first segments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.folders import TopicPartition
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.checkpoints import LOG_START_FILE
from shareq.protocol.errors import ErrorCode

__all__ = ["TO_HIGH_WATERMARK", "LogStarts"]

logger = logging.getLogger(__name__)

TO_HIGH_WATERMARK: Final = -1  # DeleteRecords: everything


class LogStarts:
    """Owned by the manager. `offsets` are the starts that were moved, as they are saved.

    `save` writes a checkpoint file, on stable storage if its last argument is true (OSError when that failed, and the
    old one stays), `on_moved` notes what is promised of logs now. `listeners` are called with each log whose start has
    moved, once all of them have.
    """

    def __init__(
        self,
        fs: Fs,
        save: Callable[[str, Mapping[TopicPartition, int], bool], None],
        on_moved: Callable[[Iterable[PartitionLog]], None],
    ) -> None:
        self._fs = fs
        self._save = save
        self._on_moved = on_moved
        self.offsets: dict[TopicPartition, int] = {}
        self.listeners: list[Callable[[PartitionLog], None]] = []

    def save(self) -> None:
        """Write the checkpoint. OSError as `save`."""
        self._save(LOG_START_FILE, self.offsets, False)

    def delete_records(self, cuts: Mapping[PartitionLog, int]) -> dict[PartitionLog, ErrorCode]:
        """Have each log begin at its offset; the error of each, or NONE. A start never moves back.

        TO_HIGH_WATERMARK deletes every record that counts. OFFSET_OUT_OF_RANGE beyond that. KAFKA_STORAGE_ERROR when
        the new starts could not be saved: then none of them moved.
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
        """Delete the segments that are too old or too much by the settings of their logs. Return False if the new
        starts could not be saved, and nothing was deleted.
        """
        starts: dict[PartitionLog, int] = {}
        for log in logs:
            start = self._retained_from(log, now_wall_ms)
            if start != log.log_start_offset:
                starts[log] = start
        return self._move(starts, "by retention")

    def is_due(self, log: PartitionLog, now_wall_ms: int) -> bool:
        """Whether `apply_retention` would delete something of the log. Seals its active segment if that has expired."""
        return self._retained_from(log, now_wall_ms) != log.log_start_offset

    def _start_at(self, log: PartitionLog, wanted: int) -> int | ErrorCode:
        """Where the log begins without what is below `wanted`; KAFKA_STORAGE_ERROR, too, if what is left would not say
        which batches producers have sent.
        """
        if log.refusal:
            return log.refusal
        offset = log.high_watermark if wanted == TO_HIGH_WATERMARK else wanted
        if offset > log.high_watermark or offset < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        start = max(offset, log.log_start_offset)
        return start if self._keeps_producers(log, start) else ErrorCode.KAFKA_STORAGE_ERROR

    def _retained_from(self, log: PartitionLog, now_wall_ms: int) -> int:
        """Where the log begins by its retention time and size. Seals its active segment if that has expired, too."""
        if not log.settings.delete or log.refusal:
            return log.log_start_offset
        segments = log.segment_list
        expired = segments.expired(log.settings, now_wall_ms, log.log_end_offset, log.high_watermark)
        if expired and expired == len(segments) and not log.roll(now_wall_ms):
            expired -= 1  # the active segment stays
        start = max(log.log_start_offset, segments.base_of(expired)) if expired else log.log_start_offset
        return start if self._keeps_producers(log, start) else log.log_start_offset

    def _keeps_producers(self, log: PartitionLog, start: int) -> bool:
        """Whether the next start of the broker knows the log's producers without the segments below `start`."""
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
        """Save the new starts, then have them in force. False when that failed: nothing is deleted."""
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
