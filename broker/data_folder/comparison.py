"""The choice between two different records of metadata at a start. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from shareq.broker.data_folder.digest import digest_of
from shareq.broker.data_folder.journal_format import Journal
from shareq.broker.metadata.changes import MetaState

CLUSTER_ID: Final = "cluster.id"
NUMBER: Final = "commit.number"  # the number of the last commit; only the database has this entry
DIGEST: Final = "commit.digest"  # of everything else, in hex


class Verdict(Enum):
    """The outcome of a comparison."""

    NOTHING_THERE = "neither has a cluster"
    AGREE = "both say the same"
    WRITE_JOURNAL = "the database is right"
    REBUILD_DATABASE = "the journal is right"
    REFUSE = "neither can be trusted, or both equally"


class Found(NamedTuple):
    """The content of one record of metadata.

    `state` leaves out the entries about the record itself; it is None if the record is missing or unreadable.
    `problem` is why the record cannot be trusted; "" if it can be, or is missing. `number` is 0 in a database of
    format 1. `damaged` is True if the record exists but was altered, even if a part can be used. `newest` is the
    last commit that can be seen, if earlier ones cannot be read; otherwise 0.
    """

    state: MetaState | None = None
    number: int = 0
    digest: int = 0
    problem: str = ""
    damaged: bool = False
    newest: int = 0

    @property
    def cluster_id(self) -> str:
        return "" if self.state is None else self.state.meta.get(CLUSTER_ID, "")

    @property
    def sound(self) -> bool:
        return self.state is not None and bool(self.cluster_id) and not self.problem


def found_in_database(state: MetaState) -> Found:
    """Return the content of a readable database; remove the entries about the record itself from `state`."""
    number, digest = state.meta.pop(NUMBER, None), state.meta.pop(DIGEST, None)
    actual = digest_of(state)
    if not state.meta.get(CLUSTER_ID):
        empty = not any(state.rows())
        return Found(None if empty else state, problem="" if empty else "it has no cluster id")
    if number is None or digest is None:
        return Found(state, 0, actual)
    try:
        written = int(digest, 16)
        fits, count = written == actual, int(number)
    except ValueError:
        fits, count = False, 0
    return Found(state, count, actual, "" if fits else "its content does not fit its digest", not fits)


def found_in_journal(journal: Journal) -> Found:
    """Return the content of a readable journal."""
    if journal.sequence == 0:
        problem = journal.damage or "it has no whole commit"
        return Found(None, problem=problem, damaged=True, newest=journal.newest)
    problem = journal.damage
    if not problem and digest_of(journal.state) != journal.digest:
        problem = "its content does not fit its digest"
    newest = journal.newest if problem else 0
    return Found(journal.state, journal.sequence, journal.digest, problem, bool(problem) or journal.cut_off, newest)


def compare(database: Found, journal: Found) -> Verdict:
    """Compare both records and return the verdict.

    A later commit is preferred to an earlier one, and a sound record to an unsound one.
    """
    if database.sound and journal.sound:
        if database.number != journal.number:
            return Verdict.WRITE_JOURNAL if database.number > journal.number else Verdict.REBUILD_DATABASE
        if database.digest != journal.digest:
            return Verdict.REFUSE
        return Verdict.WRITE_JOURNAL if journal.damaged else Verdict.AGREE
    if journal.sound:
        return Verdict.REBUILD_DATABASE
    if database.sound:  # unless the journal, damaged as it is, has seen later commits
        return Verdict.REFUSE if journal.newest > database.number else Verdict.WRITE_JOURNAL
    there = [found for found in (database, journal) if found.state is not None or found.problem]
    return Verdict.REFUSE if there else Verdict.NOTHING_THERE
