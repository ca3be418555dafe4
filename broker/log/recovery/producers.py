"""The producers and aborted transactions at the end of a log, loaded at a start.

Both are read from files if these can be believed: a snapshot, and the segments' `.txnindex`. Otherwise they are
found in the batches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence, Set
from functools import partial

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.aborted_transactions import AbortedTransactions
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.segments.damage import SoundWalk
from shareq.broker.log.segments.files import Segment, list_offsets, remove_quietly, snapshot_path
from shareq.broker.log.segments.found_damage import HeaderWalk
from shareq.broker.log.segments.segment import SNAPSHOT_SUFFIX, UNKNOWN, BatchWalk
from shareq.broker.log.segments.txn_index import AbortedTransaction

logger = logging.getLogger(__name__)


class ScannedProducers:
    """The producers seen in segments that were read byte by byte."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.any = False
        self.with_markers: set[Segment] = set()


def load_producers(
    fs: Fs,
    folder: str,
    segments: Sequence[Segment],
    end: int,
    scanned: ScannedProducers,
    *,
    snapshots: Sequence[int],
    txn_indexes: Set[int],
) -> ProducerStates:
    """Return the producers, and the aborted transactions, of a log that ends at `end` (exclusive); write missing
    `.txnindex` files.

    Batches are replayed from the newest snapshot on, or from an earlier one if aborted transactions have to be
    found. `snapshots` and `txn_indexes` are the offsets of existing files. Raise OSError as the files do.
    """
    return _Loading(fs, folder, segments, end, scanned).load(snapshots, txn_indexes)


def keep_producers(fs: Fs, folder: str, going: Sequence[Segment], end: int) -> None:
    """Make sure that a snapshot exists from which a start can load the producers without the segments `going`.

    Those are sealed, and end at `end` (exclusive). The snapshot exists already, unless it could not be written when
    a segment was sealed, or was lost. Raise OSError as the files do.
    """
    if lacks_snapshot(fs, folder, end):
        snapshots = list_offsets(fs.list_dir(folder), SNAPSHOT_SUFFIX)
        producers = _Loading(fs, folder, going, end, ScannedProducers()).replayed(snapshots)
        fs.write_atomic(snapshot_path(folder, end), producers.to_snapshot(), sync=True)


def lacks_snapshot(fs: Fs, folder: str, end: int) -> bool:
    """Return True if `keep_producers` would have to write a snapshot. Raise OSError as the folder does."""
    snapshots = list_offsets(fs.list_dir(folder), SNAPSHOT_SUFFIX)
    return not snapshots or snapshots[-1] < end


class _Loading:
    def __init__(self, fs: Fs, folder: str, segments: Sequence[Segment], end: int, scanned: ScannedProducers) -> None:
        self._fs = fs
        self._folder = folder
        self._segments = segments
        self._end = end
        self._scanned = scanned
        self._producers = ProducerStates()

    def load(self, snapshots: Sequence[int], txn_indexes: Set[int]) -> ProducerStates:
        scanned = set(self._scanned.segments)
        known = self._known_aborted(scanned, txn_indexes)
        missing = [segment for segment in self._segments if segment not in known]
        start = self._load_snapshot(snapshots, min((segment.base_offset for segment in missing), default=self._end))
        scanned_from = self._scanned.segments[0].base_offset if self._scanned.segments else self._end
        if start < self._end and (start < scanned_from or self._scanned.any):
            self._replay_from(start)
        found, self._producers.aborted = self._producers.aborted, AbortedTransactions()
        for segment, end_offset in self._with_ends():
            entries = known[segment] if segment in known else found.ending_in(segment.base_offset, end_offset)
            if segment in scanned or segment in missing:
                segment.write_aborted(entries)
            for entry in entries:
                self._producers.aborted.add(entry)
        return self._producers

    def replayed(self, snapshots: Sequence[int]) -> ProducerStates:
        """Return the producers without aborted transactions, from a snapshot and the batches behind it."""
        self._replay_from(self._load_snapshot(snapshots, self._end))
        return self._producers

    def _replay_from(self, start: int) -> None:
        for segment, end_offset in self._with_ends():
            if end_offset > start:
                self._replay(segment, start)

    def _known_aborted(self, scanned: Set[Segment], txn_indexes: Set[int]) -> dict[Segment, list[AbortedTransaction]]:
        """Return the aborted transactions of each segment that has no marker, or has a file that can be believed."""
        known: dict[Segment, list[AbortedTransaction]] = {}
        for segment, end_offset in self._with_ends():
            entries: list[AbortedTransaction] | None = []
            if segment in scanned:
                entries = None if segment in self._scanned.with_markers else []
            elif segment.base_offset in txn_indexes or segment.has_aborted:
                entries = segment.load_aborted(end_offset)
            if entries is not None:
                known[segment] = entries
        return known

    def _with_ends(self) -> Iterator[tuple[Segment, int]]:
        """Yield each segment with the offset (exclusive) where it ends."""
        ends = [segment.base_offset for segment in self._segments[1:]]
        return zip(self._segments, [*ends, self._end], strict=False)  # there may be no segment at all

    def _load_snapshot(self, snapshots: Sequence[int], latest: int) -> int:
        """Load the newest producer snapshot up to `latest`; return the offset from which batches must still be
        replayed.
        """
        for offset in reversed(snapshots):
            path = snapshot_path(self._folder, offset)
            if offset <= latest:
                producers = ProducerStates.from_snapshot(self._fs.read_bytes(path))
                if producers is not None:
                    self._producers = producers
                    return offset
                logger.warning("%s: no producer snapshot that can be believed", path)
            if offset <= latest or offset > self._end:
                remove_quietly(self._fs, path)
        return self._segments[0].base_offset if self._segments else self._end

    def _replay(self, segment: Segment, start: int) -> None:
        """Replay the segment's sound batches; those of segments read byte by byte are known already."""
        position, _ = segment.map.start_of(start)
        walk: HeaderWalk | SoundWalk
        if segment in self._scanned.segments:
            walk = HeaderWalk(segment, position)
        else:
            due = UNKNOWN if position else segment.base_offset
            walk = SoundWalk(
                BatchWalk(segment.read_at, segment.size, position=position, next_offset=due, limit=segment.limit)
            )
        for at, header in walk:
            if header.base_offset >= start and header.producer_id >= 0:
                self._producers.replay(header, partial(walk.batch, header, at))
        self._producers.written()
