"""Opening of a data folder: its owner, its lock, its marker, and its metadata from two records.

The order of a first start: lock, marker (durable), database, journal, and the marker again, which from then on shows
that metadata exists. After a crash in between, the next start continues with the folder.

A commit is written to `meta.db`, then to the journal, with its number and a digest of the whole state. Of the
records whose digest fits, a start believes the later one, and restores the other from it. If the journal cannot be
written, the commit counts nevertheless, and the next one rewrites the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from shareq.broker.data_folder.comparison import Verdict
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.kept_twice import (
    DamagedMetadataError,
    FirstRecord,
    Records,
    TwiceKeptMetaDb,
    look_at_records,
    open_records,
    options_to_repair,
)
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, format_marker
from shareq.broker.data_folder.ownership import DataFolderError, Occupant, look_at_folder, repair_hint
from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.repair_command import ADOPT_ALL
from shareq.broker.log.manager import lock_data_folder

__all__ = ["DataFolder", "DataFolderError", "open_data_folder"]

logger = logging.getLogger(__name__)


class DataFolder(NamedTuple):
    """An open folder. Its owner closes `meta_db` and calls `release_lock`.

    `from_format_1`: the folder had format 1 until now, and has the data of a broker of that format.
    """

    meta_db: TwiceKeptMetaDb
    cluster_id: str
    release_lock: Callable[[], None]
    from_format_1: bool = False


def open_data_folder(
    fs: Fs,
    data_dir: str,
    database: FirstRecord,
    new_cluster_id: Callable[[], str],
    make_room: Callable[[], None] = lambda: None,
    *,
    syncs_journal_in_background: bool = False,
) -> DataFolder:
    """Open the folder; create it if it is missing. Raise DataFolderError, DataFolderInUseError or OSError, after
    which nothing is open.

    `make_room` is called when the folder is known to be ours and before anything is written, in case the disk is
    full. `syncs_journal_in_background` requires a running loop: see `JournalFile`.
    """
    look_at_folder(fs, data_dir)  # before there is even a lock in it
    with ExitStack() as undo:
        release_lock = lock_data_folder(fs, data_dir)
        undo.callback(release_lock)
        undo.callback(database.close)
        occupant = look_at_folder(fs, data_dir)
        make_room()
        marker = occupant.marker
        if occupant.fresh:
            marker = Marker(new_cluster_id(), used=False)
            write_marker(fs, data_dir, marker)
        journal = JournalFile(fs, data_dir, in_background=syncs_journal_in_background)
        records = look_at_records(database, journal)
        _check(data_dir, occupant, marker, records)
        try:
            meta_db = open_records(database, journal, records)
        except DamagedMetadataError as error:
            hint = repair_hint(data_dir, options_to_repair(records, "" if marker is None else marker.cluster_id))
            raise DataFolderError(f"data folder {data_dir}: {error}. Not starting. {hint}", has_repair=True) from error
        undo.callback(meta_db.close)
        marker = _settled_marker(fs, data_dir, occupant, marker, records, meta_db)
        undo.pop_all()
    from_format_1 = occupant.marker is None and not occupant.damage and records.are_of_format_1
    return DataFolder(meta_db, marker.cluster_id, release_lock, from_format_1)


def write_marker(fs: Fs, data_dir: str, marker: Marker) -> None:
    """Write the marker into the folder, to stable storage. Raise OSError."""
    fs.write_atomic(f"{data_dir}/{MARKER_FILE}", format_marker(marker), sync=True)


def _check(data_dir: str, occupant: Occupant, marker: Marker | None, records: Records) -> None:
    """Raise DataFolderError if the files are of different clusters, or if metadata is lost."""
    said = records.cluster_ids()
    if marker is not None:
        said[MARKER_FILE] = marker.cluster_id
    if len(set(said.values())) > 1:
        files = ", ".join(f"{name} is of cluster {cluster_id}" for name, cluster_id in sorted(said.items()))
        hint = repair_hint(data_dir, options_to_repair(records, "" if marker is None else marker.cluster_id))
        raise DataFolderError(f"data folder {data_dir}: {files}. Not starting. {hint}", has_repair=True)
    if records.verdict is Verdict.NOTHING_THERE and (marker is None or marker.used):
        raise DataFolderError(
            f"data folder {data_dir}: meta.db and metadata.journal are missing or empty, but there was a cluster. "
            f"Not starting, because that would be an empty one. {repair_hint(data_dir, ADOPT_ALL)}",
            has_repair=True,
        )


def _settled_marker(
    fs: Fs, data_dir: str, occupant: Occupant, marker: Marker | None, records: Records, meta_db: TwiceKeptMetaDb
) -> Marker:
    """Return the marker that fits the metadata; write it if it has changed, or as soon as there is metadata."""
    if marker is not None and marker.used:
        return marker
    if records.verdict is not Verdict.NOTHING_THERE:
        used = Marker(next(iter(records.cluster_ids().values())), used=True)
        if occupant.damage:
            logger.warning("%s/%s: rewritten, it was damaged: %s", data_dir, MARKER_FILE, occupant.damage)
        write_marker(fs, data_dir, used)
        return used
    assert marker is not None
    used = marker._replace(used=True)
    meta_db.on_first_commit = lambda: _write_used(fs, data_dir, used)
    return marker


def _write_used(fs: Fs, data_dir: str, used: Marker) -> bool:
    """Write the marker that shows that metadata exists, to stable storage. Return False if that failed; the commit
    counts nevertheless.
    """
    try:
        write_marker(fs, data_dir, used)
    except OSError as error:
        logger.warning("%s/%s: not written, the next commit tries again: %s", data_dir, MARKER_FILE, error)
        return False
    return True
