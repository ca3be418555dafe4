"""The reading of a fetch's answer: whole batches, whose CRCs are checked once, in steps. Pure.

at  field                 type
 0  BaseOffset            int64
 8  Length                int32   bytes behind this field
12  PartitionLeaderEpoch  int32   (magic 0 and 1: the CRC)
16  Magic                 int8    (at the same place in magic 0 and 1)
17  CRC                   uint32  of bytes 21 to the end
..                                see `shareq.protocol.records.batch`
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.turn_budget import Breathe
from shareq.broker.log.segments.reader import BatchSpan
from shareq.cluster.records.aborted import AbortedRow, has_transactions, with_ends
from shareq.cluster.records.cache import Chunk
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import CRC_START, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, stamp
from shareq.protocol.records.checksum import crc32c

# BaseOffset, Length, PartitionLeaderEpoch, Magic, CRC, Attributes, LastOffsetDelta, ProducerId of a batch header.
_SPAN: Final = struct.Struct(">qiibIhi16xq")
_PREFIX: Final = struct.Struct(">qi4xb")
_new: Final = tuple.__new__  # what BatchSpan(...) does, at half its price
_NO_EPOCH: Final = -1
_STEP_BATCHES: Final = 50
_STEP_BYTES: Final = 256 * 1024


class Fault(NamedTuple):
    """The reason why the first batch of an answer cannot be handed out.

    The error is CORRUPT_MESSAGE, or UNSUPPORTED_FOR_MESSAGE_FORMAT for magic 0 and 1. The fault ends at `next_offset`
    (exclusive), as far as the answer shows it.
    """

    error: ErrorCode
    first_offset: int
    next_offset: int
    text: str


class EpochStart(NamedTuple):
    """A leader epoch, and the base offset of its first batch in an answer."""

    epoch: int
    offset: int


class Answered(NamedTuple):
    """The content of an answer: a chunk, a fault, or neither if it has no whole batch. `epochs` are the leader epochs
    of its batches, in ascending order of offsets.
    """

    chunk: Chunk | None = None
    fault: Fault | None = None
    epochs: Sequence[EpochStart] = ()


class Transactions(NamedTuple):
    """The transactions of an answer. `decided`: the answer was requested with READ_COMMITTED, so it names aborted
    ones.
    """

    decided: bool
    aborted: Iterable[AbortedRow]


async def chunk_of(records: bytes | memoryview, offset: int, transactions: Transactions, breathe: Breathe) -> Answered:
    """Return the content of the answer to a fetch at `offset`. An incomplete batch at the end is dropped.

    If sound batches precede a damaged one, only they are returned: a later fetch at its offset has the damaged one
    first.
    """
    batches: list[BatchSpan] = []
    epochs: list[EpochStart] = []
    fault: Fault | None = None
    view = memoryview(records)
    at, start, due, total, looked = 0, 0, offset, len(view), 0
    while at + _PREFIX.size <= total:
        base_offset, length, magic = _PREFIX.unpack_from(view, at)
        end = at + length + LENGTH_OVERHEAD
        if magic == MAGIC and (end > total or at + HEADER_SIZE > total) and length >= HEADER_SIZE - LENGTH_OVERHEAD:
            break
        fault = _fault_of_prefix(magic, length, base_offset, due)
        if fault is not None:
            break
        _, _, batch_epoch, _, crc, attributes, last_delta, producer_id = _SPAN.unpack_from(view, at)
        last_offset = base_offset + last_delta
        if crc32c(view[at + CRC_START : end]) != crc:
            fault = Fault(ErrorCode.CORRUPT_MESSAGE, due, _base_at(view, end, due), "its CRC does not match")
            break
        if last_offset < offset and not batches:
            at = start = end  # a broker may answer from a batch before the one that has the offset
            continue
        if last_offset < due or (batches and base_offset < due):
            fault = Fault(ErrorCode.CORRUPT_MESSAGE, due, due + 1, f"base offset {base_offset} where {due} is due")
            break
        batches.append(_new(BatchSpan, (base_offset, last_offset, at - start, end - at, attributes, producer_id)))
        if not epochs or epochs[-1].epoch != batch_epoch:
            epochs.append(EpochStart(batch_epoch, base_offset))
        due, at = last_offset + 1, end
        if len(batches) % _STEP_BATCHES == 0 or at - looked >= _STEP_BYTES:
            looked = at
            await breathe(_STEP_BATCHES)
    if not batches:
        return Answered(fault=fault)
    aborted = with_ends(transactions.aborted, batches) if transactions.decided else _undecided(batches)
    data = view[start:at]
    whole = records if isinstance(records, bytes) and len(data) == total else bytes(data)
    return Answered(Chunk(min(offset, batches[0].base_offset), whole, batches, aborted), epochs=epochs)


def chunk_at(base_offset: int, batch: bytes | memoryview) -> Chunk:
    """Return a producer's batch as it is in the log at `base_offset`, after a broker has accepted it. Its leader epoch
    is unknown.
    """
    records = bytearray(batch)
    stamp(records, base_offset, _NO_EPOCH)
    _, _, _, _, _, attributes, last_delta, producer_id = _SPAN.unpack_from(records)
    span = BatchSpan(base_offset, base_offset + last_delta, 0, len(records), attributes, producer_id)
    return Chunk(base_offset, bytes(records), [span], aborted=None if has_transactions([span]) else ())


def _base_at(view: memoryview, at: int, due: int) -> int:
    """Return the base offset of the batch at `at`, or `due` + 1 if the base offset is not in the answer or is not above
    `due`.

    The record count of a damaged header is not used, because it could make sound batches behind it be skipped.
    """
    if at + _PREFIX.size <= len(view):
        base_offset, _, magic = _PREFIX.unpack_from(view, at)
        if magic == MAGIC and base_offset > due:
            return int(base_offset)
    return due + 1


def _fault_of_prefix(magic: int, length: int, base_offset: int, due: int) -> Fault | None:
    if magic == MAGIC and length >= HEADER_SIZE - LENGTH_OVERHEAD:
        return None
    if magic in (0, 1):
        text = f"records of magic {magic} at offset {base_offset}"
        return Fault(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, due, max(due, base_offset) + 1, text)
    return Fault(ErrorCode.CORRUPT_MESSAGE, due, max(due, base_offset) + 1, f"magic {magic}, length {length}")


def _undecided(batches: list[BatchSpan]) -> tuple[()] | None:
    return None if has_transactions(batches) else ()
