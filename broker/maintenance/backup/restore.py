"""A data folder from a backup: every byte checked on its way, and what makes it a data folder last.

A broker refuses the folder until it has the last file. A restore that was cut short is removed by hand and repeated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from shareq.broker.maintenance.backup.catalog import Catalog, Entry
from shareq.broker.maintenance.backup.store import BackupStore, sync_folder
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.progress import Progress

__all__ = ["RestoredFolder", "check_backup", "refuse_unless_empty", "restore_backup"]

_NOT_COUNTED: Final = {"lost+found"}


@dataclass(frozen=True, slots=True)
class RestoredFolder:
    """Which backup it was, its moment, files and bytes."""

    name: str
    taken_ms: int
    files: int
    size: int
    warnings: tuple[str, ...]


def restore_backup(dest: str, data_dir: str, *, name: str | None, progress: Progress) -> RestoredFolder:
    """Make `data_dir`, absent or empty before, what the backup `name` has (None: the newest).

    MaintenanceError when there is something in it, or a checksum does not match; OSError.
    """
    store = BackupStore.existing(dest)
    names = store.names()
    if not names:
        raise MaintenanceError(f"{dest}: no complete backup in it")
    chosen = name or names[-1]
    catalog = store.read(chosen)
    refuse_unless_empty(data_dir)
    _check_objects(store, chosen, catalog)
    progress.expect(len(catalog.entries), catalog.size)
    try:
        _make(store, catalog, data_dir, progress)
    except (OSError, MaintenanceError) as error:
        raise MaintenanceError(f"{error}; {data_dir} is half restored: remove it before trying again") from error
    return RestoredFolder(chosen, catalog.taken_ms, len(catalog.entries), catalog.size, catalog.warnings)


def check_backup(store: BackupStore, name: str, progress: Progress) -> list[str]:
    """Read one backup whole; a line for each file whose content is not what it was."""
    catalog = store.read(name)
    progress.expect(len(catalog.entries), catalog.size)
    bad = []
    for entry in catalog.entries:
        try:
            for _ in _checked(store, entry, progress):
                pass
        except (OSError, MaintenanceError) as error:
            bad.append(f"{name}: {entry.path}: {error}")
        progress.item_done()
    return bad


def refuse_unless_empty(data_dir: str) -> None:
    """MaintenanceError unless the folder is absent or empty."""
    if os.path.islink(data_dir) or (os.path.exists(data_dir) and not os.path.isdir(data_dir)):
        raise MaintenanceError(f"{data_dir}: not a folder", usage=True)
    names = set(os.listdir(data_dir)) - _NOT_COUNTED if os.path.isdir(data_dir) else set()
    if names:
        found = ", ".join(sorted(names)[:3])
        raise MaintenanceError(
            f"{data_dir}: not empty (found {found}); restore into an absent or empty folder", usage=True
        )


def _check_objects(store: BackupStore, name: str, catalog: Catalog) -> None:
    """Before anything is made: what is missing is known by then."""
    sizes: dict[str, int] = {}
    for entry in catalog.entries:
        sizes[entry.object] = max(sizes.get(entry.object, 0), entry.at + entry.size)
    for each, size in sizes.items():
        path = store.object_path(each)
        if not store.has(each) or os.path.getsize(path) < size:
            raise MaintenanceError(f"backup {name} is damaged: {path} is missing or cut short")


def _make(store: BackupStore, catalog: Catalog, data_dir: str, progress: Progress) -> None:
    made_above = not os.path.isdir(data_dir)
    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    folders: dict[str, None] = {}
    top = [entry for entry in catalog.entries if "/" not in entry.path]
    for entry in catalog.entries:
        if "/" in entry.path:
            folder = f"{data_dir}/{os.path.dirname(entry.path)}"
            if folder not in folders:
                folders[folder] = None
                os.mkdir(folder, 0o700)
            _write(store, entry, f"{data_dir}/{entry.path}", progress)
    for folder in folders:
        sync_folder(folder)
    sync_folder(data_dir)
    for entry in top:  # in their order, each durable before the next: the last makes it a data folder
        _write(store, entry, f"{data_dir}/{entry.path}", progress)
        sync_folder(data_dir)
    if made_above:
        sync_folder(os.path.dirname(os.path.abspath(data_dir)))


def _write(store: BackupStore, entry: Entry, path: str, progress: Progress) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb", buffering=0) as file:
        for chunk in _checked(store, entry, progress):
            view = memoryview(chunk)
            while view:
                view = view[file.write(view) or 0 :]
        os.fsync(file.fileno())
    progress.item_done()


def _checked(store: BackupStore, entry: Entry, progress: Progress) -> Iterator[bytes]:
    """The content of a file; MaintenanceError at its end when that is not what was backed up."""
    digest = sha256()
    for chunk in store.chunks(entry.object, entry.at, entry.size):
        digest.update(chunk)
        progress.bytes_done(len(chunk))
        yield chunk
    if digest.hexdigest() != entry.sha256:
        raise MaintenanceError(
            f"{store.object_path(entry.object)}: the backup is damaged, {entry.path} has other bytes"
        )
