"""The check of promises about each log in the small files of a data folder: its start offset, and the offset that it
must reach.

They are read as a start reads them (`log/manager.py`): the manifest, the checkpoints beside it, the files of a clean
stop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shareq.broker.disk.reserve import RESERVE_FILE
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.folders import FolderClaim
from shareq.broker.log.opening.start_files import starts_in
from shareq.broker.log.promises.checkpoints import (
    CLEANER_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    format_offsets,
    parse_offsets,
)
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE, CleanStop, parse_clean_stop
from shareq.broker.log.promises.manifest import NO_SEGMENT, UNKNOWN_CHAIN, LogRow, Manifest, chain_of, parse_manifest
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.maintenance.verify.findings import (
    Finding,
    Level,
    MissingFolder,
    NewManifest,
    Remedy,
    RemoveFile,
    Report,
    RewriteFile,
)
from shareq.broker.maintenance.verify.logs import SKIP_DAMAGE, LogExpectation, LogFacts
from shareq.broker.maintenance.verify.metadata import CheckedMetadata
from shareq.coordinator.ports import TopicImage

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Promises:
    """The facts known about logs from other files than their own, by log. `stop` is None unless the broker was
    stopped cleanly.

    `manifest_problem`: why the manifest cannot be believed; "" if it can, or need not exist. `same_boot`: the
    machine has run since its last line was written.
    """

    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    cleaned: Mapping[TopicPartition, int] = field(default_factory=dict)
    stop: CleanStop | None = None
    manifest: Manifest | None = None
    manifest_problem: str = ""
    same_boot: bool = False

    @property
    def is_complete(self) -> bool:
        """True if everything written survived. If False, unsynced data may not have reached the disk."""
        return self.stop is not None or self.same_boot

    def row(self, key: TopicPartition, topic: TopicImage | None) -> LogRow | None:
        """Return the manifest's row of a log; None if it has none, or if the row is of another topic with the same
        name.
        """
        row = self.manifest.rows.get(key) if self.manifest is not None else None
        return row if row is not None and topic is not None and row.topic_id == topic.topic_id else None

    def of(self, claim: FolderClaim, *, compacted: bool) -> LogExpectation:
        key = claim.partition
        row = self.row(key, claim.topic)
        start = self.starts.get(key)
        return LogExpectation(
            start=start if row is None else max(start or 0, row.start),
            promised_end=self.promised_end(key, row),
            active=row.active if row is not None and row.active != NO_SEGMENT and self.is_complete else None,
            gaps=compacted or key in self.cleaned,
            kept_tail=self.stop is not None,
            whole_writes=self.same_boot,
            cut_from=row.synced if row is not None and not self.is_complete else None,
            derived=derived_level(is_complete=self.is_complete),
        )

    def promised_end(self, key: TopicPartition, row: LogRow | None) -> int | None:
        """Return the offset that the log must reach; None if nothing was promised."""
        stopped = self.stop.logs.get(key) if self.stop is not None and self.stop.logs is not None else None
        ends = [] if row is None else [row.synced]
        return max([*ends, *([] if stopped is None else [stopped.end])], default=None)


def derived_level(*, is_complete: bool) -> Level:
    """Return the severity of a wrong file that a start makes again. Such files are not synced before an append is
    answered.
    """
    return Level.DAMAGE if is_complete else Level.NOTE


def check_promises(fs: Fs, data_dir: str, metadata: CheckedMetadata, report: Report) -> Promises:
    """Return the facts in the manifest, the checkpoints and the files of a stop; add faults to `report`. Raise
    OSError.
    """
    _check_reserve(fs, data_dir, report)
    manifest, problem = _manifest(fs, data_dir, report)
    stop = _clean_stop(fs, data_dir, report, from_format_1=metadata.is_of_format_1)
    same_boot = manifest is not None and manifest.boot_id != "" and manifest.boot_id == fs.boot_id()
    level = derived_level(is_complete=stop is not None or same_boot)
    starts = _log_starts(fs, data_dir, manifest, report, level)
    _offsets(fs, data_dir, RECOVERY_POINT_FILE, "the next start takes longer", report, level)
    cleaned = _offsets(fs, data_dir, CLEANER_FILE, "the cleaner reads compacted logs again", report, level)
    return Promises(
        starts, cleaned, stop, manifest, "" if manifest is None and metadata.is_of_format_1 else problem, same_boot
    )


def missing_folders(
    fs: Fs, data_dir: str, metadata: CheckedMetadata, promises: Promises, claimed: Collection[str], report: Report
) -> None:
    """Report logs that metadata and the manifest, or the last stop, know, but that have no folder."""
    for key, topic, row in _promised_logs(metadata, promises):
        name = f"{key[0]}-{key[1]}"
        start = max(promises.starts.get(key, 0), row.start if row is not None else 0)
        end = max(promises.promised_end(key, row) or 0, start)
        if name in claimed or (end == start and (row is None or row.active == NO_SEGMENT)):
            continue
        if fs.exists(f"{data_dir}/{name}"):
            consequence = f"{_lost(start, end)}, and the partition takes no records while that is in its place"
            report.add(
                Finding(name, "the folder of a partition is missing, and something else has its name", consequence)
            )
            continue
        remedy = MissingFolder(name, topic.topic_id, start, end)
        option = SKIP_DAMAGE if end > start else ""
        report.add(
            Finding(name, "the folder of a partition is missing", _lost(start, end), remedy=remedy, option=option)
        )


def _promised_logs(
    metadata: CheckedMetadata, promises: Promises
) -> list[tuple[TopicPartition, TopicImage, LogRow | None]]:
    logs: list[tuple[TopicPartition, TopicImage, LogRow | None]] = []
    named = [] if promises.manifest is None else [*promises.manifest.rows]
    if promises.stop is not None and promises.stop.logs is not None:
        named += promises.stop.logs
    for key in dict.fromkeys(named):
        topic = metadata.topics.topic(key[0])
        if topic is not None and key[1] < topic.partitions:
            row = promises.row(key, topic)
            if row is not None or promises.manifest is None or key not in promises.manifest.rows:
                logs.append((key, topic, row))
    return logs


def _lost(start: int, end: int) -> str:
    return f"offsets {start} to {end - 1} are lost; all else can be read" if end > start else "nothing is lost by that"


class KnownLog(NamedTuple):
    """An existing log: the origin of its folder, and its content. `sound`: it has no fault."""

    claim: FolderClaim
    facts: LogFacts
    sound: bool


def check_manifest(promises: Promises, logs: Collection[KnownLog], report: Report) -> None:
    """Report a damaged or missing manifest, with the correct content, after all logs were read."""
    if not promises.manifest_problem or (promises.manifest is None and not any(log.facts.bases for log in logs)):
        return
    rows = dict(promises.manifest.rows) if promises.manifest is not None else {}
    for log in logs:
        topic = log.claim.topic
        if topic is not None:
            rows[log.claim.partition] = _row(promises, log, topic)
    consequence = "a start takes the logs as they are, and does not know what was promised of some of them"
    report.add(Finding(MANIFEST_FILE, promises.manifest_problem, consequence, remedy=NewManifest(rows)))


def _row(promises: Promises, log: KnownLog, topic: TopicImage) -> LogRow:
    key, bases = log.claim.partition, log.facts.bases
    row = promises.row(key, topic)
    start = promises.starts.get(key, 0)
    start = max(start, row.start) if row is not None else max(start, bases[0] if bases else 0)
    active, synced = bases[-1] if bases else NO_SEGMENT, max(log.facts.end_offset, start)
    if row is not None:
        active, synced = max(active, row.active), max(synced, row.synced)
    return LogRow(topic.topic_id, start, active, synced, chain_of(bases) if log.sound else UNKNOWN_CHAIN)


def _manifest(fs: Fs, data_dir: str, report: Report) -> tuple[Manifest | None, str]:
    """Return the manifest and its problem."""
    report.files += 1
    try:
        found = parse_manifest(fs.read_bytes(f"{data_dir}/{MANIFEST_FILE}"), fs.boot_id())
    except FileNotFoundError:
        return None, "it is missing"
    if found is None:
        return None, "it cannot be read"
    if found.is_whole and found.cut_off:
        consequence = "a start leaves it out, and may know less of what was promised of a log"
        report.add(Finding(MANIFEST_FILE, "its end is cut off", consequence, level=Level.NOTE))
    return found, "" if found.is_whole else "lines of it are damaged"


def _clean_stop(fs: Fs, data_dir: str, report: Report, *, from_format_1: bool) -> CleanStop | None:
    try:
        content = fs.read_bytes(f"{data_dir}/{CLEAN_SHUTDOWN_FILE}")
    except FileNotFoundError:
        return None
    report.files += 1
    try:
        return parse_clean_stop(content, from_format_1=from_format_1)
    except ValueError as error:
        consequence = "a start checks the logs as after a kill; nothing is lost"
        report.add(Finding(CLEAN_SHUTDOWN_FILE, str(error), consequence, remedy=RemoveFile(CLEAN_SHUTDOWN_FILE)))
        return None


def _check_reserve(fs: Fs, data_dir: str, report: Report) -> None:
    """Check the file of the reserve. Its content has no meaning, and it may be missing: a full disk has used it up,
    or it is turned off.
    """
    if fs.exists(f"{data_dir}/{RESERVE_FILE}"):
        report.files += 1
        if not fs.is_file(f"{data_dir}/{RESERVE_FILE}"):
            consequence = "a full disk finds nothing kept back for it; remove it, and the broker makes a file there"
            report.add(Finding(RESERVE_FILE, "it is no file", consequence))


def _log_starts(
    fs: Fs, data_dir: str, manifest: Manifest | None, report: Report, level: Level
) -> dict[TopicPartition, int]:
    """Return the start offsets of logs, which are kept in two files."""
    whole = manifest is not None and manifest.is_whole
    known = starts_in(manifest)
    consequence = f"a start takes them from {MANIFEST_FILE}; nothing is lost"
    remedy: Remedy = RewriteFile(LOG_START_FILE, format_offsets(known))
    if not whole:
        consequence, remedy = "records that were deleted may be back", RemoveFile(LOG_START_FILE)
        level = Level.DAMAGE
    if known and not fs.exists(f"{data_dir}/{LOG_START_FILE}"):
        report.add(Finding(LOG_START_FILE, "it is missing", consequence, level=level, remedy=remedy if whole else None))
    return _offsets(
        fs=fs,
        data_dir=data_dir,
        name=LOG_START_FILE,
        consequence=consequence,
        report=report,
        level=level,
        remedy=remedy,
    )


def _offsets(
    fs: Fs, data_dir: str, name: str, consequence: str, report: Report, level: Level, remedy: Remedy | None = None
) -> dict[TopicPartition, int]:
    report.files += 1
    try:
        return parse_offsets(fs.read_bytes(f"{data_dir}/{name}"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        report.add(Finding(name, str(error), consequence, level=level, remedy=remedy or RemoveFile(name)))
        return {}
