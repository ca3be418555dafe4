"""Repairs of a verification's findings, one after the other.

Only repairs without a loss are made without asking: of files that can be made again, of header bytes that no CRC
covers and that follow from the rest, and of metadata of which one copy can be trusted. A repair that gives up data
needs its option.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shareq.broker.data_folder.comparison import CLUSTER_ID, Verdict
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.journal_format import JOURNAL_FILE
from shareq.broker.data_folder.kept_twice import FirstRecord, Records, look_at_records, open_records
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, format_marker, parse_marker
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, format_partition_metadata
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE
from shareq.broker.log.promises.manifest import snapshot
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import INDEX_SUFFIXES, PARTITION_METADATA_FILE
from shareq.broker.log.segments.index_checksums import CHECKSUMS_SUFFIX
from shareq.broker.log.segments.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_name
from shareq.broker.maintenance.repair.coordinator_topics import coordinator_topic
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
from shareq.broker.metadata.changes import MetaChange, MetaDb, PutConfig, PutMeta, PutTopic, ResourceName, TopicRow
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.protocol.primitives import uuid_to_text

ALL: Final = "all"  # no folder of a partition has that name
TRUST: Final = "--trust"
DELETIONS: Final = "where deleted records ended, so that some may be back"
KEEP_EVERYTHING: Final[Mapping[str, str]] = {"retention.ms": "-1", "retention.bytes": "-1"}

NEXT_PRODUCER_ID: Final = "producer.id.next"
_PRIVATE: Final = {META_DB_FILE, f"{META_DB_FILE}-wal", f"{META_DB_FILE}-shm", JOURNAL_FILE}


@dataclass(frozen=True, slots=True)
class Choices:
    """The operator's decisions.

    `trust` is the record of metadata to believe, "" if none was named. `ALL` in `adopt` means all folders that can
    be partitions of the topics with their names; in `set_aside` it means all others.
    """

    skip_damage: bool = False
    cut_tails: bool = False
    adopt: frozenset[str] = field(default_factory=frozenset)
    set_aside: frozenset[str] = field(default_factory=frozenset)
    trust: str = ""

    def allow(self, finding: Finding) -> bool:
        """Return True if the finding's remedy may be applied."""
        match finding.remedy:
            case None:
                return False
            case NeedsDecision() as decision:
                return self.adopts(decision) or self.sets_aside(decision)
            case RepairMetadata():
                return not finding.option or bool(self.trust if TRUST in finding.option else self.adopt)
        return {SKIP_DAMAGE: self.skip_damage, CUT_TAILS: self.cut_tails}.get(finding.option, True)

    def adopts(self, decision: NeedsDecision) -> bool:
        """Return True if the folder is to become a partition of a topic."""
        return decision.name in self.adopt or (
            ALL in self.adopt and decision.adoptable and not self.sets_aside(decision)
        )

    def sets_aside(self, decision: NeedsDecision) -> bool:
        """Return True if the folder is to be renamed out of the way."""
        return decision.name in self.set_aside or (ALL in self.set_aside and not decision.adoptable)


class Repair:
    """The repair of one data folder, which no other process uses. `done` has a line for each repair and each loss."""

    def __init__(
        self,
        fs: Fs,
        data_dir: str,
        choices: Choices,
        copies: Copies,
        open_database: Callable[[], FirstRecord],
        new_id: Callable[[], bytes],
    ) -> None:
        """Prepare the repair. `new_id` returns 16 random bytes that are not the id of any topic."""
        self._fs = fs
        self._data_dir = data_dir
        self._choices = choices
        self._copies = copies
        self._open_database = open_database
        self._new_id = new_id
        self.done: list[str] = []

    def apply(self, report: Report) -> bool:
        """Make the repairs that the report lists and the operator allows. Return True if there were any. Raise
        OSError.
        """
        allowed = [each for each in report.findings if each.level is Level.DAMAGE and self._choices.allow(each)]
        self._change_files(allowed)
        remedies = [finding.remedy for finding in allowed]
        if any(isinstance(remedy, RepairMetadata) for remedy in remedies):
            self._repair_metadata(report.highest_producer_id + 1)
        else:  # unknown topics are determined once metadata has been repaired
            self._decide([remedy for remedy in remedies if isinstance(remedy, NeedsDecision)])
        manifests = [remedy for remedy in remedies if isinstance(remedy, NewManifest)]
        if len(manifests) == len(remedies):  # otherwise changed logs are read again before it is written
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
            case RewriteFile(path, content):
                self._forget_checksums(path)
                self._copies.keep(path)
                self._fs.write_atomic(self._path(path), content, sync=True)
            case MissingOffsets(path, first_offset, next_offset):
                write_new(self._fs, self._path(path), iter([empty_batches(first_offset, next_offset)]))
                self._remove(CLEAN_SHUTDOWN_FILE)
            case MissingFolder(name, topic_id, first_offset, next_offset):
                self._make_folder(name, topic_id, empty_batches(first_offset, next_offset), first_offset)
                self._remove(CLEAN_SHUTDOWN_FILE)

    def _make_folder(self, name: str, topic_id: bytes, content: bytes, base: int) -> None:
        """Create a partition's folder with one segment. Its `partition.metadata` is written first, since a folder
        without a topic id would prevent a start.
        """
        folder = self._path(name)
        self._fs.make_dirs(folder)
        id_file = f"{folder}/{PARTITION_METADATA_FILE}"
        self._fs.write_atomic(id_file, format_partition_metadata(topic_id), sync=True)
        write_new(self._fs, f"{folder}/{file_name(base, LOG_SUFFIX)}", iter([content]))
        self._fs.sync_dir(self._data_dir)

    def _write_manifest(self, manifest: NewManifest) -> None:
        """Write the manifest, after syncing each log, so that everything below its promised end is on stable
        storage.
        """
        for topic, partition in manifest.rows:
            self._sync_log(f"{topic}-{partition}")
        self._copies.keep(MANIFEST_FILE)
        self._fs.write_atomic(self._path(MANIFEST_FILE), snapshot("", manifest.rows), sync=True)
        self.done.append(f"{MANIFEST_FILE}: rewritten, of {len(manifest.rows)} logs as they are")

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
        """Remove an index file's checksums before it changes; a start accepts an index without them."""
        stem, dot, suffix = path.rpartition(".")
        if dot + suffix in INDEX_SUFFIXES:
            self._remove(stem + CHECKSUMS_SUFFIX)

    def _remove(self, path: str) -> None:
        if self._fs.is_file(self._path(path)):
            self._copies.keep(path)
            self._fs.remove(self._path(path))
            self._fs.sync_dir(self._path(path).rpartition("/")[0])

    # -- metadata

    def _repair_metadata(self, unused_producer_id: int) -> None:
        for name in sorted(_PRIVATE):
            self._copies.keep(name)
        database, journal = self._open_database(), JournalFile(self._fs, self._data_dir)
        try:
            records = look_at_records(database, journal)
            ids = {*records.cluster_ids().values(), *self._marker_id()}
            if not records.database.cluster_id and not records.journal.cluster_id:
                self._make_metadata(database, journal, unused_producer_id)
            elif records.verdict is Verdict.REFUSE or len(ids) > 1:
                self._trust(database, journal, records)
            else:
                open_records(database, journal, records).close()
                self.done.append("metadata: both records are equal again")
        finally:
            database.close()

    def _make_metadata(self, database: FirstRecord, journal: JournalFile, unused_producer_id: int) -> None:
        """Write new metadata, because all is lost: a cluster without topics, with the marker's id, and with producer
        ids that are in no log.
        """
        cluster_id = next(iter(self._marker_id()), "") or uuid_to_text(self._new_id())
        database.set_aside()
        self._remove(JOURNAL_FILE)
        metadata = open_records(database, journal, look_at_records(database, journal))
        metadata.commit([PutMeta(CLUSTER_ID, cluster_id), PutMeta(NEXT_PRODUCER_ID, str(unused_producer_id))])
        metadata.close()
        self.done.append("metadata: rebuilt, because both records are lost; lost: all properties, ACLs and users")

    def _trust(self, database: FirstRecord, journal: JournalFile, records: Records) -> None:
        """Make all copies of the metadata equal to the named one."""
        trusted = self._choices.trust
        found = records.database if trusted == META_DB_FILE else records.journal
        if found.state is None or not found.cluster_id:
            self.done.append(f"metadata: {trusted} has no state that can be read; nothing was changed")
            return
        number = max(records.database.number, records.journal.number) + 1
        database.set_aside()
        journal.rewrite(found.cluster_id, found.state, number, digest_of(found.state))
        open_records(database, journal, look_at_records(database, journal)).close()
        if self._marker_id() != {found.cluster_id}:
            self._copies.keep(MARKER_FILE)
            marker = format_marker(Marker(found.cluster_id, used=True))
            self._fs.write_atomic(self._path(MARKER_FILE), marker, sync=True)
        lost = f"; lost: what is not in it any more ({found.problem})" if found.problem else ""
        newest = max(records.database.number, records.journal.number, records.journal.newest)
        if newest > found.number:
            lost = f"; lost: commits {found.number + 1} to {newest}"
        self.done.append(f"metadata: taken from {trusted}, {len(found.state.topics)} topics{lost}")

    def _marker_id(self) -> set[str]:
        """Return the cluster id in the marker; an empty set if it cannot be read."""
        try:
            return {parse_marker(self._fs.read_bytes(self._path(MARKER_FILE))).cluster_id}
        except (OSError, ValueError):
            return set()

    # -- folders of unknown topics

    def _decide(self, decisions: Sequence[NeedsDecision]) -> None:
        for decision in decisions:
            if self._choices.sets_aside(decision):
                aside = f"{decision.name[:200]}.{self._new_id().hex()}-stray"
                self._fs.rename(self._path(decision.name), self._path(aside))
                self._fs.sync_dir(self._data_dir)
                self.done.append(f"{decision.name}: set aside as {aside}; its records are in no topic any more")
        adopted = [decision for decision in decisions if not self._choices.sets_aside(decision)]
        if adopted:
            # Folders that know their topic's id come first: the others take it from them.
            self._adopt(sorted(adopted, key=lambda decision: not decision.topic_id))

    def _adopt(self, decisions: Sequence[NeedsDecision]) -> None:
        for name in sorted(_PRIVATE):
            self._copies.keep(name)
        database, journal = self._open_database(), JournalFile(self._fs, self._data_dir)
        try:
            records = look_at_records(database, journal)
            if records.verdict in (Verdict.REFUSE, Verdict.NOTHING_THERE):
                self.done.append("metadata: cannot be trusted; no folder was adopted")
                return
            metadata = open_records(database, journal, records)
            try:
                for decision in decisions:
                    self._adopt_into(metadata, decision, decisions)
            finally:
                metadata.close()
        finally:
            database.close()

    def _adopt_into(self, metadata: MetaDb, decision: NeedsDecision, decisions: Sequence[NeedsDecision]) -> None:
        """Add the folder's topic, with partitions up to this one, to the metadata; write the topic's id into the
        folder.
        """
        state = metadata.load()
        topic, row = decision.topic, state.topics.get(decision.topic)
        if not decision.adoptable or (row is not None and decision.topic_id not in (b"", row.topic_id)):
            why = (
                "another topic has its name"
                if row is not None and decision.topic_id
                else "it is no folder of that topic"
            )
            self.done.append(f"{decision.name}: not adopted, because {why}; --set-aside {decision.name}")
            return
        changes: list[MetaChange] = []
        if row is None:
            partitions = [each.partition for each in decisions if each.topic == topic and each.adoptable]
            row = TopicRow(topic, decision.topic_id or self._new_id(), max(partitions) + 1, topic in INTERNAL_TOPICS)
            configs: Mapping[str, str] = KEEP_EVERYTHING
            if row.internal:
                new = coordinator_topic(self._fs, self._data_dir, topic, partitions)
                row, configs = row._replace(partitions=new.partitions), new.configs
            changes += [PutConfig(ResourceName("topic", topic), key, value) for key, value in configs.items()]
        row = row._replace(partitions=max(decision.partition + 1, row.partitions))
        metadata.commit([PutTopic(row), *changes])
        path = f"{decision.name}/{PARTITION_METADATA_FILE}"
        self._copies.keep(path)
        self._fs.write_atomic(self._path(path), format_partition_metadata(row.topic_id), sync=True)
        self.done.append(
            f"{decision.name}: adopted as partition {decision.partition} of topic {topic}{_new_topic(row, changes)}"
        )

    # -- saying it

    def _say(self, finding: Finding) -> None:
        lost = f"; {_loss(finding)}" if finding.option else ""
        where = finding.path if finding.position is None else f"{finding.path} at byte {finding.position}"
        self.done.append(f"{where}: {_deed(finding)}{lost}")

    def _path(self, path: str) -> str:
        return f"{self._data_dir}/{path}"


def _new_topic(row: TopicRow, changes: Sequence[MetaChange]) -> str:
    """Return a remark about a topic that was missing in the metadata; "" if it was not."""
    if not changes:
        return ""
    if row.internal:
        return f", rebuilt with {row.partitions} partitions"
    return "; lost: its properties, so it keeps everything until retention.ms and cleanup.policy are set again"


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
            return "rebuilt, with an empty segment"
        case RewriteFile():
            return "rewritten"
        case RemoveFile(path) if path == LOG_START_FILE:
            return f"removed; every log begins with its first segment; lost: {DELETIONS}"
        case _:
            return "removed; a start makes it again"
