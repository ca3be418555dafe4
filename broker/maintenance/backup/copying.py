"""A copier of a data folder's files into objects of the store: whole sound batches, and each content only once."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from shareq.broker.log.segments.files import SWAP_SUFFIX
from shareq.broker.log.segments.segment import LOG_SUFFIX, BatchWalk, offset_of_file, valid_batch_after
from shareq.broker.maintenance.backup.catalog import Entry
from shareq.broker.maintenance.backup.source import HeldFile, HeldLog
from shareq.broker.maintenance.backup.store import BackupStore
from shareq.broker.maintenance.progress import Progress
from shareq.broker.maintenance.verify.segments import chunks

SMALL_BYTES: Final = 64 * 1024
PACK_BYTES: Final = 32 * 1024 * 1024


class Copier:
    """The copying of one backup's files. `earlier` has the entries of the last backup by path, if their objects
    exist.

    `new_bytes` counts the bytes written to the store, `warnings` names damage that was copied unchanged.
    """

    def __init__(self, store: BackupStore, earlier: Mapping[str, Entry], progress: Progress) -> None:
        self._store = store
        self._earlier = earlier
        self._progress = progress
        self._entries: list[Entry] = []
        self._pack = bytearray()
        self._packed: list[tuple[int, int]] = []  # position in `_entries`, position in the pack
        self.new_bytes = 0
        self.warnings: list[str] = []

    def copy_log(self, log: HeldLog) -> int:
        """Copy the files of one log. Return the offset where the copy ends (exclusive), -1 if it has no segment.

        Raise ChangedMeanwhileError, OSError, and the store's MaintenanceError.
        """
        end = -1
        for file in log.files:
            before = self._unchanged(file)
            base = offset_of_file(file.name.rpartition("/")[2].removesuffix(SWAP_SUFFIX), LOG_SUFFIX)
            is_active = file is log.active
            if base is not None and (is_active or before is None):
                sound, end_offset = self._sound_prefix(file, base, is_active=is_active)
                end = max(end, end_offset)
                file.size = sound
            if before is not None and before.size == file.size:
                self._entries.append(before)
            else:
                self._copy(file)
            self._progress.bytes_done(file.size)
        return end

    def add(self, path: str, content: bytes) -> None:
        """Add a file that the backup itself creates."""
        self._add(path, content, ())

    def entries(self) -> tuple[Entry, ...]:
        """Return the entries of all files copied so far, once their contents are on stable storage."""
        self._write_pack()
        return tuple(self._entries)

    def _unchanged(self, file: HeldFile) -> Entry | None:
        """Return the earlier backup's entry of the same path if the file has not changed since; otherwise None."""
        entry = self._earlier.get(file.name)
        return entry if entry is not None and entry.seen == tuple(file.seen) and entry.object == entry.sha256 else None

    def _sound_prefix(self, file: HeldFile, base: int, *, is_active: bool) -> tuple[int, int]:
        """Return how many bytes of a segment to copy, and the offset behind them; a write that is incomplete at that
        moment is left out.
        """
        walk = BatchWalk(file.read_at, file.size, next_offset=base)
        for _ in walk:
            pass
        if walk.fault is None:
            return file.size, walk.next_offset
        follows = valid_batch_after(file.read_at, file.size, walk.position, walk.next_offset)
        if is_active and follows is None:
            return walk.position, walk.next_offset
        self.warnings.append(
            f"{file.name}: damaged at byte {walk.position} (offset {walk.next_offset}): {walk.fault}; copied as it is"
        )
        return file.size, walk.next_offset

    def _copy(self, file: HeldFile) -> None:
        if file.size < SMALL_BYTES:
            self._add(file.name, b"".join(chunks(file.read_at, 0, file.size)), tuple(file.seen))
            return
        name = self._store.put(chunks(file.read_at, 0, file.size))
        self.new_bytes += file.size
        self._entries.append(Entry(file.name, file.size, name, name, 0, tuple(file.seen)))

    def _add(self, path: str, content: bytes, seen: tuple[int, ...]) -> None:
        self._packed.append((len(self._entries), len(self._pack)))
        self._entries.append(Entry(path, len(content), sha256(content).hexdigest(), "", 0, seen))
        self._pack += content
        if len(self._pack) >= PACK_BYTES:
            self._write_pack()

    def _write_pack(self) -> None:
        """Store the small files collected so far as one object."""
        if not self._packed:
            return
        name = self._store.put([bytes(self._pack)])
        self.new_bytes += len(self._pack)
        for position, at in self._packed:
            self._entries[position] = self._entries[position]._replace(object=name, at=at)
        self._pack, self._packed = bytearray(), []
