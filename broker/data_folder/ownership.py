"""The owner of a folder, which is determined before a byte in it is changed.

A data folder is ours if its marker shows that or, if the marker is missing or damaged, if it has metadata that we
wrote. A folder that is missing or empty becomes ours. Any other folder is refused, and not changed; so is one that a
command has begun to create and not finished (`unfinished`), whatever is in it.
"""

from __future__ import annotations

import shlex
from typing import Final, NamedTuple

from shareq.broker.data_folder.journal_format import JOURNAL_FILE, parse_journal
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, parse_marker
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.data_folder.unfinished import UNFINISHED_FILE, command_of, is_unfinished, run_again
from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.ground_error import GroundError
from shareq.broker.foundation.repair_command import ADOPT_ALL, repair_command
from shareq.broker.metadata.format_version import FORMAT_VERSION

SQLITE_MAGIC: Final = b"SQLite format 3\0"
SQLITE_TABLES: Final = (b"CREATE TABLE topics", b"CREATE TABLE scram")  # as SQLite keeps them; perhaps in its log only

_LOCK_FILE: Final = ".lock"
_PARTITION_FILE: Final = "partition.metadata"
_KAFKA_FILE: Final = "meta.properties"
_NAMED: Final = 3


class DataFolderError(GroundError):
    """Error: the folder cannot be used. The text is one sentence that names the files; nothing in the folder was
    changed.

    `has_repair`: a command can repair the folder, and the text names it.
    """

    def __init__(self, message: str, *, has_repair: bool = False) -> None:
        super().__init__(message)
        self.has_repair = has_repair


class Occupant(NamedTuple):
    """The state of a data folder.

    `marker` is None if there is no readable one. `fresh`: the folder is still empty. `damage` describes why the
    marker cannot be read; "" if it can, or is missing.
    """

    marker: Marker | None
    fresh: bool = False
    damage: str = ""


def repair_hint(data_dir: str, options: str) -> str:
    """Return the end of a refusal: the command that makes a start possible again, and the changes that it makes
    without asking.
    """
    what = ", makes topics of the folders it finds, with the ids in them" if ADOPT_ALL in options else ""
    return f"{repair_command(data_dir, options)} repairs it{what}, and keeps a copy of what it changes"


def look_at_folder(fs: Fs, data_dir: str) -> Occupant:
    """Return the folder's state. Nothing is changed. Raise DataFolderError unless the folder is ours or free, and
    OSError.
    """
    if not fs.exists(data_dir):
        return Occupant(None, fresh=True)
    if is_unfinished(fs, data_dir):
        raise DataFolderError(f"data folder {run_again(data_dir, command_of(fs, data_dir))}")
    marker, damage = _marker_in(fs, data_dir)
    if marker is not None:
        if marker.format_version > FORMAT_VERSION:
            raise DataFolderError(
                f"data folder {data_dir} has format {marker.format_version}, and this release knows formats up to "
                f"{FORMAT_VERSION}: start it with the release that wrote it, or a later one"
            )
        return Occupant(marker)
    names = [name for name in fs.list_dir(data_dir) if not _counts_as_empty(fs, data_dir, name)]
    if not names:
        return Occupant(None, fresh=True)
    if _has_our_metadata(fs, data_dir, names):
        return Occupant(None, damage=damage)
    raise _refusal(fs, data_dir, names, damage)


def _marker_in(fs: Fs, data_dir: str) -> tuple[Marker | None, str]:
    path = f"{data_dir}/{MARKER_FILE}"
    if not fs.is_file(path):
        return None, ""
    try:
        return parse_marker(fs.read_bytes(path)), ""
    except (OSError, ValueError) as error:
        return None, str(error)


def _counts_as_empty(fs: Fs, data_dir: str, name: str) -> bool:
    """Return True for names that an empty folder may have:

    `lost+found`, and the files of a first start that ended before it wrote the marker.
    """
    if name == "lost+found":
        return True
    path = f"{data_dir}/{name}"
    if name in (f"{MARKER_FILE}.tmp", f"{UNFINISHED_FILE}.tmp"):
        return fs.is_file(path)
    if name == _LOCK_FILE:  # it has the addresses of its last owner
        return fs.is_file(path)
    return name == META_DB_FILE and fs.is_file(path) and not fs.read_bytes(path)


def _has_our_metadata(fs: Fs, data_dir: str, names: list[str]) -> bool:
    if META_DB_FILE in names and _is_our_database(fs, data_dir, names):
        return True
    if JOURNAL_FILE not in names:
        return False
    try:
        return bool(parse_journal(fs.read_bytes(f"{data_dir}/{JOURNAL_FILE}")).cluster_id)
    except (OSError, ValueError):
        return False


def _is_our_database(fs: Fs, data_dir: str, names: list[str]) -> bool:
    """Return True if the files' bytes are those of our database. They are read without SQLite, which would change
    them.
    """
    files = [name for name in (META_DB_FILE, f"{META_DB_FILE}-wal") if name in names]
    try:
        contents = [fs.read_bytes(f"{data_dir}/{name}") for name in files]
    except OSError:
        return False
    return contents[0].startswith(SQLITE_MAGIC) and all(
        any(table in content for content in contents) for table in SQLITE_TABLES
    )


def _refusal(fs: Fs, data_dir: str, names: list[str], damage: str) -> DataFolderError:
    logs = [name for name in names if fs.is_folder(f"{data_dir}/{name}") and _is_a_log(fs, f"{data_dir}/{name}")]
    metadata = [
        f"{name} is {'damaged' if name in names else 'missing'}" for name in (MARKER_FILE, META_DB_FILE, JOURNAL_FILE)
    ]
    if _is_kafkas(fs, data_dir, names):
        return DataFolderError(
            f"data folder {data_dir} is one of Apache Kafka's: it has {_KAFKA_FILE}. Nothing in it was changed. "
            f"`shareq import-logs {shlex.quote(data_dir)} NEW` makes a data folder NEW of it"
        )
    if logs or damage or not {MARKER_FILE, META_DB_FILE, JOURNAL_FILE}.isdisjoint(names):
        found = f" but there are logs in it, like {_listed(logs)}," if logs else ""
        return DataFolderError(
            f"data folder {data_dir}: {', '.join(metadata)},{found} and nothing says any more what it holds. "
            f"Not starting, because that would be an empty cluster. {repair_hint(data_dir, ADOPT_ALL)}",
            has_repair=True,
        )
    return DataFolderError(
        f"data folder {data_dir} is not one of shareq's, and not empty: it has {_listed(names)}. "
        "Nothing in it was changed. Choose an empty folder, or one that does not exist yet"
    )


def _is_kafkas(fs: Fs, data_dir: str, names: list[str]) -> bool:
    """Return True if the folder has the file that marks folders of Apache Kafka's brokers, and no file of ours."""
    if _KAFKA_FILE not in names or not {MARKER_FILE, META_DB_FILE, JOURNAL_FILE}.isdisjoint(names):
        return False
    try:
        return b"cluster.id=" in fs.read_bytes(f"{data_dir}/{_KAFKA_FILE}")
    except OSError:
        return False


def _is_a_log(fs: Fs, folder: str) -> bool:
    return fs.is_file(f"{folder}/{_PARTITION_FILE}")


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
