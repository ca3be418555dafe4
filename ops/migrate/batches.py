"""The encoding of the source's batches as batches of the target. Pure.

A whole batch keeps its records unchanged, compressed or not; only the fields for the target are new: the producer,
which is the migration's own, and the offset. Other batches are encoded again: those from which compaction or
DeleteRecords removed records, because a producer's batch has no gaps, and those with the time of the append, because no
producer may send that; their records get that time as their own. Markers of transactions and aborted records are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAX_SEQUENCE,
    BatchHeader,
    batch_headers,
    build_batch,
    crc_matches,
    decode_records,
    encode_batch,
    read_header,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import ControlType, read_control_record
from shareq.protocol.records.record_codec import RecordData

_SUMMED: Final = Struct(">hqqi").pack  # codec, base timestamp, max timestamp, records
_UNUSUAL: Final = LOG_APPEND_TIME | DELETE_HORIZON


class Aborted(NamedTuple):
    """An aborted transaction in an answer: its producer, and its first offset."""

    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    """Bytes of a log from the batch with an offset on; the last batch may be incomplete."""

    data: bytes | memoryview
    aborted: Sequence[Aborted] = ()


class Step(NamedTuple):
    """A batch of the source in progress: its offsets `first..following` (exclusive), and its number of records.

    `batch` is None if none of its records move. `offsets` are those of its records, None if they ascend from `first`
    without gaps.
    """

    first: int
    following: int
    records: int
    batch: bytes | bytearray | memoryview | None
    offsets: Sequence[int] | None = None

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield runs of the records' offsets: the first offset, and the number of offsets without a gap."""
        if self.offsets is not None:
            yield from ((offset, 1) for offset in self.offsets)
        elif self.records:
            yield self.first, self.records


def steps(fetched: Fetched, position: int) -> Iterator[Step]:
    """Yield the whole batches of the bytes fetched, from `position` on.

    Raises MalformedMessage for bytes that are damaged: they must not get a sound checksum at the target.
    """
    data = memoryview(fetched.data)
    left = sorted(fetched.aborted, key=lambda one: one.first_offset)
    aborting: set[int] = set()
    for at, header in batch_headers(data):
        while left and left[0].first_offset <= header.last_offset:
            aborting.add(left.pop(0).producer_id)
        if header.magic != 2 or not crc_matches(data, at, header):
            raise MalformedMessage(f"the batch at offset {header.base_offset} is damaged")
        batch = data[at : at + header.size]
        if header.is_control and header.records_count and read_control_record(batch).type == ControlType.ABORT:
            aborting.discard(header.producer_id)
        if header.next_offset <= position:
            continue
        is_aborted = header.is_transactional and header.producer_id in aborting
        if header.is_control or is_aborted or not header.records_count:
            yield Step(header.base_offset, header.next_offset, 0, None)
        else:
            yield _step(header, batch, position)


def _step(header: BatchHeader, batch: memoryview, position: int) -> Step:
    whole = header.records_count == header.last_offset_delta + 1 and header.base_offset >= position
    if whole and not header.attributes & _UNUSUAL:
        return Step(header.base_offset, header.next_offset, header.records_count, batch)
    found = decode_records(batch, exact=True, first=position)
    if not found:
        return Step(header.base_offset, header.next_offset, 0, None)
    records = [RecordData(each.key, each.value, each.headers, each.timestamp) for each in found]
    encoded = build_batch(records, timestamp_ms=0, compression=Compression(header.compression))
    offsets = [each.offset for each in found]
    return Step(header.base_offset, header.next_offset, len(records), encoded, offsets)


def stamped(batch: bytes | bytearray | memoryview, producer: tuple[int, int], offset: int) -> bytearray:
    """Return the batch as the migration's producer sends it, with the expected offset as its sequence.

    So the broker recognises a batch that a killed run had sent before, whichever run sent it and however late it
    arrives.
    """
    header = read_header(batch)
    changed = header._replace(
        base_offset=0,
        leader_epoch=-1,
        attributes=header.attributes & CODEC_MASK,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=offset & MAX_SEQUENCE,
    )
    return encode_batch(changed, memoryview(batch)[HEADER_SIZE:])


def checksum(batch: bytes | bytearray | memoryview, before: int) -> int:
    """Return the checksum (CRC-32C) of all batches up to this one, over codec, times, number and bytes of their
    records.
    """
    header = read_header(batch)
    codec = header.attributes & CODEC_MASK
    summed = _SUMMED(codec, header.base_timestamp, header.max_timestamp, header.records_count)
    return crc32c(memoryview(batch)[HEADER_SIZE:], crc32c(summed, before))
