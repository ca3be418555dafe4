"""One cache of fetched records for the whole node, with one budget. The least recently read chunks are evicted first.
Pure.

Each partition has chunks, runs of whole batches as a broker answered them, of two kinds. *Decided* chunks know which of
their transactions were aborted, or have no transactions, and serve every reader. *Undecided* chunks were fetched for
readers of uncommitted records while transactions were open, and serve only those readers.

Room is reserved before records are requested, so that pending answers stay within the budget. An answer may exceed its
reservation if its first batch is larger than any limit; such a chunk is kept until the next answer comes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from shareq.broker.log.segments.reader import BatchSpan
from shareq.broker.log.segments.txn_index import AbortedTransaction

BATCH_COST: Final = 200
"""The bytes of memory that a `BatchSpan` takes."""
CHUNK_COST: Final = 500
"""The bytes of memory that a chunk takes apart from its records and `BatchSpan`s."""

_next_offset = attrgetter("next_offset")
_first_offset = attrgetter("first_offset")


class Place(NamedTuple):
    """A partition of the cluster."""

    topic_id: bytes
    partition: int


class Chunk:
    """One or more batches in ascending order, without gaps in the bytes. It has all records that the log has from
    `first_offset` to `next_offset` (exclusive). `aborted` is None if it is undecided. Immutable.
    """

    __slots__ = ("aborted", "batches", "cost", "first_offset", "next_offset", "records")

    def __init__(
        self,
        first_offset: int,
        records: bytes,
        batches: Sequence[BatchSpan],
        aborted: Sequence[AbortedTransaction] | None,
    ) -> None:
        self.first_offset: Final = first_offset
        self.next_offset: Final = batches[-1].last_offset + 1
        self.records: Final = records
        self.batches: Final = batches
        self.aborted: Final = aborted
        self.cost: Final = len(records) + BATCH_COST * len(batches) + CHUNK_COST


class _Chunks(NamedTuple):
    """The chunks of one partition, in two lists. In each list first and next offsets ascend: no chunk covers another
    one.
    """

    decided: list[Chunk]
    undecided: list[Chunk]


class ChunkCache:
    """The chunks of all partitions. `held_bytes` plus `reserved_bytes` stay within `budget`, except for one chunk that
    is larger than the remaining room.
    """

    def __init__(self, budget: int) -> None:
        self.budget: Final = budget
        self.held_bytes = 0
        self.reserved_bytes = 0
        self.evicted = 0
        """The number of chunks that have given way so far."""
        self._chunks: dict[Place, _Chunks] = {}
        self._places: dict[Chunk, Place] = {}  # the one read last is the last one

    # -- room

    def reserve(self, most: int, least: int) -> int:
        """Reserve up to `most` bytes for an answer under way, and return how many: 0 if not even `least` are free
        now.
        """
        granted = min(most, self.budget - self.reserved_bytes)
        if granted < least:
            return 0
        self.reserved_bytes += granted
        self._make_room(None)
        return granted

    def release(self, granted: int) -> None:
        """Release a reservation, after the answer has come or has failed."""
        self.reserved_bytes -= granted

    # -- chunks

    def put(self, place: Place, chunk: Chunk) -> bool:
        """Keep a chunk and return True, unless another one covers it. Chunks that the new one covers are removed."""
        chunks = self._chunks.setdefault(place, _Chunks([], []))
        mine = chunks.undecided if chunk.aborted is None else chunks.decided
        for kind in (chunks.decided, mine):
            before = bisect_right(kind, chunk.first_offset, key=_first_offset)
            if before and kind[before - 1].next_offset >= chunk.next_offset:
                self._touch(kind[before - 1])
                return False
        for kind in (mine, chunks.undecided):
            for covered in _covered(kind, chunk):
                self._drop(covered, kind)
        mine.insert(bisect_left(mine, chunk.first_offset, key=_first_offset), chunk)
        self._places[chunk] = place
        self.held_bytes += chunk.cost
        self._make_room(chunk)
        return True

    def find(self, place: Place, offset: int, *, decided: bool) -> Chunk | None:
        """Return the chunk that has `offset`, and mark it as just read; None without one. With `decided`, only a
        decided chunk.
        """
        chunk = self._find(place, offset, decided=decided)
        if chunk is not None:
            self._touch(chunk)
        return chunk

    def has(self, place: Place, offset: int, *, decided: bool) -> bool:
        """Return True if a chunk has `offset`, without marking the chunk as read."""
        return self._find(place, offset, decided=decided) is not None

    def overlapping(self, place: Place, first_offset: int, upper: int) -> Iterator[Chunk]:
        """Yield the decided chunks with offsets from `first_offset` to `upper` (exclusive), in ascending order."""
        chunks = self._chunks.get(place)
        if chunks is not None:
            for chunk in chunks.decided[bisect_right(chunks.decided, first_offset, key=_next_offset) :]:
                if chunk.first_offset >= upper:
                    return
                yield chunk

    def chunks(self) -> list[Chunk]:
        """Return all chunks, the least recently read first."""
        return list(self._places)

    def forget(self, place: Place, below: int | None = None) -> None:
        """Drop all chunks of a partition, or with `below` only those whose offsets are all below it."""
        chunks = self._chunks.get(place)
        if chunks is not None:
            for kind in chunks:
                gone = kind if below is None else kind[: bisect_right(kind, below, key=_next_offset)]
                for chunk in list(gone):
                    self._drop(chunk, kind)
            self._tidy(place)

    # -- inside

    def _find(self, place: Place, offset: int, *, decided: bool) -> Chunk | None:
        chunks = self._chunks.get(place)
        if chunks is None:
            return None
        found = _holding(chunks.decided, offset)
        return found if found is not None or decided else _holding(chunks.undecided, offset)

    def _touch(self, chunk: Chunk) -> None:
        self._places[chunk] = self._places.pop(chunk)

    def _make_room(self, newest: Chunk | None) -> None:
        while self.held_bytes + self.reserved_bytes > self.budget and self._places:
            oldest = next(iter(self._places))
            if oldest is newest:
                return
            place = self._places[oldest]
            chunks = self._chunks[place]
            self._drop(oldest, chunks.undecided if oldest.aborted is None else chunks.decided)
            self._tidy(place)
            self.evicted += 1

    def _drop(self, chunk: Chunk, kind: list[Chunk]) -> None:
        del kind[bisect_left(kind, chunk.first_offset, key=_first_offset)]
        del self._places[chunk]
        self.held_bytes -= chunk.cost

    def _tidy(self, place: Place) -> None:
        if not any(self._chunks[place]):
            del self._chunks[place]


def _holding(kind: list[Chunk], offset: int) -> Chunk | None:
    index = bisect_right(kind, offset, key=_next_offset)
    return kind[index] if index < len(kind) and kind[index].first_offset <= offset else None


def _covered(kind: list[Chunk], by: Chunk) -> list[Chunk]:
    first = bisect_left(kind, by.first_offset, key=_first_offset)
    return kind[first : max(first, bisect_right(kind, by.next_offset, key=_next_offset))]
