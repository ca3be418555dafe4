"""A file's bytes on a disk that loses unsynced data: the current ones, and those left by a power loss.

A real disk writes pages of 4 KB in any order, and the file's size separately. Until a sync has ended, any page may be
old, new, or torn between the two at a sector; the size may be any that the file has had. Pages never written are zeros.
"""

from __future__ import annotations

from random import Random
from typing import Final

PAGE: Final = 4096
SECTORS: Final = 8  # of a page; each is written whole or not at all

Range = tuple[int, int]  # bytes: from, to (exclusive)


class Inode:
    """One file, regardless of its names.

    `content` is what reads return. Its first `durable_size` bytes are on stable storage; `ghost` is the content on
    stable storage if synced bytes were truncated since. `dropped` bytes can be read, but will not survive: the sync
    that should have written them failed, and no sync writes them again. Reads of `unreadable` ranges fail. `hollow`
    bytes after the content were allocated but never written.
    """

    __slots__ = ("content", "cuts", "dropped", "durable_size", "ghost", "hollow", "page_bytes", "unreadable")

    def __init__(self, page_bytes: int = PAGE) -> None:
        self.page_bytes = page_bytes
        self.content = bytearray()
        self.hollow = 0
        self.durable_size = 0
        self.ghost: bytes | None = None
        self.cuts = 0
        self.dropped: list[Range] = []
        self.unreadable: list[Range] = []

    def append(self, data: bytes | memoryview) -> None:
        if self.dropped:  # the page is written as a whole: what it held before is dirty again
            page = len(self.content) // self.page_bytes * self.page_bytes
            self.dropped = [(start, min(end, page)) for start, end in self.dropped if start < page]
        self.content += data

    def truncate(self, size: int) -> None:
        if size < self.durable_size:
            self.ghost = self.ghost or bytes(self.content[: self.durable_size])
            self.durable_size = size
        self.cuts += 1
        self.dropped = [(start, min(end, size)) for start, end in self.dropped if start < size]
        del self.content[size:]
        self.content.extend(bytes(max(size - len(self.content), 0)))

    def synced(self, size: int) -> None:
        """Make everything below `size` durable, except what an earlier failed sync has dropped."""
        self.durable_size = max(self.durable_size, size)
        self.ghost = None

    def sync_failed(self) -> None:
        """Treat unsynced bytes as written although they are not: Linux reports a failed write once."""
        if self.durable_size < len(self.content):
            self.dropped.append((self.durable_size, len(self.content)))

    def can_read(self, position: int, size: int) -> bool:
        return all(end <= position or position + size <= start for start, end in self.unreadable)

    # -- loss of power

    def lose_tail(self, rng: Random) -> None:
        """Lose the end of the file, or leave a longer one, as a file system that writes in order does."""
        if self.ghost is not None and rng.random() < 0.5:
            self.content = bytearray(self.ghost)
        else:
            size = len(self.content)
            del self.content[rng.randint(self.durable_size, size) :]
            if rng.random() < 0.3:  # the file's new length was on disk before its new bytes
                self.content.extend(bytes(rng.randint(len(self.content), size) - len(self.content)))
        self._settle()

    def lose_pages(self, rng: Random) -> None:
        """Leave each page old, new or torn, independent of other pages and the size."""
        new = self.content
        old = new[: self.durable_size] if self.ghost is None else self.ghost
        if self.ghost is not None or self.durable_size < len(new) or self.dropped:
            self.content = self._mixed(bytes(old), new, rng)
        self._settle()

    def _mixed(self, old: bytes, new: bytearray, rng: Random) -> bytearray:
        sizes = (len(old), len(new), len(new), rng.randint(min(len(old), len(new)), max(len(old), len(new))))
        size = rng.choice(sizes)
        left = new[: self.durable_size]
        kept = rng.choice((0.1, 0.5, 0.9, 1.0))
        while len(left) < size:
            end = min((len(left) // self.page_bytes + 1) * self.page_bytes, size)
            left += self._page(old, new, len(left), end, kept, rng)
        for start, end in self.dropped:
            left[start:end] = bytes(len(left[start:end]))
        return left

    def _page(self, old: bytes, new: bytearray, start: int, end: int, kept: float, rng: Random) -> bytes:
        """Return the remaining bytes of a page, or of its part that is not on stable storage."""
        was, is_now = _padded(old[start:end], end - start), _padded(bytes(new[start:end]), end - start)
        if rng.random() >= 0.1:
            return is_now if rng.random() < kept else was
        sector = self.page_bytes // SECTORS
        torn = bytearray()
        while len(torn) < len(was):
            at = len(torn)
            to = min(((start + at) // sector + 1) * sector - start, len(was))
            torn += (is_now if rng.random() < kept else was)[at:to]
        return bytes(torn)

    def _settle(self) -> None:
        self.ghost = None
        self.dropped = []
        self.durable_size = len(self.content)

    # -- what a disk does to bytes that it had

    def damage(self, start: int, data: bytes) -> None:
        """Change these bytes from now on, whatever was synced."""
        self.content[start : start + len(data)] = data
        if self.ghost is not None:
            self.ghost = self.ghost[:start] + data + self.ghost[start + len(data) :]

    def shorten(self, size: int) -> None:
        """End the file here from now on, whatever was synced."""
        del self.content[size:]
        self.ghost = None
        self.durable_size = min(self.durable_size, size)
        self.cuts += 1


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(size - len(data))
