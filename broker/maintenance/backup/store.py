"""The folder of backups.

    DEST/shareq.backups           marks the folder as ours: format 1, backups of one cluster
    DEST/.lock                    held by a backup under way
    DEST/objects/<2>/<62>         contents, named by their SHA-256; a `.new` file is half written
    DEST/backups/<time>.catalog   one complete backup; it is written last, so a backup with a catalog is complete

An object never changes. Objects that no catalog names are removed when a backup was taken or removed. All files can
be read only by their owner, because they have records and credentials in them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Final

from shareq.broker.maintenance.backup.catalog import Catalog, CatalogError
from shareq.broker.maintenance.errors import MaintenanceError

MARKER: Final = "shareq.backups"
STORE_FORMAT: Final = 1
CHUNK_BYTES: Final = 1 << 20
_CATALOG_SUFFIX: Final = ".catalog"
_NEW_SUFFIX: Final = ".new"
_LOCK: Final = ".lock"
_NOT_COUNTED: Final = {"lost+found", _LOCK}


class BackupStore:
    """The backups in one folder, all of one cluster. No other process may change the folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    # -- the folder

    @classmethod
    def existing(cls, path: str) -> BackupStore:
        """Return the store in an existing folder. Raise MaintenanceError if there is none."""
        store = cls(path)
        if not os.path.isdir(path):
            raise MaintenanceError(f"{path}: no such folder", usage=True)
        store._read_marker()
        return store

    @classmethod
    def for_cluster(cls, path: str, cluster_id: str) -> BackupStore:
        """Return the store of that cluster; create it if the folder is missing or empty.

        Raise MaintenanceError for any other folder.
        """
        store = cls(path)
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            names = set(os.listdir(path)) - _NOT_COUNTED
        except (FileExistsError, NotADirectoryError) as error:
            raise MaintenanceError(f"{path}: not a folder", usage=True) from error
        if MARKER not in names and names - {MARKER + _NEW_SUFFIX}:
            found = ", ".join(sorted(names)[:3])
            raise MaintenanceError(
                f"{path}: not empty and not a folder of backups (found {found}); nothing was changed", usage=True
            )
        if MARKER not in names:
            marker = {"shareq.backups": STORE_FORMAT, "cluster_id": cluster_id}
            store._write(MARKER, json.dumps(marker).encode() + b"\n")
        owner = store._read_marker()
        if owner != cluster_id:
            raise MaintenanceError(
                f"{path}: has backups of cluster {owner}, not of {cluster_id}; give another folder", usage=True
            )
        for folder in ("objects", "backups"):
            os.makedirs(f"{path}/{folder}", mode=0o700, exist_ok=True)
        return store

    def _read_marker(self) -> str:
        try:
            with open(f"{self.path}/{MARKER}", "rb") as file:
                marker = json.loads(file.read())
            format_version, cluster_id = int(marker["shareq.backups"]), str(marker["cluster_id"])
        except FileNotFoundError as error:
            raise MaintenanceError(f"{self.path}: not a folder of backups (no {MARKER})", usage=True) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MaintenanceError(f"{self.path}/{MARKER}: damaged") from error
        if format_version > STORE_FORMAT:
            raise MaintenanceError(f"{self.path}: format {format_version} is newer than this release", usage=True)
        return cluster_id

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the store's lock inside this block. Raise MaintenanceError if another backup has it."""
        fd = os.open(f"{self.path}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise MaintenanceError(f"{self.path}: another backup is under way") from error
        finally:
            os.close(fd)

    # -- catalogs

    def names(self) -> list[str]:
        """Return the names of the backups, the oldest first."""
        with suppress(FileNotFoundError):
            found = os.listdir(f"{self.path}/backups")
            return sorted(name.removesuffix(_CATALOG_SUFFIX) for name in found if name.endswith(_CATALOG_SUFFIX))
        return []

    def read(self, name: str) -> Catalog:
        """Return one backup. Raise MaintenanceError if there is none of that name, or its catalog is damaged."""
        path = f"{self.path}/backups/{name}{_CATALOG_SUFFIX}"
        try:
            with open(path, "rb") as file:
                return Catalog.from_bytes(file.read())
        except FileNotFoundError as error:
            raise MaintenanceError(f"{self.path}: no backup {name}", usage=True) from error
        except CatalogError as error:
            raise MaintenanceError(f"{path}: {error}") from error

    def commit(self, name: str, catalog: Catalog) -> None:
        """Commit a backup, all objects of which are in the store, on stable storage."""
        self._write(f"backups/{name}{_CATALOG_SUFFIX}", catalog.to_bytes())

    def prune(self, keep: int | None) -> list[str]:
        """Remove all but the newest `keep` backups (None: remove none), and objects that no backup needs; return the
        names of the removed backups.

        Nothing is removed while the catalog of a remaining backup cannot be read.
        """
        names = self.names()
        removed = names[:-keep] if keep is not None else []
        kept = [self.read(name) for name in names if name not in removed]
        for name in removed:
            os.unlink(f"{self.path}/backups/{name}{_CATALOG_SUFFIX}")
        sync_folder(f"{self.path}/backups")
        needed = {entry.object for catalog in kept for entry in catalog.entries}
        for name, path in self._objects():
            if name not in needed:
                os.unlink(path)
        return removed

    # -- objects

    def has(self, name: str) -> bool:
        """Return True if the object exists."""
        return os.path.isfile(self.object_path(name))

    def object_path(self, name: str) -> str:
        return f"{self.path}/objects/{name[:2]}/{name[2:]}"

    def put(self, chunks: Iterable[bytes]) -> str:
        """Store a content on stable storage, read it back, and return its name. Raise OSError, and MaintenanceError
        if the content read back differs.
        """
        temporary = f"{self.path}/objects/{os.getpid()}{_NEW_SUFFIX}"
        digest = sha256()
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            for chunk in chunks:
                digest.update(chunk)
                view = memoryview(chunk)
                while view:
                    view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        name = digest.hexdigest()
        if _digest_of(temporary) != name:
            raise MaintenanceError(f"{temporary}: what was written is not what can be read; the disk of DEST is faulty")
        folder = f"{self.path}/objects/{name[:2]}"
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            sync_folder(f"{self.path}/objects")
        os.replace(temporary, self.object_path(name))
        sync_folder(folder)
        return name

    def chunks(self, name: str, at: int, size: int) -> Iterator[bytes]:
        """Yield `size` bytes of an object from `at`, or fewer at its end. Raise OSError."""
        with open(self.object_path(name), "rb", buffering=0) as file:
            file.seek(at)
            while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
                size -= len(chunk)
                yield chunk

    def _objects(self) -> list[tuple[str, str]]:
        """Return every file below `objects`: the name of its content ("" if it is half written), and its path."""
        root = f"{self.path}/objects"
        objects: list[tuple[str, str]] = []
        for folder in os.listdir(root):
            if folder.endswith(_NEW_SUFFIX):
                objects.append(("", f"{root}/{folder}"))
            elif os.path.isdir(f"{root}/{folder}"):
                objects += [(folder + name, f"{root}/{folder}/{name}") for name in os.listdir(f"{root}/{folder}")]
        return objects

    def _write(self, name: str, data: bytes) -> None:
        path = f"{self.path}/{name}"
        fd = os.open(path + _NEW_SUFFIX, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + _NEW_SUFFIX, path)
        sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Sync the names in a folder to stable storage."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _digest_of(path: str) -> str:
    digest = sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
