"""Metadata in two independent records: a database, and a journal beside it. Each can be restored from the other.

A commit is written to the database first, then to the journal; both have its number and a digest of the whole state
after it. A process that dies in between leaves the database one commit ahead, and the next start rewrites the
journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from shareq.broker.data_folder.comparison import CLUSTER_ID, DIGEST, NUMBER, Found, Verdict, compare
from shareq.broker.data_folder.digest import apply_and_digest, digest_of
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.foundation.repair_command import ADOPT_ALL
from shareq.broker.metadata.changes import MetaChange, MetaDb, MetaState, PutMeta

logger = logging.getLogger(__name__)


class DamagedMetadataError(Exception):
    """Error: neither record of metadata can be trusted. The text is one sentence; nothing was changed."""


class FirstRecord(Protocol):
    """The database as a start finds it. All methods except `look` raise OSError."""

    name: str
    """The name of the database's file."""

    def look(self) -> Found:
        """Return the record's content. A missing file is not created."""

    def open(self) -> MetaDb:
        """Return the database, ready for commits; create it if it does not exist."""

    def set_aside(self) -> list[str]:
        """Rename its files, so that none of them remains, and return their new names, under which they can be
        opened.
        """

    def close(self) -> None:
        """Close what `look` has opened. A second call, or one after `open`, has no effect."""


class Records(NamedTuple):
    """The two records found by a start. `journal_cluster_id` is that of the journal's first line, "" if it has none."""

    database: Found
    journal: Found
    journal_cluster_id: str

    @property
    def verdict(self) -> Verdict:
        return compare(self.database, self.journal)

    @property
    def are_of_format_1(self) -> bool:
        """True if there is a database with uncounted commits, and no trace of a journal."""
        old = self.database.sound and self.database.number == 0
        return old and self.journal.state is None and not self.journal.problem

    def cluster_ids(self) -> dict[str, str]:
        """Return the cluster ids by the name of the file that has them."""
        said = {"metadata.journal": self.journal_cluster_id}
        if self.database.sound:  # else it may be the id that is damaged
            said["meta.db"] = self.database.cluster_id
        return {name: cluster_id for name, cluster_id in said.items() if cluster_id}


def look_at_records(database: FirstRecord, journal: JournalFile) -> Records:
    """Return the content of both records. Nothing is changed."""
    return Records(database.look(), *journal.look())


def open_records(database: FirstRecord, journal: JournalFile, records: Records) -> TwiceKeptMetaDb:
    """Make the records equal if they differ, and open them. Raise DamagedMetadataError, OSError.

    If both are missing, the first commit creates them.
    """
    verdict = records.verdict
    if verdict is Verdict.REFUSE:
        raise DamagedMetadataError(
            f"{database.name} and {journal.path} cannot be trusted: {_problems(database.name, journal.path, records)}"
        )
    opened = _rebuild(database, journal, records) if verdict is Verdict.REBUILD_DATABASE else database.open()
    best = records.journal if verdict is Verdict.REBUILD_DATABASE else records.database
    state = MetaState() if best.state is None else best.state
    metadata = TwiceKeptMetaDb(opened, journal, state, best.number, best.digest)
    if verdict is Verdict.WRITE_JOURNAL:
        _tell_of_the_journal(journal, records)
        metadata.write_journal()
    return metadata


def options_to_repair(records: Records, cluster_id: str) -> str:
    """Return the options that `shareq verify --repair` needs for records that a start refuses.

    `cluster_id` is the marker's, or "". The record to trust is chosen by three rules in this order: it has the
    marker's cluster id; it is sound; it has the later commits.
    """
    named = {"meta.db": records.database, "metadata.journal": records.journal}
    usable = {name: found for name, found in named.items() if found.cluster_id}
    if not usable:
        return ADOPT_ALL
    best = max(
        usable, key=lambda name: (usable[name].cluster_id == cluster_id, usable[name].sound, usable[name].number)
    )
    return f"--trust {best} {ADOPT_ALL}"


def _problems(database: str, journal: str, records: Records) -> str:
    found = ((database, records.database), (journal, records.journal))
    problems = [f"{name}: {each.problem}" for name, each in found if each.problem]
    missing = [f"{name} is missing" for name, each in found if each.state is None and not each.problem]
    if records.database.sound and records.journal.newest > records.database.number:
        problems.append(f"{database} ends with commit {records.database.number}, before those that follow")
    return "; ".join([*problems, *missing]) or f"both are at commit {records.database.number}, and differ"


def _tell_of_the_journal(journal: JournalFile, records: Records) -> None:
    if records.database.number == 0:
        return  # a folder of format 1
    why = records.journal.problem or (
        f"it ends with commit {records.journal.number}, and the database with {records.database.number}"
        if records.journal.state is not None
        else "it is missing"
    )
    lost = "" if records.journal.sound else "; a change that only it had is lost"
    logger.warning("%s: rewritten from the database: %s%s", journal.path, why, lost)


def _rebuild(database: FirstRecord, journal: JournalFile, records: Records) -> MetaDb:
    found, best = records.database, records.journal
    why = found.problem or (
        f"it ends with commit {found.number}, and the journal with {best.number}" if found.state else "it is missing"
    )
    kept = database.set_aside()
    opened = database.open()
    assert best.state is not None
    opened.commit([*best.state.rows(), *_own_entries(best.number, best.digest)])
    logger.warning(
        "%s: rebuilt from %s, %d topics: %s; %s",
        database.name,
        journal.path,
        len(best.state.topics),
        why,
        f"what was there is kept as {', '.join(kept)}" if kept else "nothing of it was left",
    )
    return opened


def _own_entries(number: int, digest: int) -> list[MetaChange]:
    return [PutMeta(NUMBER, str(number)), PutMeta(DIGEST, f"{digest:016x}")]


class TwiceKeptMetaDb:
    """A `MetaDb` whose commits go to a database and to a journal.

    If the journal is synced in the background, it may lack the last commits after a power loss; the database does
    not. If the journal cannot be written, the commit counts nevertheless, because the database has it: this is
    logged, and the next commit rewrites the journal. `on_first_commit` is called after each commit, when both
    records have a state, until it returns True. It must not raise.
    """

    def __init__(self, database: MetaDb, journal: JournalFile, state: MetaState, number: int, digest: int) -> None:
        self._database = database
        self._journal = journal
        self._state: MetaState | None = state
        self._number = number
        self._digest = digest
        self._journal_is_behind = number == 0
        self.on_first_commit: Callable[[], bool] | None = None
        journal.on_failed_sync = self._fall_behind

    def load(self) -> MetaState:
        return self._current().copy()

    def commit(self, changes: Sequence[MetaChange]) -> None:
        number = self._number + 1
        state, self._state = self._current(), None  # until the database's content is known
        digest = apply_and_digest(state, changes, self._digest)
        self._database.commit([*changes, *_own_entries(number, digest)])
        self._state, self._number, self._digest = state, number, digest
        if self._journal_is_behind or self._journal.has_grown:
            self.write_journal()
        else:
            self._append(changes)
        if self.on_first_commit is not None and not self._journal_is_behind and self.on_first_commit():
            self.on_first_commit = None

    def write_journal(self) -> None:
        """Make the journal equal to the database."""
        state = self._current()
        try:
            if self._number == 0:  # of format 1: from now on its commits are counted
                self._database.commit(_own_entries(1, self._digest))
                self._number = 1
            self._journal.rewrite(state.meta[CLUSTER_ID], state, self._number, self._digest)
            self._journal_is_behind = False
        except OSError as error:
            self._fall_behind(error)

    def close(self) -> None:
        try:
            self._journal.close()
        except OSError as error:
            self._fall_behind(error)
        self._database.close()

    def _append(self, changes: Sequence[MetaChange]) -> None:
        try:
            self._journal.append(changes, self._number, self._digest)
        except OSError as error:
            self._fall_behind(error)

    def _fall_behind(self, error: OSError) -> None:
        self._journal_is_behind = True
        logger.error("%s: not written, the next change of metadata tries again: %s", self._journal.path, error)

    def _current(self) -> MetaState:
        """Return the committed state, which is read again after a failed commit."""
        if self._state is None:
            self._state = self._database.load()
            for key in (NUMBER, DIGEST):
                self._state.meta.pop(key, None)
            self._digest = digest_of(self._state)
        return self._state
