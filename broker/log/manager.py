"""The manager of all logs of a data folder: opening, flush, retention, deletion.

    DATA/.lock                             held while a broker uses the folder
    DATA/clean-shutdown                    only between a clean stop and the next start, see `clean_shutdown.py`
    DATA/log-start-offset-checkpoint       where logs begin whose first records were deleted
    DATA/log-manifest                      what is promised of each log, see `manifest`; log starts once more
    DATA/recovery-point-offset-checkpoint  below it, sealed segments are on stable storage and sound
    DATA/cleaner-offset-checkpoint         up to where compacted logs are clean, see `cleaner/schedule.py`
    DATA/<topic>-<partition>/              see `files`, and `folders` for those of deleted topics

The cluster metadata is committed elsewhere, and always first: a new topic gets its folders with the first append; a
deleted topic's folders are renamed, then removed. Metadata remembers a deleted topic until its renames are durable.
A crash in between leaves folders whose `partition.metadata` contains the deleted id: they are removed, so records of
a deleted topic never appear in a new one of the same name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from shareq.broker.disk.policy import DiskState
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.ground_error import GroundError
from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.cleaner.schedule import DEFAULT_CLEANING, Cleaning, LogCleaner
from shareq.broker.log.deletions import Deletions
from shareq.broker.log.flush import FEW_SYNCS, Flusher
from shareq.broker.log.folders import DamagedFolderError, KnownTopics, PartitionFolders, TopicPartition
from shareq.broker.log.log_starts import LogStarts
from shareq.broker.log.opening.progress import Progress
from shareq.broker.log.opening.start_files import StartFiles
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.checkpoints import CLEANER_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, format_offsets
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE, LogEnd, format_clean_stop
from shareq.broker.log.promises.manifest import NO_SEGMENT, Manifest
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE, ManifestFile
from shareq.broker.log.promises.promise import Promise
from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES, FilePool, Segment
from shareq.broker.log.settings import LogSettings
from shareq.broker.log.upkeep import DEFAULT_CHECK_TIMES, CheckTimes, Upkeep
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode

__all__ = ["DamagedFolderError", "DataFolderInUseError", "LogManager", "lock_data_folder"]

logger = logging.getLogger(__name__)

LOCK_FILE: Final = ".lock"
MANY_FILES: Final = 64  # from this number of files on, one sync of the whole file system is faster than one for each


class DataFolderInUseError(GroundError):
    """Error: another process uses the data folder."""


def lock_data_folder(fs: Fs, data_dir: str) -> Callable[[], None]:
    """Create the data folder if necessary and lock it. Return the function that releases the lock. Raise
    DataFolderInUseError, OSError.
    """
    if not fs.exists(data_dir):
        above = _folder_above(data_dir)
        named_in = [above]  # folders that get a new name, from the lowest one up
        while not fs.exists(above) and above not in ("/", "."):
            above = _folder_above(above)
            named_in.append(above)
        fs.make_dirs(data_dir)
        for folder in named_in:
            fs.sync_dir(folder)
    try:
        return fs.lock(f"{data_dir}/{LOCK_FILE}")
    except BlockingIOError as error:
        last = _last_owner(fs, data_dir)
        raise DataFolderInUseError(f"data folder {data_dir} is in use by another process{last}") from error


def note_addresses(fs: Fs, data_dir: str, addresses: Sequence[str]) -> None:
    """Write the addresses of the folder's owner into its lock file, for processes that find the folder in use. Raise
    OSError.
    """
    file = fs.open(f"{data_dir}/{LOCK_FILE}")
    try:
        file.truncate(0)
        file.append([", ".join(addresses).encode()])
    finally:
        file.close()


def _last_owner(fs: Fs, data_dir: str) -> str:
    """Return the part of the error message that names the owner's addresses. After a kill they may be those of an
    earlier owner.
    """
    try:
        text = fs.read_bytes(f"{data_dir}/{LOCK_FILE}").decode()
    except (OSError, ValueError):
        return ""
    return f"; the broker that opened it last is at {text}" if text and text.isprintable() else ""


def _folder_above(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0] or ("/" if path.startswith("/") else ".")


class LogManager:
    """Owner of every partition's log. Everything runs on the loop's thread.

    `settings_for` returns a topic's effective settings; `reload_settings` must be called when they have changed.
    With `flush_every_message`, an append is durable only once it is on stable storage
    (`log.flush.interval.messages=1`). `release_lock` releases the folder's lock, if the caller has locked it;
    otherwise `open_all` locks the folder. `disk` decides when records of clients are refused. `from_format_1`: this
    start has upgraded the folder, in which the last stop left less information. Operations that wait for the disk
    pass `gate` first.
    """

    believes_absence: Final = True  # no other place has records

    def __init__(
        self,
        env: Environment,
        data_dir: str,
        settings_for: Callable[[str], LogSettings],
        flush_every_message: Callable[[], bool] = lambda: False,
        *,
        check_times: CheckTimes = DEFAULT_CHECK_TIMES,
        max_open_files: int = DEFAULT_OPEN_FILES,
        cleaning: Cleaning = DEFAULT_CLEANING,
        release_lock: Callable[[], None] | None = None,
        disk: DiskWatch | None = None,
        from_format_1: bool = False,
        gate: CommitGate | None = None,
    ) -> None:
        self._env = env
        self.gate: Final = gate or CommitGate(env.clock.call_soon)
        self.fs: Fs = env.fs
        self.pool = FilePool(env.fs, max_open_files)
        self._data_dir = data_dir
        self._folders = PartitionFolders(env, data_dir)
        self._bare_fs = env.fs if disk is None else disk.fs
        self._manifest = ManifestFile(env.fs, env.clock, data_dir, self._bare_fs)
        self._settings_for = settings_for
        self._flush_every_message = flush_every_message
        self._metadata: KnownTopics | None = None
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._by_topic: dict[str, list[PartitionLog]] = {}  # the same
        self._flusher = Flusher(
            env.clock,
            env.fs,
            self.syncs_every_flush,
            self._note_synced,
            self._sealed_synced,
            self._manifest.write,
            most_waiting=FEW_SYNCS if max_open_files < DEFAULT_OPEN_FILES else None,
        )
        self._starts = LogStarts(
            env.fs,
            self.write_offsets,
            self._note_synced,
            self.gate,
            lambda log: self.syncs_every_flush(log.settings),
        )
        self._recovery_points: dict[TopicPartition, int] = {}
        self._clean_until: dict[TopicPartition, int] = {}  # at the start
        self._release_lock = release_lock
        self._disk = disk
        self._from_format_1 = from_format_1
        self.full = False  # clients' records may be refused
        if disk is not None:
            disk.on_change = self._disk_changed
        self.cleaner = LogCleaner(env, self, cleaning)
        self.upkeep = Upkeep(env, self.logs, self._starts, check_times, disk)
        self._deletions = Deletions(
            env.clock,
            self._folders,
            self.gate,
            lambda: self._metadata,
            [self._starts.save, self._write_recovery_points],
            self.cleaner.forget,
        )

    # -- opening and closing

    def open_all(self, metadata: KnownTopics) -> None:
        """Lock the data folder and recover the log of every partition that has a folder.

        Raise DataFolderInUseError, DamagedFolderError (never caused by a torn write) or OSError. After a failed
        start, nothing is changed except that torn tails are cut off.
        """
        if self._release_lock is None:
            self._release_lock = lock_data_folder(self.fs, self._data_dir)
        self.pool.starting = True
        try:
            self._open_folders(metadata)
            self.cleaner.start(self._without_strangers(CLEANER_FILE, self._clean_until))
        except BaseException:
            self._close_files()
            raise
        finally:
            self.pool.starting = False
        self.upkeep.start()

    def _open_folders(self, metadata: KnownTopics) -> None:
        self._metadata = metadata
        found = self._manifest.load()
        files = StartFiles(self.fs, self._data_dir, found, from_format_1=self._from_format_1)
        self._starts.offsets = files.log_starts
        self._recovery_points = files.recovery_points
        self._clean_until = files.clean_until
        if files.log_starts_damaged:
            self._starts.save()
        claims = list(self._folders.claim(metadata))
        if claims:
            files.report_lost_starts()
        progress = Progress("recovering logs", len(claims), self._env.clock.now_ns)
        for claim in claims:
            if claim.topic is not None:
                compacts = self._settings_for(claim.topic.name).compact
                promise = files.promise_of(claim.partition, claim.topic.topic_id, compacts=compacts)
                self._open_log(claim.name, claim.topic, claim.partition[1], promise, files.plain_end(claim.partition))
            progress.step()
        if found is not None:
            self._miss_folders(found)
        self._starts.offsets = self._without_strangers(LOG_START_FILE, self._starts.offsets)
        self._recovery_points = self._without_strangers(RECOVERY_POINT_FILE, self._recovery_points)
        rows = {key: log.manifest_row() for key, log in self._logs.items()}
        self._manifest.begin(found, rows)
        if self._flush_every_message():
            self.fs.sync_dir(self._data_dir)  # folders of first appends that were cut short are used from now on
        if self.fs.exists(self._path(CLEAN_SHUTDOWN_FILE)):
            # The removal is synced before anything is appended: from then on the files differ from what it describes.
            self.fs.remove(self._path(CLEAN_SHUTDOWN_FILE))
            self.fs.sync_dir(self._data_dir)

    def _miss_folders(self, found: Manifest) -> None:
        """Note logs whose folder is missing although they had one: their promised records are lost, but the logs can
        be used.
        """
        from shareq.broker.log.recovery.recover import without_folder  # not what a start without logs needs

        metadata = self._metadata
        for key, row in found.rows.items():
            image = metadata.topic(key[0]) if metadata is not None else None
            if key in self._logs or image is None or image.topic_id != row.topic_id or key[1] >= image.partitions:
                continue
            start = self._starts.offsets.get(key, 0)
            end = max(row.synced, start)
            if row.active == NO_SEGMENT and end == start:
                continue  # nothing was ever written to it
            folder = self._path(f"{key[0]}-{key[1]}")
            log = PartitionLog(self, folder, *key, image.topic_id, self._settings_for(key[0]), log_start_offset=start)
            log.restore(without_folder(folder, start, end), 0, self._env.clock.wall_ms(), folder_exists=False)
            log.stable.synced_offset = end
            self._add(log)

    def _open_log(self, name: str, image: TopicImage, partition: int, promise: Promise, plain: LogEnd | None) -> None:
        from shareq.broker.log.recovery.recover import open_as_stopped, recover_log  # as in `_miss_folders`

        topic, folder = image.name, self._path(name)
        key = (topic, partition)
        settings = self._settings_for(topic)
        log_start = self._starts.offsets.get(key, 0)
        log = PartitionLog(self, folder, topic, partition, image.topic_id, settings, log_start_offset=log_start)
        now = self._env.clock.wall_ms()
        recovered = None
        if plain is not None and plain.end == promise.end and not promise.gaps:
            interval = settings.index_interval_bytes
            recovered = open_as_stopped(self.pool, folder, plain, interval_bytes=interval, log_start_offset=log_start)
        recovered = recovered or recover_log(
            self.pool,
            folder,
            interval_bytes=settings.index_interval_bytes,
            log_start_offset=log_start,
            promise=promise,
            now_wall_ms=now,
            producer_expiration_ms=settings.producer_id_expiration_ms,
        )
        log.stable.synced_offset = min(max(promise.synced or 0, promise.checked_below), recovered.log_end_offset)
        log.restore(recovered, self._folders.leader_epoch(name), now)
        log.stable.recovery_point = self._recovery_points.get(key, 0)
        if not promise.clean:
            log.stable.doubt_names()
        if self.syncs_every_flush(settings):
            self.fs.sync_dir(folder)
            if log.active_segment is not None:
                log.stable.names_synced(log.active_segment)
        for segment in recovered.scanned:
            segment.synced = 0  # its bytes may have been read from the page cache
            if self.syncs_every_flush(settings):
                segment.sync_again()  # visible records must survive a power loss, removed ones stay removed
                log.stable.synced_to(segment, segment.end_offset or recovered.log_end_offset)
            if segment is not log.active_segment:
                self._flusher.sync_sealed(log, segment)
        self._add(log)

    def close(self, *, clean: bool) -> None:
        """Flush and close every log. With `clean`, the next start believes the files, unless a log went offline."""
        self.upkeep.stop()
        self.cleaner.stop()
        self._flusher.close()
        self._starts.stop()
        clean = clean and self._sync_everything()
        sound = True
        progress = Progress("closing logs", len(self._logs), self._env.clock.now_ns)
        for log in self._logs.values():
            sound = log.close(clean=clean) and sound
            progress.step()
        try:
            for key, log in self._logs.items():
                self._manifest.note(key, log.manifest_row())
            self._manifest.close(clean=clean and sound)
        except OSError as error:
            logger.warning("%s: not written: %s", MANIFEST_FILE, error)
            clean = False  # the file lacks where the logs end
        if clean and sound and self._release_lock is not None:
            try:
                self.write_offsets(RECOVERY_POINT_FILE, self._recovery_points)
                self._write_clean_stop()
            except OSError as error:  # nothing is lost by that: the next start scans the logs
                logger.warning("%s: not marked as cleanly shut down: %s", self._data_dir, error)
        self._close_files()

    def _sync_everything(self) -> bool:
        """Sync all segments with one call if there are many; a few are synced when they are closed.

        Return False if that failed: then the stop counts as a kill. The system reports a failed write only once, and
        not through a file that was closed in between, so a sync of each file would prove nothing.
        """
        unsynced = [each for log in self._logs.values() for each in log.segments if each.synced < each.size]
        if len(unsynced) < MANY_FILES:
            return True
        try:
            if not self.fs.sync_all(self._data_dir):
                return True
        except OSError as error:
            logger.error("%s: not synced as a whole, and not stopped cleanly: %s", self._data_dir, error)
            return False
        for segment in unsynced:
            segment.synced = segment.size
        return True

    def _write_clean_stop(self) -> None:
        ends = {key: end for key, log in self._logs.items() if (end := log.end_on_disk()) is not None}
        self.fs.write_atomic(self._path(CLEAN_SHUTDOWN_FILE), format_clean_stop(ends), sync=True)

    def _close_files(self) -> None:
        self._deletions.stop()
        for log in self._logs.values():
            log.close(clean=False)
        self._logs.clear()
        self._by_topic.clear()
        if self._release_lock is not None:
            self._release_lock()
            self._release_lock = None

    # -- finding logs

    def get(self, topic: str, partition: int) -> PartitionLog:
        """Return the log of an existing partition. It is created at the first call, its files at the first append.

        Raise KeyError for a topic or partition that metadata does not know, and OSError if a deleted topic's folder
        with the same name cannot be renamed.
        """
        log = self._logs.get((topic, partition))
        if log is None:
            metadata = self._metadata
            image = metadata.topic(topic) if metadata is not None else None
            if metadata is None or image is None or not 0 <= partition < image.partitions:
                raise KeyError(f"{topic}-{partition}")
            name = f"{topic}-{partition}"
            folder = self._path(name)
            self._folders.make_way(name, metadata)
            log = PartitionLog(self, folder, topic, partition, image.topic_id, self._settings_for(topic))
            self._add(log)
        return log

    def _add(self, log: PartitionLog) -> None:
        self._logs[log.topic, log.partition] = log
        self._by_topic.setdefault(log.topic, []).append(log)

    def logs(self) -> Iterable[PartitionLog]:
        return self._logs.values()

    def reload_settings(self, topic: str | None = None) -> None:
        """Take over changed settings of one topic, or of all."""
        for log in self._logs.values() if topic is None else self._by_topic.get(topic, ()):
            log.settings = self._settings_for(log.topic)

    def delete_topic(self, topic: str, topic_id: bytes) -> None:
        """Remove the logs of a topic that metadata has deleted already. Appends under way fail.

        Folders are renamed, some in each tick, the first ones before this returns; their files are removed in later
        ticks. Syncs and checkpoints that all topics of a tick share follow in the next tick.
        """
        doomed = [log for log in self._by_topic.get(topic, ()) if log.topic_id == topic_id]
        kept = [log for log in self._by_topic.pop(topic, ()) if log.topic_id != topic_id]
        if kept:
            self._by_topic[topic] = kept
        for log in doomed:
            key = (topic, log.partition)
            del self._logs[key]
            log.deleted()
            self._manifest.forget([key])
            self._starts.offsets.pop(key, None)
            self._recovery_points.pop(key, None)
        # This follows the loop, so that a failed rename leaves no log of the deleted topic open.
        self._deletions.add(topic, topic_id, [log.partition for log in doomed])

    def _write_recovery_points(self) -> None:
        self.write_offsets(RECOVERY_POINT_FILE, self._recovery_points)
        self._manifest.write()

    def forget_deleted(self) -> None:
        """Remove deleted logs from the checkpoints, before a new log with one of their names gets its first files.

        Raise OSError if a checkpoint cannot be written.
        """
        self._deletions.forget_deleted()

    # -- flushing

    def flush_soon(self, log: PartitionLog) -> None:
        """Flush a log in the next tick, because it has something to write."""
        if self._disk is not None:
            self._disk.writing()
        self._flusher.add(log)

    def flush(self) -> None:
        """Write the buffers of all logs now."""
        self._flusher.flush()

    def before_flush(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, at the start of the next tick's flush, so that the caller can append collected
        records then.
        """
        self._flusher.before_flush(callback)

    def add_listener(self, on_high_watermark: Callable[[PartitionLog], None]) -> None:
        """Call `on_high_watermark` with each log whose high watermark has moved, after its appends were answered."""
        self._flusher.listeners.append(on_high_watermark)

    def add_log_start_listener(self, on_log_start: Callable[[PartitionLog], None]) -> None:
        self._starts.listeners.append(on_log_start)

    def syncs_every_flush(self, settings: LogSettings) -> bool:
        """Return True if appends to a log with these settings are durable only once they are on stable storage."""
        return settings.flush_messages == 1 or self._flush_every_message()

    # -- a disk that fills up

    def _disk_changed(self) -> None:
        assert self._disk is not None
        was_full, self.full = self.full, self._disk.state >= DiskState.FULL
        if self.full and not was_full:
            self.upkeep.make_room_soon()

    def client_refusal(self) -> ErrorCode:
        """Return KAFKA_STORAGE_ERROR, after which clients try again later, while the disk has no room for their
        records; else NONE.
        """
        refused = self._disk is not None and self._disk.refuses_clients()
        return ErrorCode.KAFKA_STORAGE_ERROR if refused else ErrorCode.NONE

    def write_failed(self, error: OSError) -> None:
        """Check if the disk still accepts records, because a log's records could not be written."""
        if self._disk is not None:
            self._disk.write_failed(error)

    # -- segments that are sealed, and what is known to be on stable storage

    def sealed(self, log: PartitionLog, segment: Segment) -> None:
        """Sync in the background a segment that gets no more batches, so that recovery need not read it."""
        self._flusher.sync_sealed(log, segment)

    def segments_changed(self, log: PartitionLog) -> None:
        key = (log.topic, log.partition)
        if self._logs.get(key) is log:
            self._manifest.note(key, log.manifest_row())

    def _note_synced(self, logs: Iterable[PartitionLog]) -> None:
        """Note that everything appended to these logs so far is on stable storage."""
        for log in logs:
            self.segments_changed(log)
        self._manifest.write()

    def _sealed_synced(self, logs: Iterable[PartitionLog]) -> None:
        for log in logs:
            key = (log.topic, log.partition)
            if self._logs.get(key) is log:
                log.stable.move_recovery_point()
                self._recovery_points[key] = log.stable.recovery_point
        self.gate.pass_then(self._save_recovery_points)
        self._note_synced(logs)
        if any(log.settings.compact for log in logs):
            self.cleaner.look_soon()

    def _save_recovery_points(self) -> Pending[None]:
        if self._release_lock is None:
            return completed(None)
        try:
            self.write_offsets(RECOVERY_POINT_FILE, self._recovery_points, fs=self._bare_fs)
        except OSError as error:
            logger.warning("%s not written, the next start may check more: %s", RECOVERY_POINT_FILE, error)
        return completed(None)

    # -- where logs begin

    def truncate_prefixes(self, cuts: Mapping[PartitionLog, int]) -> dict[PartitionLog, ErrorCode]:
        """Make the records below an offset of each log unreadable, with one write for all logs; return each log's
        error or NONE.

        -1 means the high watermark; an offset beyond it gets OFFSET_OUT_OF_RANGE; one below a log's start changes
        nothing. KAFKA_STORAGE_ERROR if the new starts could not be saved: then no log has changed.
        """
        return self._starts.delete_records(cuts)

    async def truncate_many(self, cuts: Mapping[PartitionLog, int]) -> dict[PartitionLog, ErrorCode]:
        """Call `truncate_prefixes` for some logs in each turn, with one write for them."""
        return await self._starts.delete_many(cuts)

    # -- small files and names

    def _path(self, name: str) -> str:
        return f"{self._data_dir}/{name}"

    def _without_strangers(self, name: str, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offsets without those of missing logs, since a later topic of the same name must not get them."""
        known = {key: offset for key, offset in offsets.items() if key in self._logs}
        if known != offsets:
            self.write_offsets(name, known)
        return known

    def write_offsets(
        self, name: str, offsets: Mapping[TopicPartition, int], sync: bool = False, fs: Fs | None = None
    ) -> None:
        """Write a checkpoint file, with `sync` to stable storage. Raise OSError if that fails: then the old file
        stays.
        """
        sync = sync or self._flush_every_message()
        (fs or self.fs).write_atomic(self._path(name), format_offsets(offsets), sync=sync)
        if sync:
            self.gate.committed()
