"""The findings of a verification, repaired one after the other.

Only what is certain is done without being asked: files that can be made again, headers whose bytes no CRC covers and
everything else determines, metadata of which one record can be trusted. What gives something up needs its option.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from shareq.broker.data_folder.comparison import CLUSTER_ID, Verdict
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.journal_format import JOURNAL_FILE
from shareq.broker.data_folder.kept_twice import FirstRecord, look_at_records, open_records
from shareq.broker.data_folder.marker import MARKER_FILE, parse_marker
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.environment import Fs
from shareq.broker.log.checkpoints import format_partition_metadata
from shareq.broker.log.files import INDEX_SUFFIXES, PARTITION_METADATA_FILE
from shareq.broker.log.index_checksums import CHECKSUMS_SUFFIX
from shareq.broker.log.manifest import snapshot
from shareq.broker.log.manifest_file import MANIFEST_FILE
from shareq.broker.log.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_name
from shareq.broker.maintenance.repair.copies import Copies
from shareq.broker.maintenance.repair.segments import Change, rewrite_segment, write_new
from shareq.broker.maintenance.verify.findings import (
    Finding,
    HealHeader,
    Level,
    LoseBatches,
    LoseTail,
    MissingFolder,
    MissingOffsets,
    NeedsDecision,
    NewManifest,
    RemoveFile,
    RepairMetadata,
    Report,
    RewriteFile,
)
from shareq.broker.maintenance.verify.logs import CUT_TAILS, SKIP_DAMAGE
from shareq.broker.maintenance.verify.segments import empty_batches
from shareq.broker.meta_db import MetaChange, MetaDb, PutMeta, PutTopic, TopicRow
from shareq.broker.topic_names import INTERNAL_TOPICS
from shareq.protocol.primitives import uuid_to_text

__all__ = ["Choices", "Repair"]

CLEAN_SHUTDOWN_FILE: Final = "clean-shutdown"
NEXT_PRODUCER_ID: Final = "producer.id.next"
_PRIVATE: Final = {META_DB_FILE, f"{META_DB_FILE}-wal", f"{META_DB_FILE}-shm", JOURNAL_FILE}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the operator has decided. `trust`: the record of metadata to believe, "" when none was named."""

    skip_damage: bool = False
    cut_tails: bool = False
    adopt: frozenset[str] = field(default_factory=frozenset)
    set_aside: frozenset[str] = field(default_factory=frozenset)
    trust: str = ""

    def allow(self, finding: Finding) -> bool:
        """Whether the finding's remedy may be applied."""
        match finding.remedy:
            case None:
                return False
            case NeedsDecision(name=name):
                return name in self.adopt or name in self.set_aside
            case RepairMetadata():
                return not finding.option or bool(self.trust)
        return {SKIP_DAMAGE: self.skip_damage, CUT_TAILS: self.cut_tails}.get(finding.option, True)


class Repair:
    """Changes one data folder, which nobody else uses. `done` is a line for each thing that was done or lost."""

    def __init__(
        self,
        fs: Fs,
        data_dir: str,
        choices: Choices,
        copies: Copies,
        open_database: Callable[[], FirstRecord],
        new_id: Callable[[], bytes],
    ) -> None:
        """`new_id` makes 16 random bytes that are a topic id no topic has."""
        self._fs = fs
        self._data_dir = data_dir
        self._choices = choices
        self._copies = copies
        self._open_database = open_database
        self._new_id = new_id
        self.done: list[str] = []

    def apply(self, report: Report) -> bool:
        """Repair what the report lists and the operator allows; whether anything was. OSError."""
        allowed = [each for each in report.findings if each.level is Level.DAMAGE and self._choices.allow(each)]
        self._change_files(allowed)
        remedies = [finding.remedy for finding in allowed]
        if any(isinstance(remedy, RepairMetadata) for remedy in remedies):
            self._repair_metadata()
        decisions = [remedy for remedy in remedies if isinstance(remedy, NeedsDecision)]
        self._decide(decisions, report.highest_producer_id + 1)
        manifests = [remedy for remedy in remedies if isinstance(remedy, NewManifest)]
        if len(manifests) == len(remedies):  # else logs may have changed, and are read again before it is written
            for manifest in manifests:
                self._write_manifest(manifest)
        return bool(allowed)

    # -- files

    def _change_files(self, findings: Sequence[Finding]) -> None:
        segments: dict[str, list[Change]] = defaultdict(list)
        for finding in findings:
            match finding.remedy:
                case HealHeader() | LoseBatches() | LoseTail() as change:
                    segments[change.path].append(change)
                    self._say(finding)
                case MissingOffsets() | MissingFolder() | RewriteFile() | RemoveFile() as change:
                    self._change_file(change)
                    self._say(finding)
        for path, changes in segments.items():
            self._rewrite(path, changes)
        if segments:
            self._remove(CLEAN_SHUTDOWN_FILE)

    def _change_file(self, change: MissingOffsets | MissingFolder | RewriteFile | RemoveFile) -> None:
        match change:
            case RemoveFile(path):
                self._forget_checksums(path)
                self._remove(path)
            case RewriteFile(path, content, private):
                self._forget_checksums(path)
                self._copies.keep(path, private=private)
                self._fs.write_atomic(self._path(path), content, sync=True, private=private)
            case MissingOffsets(path, first_offset, next_offset):
                write_new(self._fs, self._path(path), iter([empty_batches(first_offset, next_offset)]))
                self._remove(CLEAN_SHUTDOWN_FILE)
            case MissingFolder(name, topic_id, first_offset, next_offset):
                self._make_folder(name, topic_id, empty_batches(first_offset, next_offset), first_offset)
                self._remove(CLEAN_SHUTDOWN_FILE)

    def _make_folder(self, name: str, topic_id: bytes, content: bytes, base: int) -> None:
        """A partition's folder with one segment. Its name comes first: one without a topic would stop a start."""
        folder = self._path(name)
        self._fs.make_dirs(folder)
        id_file = f"{folder}/{PARTITION_METADATA_FILE}"
        self._fs.write_atomic(id_file, format_partition_metadata(topic_id), sync=True)
        write_new(self._fs, f"{folder}/{file_name(base, LOG_SUFFIX)}", iter([content]))
        self._fs.sync_dir(self._data_dir)

    def _write_manifest(self, manifest: NewManifest) -> None:
        """What it says of each log is made true first: below its end everything is on stable storage."""
        for topic, partition in manifest.rows:
            self._sync_log(f"{topic}-{partition}")
        self._copies.keep(MANIFEST_FILE)
        self._fs.write_atomic(self._path(MANIFEST_FILE), snapshot("", manifest.rows), sync=True)
        self.done.append(f"{MANIFEST_FILE}: written anew, of {len(manifest.rows)} logs as they are")

    def _sync_log(self, name: str) -> None:
        folder = self._path(name)
        for each in self._fs.list_dir(folder) if self._fs.is_folder(folder) else ():
            if each.endswith(LOG_SUFFIX):
                file = self._fs.open(f"{folder}/{each}")
                try:
                    file.sync()
                finally:
                    file.close()

    def _rewrite(self, path: str, changes: Sequence[Change]) -> None:
        self._copies.keep(path)
        if any(not isinstance(change, HealHeader) for change in changes):
            stem = path.removesuffix(".log")
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, CHECKSUMS_SUFFIX):  # positions move
                self._remove(stem + suffix)
        rewrite_segment(self._fs, self._path(path), changes)

    def _forget_checksums(self, path: str) -> None:
        """Before an index file changes; a start believes it without."""
        stem, dot, suffix = path.rpartition(".")
        if dot + suffix in INDEX_SUFFIXES:
            self._remove(stem + CHECKSUMS_SUFFIX)

    def _remove(self, path: str) -> None:
        if self._fs.is_file(self._path(path)):
            self._copies.keep(path)
            self._fs.remove(self._path(path))
            self._fs.sync_dir(self._path(path).rpartition("/")[0])

    # -- metadata

    def _repair_metadata(self) -> None:
        for name in sorted(_PRIVATE):
            self._copies.keep(name, private=True)
        database, journal = self._open_database(), JournalFile(self._fs, self._data_dir)
        try:
            records = look_at_records(database, journal)
            if records.verdict is not Verdict.REFUSE:
                open_records(database, journal, records).close()
                self.done.append("metadata: both records are equal again")
                return
            found = records.database if self._choices.trust == META_DB_FILE else records.journal
            if found.state is None or not found.cluster_id:
                self.done.append(f"metadata: {self._choices.trust} has no state that can be read; nothing was changed")
                return
            number = max(records.database.number, records.journal.number) + 1
            database.set_aside()
            journal.rewrite(found.cluster_id, found.state, number, digest_of(found.state))
            open_records(database, journal, look_at_records(database, journal)).close()
        finally:
            database.close()
        self.done.append(f"metadata: taken from {self._choices.trust}, {len(found.state.topics)} topics")

    # -- folders of unknown topics

    def _decide(self, decisions: Sequence[NeedsDecision], unused_producer_id: int) -> None:
        for decision in decisions:
            if decision.name in self._choices.set_aside:
                aside = f"{decision.name[:200]}.{self._new_id().hex()}-stray"
                self._fs.rename(self._path(decision.name), self._path(aside))
                self._fs.sync_dir(self._data_dir)
                self.done.append(f"{decision.name}: set aside as {aside}; its records are in no topic any more")
        adopted = [decision for decision in decisions if decision.name not in self._choices.set_aside]
        if adopted:
            self._adopt(adopted, unused_producer_id)

    def _adopt(self, decisions: Sequence[NeedsDecision], unused_producer_id: int) -> None:
        for name in sorted(_PRIVATE):
            self._copies.keep(name, private=True)
        database, journal = self._open_database(), JournalFile(self._fs, self._data_dir)
        try:
            metadata = open_records(database, journal, look_at_records(database, journal))
            try:
                if CLUSTER_ID not in metadata.load().meta:
                    metadata.commit(self._new_cluster(unused_producer_id))
                for decision in decisions:
                    self._adopt_into(metadata, decision)
            finally:
                metadata.close()
        finally:
            database.close()

    def _new_cluster(self, unused_producer_id: int) -> list[MetaChange]:
        """What metadata begins with where all of it is lost: the id in the marker, producer ids that no log has."""
        try:
            cluster_id = parse_marker(self._fs.read_bytes(self._path(MARKER_FILE))).cluster_id
        except (OSError, ValueError):
            cluster_id = uuid_to_text(self._new_id())
        self.done.append("metadata: made anew; configs, ACLs and users are lost")
        return [PutMeta(CLUSTER_ID, cluster_id), PutMeta(NEXT_PRODUCER_ID, str(unused_producer_id))]

    def _adopt_into(self, metadata: MetaDb, decision: NeedsDecision) -> None:
        """Have the topic in metadata, with partitions up to this one; its folder names the topic's id."""
        state = metadata.load()
        row = state.topics.get(decision.topic)
        if row is not None and decision.topic_id not in (b"", row.topic_id):
            self.done.append(
                f"{decision.name}: not adopted, because another topic has its name; delete that one, or set this aside"
            )
            return
        topic_id = decision.topic_id or (row.topic_id if row is not None else self._new_id())
        partitions = max(decision.partition + 1, row.partitions if row is not None else 0)
        internal = decision.topic in INTERNAL_TOPICS
        metadata.commit([PutTopic(TopicRow(decision.topic, topic_id, partitions, internal))])
        path = f"{decision.name}/{PARTITION_METADATA_FILE}"
        self._copies.keep(path)
        self._fs.write_atomic(self._path(path), format_partition_metadata(topic_id), sync=True)
        self.done.append(f"{decision.name}: adopted as partition {decision.partition} of topic {decision.topic}")

    # -- saying it

    def _say(self, finding: Finding) -> None:
        lost = f"; {_loss(finding)}" if finding.option else ""
        where = finding.path if finding.position is None else f"{finding.path} at byte {finding.position}"
        self.done.append(f"{where}: {_deed(finding)}{lost}")

    def _path(self, path: str) -> str:
        return f"{self._data_dir}/{path}"


def _loss(finding: Finding) -> str:
    match finding.remedy:
        case (
            LoseBatches(first_offset=first, next_offset=end)
            | MissingOffsets(first_offset=first, next_offset=end)
            | MissingFolder(first_offset=first, next_offset=end)
        ) if end > first:
            return f"lost: offsets {first} to {end - 1}"
        case _:
            return finding.consequence


def _deed(finding: Finding) -> str:
    match finding.remedy:
        case HealHeader():
            return "header healed, nothing lost"
        case LoseBatches():
            return "an empty batch takes the place of what cannot be read"
        case LoseTail():
            return "cut"
        case MissingOffsets():
            return "an empty segment takes the place of the missing one"
        case MissingFolder():
            return "made anew, with an empty segment"
        case RewriteFile():
            return "written anew"
        case _:
            return "removed; a start makes it again"
