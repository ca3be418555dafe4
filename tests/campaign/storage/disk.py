"""A model of a disk, built from a trace of system calls: its content now, and its content after a loss of power.

Content: all that was written to a file before its last completed sync began is on stable storage. A page of 4 KB that
was written later is, after a loss of power, as it was at the sync, as it is now, or as it was in between; each page
independently. The size follows the pages: a page behind the synced end moves the end.

Names: a folder has its current entries, and those on stable storage. `Names.JOURNAL` is what ext4 does: changes of
names reach the disk in the order in which they were made, and any sync writes all earlier ones. `Names.POSIX` promises
less: a name is safe once its folder was synced; each other change may survive or not, independently, except that no
change survives without those that it builds on.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar, Final

from tests.campaign.storage.trace import Begun, Call, numbers, strings

PAGE: Final = 4096
_FD: Final = re.compile(r"(\d+)")
VERSIONS: Final = 4
"""The number of versions of a page that are kept between two syncs."""


class Names(Enum):
    JOURNAL = "in order, as ext4"
    POSIX = "each by itself, as POSIX allows"


@dataclass(slots=True, eq=False)
class FileNode:
    """The content of one file. `dirty`: by page, its versions since the last sync, oldest first."""

    now: bytearray = field(default_factory=bytearray)
    synced: bytearray = field(default_factory=bytearray)
    dirty: dict[int, list[bytes]] = field(default_factory=dict)

    def write(self, at: int, data: bytes) -> None:
        if at > len(self.now):
            self.now += bytes(at - len(self.now))
        self.now[at : at + len(data)] = data
        self._touch(at, at + len(data))

    def truncate(self, size: int) -> None:
        old = len(self.now)
        if size < old:
            del self.now[size:]
        else:
            self.now += bytes(size - old)
        self._touch(min(size, old), max(size, old))

    def _touch(self, begin: int, end: int) -> None:
        for page in range(begin // PAGE, (max(end, begin + 1) - 1) // PAGE + 1):
            versions = self.dirty.setdefault(page, [])
            versions.append(bytes(self.now[page * PAGE : (page + 1) * PAGE]))
            if len(versions) > VERSIONS:
                del versions[1]

    def snapshot(self) -> tuple[int, dict[int, bytes]]:
        """Return the size and the pages that a sync brings to disk if it begins now."""
        return len(self.now), {page: bytes(self.now[page * PAGE : (page + 1) * PAGE]) for page in self.dirty}

    def note_synced(self, size: int, pages: dict[int, bytes]) -> None:
        _fit(self.synced, size)
        for page, content in pages.items():
            if page * PAGE < size:
                self.synced[page * PAGE : page * PAGE + len(content)] = content
        for page, content in pages.items():
            now = bytes(self.now[page * PAGE : (page + 1) * PAGE])
            if now == content:
                self.dirty.pop(page, None)
            else:  # written again since the sync began
                self.dirty[page] = [now]

    def after_power_loss(self, rng: random.Random) -> bytes:
        keep = rng.choice((0.0, 0.3, 0.7, 1.0))
        shrunk = len(self.now) < len(self.synced) and rng.random() < 0.5
        content = self.synced[: len(self.now)] if shrunk else bytearray(self.synced)
        for page, versions in self.dirty.items():
            if rng.random() < keep:
                version = versions[-1] if rng.random() < 0.7 else rng.choice(versions)
                if version:
                    _fit(content, max(len(content), page * PAGE + len(version)))
                    content[page * PAGE : page * PAGE + len(version)] = version
        return bytes(content)


def _fit(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content += bytes(size - len(content))


@dataclass(slots=True, eq=False)
class Folder:
    """The entries of a folder by name: the current ones, and those on stable storage."""

    now: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)


Node = FileNode | Folder


@dataclass(slots=True, eq=False)
class _Change:
    """One change of names that is not on stable storage: the new node for each (folder, name); None for a removal."""

    edits: list[tuple[Folder, str, Node | None]]


@dataclass(slots=True, eq=False)
class _Open:
    node: Node
    append: bool
    position: int = 0


class Disk:
    """The folder `root` of one machine, across all processes of a trace."""

    def __init__(self, root: Path, names: Names) -> None:
        self._root = os.path.abspath(root)
        self._names = names
        self._top = Folder()
        self._pending: list[_Change] = []
        self._fds: dict[int, _Open] = {}
        self._opened_and_closed = 0
        self.changes = 0
        """The number of writes, syncs and changes of names that there have been."""
        self._syncs: dict[int, tuple[Node, tuple[int, dict[int, bytes]], list[_Change]]] = {}

    def new_process(self) -> None:
        """Forget the file descriptors and unfinished syncs of the process that ended."""
        self._fds.clear()
        self._syncs.clear()

    def apply(self, call: Call | Begun) -> bool:
        """Apply a system call. Return True if it concerned this folder."""
        if call.name not in self._NAMING and call.name in self._HANDLERS and _fd(call) not in self._fds:
            return False
        before = self.changes, self._opened_and_closed
        if isinstance(call, Begun):
            self._sync_begins(call)
        elif (handler := self._HANDLERS.get(call.name)) is not None:
            handler(self, call)
        return call.name == "lseek" or before != (self.changes, self._opened_and_closed)

    # -- calls

    def _openat(self, call: Call) -> None:
        path = _path(strings(call.arguments)[0])
        flags = call.arguments
        found = self._place(path)
        if found is None or path.endswith(Image.LEFT_OUT):
            return
        folder, name = found
        node = self._top if not name else folder.now.get(name)
        if node is None:
            if "O_CREAT" not in flags:
                return
            node = FileNode()
            self._change([(folder, name, node)])
        if isinstance(node, FileNode) and "O_TRUNC" in flags and node.now:
            node.truncate(0)
        assert call.result not in self._fds, f"descriptor {call.result} is open, and given to {path}"
        self._fds[call.result] = _Open(node, "O_APPEND" in flags)
        self._opened_and_closed += 1

    def _close(self, call: Call) -> None:
        self._fds.pop(_fd(call), None)
        self._opened_and_closed += 1

    def _lseek(self, call: Call) -> None:
        if (opened := self._opened(call)) is not None:
            opened.position = call.result

    def _write(self, call: Call) -> None:
        if (opened := self._opened(call)) is not None and isinstance(opened.node, FileNode):
            self.changes += 1
            data = b"".join(strings(call.arguments))[: call.result]
            at = len(opened.node.now) if opened.append else opened.position
            opened.node.write(at, data)
            opened.position = at + len(data)

    def _pwrite(self, call: Call) -> None:
        if (opened := self._opened(call)) is not None and isinstance(opened.node, FileNode):
            self.changes += 1
            opened.node.write(numbers(call.arguments)[-1], b"".join(strings(call.arguments))[: call.result])

    def _ftruncate(self, call: Call) -> None:
        if (opened := self._opened(call)) is not None and isinstance(opened.node, FileNode):
            self.changes += 1
            opened.node.truncate(numbers(call.arguments)[1])

    def _fallocate(self, call: Call) -> None:
        opened = self._opened(call)
        if opened is not None and isinstance(opened.node, FileNode):
            _, *rest = numbers(call.arguments)
            end = sum(rest[-2:])
            if "KEEP_SIZE" not in call.arguments and end > len(opened.node.now):
                opened.node.truncate(end)

    def _rename(self, call: Call) -> None:
        source, target = (self._place(_path(one)) for one in strings(call.arguments))
        if source is not None and target is not None and source[1] in source[0].now:
            node = source[0].now[source[1]]
            self._change([(*source, None), (*target, node)])

    def _unlink(self, call: Call) -> None:
        found = self._place(_path(strings(call.arguments)[0]))
        if found is not None and found[1] in found[0].now:
            self._change([(*found, None)])

    def _mkdir(self, call: Call) -> None:
        found = self._place(_path(strings(call.arguments)[0]))
        if found is not None and found[1]:
            self._change([(*found, Folder())])

    def _sync_begins(self, call: Begun) -> None:
        opened = self._fds.get(_fd(call))
        if opened is not None:
            self._syncs[call.pid] = self._sync_of(opened.node)

    def _sync(self, call: Call) -> None:
        begun = self._syncs.pop(call.pid, None)
        opened = self._opened(call)
        if begun is None and opened is not None:
            begun = self._sync_of(opened.node)
        if begun is not None:
            self._synced(*begun)

    def _unknown(self, call: Call) -> None:
        if self._root.encode().hex() in call.arguments.replace("\\x", ""):
            raise NotImplementedError(f"{call.name} of a file of the broker")

    _HANDLERS: ClassVar[Mapping[str, Callable[[Disk, Call], None]]] = {
        "openat": _openat,
        "open": _openat,
        "close": _close,
        "lseek": _lseek,
        "write": _write,
        "writev": _write,
        "pwrite64": _pwrite,
        "pwritev": _pwrite,
        "ftruncate": _ftruncate,
        "fallocate": _fallocate,
        "rename": _rename,
        "renameat": _rename,
        "renameat2": _rename,
        "unlink": _unlink,
        "unlinkat": _unlink,
        "rmdir": _unlink,
        "mkdir": _mkdir,
        "mkdirat": _mkdir,
        "fsync": _sync,
        "fdatasync": _sync,
        "truncate": _unknown,
        "link": _unknown,
        "linkat": _unknown,
        "symlink": _unknown,
        "symlinkat": _unknown,
    }

    _NAMING: ClassVar = frozenset(
        {"openat", "open", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat"}
        | {"truncate", "link", "linkat", "symlink", "symlinkat"}
    )
    """The calls that name files; all other calls have an open file as their first argument."""

    # -- names and syncs

    def _opened(self, call: Call) -> _Open | None:
        return self._fds.get(_fd(call))

    def _place(self, path: str) -> tuple[Folder, str] | None:
        """Return the folder and the name of a path; None outside of the root. The root itself has the empty name."""
        if path == self._root:
            return self._top, ""
        if not path.startswith(self._root + "/"):
            return None
        *parents, name = path[len(self._root) + 1 :].split("/")
        folder = self._top
        for parent in parents:
            node = folder.now.get(parent)
            if not isinstance(node, Folder):
                return None
            folder = node
        return folder, name

    def _change(self, edits: list[tuple[Folder, str, Node | None]]) -> None:
        self.changes += 1
        for folder, name, node in edits:
            _edit(folder.now, name, node)
        self._pending.append(_Change(edits))

    def _sync_of(self, node: Node) -> tuple[Node, tuple[int, dict[int, bytes]], list[_Change]]:
        self.changes += 1
        content: tuple[int, dict[int, bytes]] = node.snapshot() if isinstance(node, FileNode) else (0, {})
        return node, content, self._pending[:]

    def _synced(self, node: Node, content: tuple[int, dict[int, bytes]], before: list[_Change]) -> None:
        self.changes += 1
        if isinstance(node, FileNode):
            node.note_synced(*content)
        for change in before:
            if change in self._pending and (self._names is Names.JOURNAL or _is_about(change, node)):
                self._pending.remove(change)
                _make_durable(change)

    def adopt(self, actual: Mapping[str, bytes]) -> list[str]:
        """Set the files to their actual contents. Return the paths of those that differed.

        The trace has no result for a call that a kill cut off, so it does not show how much of it was done.
        """
        known = dict(_walk("", self._top, lambda folder: folder.now, lambda node: bytes(node.now)))
        files = {path: content for path, content in known.items() if content is not None}
        other = [path for path in {*files, *actual} if files.get(path) != actual.get(path)]
        for path in sorted(other):
            found = self._place(f"{self._root}/{path}")
            assert found is not None, f"the trace knows nothing of the folder of {path}"
            folder, name = found
            node = folder.now.get(name)
            if path not in actual:
                self._change([(folder, name, None)])
                continue
            if not isinstance(node, FileNode):
                node = FileNode()
                self._change([(folder, name, node)])
            node.truncate(0)
            node.write(0, actual[path])
        return other

    @contextlib.contextmanager
    def torn(self, call: Call | Begun | None, rng: random.Random) -> Iterator[None]:
        """While the block runs, apply a random part of the next write; do nothing for any other call."""
        opened = self._opened(call) if isinstance(call, Call) and call.name in _APPENDS else None
        if not isinstance(call, Call) or opened is None or not isinstance(opened.node, FileNode):
            yield
            return
        node, position = opened.node, opened.position
        before = bytes(node.now), {page: versions[:] for page, versions in node.dirty.items()}
        data = b"".join(strings(call.arguments))
        at = len(node.now) if opened.append else position
        node.write(at, data[: rng.randint(0, len(data))])
        yield
        node.now, node.dirty = bytearray(before[0]), before[1]

    # -- images

    def as_it_is(self) -> Image:
        return Image(list(_walk("", self._top, lambda folder: folder.now, lambda node: bytes(node.now))))

    def after_power_loss(self, rng: random.Random) -> Image:
        entries = _copies(self._top)
        for change in self._surviving(rng):
            for folder, name, node in change.edits:
                _edit(entries.setdefault(folder, dict(folder.durable)), name, node)
                if isinstance(node, Folder):
                    entries.setdefault(node, dict(node.durable))
        return Image(
            list(
                _walk(
                    "",
                    self._top,
                    lambda folder: entries.get(folder, folder.durable),
                    lambda node: node.after_power_loss(rng),
                )
            )
        )

    def _surviving(self, rng: random.Random) -> list[_Change]:
        if self._names is Names.JOURNAL:
            return self._pending[: rng.randint(0, len(self._pending))]
        keep, kept = rng.choice((0.0, 0.3, 0.7, 1.0)), []
        lost: set[tuple[int, str]] = set()
        for change in self._pending:
            places = {(id(folder), name) for folder, name, _ in change.edits}
            if rng.random() < keep and not places & lost:
                kept.append(change)
            else:
                lost |= places
        return kept

    def synced_logs(self) -> Iterator[bytes]:
        """Yield the synced content of each existing segment whose name, and folder's name, are on stable storage."""
        for name, folder in self._top.durable.items():
            if isinstance(folder, Folder) and self._top.now.get(name) is folder:
                for file_name, node in folder.durable.items():
                    if file_name.endswith(".log") and isinstance(node, FileNode) and folder.now.get(file_name) is node:
                        yield bytes(node.synced)


_APPENDS: Final = frozenset({"write", "writev"})


def actual_files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(Image.LEFT_OUT)
    }


def _fd(call: Call | Begun) -> int:
    found = _FD.match(call.arguments)
    return int(found[1]) if found else -1


def _path(raw: bytes) -> str:
    return os.path.normpath(raw.decode())


def _edit(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _is_about(change: _Change, folder: Node) -> bool:
    return any(edited is folder for edited, _, _ in change.edits)


def _make_durable(change: _Change) -> None:
    for folder, name, node in change.edits:
        _edit(folder.durable, name, node)


def _copies(top: Folder) -> dict[Folder, dict[str, Node]]:
    copies = {top: dict(top.durable)}
    for node in top.durable.values():
        if isinstance(node, Folder):
            copies[node] = dict(node.durable)
    return copies


def _walk(
    path: str,
    folder: Folder,
    entries: Callable[[Folder], Mapping[str, Node]],
    content: Callable[[FileNode], bytes],
) -> Iterator[tuple[str, bytes | None]]:
    for name, node in entries(folder).items():
        inner = f"{path}/{name}" if path else name
        if isinstance(node, Folder):
            yield inner, None
            yield from _walk(inner, node, entries, content)
        else:
            yield inner, content(node)


@dataclass(frozen=True, slots=True)
class Image:
    """Files with their content, and folders (with None), by path; a folder precedes its content."""

    files: list[tuple[str, bytes | None]]

    LEFT_OUT: ClassVar = ("-shm",)

    def write(self, root: Path) -> None:
        """Create the folder. SQLite's shared memory is left out: it is mapped, and rebuilt from the WAL."""
        root.mkdir(parents=True)
        for path, content in self.files:
            if content is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(content)
