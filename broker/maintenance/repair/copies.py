"""Copies of files from before a repair: `DATA/repair-<time>/<the same path>`."""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.environment import Fs

_CHUNK_BYTES: Final = 1 << 20


class Copies:
    """The copies of one repair: each file is copied once, to stable storage, before it changes. The first copy
    creates the folder.
    """

    def __init__(self, fs: Fs, data_dir: str, name: str) -> None:
        self._fs = fs
        self._data_dir = data_dir
        self._kept: set[str] = set()
        self.name = name

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, path: str) -> None:
        """Copy `path`, relative to the data folder, if it exists. Raise OSError: then nothing may be changed."""
        if path in self._kept or not self._fs.is_file(f"{self._data_dir}/{path}"):
            return
        target = f"{self._data_dir}/{self.name}/{path}"
        folder = target.rpartition("/")[0]
        self._fs.make_dirs(folder)
        self._copy(f"{self._data_dir}/{path}", target)
        self._fs.sync_dir(folder)
        self._fs.sync_dir(f"{self._data_dir}/{self.name}")
        self._fs.sync_dir(self._data_dir)
        self._kept.add(path)

    def _copy(self, path: str, target: str) -> None:
        source, copy = self._fs.open(path), self._fs.open(target, create=True)
        try:
            copy.truncate(0)
            position = 0
            while chunk := source.read_at(position, _CHUNK_BYTES):
                copy.append([chunk])
                position += len(chunk)
            copy.sync()
        finally:
            source.close()
            copy.close()
