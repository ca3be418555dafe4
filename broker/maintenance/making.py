"""A data folder while a command creates it: it is marked as unfinished from before its first byte until after its
last.

At any moment the command may be killed, or the machine may lose its power. Until the folder is whole and on stable
storage it contains the file `shareq.unfinished`, with which no broker starts and no other command reads or repairs
it; the same command, run again, removes the unfinished folder and starts over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from shareq.broker.data_folder.journal_format import JOURNAL_FILE
from shareq.broker.data_folder.marker import MARKER_FILE
from shareq.broker.data_folder.sqlite_record import META_DB_FILE
from shareq.broker.data_folder.unfinished import UNFINISHED_FILE, format_unfinished, is_unfinished, run_again
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.folders import is_our_file
from shareq.broker.log.manager import LOCK_FILE, DataFolderInUseError, lock_data_folder
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, RECOVERY_POINT_FILE
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.maintenance.errors import MaintenanceError

_NOT_COUNTED: Final = {"lost+found", LOCK_FILE, UNFINISHED_FILE, f"{UNFINISHED_FILE}.tmp"}
_TOP: Final = {JOURNAL_FILE, META_DB_FILE, MARKER_FILE, MANIFEST_FILE, LOG_START_FILE, RECOVERY_POINT_FILE}


@contextmanager
def making(fs: Fs, data_dir: str, command: Sequence[str]) -> Iterator[None]:
    """Mark the folder as unfinished inside this block; `command` is the command with which an operator starts over.

    Raise MaintenanceError if the folder is in use, has other content, or was left unfinished by an error, which the
    text names. Raise OSError only before the folder is marked.
    """
    refuse_unless_free(fs, data_dir)
    try:
        release = lock_data_folder(fs, data_dir)
    except DataFolderInUseError as error:
        raise MaintenanceError(f"{data_dir}: another process is using it", usage=True) from error
    try:
        refuse_unless_free(fs, data_dir)
        fs.write_atomic(f"{data_dir}/{UNFINISHED_FILE}", format_unfinished(command), sync=True)
        try:
            _empty(fs, data_dir)
            yield
            fs.sync_dir(data_dir)
            fs.remove(f"{data_dir}/{UNFINISHED_FILE}")
            fs.sync_dir(data_dir)
        except (OSError, MaintenanceError) as error:
            raise MaintenanceError(f"{error}; {run_again(data_dir, command)}") from error
    finally:
        release()


def refuse_unless_free(fs: Fs, data_dir: str) -> None:
    """Raise MaintenanceError unless the folder is missing, empty, or unfinished without foreign files."""
    if fs.exists(data_dir) and not fs.is_folder(data_dir):
        raise MaintenanceError(f"{data_dir}: not a folder", usage=True)
    names = _names(fs, data_dir) if fs.exists(data_dir) else []
    if is_unfinished(fs, data_dir):
        if foreign := [name for name in names if not _is_made(fs, data_dir, name)]:
            found = ", ".join(foreign[:3])
            raise MaintenanceError(
                f"{data_dir}: is unfinished, and has {found} in it, which no such command makes; move that elsewhere",
                usage=True,
            )
    elif names:
        found = ", ".join(names[:3])
        raise MaintenanceError(f"{data_dir}: not empty (found {found}); give an absent or empty folder", usage=True)


def write_durably(fs: Fs, path: str, chunks: Iterable[bytes]) -> None:
    """Write a file with that content, and sync it. Its name is on stable storage once its folder is synced. Raise
    OSError.
    """
    file = fs.open(path, create=True)
    try:
        file.truncate(0)
        for chunk in chunks:
            if chunk:
                file.append([chunk])
        file.sync()
    finally:
        file.close()


def remove_folder(fs: Fs, path: str) -> None:
    """Remove a folder of files. Raise OSError, also if there is a folder in it."""
    for name in fs.list_dir(path):
        fs.remove(f"{path}/{name}")
    fs.remove_dir(path)


def _names(fs: Fs, data_dir: str) -> list[str]:
    """Return the names in the folder, without those that count as empty."""
    return [name for name in fs.list_dir(data_dir) if name not in _NOT_COUNTED]


def _is_made(fs: Fs, data_dir: str, name: str) -> bool:
    """Return True if an earlier run may have written the entry of this name, so that it may be removed."""
    path = f"{data_dir}/{name}"
    if fs.is_folder(path):
        return all(is_our_file(each) and fs.is_file(f"{path}/{each}") for each in fs.list_dir(path))
    return name in _TOP and fs.is_file(path)


def _empty(fs: Fs, data_dir: str) -> None:
    for name in _names(fs, data_dir):
        if fs.is_folder(f"{data_dir}/{name}"):
            remove_folder(fs, f"{data_dir}/{name}")
        else:
            fs.remove(f"{data_dir}/{name}")
    fs.sync_dir(data_dir)
