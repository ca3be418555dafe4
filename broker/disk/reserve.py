"""Blocks of the file system that the broker reserves, and frees for its own writes when the disk is full.

DATA/reserve: preallocated; only its size matters, not its content

The file grows by one piece in each call, so that no call takes long. Pieces freed on a full disk are allocated again
when there is room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from shareq.broker.disk.policy import Use
from shareq.broker.foundation.environment import Fs

logger = logging.getLogger(__name__)

RESERVE_FILE: Final = "reserve"
PIECE_BYTES: Final = 4 * 1024 * 1024


class Reserve:
    """The reserve of one data folder. `wanted` is its intended size in bytes; with 0, the size that an earlier start
    has left.
    """

    def __init__(self, fs: Fs, data_dir: str, on_given_up: Callable[[], None] | None = None) -> None:
        self._fs = fs
        self._on_given_up = on_given_up
        self._path = f"{data_dir}/{RESERVE_FILE}"
        self._size: int | None = None  # not looked for yet
        self.wanted = 0

    @property
    def size(self) -> int:
        """The present size of the reserve in bytes; 0 if the file cannot be opened."""
        if self._size is None:
            self._size = self._found()
        return self._size

    def _found(self) -> int:
        try:
            file = self._fs.open(self._path)
        except FileNotFoundError:
            return 0
        except OSError as error:
            logger.warning("%s: cannot be used: %s", self._path, error)
            return 0
        size = file.size()
        file.close()
        return size

    @property
    def next_piece(self) -> int:
        """The number of bytes that `take` would add; 0 if the reserve is large enough."""
        return min(max(self.wanted - self.size, 0), PIECE_BYTES)

    def take(self, most: int = PIECE_BYTES) -> None:
        """Add a piece of up to `most` bytes, but no more than is wanted. Raise OSError if there is no room for it."""
        piece = min(self.next_piece, most)
        if piece:
            size = self.size + piece
            self._fs.allocate(self._path, size)
            self._size = size
        elif self.size > self.wanted:
            self._keep(self.wanted)

    def give_up(self, use: Use) -> bool:
        """Free the part of the reserve for that use. Return True if there is more free space now. Never raise."""
        kept = self._kept_from(use)
        if kept >= self.size:
            return False
        before = self.size
        try:
            self._keep(kept)
        except OSError as error:
            logger.error("%s: not given up: %s", self._path, error)
            return False
        logger.warning("%s: the disk is full, %d of %d bytes given up", self._path, before - kept, before)
        if self._on_given_up is not None:
            self._on_given_up()
        return True

    def _kept_from(self, use: Use) -> int:
        if use is Use.MAKING_ROOM:
            return 0
        return (self.wanted or self.size) // 2 if use is Use.COORDINATORS else self.size

    def _keep(self, size: int) -> None:
        file = self._fs.open(self._path)
        try:
            file.truncate(size)
            file.sync()  # a journaling file system reuses the blocks only once its journal is written
        finally:
            file.close()
        self._size = size
