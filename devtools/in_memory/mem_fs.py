"""A disk in memory that loses unsynced data, fails on demand, and can lose power at any write.

It guarantees what a real disk does, and no more: a file's synced bytes survive (`disk/content.py`); creations, renames
and removals survive once their folder is synced (`disk/folder.py`). A power loss may do anything to the rest.

A disk may also be worse: bits flip, pages are zeroed, files are cut (`flip_bit`, `zero`, `cut`); reads fail
(`make_unreadable`); a later sync does not make up for a failed one (`drops_failed_syncs`); syncs lie (`sync_lies`).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from enum import Enum
from random import Random
from typing import Final

from devtools.in_memory.disk.content import PAGE, Inode
from devtools.in_memory.disk.folder import Folder
from devtools.in_memory.disk.page_cache import PageCache
from shareq.broker.foundation.environment import DiskSpace, File, SyncErrors

DISK_BYTES: Final = 1 << 40  # reported as free, too, without `space_left`

Buffer = bytes | bytearray | memoryview


class CrashModel(Enum):
    """The ways in which a broker ends."""

    PROCESS_KILL = 0  # every completed write survives, the one in flight may be torn
    POWER_LOSS = 1  # unsynced bytes are lost anywhere, unsynced renames may be undone


class SimulatedCrash(BaseException):
    """The death of the process in a disk operation, which no `except Exception` may catch."""


class MemFile:
    """An open file of a `MemFs`."""

    def __init__(self, fs: MemFs, path: str, inode: Inode) -> None:
        self._fs = fs
        self._path = path
        self._inode = inode
        self._boot = fs.boot
        self.closed = False
        fs.open_files += 1

    @property
    def path(self) -> str:
        return self._path

    @property
    def inode(self) -> Inode:
        assert not self.closed, f"{self._path} used after close"
        assert self._boot == self._fs.boot, f"{self._path} used after a crash"
        return self._inode

    def size(self) -> int:
        return len(self.inode.content) + self.inode.hollow

    def append(self, buffers: Sequence[Buffer]) -> None:
        data = b"".join(buffers)
        inode = self.inode
        self._fs.write(self._path, data, inode)

    def read_at(self, position: int, size: int) -> bytes:
        self._fs.note_wait(self._path, position, min(size, len(self.inode.content) - position))
        return self._read(position, size)

    def _read(self, position: int, size: int) -> bytes:
        assert position >= 0
        assert size >= 0
        self._fs.check_read(self._path, self.inode, position, size)
        return bytes(self.inode.content[position : position + size])

    def read_cached(self, position: int, size: int) -> bytes | None:
        cache = self._fs.page_cache
        return self._read(position, size) if cache is None or cache.has(self._path, position, size) else None

    def truncate(self, size: int) -> None:
        inode = self.inode
        self._fs.step("truncate", self._path)
        self._fs.freed(len(inode.content) + inode.hollow - size)
        if inode.hollow:
            inode.hollow = max(size - len(inode.content), 0)
            size -= inode.hollow
        inode.truncate(size)

    def sync(self) -> None:
        inode = self.inode
        self._fs.sync(self._path, inode, len(inode.content))

    def close(self) -> None:
        assert not self.closed
        self.closed = True
        if self._boot == self._fs.boot:
            self._fs.open_files -= 1


class MemFs:
    """An `Fs` in memory. `call_soon` is the clock's; background syncs end in calls that it makes.

    Each operation that changes the disk (and each sync) is one step, counted in `steps` and named in `history`.
    `crash_at` is the step halfway through which the process dies. `fail` is called before each step with its kind and
    path and may return an error. `space_left` is the remaining space. With a list in `held_syncs`, background syncs end
    only when the test calls its entries. `page_cache` decides which reads would wait for the disk, by default none.
    With `loses_pages` a power loss leaves what a real disk may leave; otherwise what a disk that writes in order
    leaves.
    """

    loses_pages = False
    page_bytes = PAGE  # smaller ones tear files that are small, too

    def __init__(self, call_soon: Callable[[Callable[[], None]], None], rng: Random | None = None) -> None:
        self._call_soon = call_soon
        self._rng = rng or Random(0)
        self._root = Folder()
        self._locked: set[str] = set()
        self._dead = False
        self.boot = 0
        self.machine_starts = 0
        self.steps = 0
        self.history: list[tuple[str, str]] = []
        self.crash_at: int | None = None
        self.fail: Callable[[str, str], OSError | None] | None = None
        self.fail_reads = False
        self.drops_failed_syncs = False
        self.sync_lies: Callable[[str], bool] | None = None  # asked with the path of each file or folder
        self.held_syncs: list[Callable[[], None]] | None = None
        self.space_left: int | None = None
        self.page_cache: PageCache | None = None
        self.reads = 0
        self.waits: list[str] = []  # paths: reads of what was neither in the page cache nor loaded
        self.open_files = 0

    # -- faults

    def step(self, kind: str, path: str) -> None:
        """Begin an operation, and raise its planned fault."""
        if self._dead:
            raise SimulatedCrash
        self.steps += 1
        self.history.append((kind, path))
        if self.steps == self.crash_at and kind != "write":
            self._die()
        error = self.fail(kind, path) if self.fail is not None else None
        if error is not None:
            raise error

    def _die(self) -> None:
        self._dead = True
        raise SimulatedCrash

    def note_wait(self, path: str, position: int, size: int) -> None:
        """Count a read that would wait for the disk."""
        if self.page_cache is not None and not self.page_cache.was_loaded(path, position, size):
            self.waits.append(path)

    def check_read(self, path: str, inode: Inode | None = None, position: int = 0, size: int = 0) -> None:
        if self._dead:
            raise SimulatedCrash
        self.reads += 1
        if self.fail_reads or (inode is not None and not inode.can_read(position, size)):
            raise OSError(errno.EIO, "read failed", path)

    def sync(self, path: str, inode: Inode, size: int | None) -> None:
        """Make the first `size` bytes of a file durable, unless the sync fails or lies.

        None: their number is unknown, because the file was cut meanwhile.
        """
        try:
            self.step("sync", path)
        except OSError:
            if self.drops_failed_syncs:
                inode.sync_failed()
            raise
        if size is not None and (self.sync_lies is None or not self.sync_lies(path)):
            inode.synced(size)

    def write(self, path: str, data: bytes, inode: Inode) -> None:
        """Append to a file: all of the data, or the part that a crash, an error or a full disk lets through."""
        torn = self.steps + 1 == self.crash_at
        try:
            self.step("write", path)
        except OSError:
            inode.append(data[: self._rng.randint(0, len(data))])
            raise
        if torn:
            inode.append(data[: self._rng.randint(0, len(data))])
            self._die()
        if self.space_left is not None:
            written = data[: self.space_left]
            inode.append(written)
            self.space_left -= len(written)
            if len(written) < len(data):
                raise OSError(errno.ENOSPC, "no space left on device", path)
        else:
            inode.append(data)

    def freed(self, size: int) -> None:
        if self.space_left is not None:
            self.space_left += max(size, 0)

    def crash(self, model: CrashModel, rng: Random) -> None:
        """Kill the process or the machine. The disk keeps its content; open files become invalid."""
        if model is CrashModel.POWER_LOSS:
            if self.loses_pages:
                self._root.lose_any(rng)
            else:
                self._root.lose_last(rng)
            self.machine_starts += 1
            if self.page_cache is not None:
                self.page_cache.forget()
        self._locked.clear()
        self._dead = False
        self.crash_at = None
        self.fail = None
        self.boot += 1
        self.open_files = 0

    # -- for tests to look and to damage: what is damaged here stays so, synced or not

    def content(self, path: str) -> bytearray:
        """Return a file's bytes, to be read or changed."""
        return self._inode(path).content

    def flip_bit(self, path: str, position: int, bit: int) -> None:
        """Flip a bit; bit 0 is the lowest of the byte at `position`."""
        inode = self._inode(path)
        inode.damage(position, bytes([inode.content[position] ^ 1 << bit]))

    def zero(self, path: str, start: int, end: int) -> None:
        """Zero the bytes from `start` to `end` (exclusive)."""
        inode = self._inode(path)
        inode.damage(start, bytes(min(end, len(inode.content)) - start))

    def cut(self, path: str, size: int) -> None:
        """Truncate the file to its first `size` bytes."""
        self._inode(path).shorten(size)

    def lose(self, path: str) -> None:
        """Lose the file, whatever was synced."""
        folder, name = self._parent(path)
        folder.lose(name)

    def make_unreadable(self, path: str, start: int, end: int) -> None:
        """Make reads of any byte from `start` to `end` (exclusive) fail from now on."""
        self._inode(path).unreadable.append((start, end))

    def paths(self) -> list[str]:
        """Return the path of every file."""
        return sorted(self.inodes())

    def inodes(self) -> dict[str, Inode]:
        """Return every file by its path, also after the process has died."""
        found: dict[str, Inode] = {}

        def walk(folder: Folder, prefix: str) -> None:
            for name, node in sorted(folder.entries.items()):
                if isinstance(node, Folder):
                    walk(node, f"{prefix}{name}/")
                else:
                    found[prefix + name] = node

        walk(self._root, "")
        return found

    # -- Fs

    def open(self, path: str, *, create: bool = False) -> MemFile:
        folder, name = self._parent(path)
        node = folder.entries.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self.step("create", path)
            node = Inode(self.page_bytes)
            folder.change(**{name: node})
        if isinstance(node, Folder):
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        return MemFile(self, path, node)

    def read_bytes(self, path: str) -> bytes:
        self.note_wait(path, 0, len(self._inode(path).content))
        return self._content(path)

    def _content(self, path: str) -> bytes:
        inode = self._inode(path)
        self.check_read(path, inode, 0, len(inode.content))
        return bytes(inode.content)

    def read_bytes_cached(self, path: str) -> bytes | None:
        size = len(self._inode(path).content)
        return self._content(path) if self.page_cache is None or self.page_cache.has(path, 0, size) else None

    def load_soon(
        self, path: str, position: int, size: int, on_done: Callable[[OSError | None], None], *, ahead: bool = False
    ) -> None:
        """Load bytes into the page cache some ticks later, or fail as a read of them does."""
        boot, cache = self.boot, self.page_cache

        def end() -> None:
            if self.boot != boot:
                return  # the process that waits for it was killed
            failure: OSError | None = None
            try:
                inode = self._inode(path)
                self.check_read(path, inode, position, min(size, len(inode.content) - position))
            except OSError as error:
                failure = error
            if cache is not None and failure is None:
                cache.loaded(path, position, size)
            on_done(failure)

        if cache is None:
            self._call_soon(end)
        else:
            cache.load(end, self._call_soon, (path, position, size, ahead))

    def write_atomic(self, path: str, data: bytes, *, sync: bool = False) -> None:
        folder, name = self._parent(path)
        temporary = f"{name}.tmp"
        inode = Inode(self.page_bytes)
        self.step("create", f"{path}.tmp")
        folder.change(**{temporary: inode})
        try:
            self.write(f"{path}.tmp", data, inode)
        except OSError:
            if self.space_left is not None:
                self.freed(len(inode.content))
                folder.change(**{temporary: None})
            raise
        if sync:
            self.sync(f"{path}.tmp", inode, len(inode.content))
        self.step("rename", path)
        replaced = folder.entries.get(name)
        if isinstance(replaced, Inode):
            self.freed(len(replaced.content))
        folder.change(**{temporary: None, name: inode})
        if sync:
            self._sync_folder(path, folder)

    def exists(self, path: str) -> bool:
        try:
            folder, name = self._parent(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return name in folder.entries

    def is_folder(self, path: str) -> bool:
        return isinstance(self._entry(path), Folder)

    def is_file(self, path: str) -> bool:
        return isinstance(self._entry(path), Inode)

    def _entry(self, path: str) -> Inode | Folder | None:
        if path == ".":
            return self._root
        try:
            folder, name = self._parent(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return folder.entries.get(name)

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._folder(path).entries)

    def make_dirs(self, path: str) -> None:
        folder = self._root
        for part in path.split("/"):
            node = folder.entries.get(part)
            if node is None:
                self.step("mkdir", path)
                node = Folder()
                folder.change(**{part: node})
            if not isinstance(node, Folder):
                raise NotADirectoryError(errno.ENOTDIR, "is a file", path)
            folder = node

    def rename(self, source: str, target: str) -> None:
        folder, name = self._parent(source)
        other, new_name = self._parent(target)
        assert folder is other, "renames stay in one folder"
        node = folder.entries.get(name)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", source)
        self.step("rename", source)
        folder.change(**{name: None, new_name: node})

    def remove(self, path: str) -> None:
        folder, name = self._parent(path)
        inode = self._inode(path)
        self.step("remove", path)
        self.freed(len(inode.content) + inode.hollow)
        folder.change(**{name: None})

    def remove_dir(self, path: str) -> None:
        folder, name = self._parent(path)
        if self.list_dir(path):
            raise OSError(errno.ENOTEMPTY, "folder is not empty", path)
        self.step("rmdir", path)
        folder.change(**{name: None})

    def sync_dir(self, path: str) -> None:
        self._sync_folder(path, self._folder(path))

    def _sync_folder(self, path: str, folder: Folder, changes: int | None = None) -> None:
        """Make the first `changes` changes durable, by default all, unless the sync fails or lies."""
        self.step("sync_dir", path)
        if self.sync_lies is None or not self.sync_lies(path):
            folder.synced(folder.changes if changes is None else changes)

    def sync_all(self, path: str) -> bool:
        self._folder(path)
        self.step("sync_all", path)

        def sync(folder: Folder, prefix: str) -> None:
            for name, node in folder.entries.items():
                if isinstance(node, Folder):
                    sync(node, f"{prefix}{name}/")
                elif self.sync_lies is None or not self.sync_lies(f"{prefix}{name}"):
                    node.synced(len(node.content))
            if self.sync_lies is None or not self.sync_lies(prefix.rstrip("/")):
                folder.synced(folder.changes)

        sync(self._root, "")
        return True

    def allocate(self, path: str, size: int) -> None:
        file = self.open(path, create=True)
        inode, more = file.inode, size - file.size()
        file.close()
        self.step("allocate", path)
        if self.space_left is not None:
            if more > self.space_left:
                raise OSError(errno.ENOSPC, "no space left on device", path)
            self.space_left -= max(more, 0)
        inode.hollow += max(more, 0)

    def disk_space(self, path: str) -> DiskSpace:
        self.check_read(path)
        self._folder(path)
        return DiskSpace(DISK_BYTES, DISK_BYTES if self.space_left is None else self.space_left)

    def lock(self, path: str) -> Callable[[], None]:
        if path in self._locked:
            raise BlockingIOError(errno.EAGAIN, "locked", path)
        self.open(path, create=True).close()
        self._locked.add(path)
        return lambda: self._locked.discard(path)

    def boot_id(self) -> str:
        return f"boot-{self.machine_starts}"

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        """Start a sync: writes before this call are durable when `on_done` is called, and lost in a crash before."""
        own = [file for file in files if isinstance(file, MemFile)]
        began = [(file, file.inode, len(file.inode.content), file.inode.cuts) for file in own]
        names = [(path, self._folder(path), self._folder(path).changes) for path in folders]

        def end() -> None:
            errors: dict[str, OSError] = {}
            for file, inode, size, cuts in began:
                try:
                    self.sync(file.path, inode, size if inode.cuts == cuts else None)
                except OSError as failure:
                    errors[file.path] = failure
            for path, folder, changes in names:
                try:
                    self._folder(path)  # it may have got another name meanwhile
                    self._sync_folder(path, folder, changes)
                except OSError as failure:
                    errors[path] = failure
            on_done(errors)

        if self.held_syncs is None:
            self._call_soon(end)
        else:
            self.held_syncs.append(end)

    def _parent(self, path: str) -> tuple[Folder, str]:
        parent, _, name = path.rpartition("/")
        return (self._folder(parent) if parent else self._root), name

    def _folder(self, path: str) -> Folder:
        if self._dead:
            raise SimulatedCrash
        folder = self._root
        for part in [] if path == "." else path.split("/"):
            node = folder.entries.get(part)
            if node is None:
                raise FileNotFoundError(errno.ENOENT, "no such folder", path)
            if not isinstance(node, Folder):
                raise NotADirectoryError(errno.ENOTDIR, "is a file", path)
            folder = node
        return folder

    def _inode(self, path: str) -> Inode:
        folder, name = self._parent(path)
        node = folder.entries.get(name)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if isinstance(node, Folder):
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        return node
