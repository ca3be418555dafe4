"""Names on a disk that loses unsynced data: creations, renames and removals survive once their folder is synced."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from devtools.in_memory.disk.content import Inode


class Change(NamedTuple):
    """One operation on names, with the file of each name before and after it, or None."""

    before: dict[str, Inode | Folder | None]
    after: dict[str, Inode | Folder | None]


class Folder:
    """The entries of a folder, and their changes that are not on stable storage yet, in order."""

    __slots__ = ("changes", "entries", "unsynced")

    def __init__(self) -> None:
        self.entries: dict[str, Inode | Folder] = {}
        self.unsynced: list[Change] = []
        self.changes = 0

    def change(self, **changes: Inode | Folder | None) -> None:
        """Assign files to names; None removes a name."""
        self.unsynced.append(Change({name: self.entries.get(name) for name in changes}, changes))
        self.changes += 1
        self._put(changes)

    def synced(self, changes: int) -> None:
        """Make the first `changes` of all changes durable."""
        del self.unsynced[: max(len(self.unsynced) - (self.changes - changes), 0)]

    def _put(self, changes: dict[str, Inode | Folder | None]) -> None:
        for name, node in changes.items():
            if node is None:
                self.entries.pop(name, None)
            else:
                self.entries[name] = node

    def lose(self, name: str) -> None:
        """Remove the name, whatever was synced."""
        del self.entries[name]
        self.unsynced = [change for change in self.unsynced if name not in change.after]

    def lose_last(self, rng: Random) -> None:
        """Undo the last changes, as a file system with one journal does."""
        kept = rng.randint(0, len(self.unsynced))
        for change in reversed(self.unsynced[kept:]):
            self._put(change.before)
        self.unsynced.clear()
        for name in sorted(self.entries):
            node = self.entries[name]
            if isinstance(node, Folder):
                node.lose_last(rng)
            else:
                node.lose_tail(rng)

    def lose_any(self, rng: Random) -> None:
        """Undo any of the changes, as POSIX allows.

        If a change of a name is kept, so are the earlier ones of that name.
        """
        for change in reversed(self.unsynced):
            self._put(change.before)
        kept = rng.choice((0.1, 0.5, 0.9, 1.0))
        undone: set[str] = set()
        for change in self.unsynced:
            if undone.isdisjoint(change.after) and rng.random() < kept:
                self._put(change.after)
            else:
                undone.update(change.after)
        self.unsynced.clear()
        for name in sorted(self.entries):
            node = self.entries[name]
            if isinstance(node, Folder):
                node.lose_any(rng)
            else:
                node.lose_pages(rng)
