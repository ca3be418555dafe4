"""One partition's log: append, read, roll, retain.

An append is checked, given its offsets and put into a buffer; the manager's flush writes the buffers of all logs once a
tick and moves the high watermarks. Readers see nothing above the high watermark, so they never see records that a
failed write takes back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import Breath, unpaused
from shareq.broker.log.admission import Admission, Checked, own_header
from shareq.broker.log.append import AppendInfo, Batch, Ends, OnDurable, Origin, Sender, Traffic
from shareq.broker.log.append_waits import AppendWaits
from shareq.broker.log.host import LogHost
from shareq.broker.log.producer_state import AppendedBatch, ProducerStates
from shareq.broker.log.promises.clean_shutdown import LogEnd
from shareq.broker.log.promises.manifest import LogRow
from shareq.broker.log.promises.new_names import create_folder, segment_names
from shareq.broker.log.promises.stable_storage import StableStorage
from shareq.broker.log.segments.active import ActiveSegment
from shareq.broker.log.segments.cold_reads import BeingRead, NotCached
from shareq.broker.log.segments.files import Segment, write_snapshot
from shareq.broker.log.segments.reader import EMPTY, BatchSpan, Found, ReadResult
from shareq.broker.log.segments.segment_list import SegmentList
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    LENGTH_OVERHEAD,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    read_header,
)

if TYPE_CHECKING:
    from shareq.broker.log.recovery.recover import RecoveredLog

__all__ = ["AppendInfo", "BatchSpan", "Found", "OnDurable", "Origin", "PartitionLog", "ReadResult"]

logger = logging.getLogger(__name__)

SMALL_SEGMENT_BYTES: Final = 16 * 1024  # faster read again than with its indexes and producers written and read

_new: Final = tuple.__new__  # what AppendInfo(...) does, at half its price


class PartitionLog:
    """The log of one partition. Owned by the manager; everything runs on the loop's thread.

    `log_end_offset` is the next offset to assign, buffered appends included. Everything below `high_watermark` is
    written (and on stable storage if so configured), and can be read. The log has no files before its first append.
    """

    __slots__ = (
        "_active",
        "_changed",
        "_folder",
        "_folder_exists",
        "_host",
        "_queued",
        "_segments",
        "_settings",
        "_waits",
        "_written_end",
        "admission",
        "high_watermark",
        "leader_epoch",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producers",
        "refusal",
        "stable",
        "topic",
        "topic_id",
        "traffic",
    )

    def __init__(
        self,
        host: LogHost[PartitionLog],
        folder: str,
        topic: str,
        partition: int,
        topic_id: bytes,
        settings: LogSettings,
        *,
        log_start_offset: int = 0,
    ) -> None:
        self._host = host
        self._folder = folder
        self._folder_exists = False
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.leader_epoch = 0
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_start_offset
        self.high_watermark = log_start_offset
        self.producers = ProducerStates()
        self.traffic = Traffic()
        self.refusal = ErrorCode.NONE
        """The answer to every call once the log has gone offline or was deleted; NONE while it works."""
        self._segments = SegmentList()
        self.stable = StableStorage(folder, self._segments, log_start_offset)
        self._active: ActiveSegment | None = None  # the first append makes it
        self._waits = AppendWaits()
        self._written_end = log_start_offset
        self._queued = False
        self._changed = False  # since the index files and the snapshot were written
        self._settings = settings
        self.admission = Admission(settings)

    def __repr__(self) -> str:
        return f"PartitionLog({self.topic}-{self.partition}, {self.log_start_offset}..{self.log_end_offset})"

    def restore(
        self, recovered: RecoveredLog, leader_epoch: int, now_wall_ms: int, *, folder_exists: bool = True
    ) -> None:
        """Take over the state found on disk, before any other use of the log."""
        self._folder_exists = folder_exists
        self._changed = bool(recovered.scanned)
        self.leader_epoch = leader_epoch
        self.producers = recovered.producers
        end = recovered.log_end_offset
        self.log_end_offset = self.high_watermark = self._written_end = end
        for segment in recovered.segments[:-1]:
            if segment in recovered.scanned:
                segment.write_indexes(sync=False)
            segment.seal()
        self._segments.missing = recovered.missing
        for segment in recovered.segments:
            self._segments.add(segment)
        self.log_start_offset = recovered.log_start_offset
        if recovered.segments:
            active = recovered.segments[-1]
            since_ms = min(now_wall_ms, active.first_timestamp(or_else=now_wall_ms))
            self._active = ActiveSegment(active, self._settings, since_ms)
            if recovered.seal_last:
                self._make_room(now_wall_ms)

    # -- settings and state

    @property
    def settings(self) -> LogSettings:
        return self._settings

    @settings.setter
    def settings(self, settings: LogSettings) -> None:
        self._settings = settings
        self.admission = Admission(settings)
        if self._active is not None:
            self._active.apply(settings)

    @property
    def max_message_bytes(self) -> int:
        return self._settings.max_message_bytes

    @property
    def folder(self) -> str:
        return self._folder

    @property
    def active_segment(self) -> Segment | None:
        """The segment to which appends go; None before the first append."""
        return None if self._active is None else self._active.segment

    @property
    def segments(self) -> Sequence[Segment]:
        """All segments in order."""
        return self._segments.all()

    @property
    def segment_list(self) -> SegmentList:
        """The log's list of segments. Only the log changes it."""
        return self._segments

    @property
    def last_stable_offset(self) -> int:
        """The offset (exclusive) up to which read_committed consumers may read: no transaction below it is open."""
        return max(self.producers.first_unstable_offset(self.high_watermark), self.log_start_offset)

    @property
    def size_bytes(self) -> int:
        """The number of bytes in all segments."""
        return self._segments.size_bytes()

    def manifest_row(self) -> LogRow:
        """Return the log's present row of the manifest."""
        return self.stable.manifest_row(self.topic_id, self.log_start_offset)

    # -- appending

    def append(
        self,
        batch: Batch,
        *,
        origin: Origin,
        now_wall_ms: int,
        on_durable: OnDurable | None = None,
        sender: Sender | None = None,
        at_once: bool = False,
        checked: Checked | None = None,
    ) -> AppendInfo | ErrorCode:
        """Check one batch, give it its offsets and queue it for this tick's flush.

        `on_durable` is called once, with NONE when the batch is durable or with the error when it was lost. It is
        not called if this returns an ErrorCode. The log keeps a reference to a large `batch` until the flush: its
        bytes must not change before. POLICY_VIOLATION: `sender` may not add the batch's producer. With `at_once`,
        raise `LargeBatch` if a check takes longer than a turn; the caller then passes the result of
        `admission.check_large` as `checked`.
        """
        if self.refusal:
            return self.refusal
        is_client = origin is Origin.CLIENT
        if self._host.full and is_client and (refusal := self._host.client_refusal()):
            return refusal
        if checked is not None:
            admitted = checked.admitted
        else:
            admitted = self.admission.check(batch, now_wall_ms, at_once) if is_client else (batch, own_header(batch))
        if isinstance(admitted, ErrorCode):
            return admitted
        batch, header = admitted
        if header.producer_id != NO_PRODUCER_ID:
            known = self.producers.check_append(header, batch, trusted=not is_client)
            if not isinstance(known, AppendedBatch):
                if known:
                    return known
                if known is None and not (
                    sender is None or sender.may_add_producer(self.topic, self.partition, header.producer_id)
                ):
                    return ErrorCode.POLICY_VIOLATION
            elif not (self._is_lost(known) and self.producers.may_come_again(header, known)):
                return self._repeat(known, on_durable)
        if self.admission.rewrites and is_client:
            return self._store_rewritten(batch, header, checked, now_wall_ms, on_durable)
        return self._store(batch, header, NO_TIMESTAMP, now_wall_ms, on_durable)

    def before_append(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, before the appends of this tick are written, so that the caller can append collected
        records in time.
        """
        self._host.before_flush(callback)

    def _store_rewritten(
        self, batch: Batch, header: BatchHeader, checked: Checked | None, now_wall_ms: int, on_durable: OnDurable | None
    ) -> AppendInfo | ErrorCode:
        """Append the batch like `_store`, in the form in which the topic stores it."""
        stored = self.admission.rewritten(batch, header, now_wall_ms, checked)
        if isinstance(stored, ErrorCode):
            return stored
        header = read_header(stored)
        append_time = header.max_timestamp if header.is_log_append_time else NO_TIMESTAMP
        return self._store(stored, header, append_time, now_wall_ms, on_durable)

    def _store(
        self, batch: Batch, header: BatchHeader, append_time: int, now_wall_ms: int, on_durable: OnDurable | None
    ) -> AppendInfo | ErrorCode:
        """Give the batch its offsets, and put it into the buffer of the active segment."""
        size = header.length + LENGTH_OVERHEAD
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        active, epoch = self._active, self.leader_epoch
        if active is None or not active.add(batch, size, header, base_offset, epoch, now_wall_ms):
            made = self._make_room(now_wall_ms)
            if isinstance(made, ErrorCode):
                return made
            made.add(batch, size, header, base_offset, epoch, now_wall_ms)
        self.log_end_offset = last_offset + 1
        if header.producer_id != NO_PRODUCER_ID:
            self.producers.appended(header, batch, base_offset, now_wall_ms)
        if on_durable is not None:
            self._waits.buffered.append(on_durable)
        if not self._queued:
            self._queued = True
            self._host.flush_soon(self)
        return _new(AppendInfo, (base_offset, last_offset, append_time, self.log_start_offset, False))

    def _is_lost(self, known: AppendedBatch) -> bool:
        """Return True if a batch that its producer sent before is known to be unreadable, at least in part."""
        segments = self._segments
        offsets = (known.first_offset, known.last_offset)
        return segments.any_lost() and any(segments.unreadable_range(offset) is not None for offset in offsets)

    def _repeat(self, known: AppendedBatch, on_durable: OnDurable | None) -> AppendInfo:
        """Return the earlier offsets of a batch that is in the log or the buffer already. `on_durable` is called
        once everything appended so far is durable.
        """
        if on_durable is not None:
            self._waits.buffered.append(on_durable)
            if not self._queued:
                self._queued = True
                self._host.flush_soon(self)
        return AppendInfo(known.first_offset, known.last_offset, NO_TIMESTAMP, self.log_start_offset, True)

    def _make_room(self, now_wall_ms: int) -> ActiveSegment | ErrorCode:
        """Return an active segment that accepts the next batch, whatever its size, or the error."""
        active = self._active
        if active is not None and active.position == 0:
            active.begin_at(now_wall_ms)
            return active
        if active is not None:
            error = self._seal(active.segment)
            if error:
                return error
            active.segment.end_offset = self.log_end_offset
        segment = Segment(self._host.pool, self._folder, self.log_end_offset, 0, self._settings.index_interval_bytes)
        segment.set_map(segment.new_map(), proven=True)
        self._segments.add(segment)
        self._active = ActiveSegment(segment, self._settings, now_wall_ms)
        return self._active

    def roll(self, now_wall_ms: int, *, if_old: bool = False) -> bool:
        """Start a new active segment, unless the present one is empty; with `if_old`, only if segment.ms requires
        it.

        Return True if a segment was started.
        """
        active = self._active
        if active is None or active.position == 0 or self.refusal or (if_old and not active.is_old(now_wall_ms)):
            return False
        return not isinstance(self._make_room(now_wall_ms), ErrorCode)

    def _seal(self, active: Segment) -> ErrorCode:
        """Write the buffer of the active segment, to which nothing is appended any more. Return the error, or NONE."""
        if not self._write():
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            self._write_aborted(active)
        except OSError as error:  # nothing is lost, the next append tries again
            logger.error("%s: transaction index not written: %s", active.log_path, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        sync = self._host.syncs_every_flush(self._settings)
        if sync:
            # Before the next segment exists: otherwise a power loss may tear this one, with sound batches behind it.
            try:
                active.sync()
            except OSError as error:
                self.sync_failed(error)
                return ErrorCode.KAFKA_STORAGE_ERROR
            self.stable.synced_to(active, self.log_end_offset)
        active.write_indexes(sync=sync)
        active.seal()
        self._write_snapshot(sync=sync)
        self._host.sealed(self, active)
        return ErrorCode.NONE

    def _write_aborted(self, active: Segment) -> None:
        active.write_aborted(self.producers.aborted.ending_in(active.base_offset, self.log_end_offset))

    def _write_snapshot(self, *, sync: bool) -> None:
        """Write a snapshot of the producers' state at the log end offset, up to which the log must be written.

        After a failure the next start only takes longer.
        """
        content = self.producers.to_snapshot()
        write_snapshot(self._host.fs, self._folder, self.log_end_offset, content, self.stable.recovery_point, sync=sync)

    # -- flushing

    def flush(self) -> tuple[int, list[OnDurable], list[OnDurable]]:
        """Write the buffer. Return the end of the written log (exclusive), the callbacks of the written batches, and
        those of lost batches.

        The manager calls `advance` once the written batches are durable.
        """
        self._queued = False
        self._write()
        written, lost = self._waits.take()
        return self._written_end, written, lost

    def advance(self, end_offset: int) -> bool:
        """Move the high watermark to `end_offset`, below which everything is durable. Return True if it moved."""
        if end_offset <= self.high_watermark:
            return False
        self.high_watermark = end_offset
        return True

    def go_offline(self, error: OSError) -> None:
        """Refuse all operations until the broker's next start, because the content of a file is uncertain."""
        if not self.refusal:
            logger.error("%s: offline until the next start: %s", self._folder, error)
            self._stop(ErrorCode.KAFKA_STORAGE_ERROR)

    def sync_failed(self, error: OSError) -> None:
        """Go offline, and cut off the bytes of the active segment that do not count (see `size_after_failed_sync`)."""
        is_first = not self.refusal
        self.go_offline(error)
        active = self.active_segment
        if not is_first or active is None or not active.exists:
            return
        every_flush = self._host.syncs_every_flush(self._settings)
        kept = self.stable.size_after_failed_sync(active, self.high_watermark, every_flush=every_flush)
        if kept is None:
            return
        try:
            active.cut_at(kept)
            active.synced = kept
        except OSError as cut_error:
            logger.error("%s: not cut to the %d bytes that count: %s", active.log_path, kept, cut_error)

    def _stop(self, refusal: ErrorCode) -> None:
        self.refusal = refusal
        self._waits.lose()
        if self._active is not None:
            self._active.drop_buffers()

    def _write(self) -> bool:
        """Write the buffers to the active segment. Return False if that failed: their batches are lost."""
        active = self._active
        size = active.buffered_bytes if active is not None else 0
        if active is not None and size and not self.refusal:
            try:
                if not active.segment.exists:
                    self._create_files(active.segment)
                active.write()
            except OSError as error:
                self._take_back(active, error)
                return False
            self._changed = True
            records = self.log_end_offset - self._written_end
            self.stable.unsynced_messages += records
            self.traffic.wrote(size, records)
            self._written_end = self.log_end_offset
            self.producers.written()
        self._waits.write()
        return True

    def _take_back(self, active: ActiveSegment, error: OSError) -> None:
        """Restore the log's state after the last successful write, because this write failed."""
        segment = active.segment
        logger.error("%s: write at byte %d failed, removing it: %s", segment.log_path, segment.size, error)
        self._waits.lose()
        self.log_end_offset = self._written_end
        active.take_back(self._written_end)
        self.producers.roll_back(self._written_end)
        self._host.write_failed(error)
        try:
            segment.cut_back()
        except OSError as cut_error:
            self.go_offline(cut_error)

    def _create_files(self, segment: Segment) -> None:
        """Create the segment's file and, for the first segment, the partition's folder with the topic's id.

        The new names are not on stable storage yet, see `StableStorage.take_new_names`.
        """
        names = segment_names(self._folder)
        if not self._folder_exists:
            self._host.forget_deleted()
            names = create_folder(self._host.fs, self._folder, self.topic_id, self.leader_epoch, self.log_start_offset)
            self._folder_exists = True
        segment.file()
        self.stable.file_made(segment, names)
        self._host.segments_changed(self)

    # -- reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upto: int,
        min_one_batch: bool = True,
        max_records: int | None = None,
    ) -> ReadResult | ErrorCode | BeingRead:
        """Return whole batches of one segment, from the one that has `offset`, all of them durable and below `upto`
        (exclusive).

        There are at most `max_bytes`, but with `min_one_batch` always at least one batch. With `max_records`, the
        last batch is the one that has the last of so many offsets. Errors: OFFSET_OUT_OF_RANGE outside log start to
        log end (both inclusive), CORRUPT_MESSAGE for a damaged batch, KAFKA_STORAGE_ERROR. If the disk would have to
        be read, return BeingRead instead of waiting.
        """
        if self.refusal:
            return self.refusal
        if not self.log_start_offset <= offset <= self.log_end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        upto = min(upto, self.high_watermark)
        if offset >= upto:
            return EMPTY
        pool = self._host.pool
        pool.never_waits = not pool.patient
        try:
            result = self._segments.read(offset, max_bytes, upto, min_one_batch, max_records)
            active = self._active
            if result is ErrorCode.CORRUPT_MESSAGE and active is not None and active.map_was_wrong():
                result = self._segments.read(offset, max_bytes, upto, min_one_batch, max_records)
            if result is ErrorCode.CORRUPT_MESSAGE:
                self._segments.miss(offset, self.high_watermark)
        except NotCached as missing:
            return pool.cold.read(missing)
        except OSError as error:
            logger.error("%s: reading at offset %d failed: %s", self._folder, offset, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        finally:
            pool.never_waits = False
        return result

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        """Return the unreadable offsets around `offset`, where a read returned CORRUPT_MESSAGE: the first one, and
        the end (exclusive).

        Return None if no damage is known there.
        """
        return self._segments.unreadable_range(offset)

    def in_one_segment(self, offset: int, upto: int) -> bool:
        """Return True if one segment has the offsets from `offset` to `upto`, since a read ends with its segment."""
        return self._segments.in_one_segment(offset, upto)

    def next_header(self, offset: int) -> BatchHeader | None:
        """Return the header of the batch that has `offset`, or of the first one after it; None if there is none.
        Raise OSError.
        """
        return self._segments.next_header(offset)

    def available_bytes(self, offset: int, upto: int) -> int:
        """Return the number of bytes of the batches from the one that has `offset` to the last below `upto`
        (exclusive); 0 if there are none.
        """
        upto = min(upto, self.high_watermark)
        if self.refusal or offset >= upto:
            return 0
        pool = self._host.pool
        pool.never_waits = not pool.patient
        try:
            return self._segments.bytes_between(offset, upto)
        except NotCached:
            return self._segments.most_between(offset, upto)
        except OSError as error:
            logger.error("%s: reading at offset %d failed: %s", self._folder, offset, error)
            return 0
        finally:
            pool.never_waits = False

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that a read_committed reader of `first_offset` to `upper_bound`
        (exclusive) needs.

        `upper_bound` is at most the last stable offset. The transactions are ordered by the offsets of their
        markers.
        """
        aborted = self.producers.aborted
        return aborted.overlapping(first_offset, upper_bound) if aborted else []

    def ends(self) -> Ends:
        """Return the log start offset, and the offset (exclusive) up to which consumers may read."""
        return Ends(self.log_start_offset, self.high_watermark)

    def offset_for_timestamp(self, timestamp_ms: int) -> Found | None:
        """Return the first record with this timestamp or a later one, in the same turn; None if there is none. Raise
        OSError as the files do.
        """
        with self._host.pool.waiting():
            return result_of(self.seek_timestamp(timestamp_ms, unpaused))

    async def seek_timestamp(self, timestamp_ms: int, breathe: Callable[[int], Breath]) -> Found | None:
        """Return the first record with this timestamp or a later one, None if there is none. Raise OSError as the
        files do.
        """
        start, most_opened = self.log_start_offset, self.settings.most_opened
        return await self._segments.find_timestamp(timestamp_ms, start, self.high_watermark, most_opened, breathe)

    async def seek_max_timestamp(self, breathe: Callable[[int], Breath]) -> Found | None:
        """Return the first record with the largest timestamp, None for an empty log. Raise OSError as the files do.

        As in Apache Kafka the record may lie below the start of the log, as long as its segment exists.
        """
        newest = NO_TIMESTAMP if self._active is None else self._active.written_timestamp
        written = max(self._segments.max_timestamp(but_last=True), newest)
        if written == NO_TIMESTAMP:
            return None
        most_opened = self.settings.most_opened
        return await self._segments.find_timestamp(written, 0, self.high_watermark, most_opened, breathe)

    # -- segments that are replaced and removed

    def replace_segments(
        self, old: Sequence[Segment], new: Segment, end_offset: int, aborted: Sequence[AbortedTransaction]
    ) -> None:
        """Replace sealed segments up to `end_offset` (exclusive) by `new`, which is on stable storage.

        `aborted`: the aborted transactions with markers in it. The caller handles the files.
        """
        new.end_offset = old[-1].end_offset
        self._segments.replace(old, new)
        self.producers.aborted.replace(new.base_offset, end_offset, aborted)
        new.synced_end = end_offset
        self._host.segments_changed(self)

    def load_oldest(self) -> Pending[None] | None:
        """Load the index of the oldest segment, if retention needs it.

        Return a pending that completes when more of the index is in memory; the caller then calls this again. Return
        None if all is loaded, or nothing has to be.
        """
        segments = self._segments.all()
        expire = self._settings.delete and not self.refusal and len(segments) > 1
        return segments[0].load_map() if expire else None

    def remove_deleted_segments(self) -> int:
        """Remove the segments that end at or before the log start offset; return how many. The last one always
        stays.
        """
        removed = self._segments.remove_before(self.log_start_offset)
        if removed:
            self.producers.aborted.remove_before(self._segments.base_of(0))
        return removed

    # -- the end

    def end_on_disk(self) -> LogEnd | None:
        """Return the log end offset, the active segment's base offset and its file's size; None if there is no file
        yet.
        """
        active = self.active_segment
        if active is None or not active.exists:
            return None
        plain = len(self._segments) == 1 and active.size <= SMALL_SEGMENT_BYTES and not len(self.producers)
        return LogEnd(self._written_end, active.base_offset, active.size, plain)

    def close(self, *, clean: bool) -> bool:
        """Close the files; with `clean`, write what the next start needs to believe them. Return False if that
        failed.
        """
        try:
            active = self.active_segment
            if clean and self._changed and not self.refusal and active is not None:
                for segment in self._segments.all():
                    segment.sync()
                self.stable.synced_offset = self.log_end_offset
                self._write_aborted(active)
                if active.size > SMALL_SEGMENT_BYTES:
                    active.write_indexes(sync=False)
                    self._write_snapshot(sync=False)
        except OSError as error:
            self.go_offline(error)
        for segment in self._segments.all():
            segment.close()
        return not self.refusal

    def deleted(self) -> None:
        """Close the files of a deleted topic, and refuse all operations."""
        self._stop(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for segment in self._segments.all():
            segment.synced = segment.size
            segment.close()
