"""Reads of data that is not in memory: threads load it, and the reader tries again.

    read on the loop -> in the page cache: that is the answer
                     -> not there: NotCached -> `load`: a thread reads it -> the waiting reader begins again

Only the page cache is filled, so nothing can be out of date: the second read, like any other, does not find data
that was cut off, cleaned or removed meanwhile. If a thread fails, the second read waits for the disk and gets the
error. It also waits if its bytes left the cache again `MOST_TRIES` times, because the machine is short of memory.

For a reader that continues where its last read ended, the next bytes are read ahead.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.pending import Pending

WHOLE_FILE: Final = 2**31
MOST_TRIES: Final = 3
AHEAD_BYTES: Final = 8 * 1024 * 1024
"""The number of bytes read ahead of a reader. If it leaves, at most so many were read in vain."""
AHEAD_PIECE: Final = 2 * 1024 * 1024
"""The bytes of one piece that a thread reads."""
MOST_READERS: Final = 16
"""The most readers of one file whose next position is remembered."""
_MOST_TRIED: Final = 64

_Bytes = tuple[str, int, int]
"""A file, a position and a size."""


class NotCached(Exception):  # not a failure: the read is repeated
    """Error: a read of these bytes of a file would have to wait for the disk."""

    def __init__(self, path: str, position: int, size: int) -> None:
        super().__init__(path, position, size)
        self.bytes: Final[_Bytes] = (path, position, size)


class BeingRead(NamedTuple):
    """An answer in the place of records: a thread reads them from the disk. The caller asks again when `arrived`
    completes.

    It completes even if the log changes meanwhile.
    """

    arrived: Pending[None]


class Ahead:
    """The readers of one file that had to wait for the disk, and the position up to which each is read ahead."""

    __slots__ = ("_upto",)

    def __init__(self) -> None:
        self._upto: dict[int, int] = {}  # by the position where a reader continues; the last entry was used last

    def expect(self, position: int, upto: int) -> None:
        """Expect a reader to continue at `position`; everything up to `upto` (exclusive) is being read."""
        self._upto[position] = upto
        if len(self._upto) > MOST_READERS:
            del self._upto[next(iter(self._upto))]

    def went_on(self, start: int, end: int, size: int) -> list[tuple[int, int]]:
        """Note that the bytes from `start` to `end` of a file of `size` bytes were read.

        Return the positions and sizes of pieces to read ahead; none unless a reader was expected at `start`.
        """
        upto = self._upto.pop(start, None)
        if upto is None:
            return []
        upto, goal = max(upto, end), min(end + AHEAD_BYTES, size)
        pieces: list[tuple[int, int]] = []
        while goal - upto >= AHEAD_PIECE or upto < goal == size:
            pieces.append((upto, min(AHEAD_PIECE, goal - upto)))
            upto += pieces[-1][1]
        self.expect(end, upto)
        return pieces


class ColdReads:
    """The reads that threads do for one broker. Requests for the same bytes share a read. Runs on the loop's thread."""

    __slots__ = ("_fs", "_under_way", "tried")

    def __init__(self, fs: Fs) -> None:
        self._fs = fs
        self._under_way: dict[tuple[_Bytes, bool], Pending[None]] = {}  # with whether ahead: those take longer
        self.tried: dict[tuple[str, int], int] = {}
        """The number of loads since the bytes were last read, by file and position; MOST_TRIES after a failure."""

    def read(self, missing: NotCached) -> BeingRead:
        """Have threads read the bytes that were missing for a read."""
        tried, place = self.tried, missing.bytes[:2]
        if (missing.bytes, False) not in self._under_way:
            tried[place] = tried.get(place, 0) + 1
            if len(tried) > _MOST_TRIED:
                del tried[next(iter(tried))]
        return BeingRead(self.load(*missing.bytes))

    def load(self, path: str, position: int, size: int, *, ahead: bool = False) -> Pending[None]:
        """Have threads load bytes of a file into memory. The result completes when they are loaded, or could not be."""
        key = (path, position, size), ahead
        arrived = self._under_way.get(key)
        if arrived is None:
            arrived = self._under_way[key] = Pending()
            self._fs.load_soon(path, position, size, partial(self._loaded, key), ahead=ahead)
        return arrived

    def gives_up(self, path: str, position: int, size: int) -> bool:
        """Return True if this read has to wait for bytes that are not in memory, because they were loaded too often
        in vain.
        """
        place = (path, position)
        if self.tried.get(place, 0) < MOST_TRIES or ((path, position, size), False) in self._under_way:
            return False
        del self.tried[place]
        return True

    def _loaded(self, key: tuple[_Bytes, bool], error: OSError | None) -> None:
        place = key[0][:2]
        if error is not None and place in self.tried:
            self.tried[place] = MOST_TRIES
        self._under_way.pop(key).complete(None)
