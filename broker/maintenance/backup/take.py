"""One backup, step by step.

    1. a moment at which no log was being written (`moment`); the files of that moment are opened
    2. every log is copied in whole sound batches, except segments unchanged since the last backup
    3. log starts and metadata are read after the logs, so they are at least as new as the copies; a manifest of the
    copies is made
    4. the catalog is written last: without it there is no backup, and the next one removes the copies

So the copy is the state that `kill -9` at that moment would have left, with metadata that is some seconds younger.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from shareq import __version__
from shareq.broker.log.promises.checkpoints import (
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    format_offsets,
    format_partition_metadata,
    parse_partition_metadata,
)
from shareq.broker.log.promises.manifest import Manifest, snapshot
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import PARTITION_METADATA_FILE, SWAP_SUFFIX
from shareq.broker.log.segments.segment import LOG_SUFFIX, offset_of_file
from shareq.broker.maintenance.backup.catalog import Catalog, Entry
from shareq.broker.maintenance.backup.copying import Copier
from shareq.broker.maintenance.backup.metadata import copy_metadata
from shareq.broker.maintenance.backup.moment import Sight, find_moment
from shareq.broker.maintenance.backup.promises import (
    CopiedLog,
    copied_rows,
    missed_rows,
    read_log_starts,
    read_manifest,
)
from shareq.broker.maintenance.backup.source import ChangedMeanwhileError, DataFolder, HeldLog, partition_of
from shareq.broker.maintenance.backup.store import BackupStore
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.progress import Progress
from shareq.broker.metadata.changes import TopicRow

_ATTEMPTS: Final = 5
_PAUSE_S: Final = 0.0005

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TakenBackup:
    """The result of a backup: its name, logs, files and bytes, the bytes newly written, and the backups removed
    after it.
    """

    name: str
    logs: int
    files: int
    size: int
    new_bytes: int
    removed: list[str]
    warnings: list[str]


def take_backup(
    data_dir: str, dest: str, *, patience_s: float, progress: Progress, keep: int | None = None
) -> TakenBackup:
    """Back up a data folder, whose broker may be running, into a folder of backups.

    Raise MaintenanceError if that is not possible, and OSError if reading or writing fails. Earlier backups stay
    unchanged then.
    """
    if _is_inside(dest, data_dir):
        raise MaintenanceError(f"{dest}: is inside the data folder {data_dir}", usage=True)
    store = BackupStore.for_cluster(dest, copy_metadata(data_dir).cluster_id)
    _raise_file_limit()
    with store.locked():
        for _ in range(_ATTEMPTS):
            with suppress(ChangedMeanwhileError):
                return _Backup(data_dir, store, patience_s, progress, keep).take()
    raise MaintenanceError(f"{data_dir}: logs were cleaned {_ATTEMPTS} times while they were copied; try again")


class _Backup:
    """One attempt at a backup."""

    def __init__(
        self, data_dir: str, store: BackupStore, patience_s: float, progress: Progress, keep: int | None
    ) -> None:
        self._data_dir = data_dir
        self._store = store
        self._patience_s = patience_s
        self._progress = progress
        self._keep = keep
        self._copier = Copier(store, _latest_entries(store), progress)
        self._ids: dict[str, bytes] = {}  # topic ids by the name of the folder
        self._logs: dict[TopicPartition, CopiedLog] = {}
        self._promised: Manifest | None = None  # before the logs were looked at
        self._recovery_points: dict[TopicPartition, int] = {}

    def take(self) -> TakenBackup:
        """Take the backup. Raise ChangedMeanwhileError if another attempt may succeed."""
        folder = DataFolder(self._data_dir)
        held: list[HeldLog] = []
        try:
            self._promised = read_manifest(self._data_dir)
            sights = find_moment(folder, time.monotonic, lambda: time.sleep(_PAUSE_S), self._patience_s)
            if sights is None:
                raise MaintenanceError(
                    f"{self._data_dir}: transactions were written without a pause for {self._patience_s:g} seconds; "
                    "try again, or with a longer --patience"
                )
            taken_ms = time.time_ns() // 1_000_000
            held = _hold_all(folder, sights)
            topics = copy_metadata(self._data_dir).topics
            logs = [log for log in held if self._belongs(log, topics)]
            self._progress.expect(len(logs), sum(file.size for log in logs for file in log.files))
            for log in logs:
                self._copy(log, topics)
        finally:
            for log in held:
                log.close()
            folder.close()
        return self._finish(len(logs), taken_ms)

    def _belongs(self, log: HeldLog, topics: Mapping[str, TopicRow]) -> bool:
        """Return True if the folder belongs to an existing topic, according to its `partition.metadata` if that is
        readable.
        """
        topic, partition = _partition(log)
        row = topics.get(topic)
        if row is None or partition >= row.partitions:
            self._copier.warnings.append(f"{log.name}: belongs to no topic of this cluster; not in the backup")
            return False
        for file in log.files:
            if file.name.endswith(f"/{PARTITION_METADATA_FILE}"):
                with suppress(ValueError):
                    return parse_partition_metadata(file.read_at(0, file.size)) == row.topic_id
        return True

    def _copy(self, log: HeldLog, topics: Mapping[str, TopicRow]) -> None:
        key = _partition(log)
        name = f"{log.name}/{PARTITION_METADATA_FILE}"
        for file in [each for each in log.files if each.name == name]:
            log.files.remove(file)
            file.close()
        self._ids[log.name] = topics[key[0]].topic_id
        self._copier.add(name, format_partition_metadata(topics[key[0]].topic_id))
        warned = len(self._copier.warnings)
        end = self._copier.copy_log(log)
        log.close()
        if log.active is not None:
            names = [file.name.rpartition("/")[2] for file in log.files]
            bases = [base for name in names if (base := offset_of_file(name, LOG_SUFFIX)) is not None]
            whole = not any(name.endswith(SWAP_SUFFIX) for name in names)
            sound = len(self._copier.warnings) == warned
            self._logs[key] = CopiedLog(self._ids[log.name], sorted(bases), end, sound, whole)
            self._recovery_points[key] = offset_of_file(log.active.name.rpartition("/")[2], LOG_SUFFIX) or 0
        self._progress.item_done()

    def _finish(self, logs: int, taken_ms: int) -> TakenBackup:
        starts = {
            key: min(start, self._logs[key].end)
            for key, start in read_log_starts(self._data_dir).items()
            if key in self._logs
        }
        self._copier.add(LOG_START_FILE, format_offsets(starts))
        self._copier.add(RECOVERY_POINT_FILE, format_offsets(self._recovery_points))
        metadata = copy_metadata(self._data_dir)
        self._copier.add(MANIFEST_FILE, self._manifest(starts, metadata.topics))
        for path, content in metadata.files().items():
            self._copier.add(path, content)
        # Topics that have been deleted by now are left out: a start refuses logs whose topic metadata does not know.
        gone = {name for name, topic_id in self._ids.items() if topic_id not in metadata.topic_ids}
        entries = tuple(entry for entry in self._copier.entries() if entry.path.partition("/")[0] not in gone)
        warnings = self._copier.warnings
        catalog = Catalog(metadata.cluster_id, taken_ms, __version__, entries, tuple(warnings))
        name = _name(taken_ms, self._store.names())
        self._store.commit(name, catalog)
        removed = self._store.prune(self._keep)
        return TakenBackup(
            name=name,
            logs=logs,
            files=len(entries),
            size=catalog.size,
            new_bytes=self._copier.new_bytes,
            removed=removed,
            warnings=warnings,
        )

    def _manifest(self, starts: Mapping[TopicPartition, int], topics: Mapping[str, TopicRow]) -> bytes:
        """Build the manifest of the backup's logs, and of those that the data folder has lost."""
        ids = {name: row.topic_id for name, row in topics.items()}
        known = set(ids.values())
        rows = {
            key: row for key, row in copied_rows(self._logs, starts, self._promised).items() if row.topic_id in known
        }
        for key, row in missed_rows(self._promised, self._partitions(), ids).items():
            self._copier.warnings.append(f"{key[0]}-{key[1]}: its folder is missing; not in the backup")
            rows[key] = row
        return snapshot("", rows)

    def _partitions(self) -> set[TopicPartition]:
        """Return the partitions whose folders were copied."""
        return {partition for name in self._ids if (partition := partition_of(name)) is not None}


def _hold_all(folder: DataFolder, sights: Mapping[str, Sight]) -> list[HeldLog]:
    """Return the files of every log. Logs whose folders changed last come first, since they are likely to change
    again soon.
    """
    held: list[HeldLog] = []
    try:
        for name in sorted(sights, key=lambda name: (-sights[name].listing, name)):
            log = _hold(folder, name, sights[name])
            if log is not None:
                held.append(log)
    except BaseException:
        for log in held:
            log.close()
        raise
    return sorted(held, key=lambda log: log.name)


def _hold(folder: DataFolder, name: str, sight: Sight) -> HeldLog | None:
    """Return the log's files as `DataFolder.hold` does; a log without transactions may also be taken in a later
    state.
    """
    for _ in range(_ATTEMPTS):
        try:
            return folder.hold(name, sight)
        except ChangedMeanwhileError:
            later = folder.look_at([name]).get(name)
            if later is None:
                return None
            if not folder.is_plain(name, sight, later):
                raise
            sight = later
    raise ChangedMeanwhileError(f"{folder.path}/{name}")


def _latest_entries(store: BackupStore) -> dict[str, Entry]:
    """Return the files of the newest backup if all its objects exist; an empty dict if there is no backup."""
    names = store.names()
    if not names:
        return {}
    return {entry.path: entry for entry in store.read(names[-1]).entries if entry.seen and store.has(entry.object)}


def _partition(log: HeldLog) -> TopicPartition:
    partition = partition_of(log.name)
    assert partition is not None
    return partition


def _name(taken_ms: int, names: list[str]) -> str:
    """Return a name that sorts behind the existing ones, even if the clock was set back."""
    moment = datetime.fromtimestamp(taken_ms / 1000, UTC)
    name = f"{moment:%Y%m%dT%H%M%S}.{taken_ms % 1000:03d}Z"
    return name if not names or name > names[-1] else f"{names[-1]}+"


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)


def _raise_file_limit() -> None:
    """Raise this process's limit of open files to its maximum, because open files cannot change under a backup."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def human_time(taken_ms: int) -> str:
    """Return the moment in UTC in a form that people read."""
    return f"{datetime.fromtimestamp(taken_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
