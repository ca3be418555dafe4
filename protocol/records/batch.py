"""Record batches of magic 2: a view of the header, checks, stamping, building, decoding.

    at  field                 type    notes
     0  BaseOffset            int64   assigned by the broker; outside length and CRC
     8  Length                int32   bytes after this field = size of the batch - 12
    12  PartitionLeaderEpoch  int32   set by the broker, outside the CRC; -1 unknown
    16  Magic                 int8    2
    17  CRC                   uint32  CRC-32C (Castagnoli) of bytes 21 to the end
    21  Attributes            int16   bits: 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 delete horizon
    23  LastOffsetDelta       int32   kept by compaction
    27  BaseTimestamp         int64   ms; with bit 6 the delete horizon instead
    35  MaxTimestamp          int64   ms; with bit 3 the append time of all records
    43  ProducerId            int64   -1 none
    51  ProducerEpoch         int16   -1 none
    53  BaseSequence          int32   -1 none
    57  RecordsCount          int32
    61  records                       compressed as one block; see `record_codec`

So base offset and leader epoch may be overwritten in place; anything else needs a new CRC.
Next offset = BaseOffset + LastOffsetDelta + 1. Sequence of record i = BaseSequence + its offset delta, after 2^31-1
comes 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.passes.records import CANNOT_TELL, NOT_FOUND, find_time
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, Compression, compress, decompress
from shareq.protocol.records.record_codec import (
    MIN_RECORD_BYTES,
    Columns,
    Headers,
    Record,
    RecordData,
    encode_record,
    read_columns,
)

__all__ = [
    "ATTRIBUTES_AT",
    "CODEC_MASK",
    "CONTROL",
    "HEADER_FORMAT",
    "HEADER_SIZE",
    "LENGTH_OVERHEAD",
    "MAGIC",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "PREFIX_SIZE",
    "TRANSACTIONAL",
    "BatchHeader",
    "Compression",
    "Headers",
    "Record",
    "RecordData",
    "attributes_of",
    "batch_headers",
    "build_batch",
    "crc_matches",
    "decode_columns",
    "decode_records",
    "encode_batch",
    "find_record",
    "last_sequence",
    "producer_of",
    "read_header",
    "recompress",
    "records_block",
    "records_view",
    "stamp",
    "stamp_producer",
    "stamped_prefix",
    "validate_batch",
    "with_append_time",
    "with_max_timestamp",
    "with_payload",
]

HEADER_SIZE: Final = 61
LENGTH_OVERHEAD: Final = 12  # BaseOffset and Length themselves
MAGIC: Final = 2
PREFIX_SIZE: Final = 16  # the part that `stamped_prefix` makes
CRC_START: Final = 21
ATTRIBUTES_AT: Final = 22  # the low byte, which has all the bits

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1

_CODECS: Final = tuple(Compression)  # by number; ten times as quick as asking the enumeration
_FLAGS: Final = LOG_APPEND_TIME | TRANSACTIONAL | CONTROL | DELETE_HORIZON
# How many bytes of records a byte can stand for, by codec; attributes that are no codec are not in here. Deflate
# expands at most 1032 times, and offset deltas that count up keep the others from packing records tighter than that.
_EXPANSION: Final = {0: 1, 1: 1032, 2: 1032, 3: 1032, 4: 1032}
_COPY_BYTES: Final = 1024  # copying so little is quicker than a view

HEADER_FORMAT: Final = ">qiibIhiqqqhii"
_HEADER: Final = struct.Struct(HEADER_FORMAT)
_FRONT: Final = struct.Struct(">qiibI")  # what the CRC is not of, and the CRC
_SUMMED: Final = struct.Struct(">hiqqqhii")  # what it is of: the header from the attributes on
_PREFIX: Final = struct.Struct(">qii")  # BaseOffset, Length, PartitionLeaderEpoch
_LENGTH: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMESTAMP: Final = struct.Struct(">q")
_PRODUCER: Final = struct.Struct(">qhi")  # ProducerId, ProducerEpoch, BaseSequence
_unpack_header: Final = _HEADER.unpack_from
_new: Final = tuple.__new__  # what BatchHeader._make does, without its detour through Python

stamped_prefix: Final = _PREFIX.pack
"""A function: `stamped_prefix(base_offset, length, leader_epoch)` returns the first 16 bytes of a batch, which are sent
in front of the rest of a batch that cannot be changed.
"""

producer_of: Final = struct.Struct(">43xqhi").unpack_from
"""`producer_of(batch)`: producer id, producer epoch, base sequence. Nothing is checked; struct.error below 57 bytes."""


def attributes_of(batch: bytes | bytearray | memoryview) -> int:
    """Return the attributes of a batch, without checking it; 0 if it is too short to have any.

    If every nanosecond counts and the length is known, index by `ATTRIBUTES_AT`: the call costs more than the read.
    """
    return batch[ATTRIBUTES_AT] if len(batch) > ATTRIBUTES_AT else 0


class BatchHeader(NamedTuple):
    """The 61 bytes before the records. `length` is the field, which is the size of the batch less 12."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """The bytes of the whole batch."""
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The offset of the last record, inclusive; compaction may have removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, -1 without sequence numbers."""
        return last_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def newest_timestamp(self) -> int:
        """The largest timestamp of the records; -1 if compaction has removed them all."""
        return self.max_timestamp if self.records_count else NO_TIMESTAMP

    @property
    def compression(self) -> int:
        """The codec bits. 5 to 7 are no codecs; `validate_batch` refuses them."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def has_delete_horizon(self) -> bool:
        """True if `base_timestamp` is the time from which on the batch's tombstones may be removed."""
        return self.attributes & DELETE_HORIZON != 0


def last_sequence(base_sequence: int, last_offset_delta: int) -> int:
    """Return the sequence number of a batch's last record. It counts up to 2^31-1, then from 0; -1 without sequence
    numbers.
    """
    if base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    last = base_sequence + last_offset_delta
    return last if last <= MAX_SEQUENCE else last - MAX_SEQUENCE - 1


def read_header(data: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """Return the header at `position`, unchecked. Raises struct.error if fewer than 61 bytes follow."""
    return _new(BatchHeader, _unpack_header(data, position))


def batch_headers(data: bytes | bytearray | memoryview, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each whole batch from `start` on, back to back; end at an incomplete one.

    CRCs are not checked. Raises `MalformedMessage` for a length that no batch can have.
    """
    end = len(data)
    while start + HEADER_SIZE <= end:
        header = _new(BatchHeader, _unpack_header(data, start))
        size = header.length + LENGTH_OVERHEAD
        if size < HEADER_SIZE:
            raise MalformedMessage(f"record batch with length {header.length}")
        if start + size > end:
            return
        yield start, header
        start += size


def validate_batch(data: bytes | bytearray | memoryview) -> BatchHeader | ErrorCode:
    """Return the header of `data` if it is exactly one sound batch; the records are not read. Otherwise return an error
    code.

    INVALID_RECORD: not exactly one batch, another magic, or numbers that contradict each other. CORRUPT_MESSAGE: a
    length below the header's, or a CRC that does not match. (Apache Kafka 4.3.1, LogValidator.)
    """
    size = len(data)
    if size < HEADER_SIZE:
        return ErrorCode.INVALID_RECORD
    header = _new(BatchHeader, _unpack_header(data))
    _, length, _, magic, crc, attributes, last_delta, _, _, producer_id, epoch, sequence, count = header
    if magic != MAGIC or length != size - LENGTH_OVERHEAD:
        too_short = magic == MAGIC and length < HEADER_SIZE - LENGTH_OVERHEAD
        return ErrorCode.CORRUPT_MESSAGE if too_short else ErrorCode.INVALID_RECORD
    if crc32c(data[CRC_START:] if size < _COPY_BYTES else memoryview(data)[CRC_START:]) != crc:
        return ErrorCode.CORRUPT_MESSAGE
    if (
        0 <= last_delta == count - 1
        and count * MIN_RECORD_BYTES <= (size - HEADER_SIZE) * _EXPANSION.get(attributes & ~_FLAGS, 0)
        and (producer_id == -1 or _producer_fields_agree(attributes, producer_id, epoch, sequence))
    ):
        return header
    return ErrorCode.INVALID_RECORD


def _producer_fields_agree(attributes: int, producer_id: int, epoch: int, sequence: int) -> bool:
    """Return True if a producer id comes with an epoch and, except in control batches, a sequence number.

    Without a producer id the other two have no meaning: aiokafka numbers such batches from 0.
    """
    if producer_id < 0 or epoch < 0:
        return False
    return sequence == NO_SEQUENCE if attributes & CONTROL else sequence >= 0


def stamp(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Write base offset and leader epoch into a batch in place; the CRC does not cover them."""
    _PREFIX.pack_into(batch, 0, base_offset, len(batch) - LENGTH_OVERHEAD, leader_epoch)


def stamp_producer(batch: bytearray, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
    """Write a producer's fields into a batch in place, and the new CRC."""
    _PRODUCER.pack_into(batch, 43, producer_id, producer_epoch, base_sequence)
    _write_crc(batch)


def with_append_time(batch: bytes | bytearray | memoryview, append_time_ms: int) -> bytearray:
    """Return a copy of the batch whose timestamp type is log append time, with MaxTimestamp set to that time, and a new
    CRC.
    """
    out = bytearray(batch)
    (attributes,) = _ATTRIBUTES.unpack_from(out, 21)
    _ATTRIBUTES.pack_into(out, 21, attributes | LOG_APPEND_TIME)
    _TIMESTAMP.pack_into(out, 35, append_time_ms)
    _write_crc(out)
    return out


def with_max_timestamp(batch: bytes | bytearray | memoryview, max_timestamp: int) -> bytearray:
    """Return a copy of the batch with that MaxTimestamp (ms) and a new CRC."""
    out = bytearray(batch)
    _TIMESTAMP.pack_into(out, 35, max_timestamp)
    _write_crc(out)
    return out


def recompress(
    batch: bytes | bytearray | memoryview, codec: Compression, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytearray:
    """Return a copy of the batch with its records in another codec, and a new CRC; the records are not checked.

    Raises `MalformedMessage` if they cannot be decompressed, or have more than `max_bytes` then.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(batch, 21)
    payload = decompress(_codec(attributes), memoryview(batch)[HEADER_SIZE:], max_bytes)
    return with_payload(batch, codec, compress(codec, payload))


def with_payload(batch: bytes | bytearray | memoryview, codec: Compression, payload: bytes) -> bytearray:
    """Return a copy of the batch with `payload`, the same records as `codec` has compressed them, and a new CRC."""
    out = bytearray(memoryview(batch)[:HEADER_SIZE])
    out += payload
    (attributes,) = _ATTRIBUTES.unpack_from(out, 21)
    _ATTRIBUTES.pack_into(out, 21, attributes & ~CODEC_MASK | codec)
    _LENGTH.pack_into(out, 8, len(out) - LENGTH_OVERHEAD)
    _write_crc(out)
    return out


def build_batch(
    records: Sequence[RecordData],
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    compression: Compression = Compression.NONE,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """Return a batch of the records, with offsets counting up from `base_offset`.

    A record without a timestamp gets `timestamp_ms`. Raises ValueError without records.
    """
    if not records:
        raise ValueError("a batch without records")
    first = records[0].timestamp_ms
    base_timestamp = max_timestamp = timestamp_ms if first is None else first
    payload = bytearray()
    for delta, (key, value, headers, own_time) in enumerate(records):
        timestamp = timestamp_ms if own_time is None else own_time
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        encode_record(payload, delta, timestamp - base_timestamp, key, value, headers)
    if compression is not Compression.NONE:
        payload = bytearray(compress(compression, payload))
    attributes = compression | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    count = len(records)
    summed = _SUMMED.pack(
        attributes, count - 1, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count
    )
    return _with_front(base_offset, leader_epoch, MAGIC, summed, payload)


def encode_batch(header: BatchHeader, payload: bytes | bytearray | memoryview) -> bytearray:
    """Return a whole batch: the header with a new length and CRC, and the records unchanged."""
    return _with_front(header.base_offset, header.leader_epoch, header.magic, _SUMMED.pack(*header[5:]), payload)


def _with_front(
    base_offset: int, leader_epoch: int, magic: int, summed: bytes, payload: bytes | bytearray | memoryview
) -> bytearray:
    """Return a whole batch from the part that its CRC covers: the header from the attributes on, and the records."""
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(payload)
    out = bytearray(_FRONT.pack(base_offset, length, leader_epoch, magic, crc32c(payload, crc32c(summed))))
    out += summed
    out += payload
    return out


def with_records(data: bytes, position: int, attributes: int, count: int, payload: bytes) -> bytes:
    """Return a copy of the batch at `position` of `data` with other `attributes` and records: `payload` is `count`
    records as bytes.
    """
    base_offset, _, leader_epoch, magic, _ = _FRONT.unpack_from(data, position)
    summed = _ATTRIBUTES.pack(attributes) + data[position + 23 : position + 57] + _LENGTH.pack(count)
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(payload)
    front = _FRONT.pack(base_offset, length, leader_epoch, magic, crc32c(payload, crc32c(summed)))
    return b"".join((front, summed, payload))


def decode_records(
    batch: bytes | bytearray | memoryview,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    exact: bool = False,
    *,
    first: int = -_INT64_MAX,
    last: int = _INT64_MAX,
) -> list[Record]:
    """Return the records of one batch with offsets from `first` to `last` (inclusive), with absolute offsets and
    timestamps. The CRC is not checked.

    `exact` is for records that are written again: see `record_codec`. Raises `MalformedMessage` for records that cannot
    be read or are larger than `max_bytes` when decompressed.
    """
    return list(map(Record, *decode_columns(batch, max_bytes, exact, first=first, last=last)))


def decode_columns(
    batch: bytes | bytearray | memoryview,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    exact: bool = False,
    *,
    first: int = -_INT64_MAX,
    last: int = _INT64_MAX,
) -> Columns:
    """Return the same as `decode_records`, as one list for each field."""
    header, data, pos = records_block(batch, max_bytes)
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    base_offset, base_time = header.base_offset, header.base_timestamp
    low, high = first - base_offset, last - base_offset
    return read_columns(data, pos, header.records_count, base_offset, base_time, append_time, exact, low, high)


def find_record(
    batch: bytes | bytearray | memoryview,
    timestamp: int,
    start_offset: int,
    upto: int,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> tuple[int, int] | None:
    """Return timestamp (ms) and offset of the first record with at least that timestamp, from `start_offset` on and
    below `upto`; None without one.

    Raises `MalformedMessage` for unreadable records before it, `TooLargeToOpen` for compressed ones that are larger
    than `max_bytes` when decompressed.
    """
    header, data, pos = records_block(batch, max(max_bytes, len(batch)))
    base_offset, base_time = header.base_offset, header.base_timestamp
    least = min(max(timestamp - base_time, -_INT64_MAX), _INT64_MAX)
    last = min(upto - 1 - base_offset, header.last_offset_delta)
    offset, delta = find_time(data, pos, header.records_count, least, max(start_offset - base_offset, 0), last)
    if offset == CANNOT_TELL:
        raise MalformedMessage("records that cannot be read")
    return None if offset == NOT_FOUND else (base_time + delta, base_offset + offset)


def records_block(
    batch: bytes | bytearray | memoryview, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> tuple[BatchHeader, bytes, int]:
    """Return the header of one batch, bytes that have its uncompressed records, and the position of the first record in
    these.

    Raises `MalformedMessage` for anything but one whole batch, and the errors of `decode_records`.
    """
    if len(batch) < HEADER_SIZE:
        raise MalformedMessage(f"record batch of {len(batch)} bytes")
    header = _new(BatchHeader, _unpack_header(batch))
    if header.magic != MAGIC or header.length != len(batch) - LENGTH_OVERHEAD or header.records_count < 0:
        raise MalformedMessage(f"not one record batch: magic {header.magic}, length {header.length}")
    codec = _codec(header.attributes)
    if codec is not Compression.NONE:
        return header, decompress(codec, memoryview(batch)[HEADER_SIZE:], max_bytes), 0
    if len(batch) > max_bytes + HEADER_SIZE:
        raise MalformedMessage(f"records are larger than {max_bytes} bytes")
    return header, bytes(batch), HEADER_SIZE  # no copy when these are bytes already


def crc_matches(data: bytes | bytearray | memoryview, position: int, header: BatchHeader) -> bool:
    """Return True if the CRC of the batch at `position` matches its bytes, which must be complete."""
    end = position + header.length + LENGTH_OVERHEAD
    return crc32c(memoryview(data)[position + CRC_START : end]) == header.crc


def records_view(
    data: bytes | bytearray | memoryview, position: int, header: BatchHeader, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes | memoryview:
    """Return the uncompressed records of the batch at `position`: a view of `data` if they are not compressed.

    Raises `MalformedMessage` for records that cannot be decompressed, or have more than `max_bytes` then.
    """
    records = memoryview(data)[position + HEADER_SIZE : position + header.length + LENGTH_OVERHEAD]
    codec = _codec(header.attributes)
    return records if codec is Compression.NONE else decompress(codec, records, max_bytes)


def _codec(attributes: int) -> Compression:
    codec = attributes & CODEC_MASK
    if codec >= len(_CODECS):
        raise MalformedMessage(f"compression codec {codec}")
    return _CODECS[codec]


def _write_crc(batch: bytearray) -> None:
    _CRC.pack_into(batch, 17, crc32c(memoryview(batch)[CRC_START:]))
