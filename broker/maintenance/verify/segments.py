"""The check of one segment's `.log` file: every byte, and what is certain about its faults. Pure.

The fields that no CRC covers (BaseOffset, Length, PartitionLeaderEpoch, Magic) are certain where the CRC of the
bytes that follow fits, and the offsets fit the batches on both sides.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from shareq.broker.log.segments.damage import DamagedRange, SoundWalk
from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET
from shareq.broker.log.segments.segment import BatchWalk, ReadAt
from shareq.protocol.records.batch import (
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    encode_batch,
    read_header,
    stamped_prefix,
)
from shareq.protocol.records.checksum import crc32c

_CHUNK_BYTES: Final = 1 << 20
_CRC_START: Final = 21

OnBatch = Callable[[int, BatchHeader, Callable[[], bytes]], None]
"""A function called for each sound batch, in order, with its position, its header, and a function that returns its
bytes.
"""


class SegmentFacts(NamedTuple):
    """The content of a segment's file.

    `end_offset` is exclusive. `tail` is the fault at `tail_position`, behind which no sound batch follows; None if
    the file ends with a sound batch.
    """

    batches: int
    end_offset: int
    damaged: tuple[DamagedRange, ...]
    tail: str | None
    tail_position: int


def check_segment(
    read_at: ReadAt, size: int, base_offset: int, limit: int | None, *, gaps: bool, on_batch: OnBatch
) -> SegmentFacts:
    """Read a whole segment. `limit` is the offset where the next segment begins; `gaps`: a cleaner may have removed
    batches. Raise OSError.
    """
    bound = base_offset + MAX_RELATIVE_OFFSET + 1 if limit is None else limit
    walk = SoundWalk(BatchWalk(read_at, size, next_offset=base_offset, gaps=gaps, limit=bound))
    batches = 0
    for position, header in walk:
        batches += 1
        on_batch(position, header, lambda at=position, of=header: walk.batch(of, at))  # type: ignore[misc]
    return SegmentFacts(batches, walk.next_offset, tuple(walk.damaged), walk.fault, walk.position)


def healed_header(read_at: ReadAt, damaged: DamagedRange) -> bytes | None:
    """Return the first 17 bytes of the batch that fills a damaged range, as they must have been; None if that is not
    certain.

    They are certain if all bytes behind them match the CRC there, and the batch has exactly the offsets missing
    between its sound neighbours.
    """
    size = damaged.end - damaged.position
    head = read_at(damaged.position, HEADER_SIZE) if size >= HEADER_SIZE else b""
    if len(head) < HEADER_SIZE:
        return None
    header = read_header(head)
    if damaged.first_offset + header.last_offset_delta + 1 != damaged.next_offset:
        return None
    if crc32c(read_at(damaged.position + _CRC_START, size - _CRC_START)) != header.crc:
        return None
    prefix = stamped_prefix(damaged.first_offset, size - LENGTH_OVERHEAD, header.leader_epoch)
    return prefix + struct.pack(">b", MAGIC)


def empty_batches(first_offset: int, next_offset: int, leader_epoch: int = 0) -> bytes:
    """Return batches without records in the place of lost offsets, like those that a cleaner leaves."""
    batches = bytearray()
    while first_offset < next_offset:
        count = min(next_offset - first_offset, MAX_RELATIVE_OFFSET)
        header = BatchHeader(
            base_offset=first_offset,
            length=0,
            leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=0,
            last_offset_delta=count - 1,
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=NO_TIMESTAMP,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            records_count=0,
        )
        batches += encode_batch(header, b"")
        first_offset += count
    return bytes(batches)


def without(read_at: ReadAt, size: int, lost: Sequence[DamagedRange]) -> Iterator[bytes]:
    """Yield the file's bytes with empty batches in place of the lost ones; `lost` is in order."""
    position = 0
    for each in lost:
        yield from chunks(read_at, position, each.position)
        yield empty_batches(each.first_offset, each.next_offset)
        position = each.end
    yield from chunks(read_at, position, size)


def chunks(read_at: ReadAt, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file between two positions, some at a time; fewer if the file ends before."""
    while start < end and (chunk := read_at(start, min(_CHUNK_BYTES, end - start))):
        start += len(chunk)
        yield chunk
