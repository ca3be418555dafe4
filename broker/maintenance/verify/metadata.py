"""The check of marker, database and journal: the result that a start would have with them, and the topics in them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shareq.broker.data_folder.comparison import Found, Verdict
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.journal_format import JOURNAL_FILE
from shareq.broker.data_folder.kept_twice import FirstRecord, Records, look_at_records, options_to_repair
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, format_marker, parse_marker
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.foundation.environment import Fs
from shareq.broker.maintenance.verify.findings import Finding, Level, Remedy, RepairMetadata, Report, RewriteFile
from shareq.broker.metadata.changes import MetaState, ResourceName, TopicRow
from shareq.coordinator.ports import TopicImage

_POLICY = "cleanup.policy"


class Topics:
    """The topics of a metadata state, as `KnownTopics`."""

    def __init__(self, state: MetaState) -> None:
        self.state = state
        self._by_id = {row.topic_id: _image(row) for row in state.topics.values()}

    def topic(self, name: str) -> TopicImage | None:
        row = self.state.topics.get(name)
        return None if row is None else self._by_id[row.topic_id]

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._by_id.get(topic_id)

    def deleted_topics(self) -> Collection[TopicImage]:
        return [_image(row) for row in self.state.deleted.values()]

    def folders_are_gone(self, topic_ids: Collection[bytes]) -> None:
        """Do nothing, because no topic is forgotten here."""

    def is_compacted(self, name: str) -> bool:
        """Return True if a cleaner may have removed batches of the topic's logs."""
        row = self.state.topics.get(name)
        configs = self.state.configs.get(ResourceName("topic", name), {})
        return row is None or row.internal or "compact" in configs.get(_POLICY, "")


@dataclass(frozen=True, slots=True)
class CheckedMetadata:
    """The findings about metadata.

    `cluster_id` is "" if no file has it; `verdict` is the decision that a start would make about the copies.
    """

    cluster_id: str
    topics: Topics
    verdict: Verdict
    marker: Marker | None
    records: Records

    @property
    def is_of_format_1(self) -> bool:
        """True if no broker of a later format has used the folder."""
        return self.marker is None and self.records.are_of_format_1


def check_metadata(fs: Fs, data_dir: str, database: FirstRecord, report: Report) -> CheckedMetadata:
    """Read and compare all three. Nothing is changed. Raise OSError."""
    records = look_at_records(database, JournalFile(fs, data_dir))
    marker, marker_problem = _marker(fs, data_dir)
    best = records.journal if records.verdict is Verdict.REBUILD_DATABASE else records.database
    if best.state is None:
        best = records.journal
    said = {name: each for name, each in records.cluster_ids().items() if each}
    cluster_id = marker.cluster_id if marker is not None else next(iter(said.values()), "")
    marker_id = "" if marker is None else marker.cluster_id
    is_of_two_clusters = len({*said.values(), *([marker_id] if marker_id else [])}) > 1
    if is_of_two_clusters:
        _tell_of_two_clusters(report, records, {**said, **({MARKER_FILE: marker_id} if marker_id else {})}, marker_id)
    else:
        _check_marker(report, marker, marker_problem, said, used=records.verdict is not Verdict.NOTHING_THERE)
    if not is_of_two_clusters:
        _check_records(report, records, marker)
    report.files += 3
    return CheckedMetadata(cluster_id, Topics(best.state or MetaState()), records.verdict, marker, records)


def _marker(fs: Fs, data_dir: str) -> tuple[Marker | None, str]:
    if not fs.is_file(f"{data_dir}/{MARKER_FILE}"):
        return None, "it is missing"
    try:
        return parse_marker(fs.read_bytes(f"{data_dir}/{MARKER_FILE}")), ""
    except ValueError as error:
        return None, str(error)


def _check_marker(report: Report, marker: Marker | None, problem: str, said: dict[str, str], *, used: bool) -> None:
    if marker is None and said:
        content = format_marker(Marker(next(iter(said.values())), used=used))
        is_format_1 = problem == "it is missing" and JOURNAL_FILE not in said
        level = Level.NOTE if is_format_1 else Level.DAMAGE
        why = "of format 1, without a marker" if is_format_1 else problem
        consequence = "a start writes it; nothing is lost"
        report.add(Finding(MARKER_FILE, why, consequence, level=level, remedy=RewriteFile(MARKER_FILE, content)))


def _tell_of_two_clusters(report: Report, records: Records, said: dict[str, str], marker_id: str) -> None:
    files = ", ".join(f"{name}: {cluster_id}" for name, cluster_id in sorted(said.items()))
    problem = f"the files are of different clusters ({files})"
    option = options_to_repair(records, marker_id)
    report.add(Finding(MARKER_FILE, problem, "a start refuses the folder", remedy=RepairMetadata(), option=option))


def _check_records(report: Report, records: Records, marker: Marker | None) -> None:
    database, journal = records.database, records.journal
    option = options_to_repair(records, "" if marker is None else marker.cluster_id)
    match records.verdict:
        case Verdict.AGREE:
            return
        case Verdict.WRITE_JOURNAL:
            behind = journal.sound and not journal.damaged and journal.number >= database.number - 1
            old = database.number == 0 and journal.state is None and not journal.problem
            cut_off = journal.sound and journal.number == database.number
            level = Level.NOTE if behind or old or cut_off else Level.DAMAGE
            _add(report, JOURNAL_FILE, _what(journal, database), "a start rewrites it from meta.db", level)
        case Verdict.REBUILD_DATABASE:
            consequence = "a start rebuilds it from metadata.journal; nothing is lost"
            _add(report, META_DB_FILE, _what(database, journal), consequence, Level.DAMAGE)
        case Verdict.REFUSE:
            for name, found in ((META_DB_FILE, database), (JOURNAL_FILE, journal)):
                what = found.problem or _instead(found, journal)
                report.add(_refused(name, what, option))
        case Verdict.NOTHING_THERE if marker is None or marker.used:
            report.add(_refused(META_DB_FILE, "it is missing or empty, and so is metadata.journal", option))
        case Verdict.NOTHING_THERE:
            return


def _what(found: Found, other: Found) -> str:
    if found.problem:
        return found.problem
    if found.state is None:
        return "it is missing"
    if found.number == other.number:
        return "its last commit is cut off"
    return f"it ends with commit {found.number}, the other record with {other.number}"


def _add(report: Report, path: str, problem: str, consequence: str, level: Level) -> None:
    remedy: Remedy = RepairMetadata()
    report.add(Finding(path, problem, consequence, level=level, remedy=remedy))


def _instead(found: Found, journal: Found) -> str:
    if found.state is None:
        return "it is missing or empty"
    if journal.newest > found.number:
        return f"it ends with commit {found.number}, and metadata.journal has seen commit {journal.newest}"
    return f"it differs from the other record, both of commit {found.number}"


def _refused(path: str, problem: str, option: str) -> Finding:
    return Finding(
        path,
        problem,
        "a start refuses the folder, because it would be an empty cluster",
        remedy=RepairMetadata(),
        option=option,
    )


def _image(row: TopicRow) -> TopicImage:
    return TopicImage(row.name, row.topic_id, row.partitions, row.internal)
