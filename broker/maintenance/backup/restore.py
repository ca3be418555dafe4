"""A data folder from a backup: every byte is verified, and the file that makes it a data folder is written last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from shareq.broker.foundation.environment import Fs
from shareq.broker.maintenance.backup.catalog import Catalog, Entry
from shareq.broker.maintenance.backup.store import BackupStore
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.making import making, refuse_unless_free, write_durably
from shareq.broker.maintenance.progress import Progress


@dataclass(frozen=True, slots=True)
class RestoredFolder:
    """The result of a restore: the backup's name and moment, and the files and bytes restored."""

    name: str
    taken_ms: int
    files: int
    size: int
    warnings: tuple[str, ...]


def restore_backup(fs: Fs, dest: str, data_dir: str, *, name: str | None, progress: Progress) -> RestoredFolder:
    """Restore the backup `name` (None: the newest) into `data_dir`, which must be absent, empty or left unfinished
    before.

    `fs` is that of `data_dir`. Raise MaintenanceError if the folder has other content, or a checksum does not match;
    raise OSError.
    """
    store = BackupStore.existing(dest)
    names = store.names()
    if not names:
        raise MaintenanceError(f"{dest}: no complete backup in it")
    chosen = name or names[-1]
    catalog = store.read(chosen)
    refuse_unless_free(fs, data_dir)
    _check_objects(store, chosen, catalog)
    progress.expect(len(catalog.entries), catalog.size)
    again = [
        "shareq",
        "restore",
        os.path.abspath(dest),
        os.path.abspath(data_dir),
        *(["--backup", name] if name else []),
    ]
    with making(fs, data_dir, again):
        _make(fs, store, catalog, data_dir, progress)
    return RestoredFolder(chosen, catalog.taken_ms, len(catalog.entries), catalog.size, catalog.warnings)


def check_backup(store: BackupStore, name: str, progress: Progress) -> list[str]:
    """Read one whole backup; return a line for each file whose content has changed."""
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


def _check_objects(store: BackupStore, name: str, catalog: Catalog) -> None:
    """Raise MaintenanceError if objects are missing or cut short, before anything is written."""
    sizes: dict[str, int] = {}
    for entry in catalog.entries:
        sizes[entry.object] = max(sizes.get(entry.object, 0), entry.at + entry.size)
    for each, size in sizes.items():
        path = store.object_path(each)
        if not store.has(each) or os.path.getsize(path) < size:
            raise MaintenanceError(f"backup {name} is damaged: {path} is missing or cut short")


def _make(fs: Fs, store: BackupStore, catalog: Catalog, data_dir: str, progress: Progress) -> None:
    folders: dict[str, None] = {}
    top = [entry for entry in catalog.entries if "/" not in entry.path]
    for entry in catalog.entries:
        if "/" in entry.path:
            folder = f"{data_dir}/{os.path.dirname(entry.path)}"
            if folder not in folders:
                folders[folder] = None
                fs.make_dirs(folder)
            _write(fs, store, entry, f"{data_dir}/{entry.path}", progress)
    for folder in folders:
        fs.sync_dir(folder)
    fs.sync_dir(data_dir)
    for entry in top:  # in their order, each durable before the next: the last makes it a data folder
        _write(fs, store, entry, f"{data_dir}/{entry.path}", progress)
        fs.sync_dir(data_dir)


def _write(fs: Fs, store: BackupStore, entry: Entry, path: str, progress: Progress) -> None:
    write_durably(fs, path, _checked(store, entry, progress))
    progress.item_done()


def _checked(store: BackupStore, entry: Entry, progress: Progress) -> Iterator[bytes]:
    """Yield the content of a file. Raise MaintenanceError at its end if the content differs from the one backed up."""
    digest = sha256()
    for chunk in store.chunks(entry.object, entry.at, entry.size):
        digest.update(chunk)
        progress.bytes_done(len(chunk))
        yield chunk
    if digest.hexdigest() != entry.sha256:
        raise MaintenanceError(
            f"{store.object_path(entry.object)}: the backup is damaged, {entry.path} has other bytes"
        )
