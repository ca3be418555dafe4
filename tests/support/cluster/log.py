"""One partition's log, shared by all its replicas.

The in-sync replicas have one log in common: it ends at `end`, and all of them have the records below `high_watermark`.
An election decides how much of the rest survives. A leader that does not yet know that it was replaced has a copy of
its own, which is never replicated: what is appended to it is lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import NamedTuple

from shareq.protocol.records.batch import (
    CODEC_MASK,
    NO_PRODUCER_ID,
    BatchHeader,
    Record,
    decode_records,
    read_header,
    stamp,
    with_records,
)
from shareq.protocol.records.control import ControlType, read_control_record
from shareq.protocol.records.record_codec import encode_record
from tests.support.cluster.producers import Aborted, Producers


class Stored(NamedTuple):
    header: BatchHeader
    data: bytes


class EpochStart(NamedTuple):
    """The position of the first batch of a leader epoch, or where it would be."""

    epoch: int
    offset: int


class Found(NamedTuple):
    offset: int
    timestamp: int


class ClusterLog:
    """The log of one partition. Ends are exclusive."""

    def __init__(self) -> None:
        self.batches: list[Stored] = []
        self.start = 0
        self.end = 0
        self.high_watermark = 0
        self.epochs: list[EpochStart] = []
        self.producers = Producers()

    @property
    def last_stable_offset(self) -> int:
        return self.producers.last_stable_offset(self.high_watermark)

    def copy(self) -> ClusterLog:
        return deepcopy(self)

    # -- writing

    def begin_epoch(self, epoch: int) -> None:
        """Begin a leader epoch (LeaderEpochFileCache.assign): epochs without a record are forgotten."""
        while self.epochs and self.epochs[-1].offset >= self.end:
            self.epochs.pop()
        self.epochs.append(EpochStart(epoch, self.end))

    def append(self, batch: bytes | bytearray | memoryview, epoch: int) -> BatchHeader:
        """Append a batch that the caller has checked, and return its header as stored."""
        stored = bytearray(batch)
        stamp(stored, self.end, epoch)
        header = read_header(stored)
        self.batches.append(Stored(header, bytes(stored)))
        self.end = header.next_offset
        if header.producer_id != NO_PRODUCER_ID:
            self._note_producer(self.batches[-1])
        return header

    def _note_producer(self, stored: Stored) -> None:
        header = stored.header
        if header.is_control:
            marker = read_control_record(stored.data)
            commit = marker.type is ControlType.COMMIT
            self.producers.end(header, commit=commit, coordinator_epoch=marker.coordinator_epoch)
        else:
            self.producers.append(header)

    def replicated(self, upto: int) -> bool:
        """Raise the high watermark to `upto`, and return whether it has moved."""
        moved = upto > self.high_watermark
        self.high_watermark = max(self.high_watermark, upto)
        return moved

    def truncate(self, end: int) -> None:
        """Remove the batches that reach beyond `end`, and rebuild their producers' state from the others."""
        kept = [each for each in self.batches if each.header.next_offset <= end]
        lost = self.batches[len(kept) :]
        self.batches = kept
        self.end = max(self.start, min([end, self.end, *(each.header.base_offset for each in lost)]))
        self.high_watermark = min(self.high_watermark, self.end)
        self.epochs = [each for each in self.epochs if each.offset < self.end]
        losers = {each.header.producer_id for each in lost} - {NO_PRODUCER_ID}
        self.producers.forget(losers, self.end)
        for stored in kept:
            if stored.header.producer_id in losers:
                self._note_producer(stored)

    def delete_before(self, offset: int) -> None:
        """Move the log start to `offset`. A batch stays while it reaches beyond `offset`; producers stay known."""
        self.start = max(self.start, offset)
        self.batches = [each for each in self.batches if each.header.next_offset > self.start]
        self.producers.aborted = [each for each in self.producers.aborted if each.last_offset >= self.start]

    def compact(self, upto: int) -> None:
        """Compact below `upto` as the cleaner does: the last record of each key stays, at its offset, in its batch.

        Offsets get gaps. The last batch of every producer stays, if necessary empty, so that its sequence is known
        (Cleaner.discardBatch). Control batches and tombstones stay.
        """
        latest = {
            record.key: record.offset
            for stored in self.batches
            if stored.header.next_offset <= upto and not stored.header.is_control
            for record in decode_records(stored.data)
        }
        self.batches = list(self._compacted(upto, latest))

    def _compacted(self, upto: int, latest: Mapping[bytes | None, int]) -> Iterable[Stored]:
        for stored in self.batches:
            header = stored.header
            if header.next_offset > upto or header.is_control:
                yield stored
                continue
            records = decode_records(stored.data)
            kept = [record for record in records if latest[record.key] == record.offset]
            if len(kept) == len(records):
                yield stored
            elif kept or self._is_last_of_producer(header):
                yield _with_records(stored, kept)

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        producer = self.producers.known.get(header.producer_id)
        return producer is not None and producer.batches[-1].first_offset == header.base_offset

    # -- reading

    def read(self, offset: int, upto: int, max_bytes: int, *, whole_first: bool) -> bytes:
        """Return batches below `upto`, from the one that contains `offset`.

        With `whole_first` the first batch is returned whatever its size; otherwise nothing is returned if it is too
        large. The rest is cut at `max_bytes`, even in the middle of a batch: Kafka answers regions of files.
        """
        found = bytearray()
        first = bisect_right(self.batches, offset, key=lambda each: each.header.next_offset)
        for stored in islice(self.batches, first, None):
            if stored.header.base_offset >= upto or (found and len(found) >= max_bytes):
                break
            if not found and len(stored.data) > max_bytes:
                return stored.data if whole_first else b""
            found += stored.data
        return bytes(found[:max_bytes])

    def aborted_between(self, offset: int, upto: int) -> Sequence[Aborted]:
        """Return the aborted transactions that a reader from `offset` to `upto` (exclusive) needs."""
        return [each for each in self.producers.aborted if each.last_offset >= offset and each.first_offset < upto]

    def end_of_epoch(self, epoch: int, current: int) -> EpochStart | None:
        """Return the largest epoch not above `epoch` and where it ends, as LeaderEpochFileCache.endOffsetFor does.

        `current` is the leader's epoch, which ends at the log's end.
        """
        if epoch == current:
            return EpochStart(epoch, self.end)
        if not self.epochs or epoch > self.epochs[-1].epoch or epoch < 0:
            return None
        at = bisect_right([each.epoch for each in self.epochs], epoch)
        if at == 0:
            return EpochStart(epoch, self.epochs[0].offset)
        end = self.epochs[at].offset if at < len(self.epochs) else self.end
        return EpochStart(self.epochs[at - 1].epoch, end)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch of an offset; -1 before the first record."""
        return max((each.epoch for each in self.epochs if each.offset <= offset), default=-1)

    def first_at(self, timestamp: int, upto: int) -> Found | None:
        """Return the first record below `upto` with this timestamp or a later one."""
        for stored in self.batches:
            if stored.header.max_timestamp < timestamp:
                continue
            for record in decode_records(stored.data):
                if record.timestamp >= timestamp and self.start <= record.offset < upto:
                    return Found(record.offset, record.timestamp)
        return None

    def newest(self, upto: int) -> Found | None:
        times = [stored.header.max_timestamp for stored in self.batches if stored.header.next_offset <= upto]
        return self.first_at(max(times), upto) if times else None


def _with_records(stored: Stored, kept: Sequence[Record]) -> Stored:
    """Return the batch with only these records, uncompressed: offsets, sequences and timestamps are unchanged."""
    header, payload = stored.header, bytearray()
    for each in kept:
        delta, time = each.offset - header.base_offset, each.timestamp - header.base_timestamp
        encode_record(payload, delta, time, each.key, each.value, each.headers)
    data = with_records(stored.data, 0, header.attributes & ~CODEC_MASK, len(kept), bytes(payload))
    return Stored(read_header(data), data)
