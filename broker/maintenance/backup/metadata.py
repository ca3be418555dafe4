"""The metadata of a data folder for a backup: it is read without disturbing the broker, and written as files that a
start can use.

The metadata is read after the ends of the logs. So it may have a topic that is newer than the logs, or lack a topic
whose folder was copied. Both are states that a crash can leave: a topic is created in the metadata before its
folders appear, and deleted in the metadata before its folders are removed. Producer ids in the logs were allocated
in the metadata before.

Both records of the metadata are read, the database as a copy of its files. A broker may be writing them at that
moment: a torn copy does not match its digest; the other copy, or another attempt, has the commit.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shareq.broker.data_folder.comparison import DIGEST, NUMBER, Found, Verdict
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.journal_format import JOURNAL_FILE, format_journal
from shareq.broker.data_folder.kept_twice import look_at_records
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, format_marker
from shareq.broker.data_folder.ownership import DataFolderError, look_at_folder
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.os_files import ReadOnlyFs, copied_database
from shareq.broker.metadata.changes import MetaState, PutMeta, TopicRow
from shareq.broker.metadata.sqlite import SqliteMetaDb

_ATTEMPTS: Final = 20
_PAUSE_S: Final = 0.05
_CERTAIN: Final = (Verdict.AGREE, Verdict.WRITE_JOURNAL, Verdict.REBUILD_DATABASE)


@dataclass(frozen=True, slots=True)
class CopiedMetadata:
    """The metadata of one moment. `number` is the number of its last commit, `digest` the digest of its state."""

    cluster_id: str
    state: MetaState
    number: int
    digest: int

    @property
    def topics(self) -> Mapping[str, TopicRow]:
        return self.state.topics

    def files(self) -> dict[str, bytes]:
        """Return contents by path, in the order in which a restore writes them. The last one makes the folder a data
        folder.
        """
        return {
            JOURNAL_FILE: format_journal(self.cluster_id, self.state, self.number, self.digest),
            META_DB_FILE: self._database(),
            MARKER_FILE: format_marker(Marker(self.cluster_id, used=True)),
        }

    def _database(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="shareq-") as folder:
            path = f"{folder}/{META_DB_FILE}"
            database = SqliteMetaDb(path)
            own = [PutMeta(NUMBER, str(self.number)), PutMeta(DIGEST, f"{self.digest:016x}")]
            database.commit([*self.state.rows(), *own])
            database.close()
            with open(path, "rb") as file:
                return file.read()

    @property
    def topic_ids(self) -> set[bytes]:
        return {topic.topic_id for topic in self.topics.values()}


def copy_metadata(data_dir: str) -> CopiedMetadata:
    """Copy the metadata committed so far.

    Raise MaintenanceError if the folder is no data folder, or has no metadata that can be trusted.
    """
    if not os.path.isdir(data_dir):
        raise MaintenanceError(f"{data_dir}: no such folder", usage=True)
    fs = ReadOnlyFs()
    try:
        occupant = look_at_folder(fs, data_dir)
    except DataFolderError as error:
        raise MaintenanceError(str(error), usage=True) from error
    for _ in range(_ATTEMPTS):
        found = _look(fs, data_dir)
        if found is not None and found.state is not None:
            cluster_id = occupant.marker.cluster_id if occupant.marker is not None else found.cluster_id
            return CopiedMetadata(cluster_id, found.state, max(found.number, 1), found.digest)
        time.sleep(_PAUSE_S)
    raise MaintenanceError(f"{data_dir}: neither meta.db nor metadata.journal can be trusted; see shareq verify")


def _look(fs: ReadOnlyFs, data_dir: str) -> Found | None:
    """Return the record to trust; None if a broker seems to be writing both."""
    with copied_database(data_dir) as database:
        records = look_at_records(database(), JournalFile(fs, data_dir))
    if records.verdict not in _CERTAIN:
        return None
    return records.journal if records.verdict is Verdict.REBUILD_DATABASE else records.database
