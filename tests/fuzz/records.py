"""Record batches as a producer writes them, and with mutated header, counts, records and compression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from devtools.clients.requests import TIMESTAMP_MS
from shareq.protocol.records.batch import Compression, RecordData, build_batch, encode_batch, read_header
from shareq.protocol.records.compression import compress
from tests.fuzz.facts import Producer
from tests.support.kafka.raw_batches import raw_batch, raw_headers, raw_record

CODECS: Final = (
    Compression.NONE,
    Compression.NONE,
    Compression.GZIP,
    Compression.SNAPPY,
    Compression.LZ4,
    Compression.ZSTD,
)
SIZES: Final = (1, 1, 2, 3, 10)
BOMB_BYTES: Final = 8 * 1024 * 1024
_HEADER: Final = 61


def batch(rng: Random, producer: Producer | None, place: tuple[str, int], *, transactional: bool) -> bytes:
    """Return a batch of a few records; with a producer the next of its sequence, which advances."""
    records = [
        RecordData(
            rng.choice((b"k0", b"k1", None if place[0] != "compacted" else b"k2")),
            rng.randbytes(rng.choice((0, 5, 60))),
        )
        for _ in range(rng.choice(SIZES))
    ]
    if place[0] == "compacted":
        records = [each._replace(key=each.key or b"k3") for each in records]
    codec = rng.choice(CODECS)
    if producer is None:
        return bytes(build_batch(records, timestamp_ms=TIMESTAMP_MS, compression=codec))
    sequence = producer.sequences.get(place, 0)
    producer.sequences[place] = (sequence + len(records)) % 2**31
    return bytes(
        build_batch(
            records,
            timestamp_ms=TIMESTAMP_MS,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            compression=codec,
            transactional=transactional,
        )
    )


# -- bends of a batch; each takes and returns the whole field


Bend = Callable[[Random, bytes], bytes]


def _header_field(rng: Random, data: bytes) -> bytes:
    """Change a number in the header, with a matching CRC or a wrong one."""
    if len(data) < _HEADER:
        return data
    header = read_header(data)
    name = rng.choice(header._fields)
    before = getattr(header, name)
    bits = 8 if name == "magic" else 16 if name in ("attributes", "producer_epoch") else 32
    bits = 64 if name in ("base_offset", "base_timestamp", "max_timestamp", "producer_id") else bits
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    values = [low, -1, 0, 1, high, max(low, before - 1), min(high, before + 1), before ^ 1 << rng.randrange(bits - 1)]
    value = rng.choice(values)
    if name == "crc":
        value &= 2**32 - 1
    changed = header._replace(**{name: value})
    try:
        fitting = encode_batch(changed, data[_HEADER:])
    except Exception:  # a number out of range for its field: as it is
        return data
    if name in ("length", "crc", "magic", "base_offset", "leader_epoch"):
        return _raw_field(data, name, value)
    return bytes(fitting)


_PLACES: Final = {"base_offset": (0, 8), "length": (8, 4), "leader_epoch": (12, 4), "magic": (16, 1), "crc": (17, 4)}


def _raw_field(data: bytes, name: str, value: int) -> bytes:
    at, width = _PLACES.get(name, (8, 4))
    return data[:at] + value.to_bytes(width, "big", signed=name != "crc") + data[at + width :]


def _damaged_payload(rng: Random, data: bytes) -> bytes:
    if len(data) <= _HEADER:
        return data
    payload = bytearray(data[_HEADER:])
    for _ in range(rng.choice((1, 1, 3))):
        payload[rng.randrange(len(payload))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(encode_batch(read_header(data), payload))


def _shorter_payload(rng: Random, data: bytes) -> bytes:
    if len(data) <= _HEADER:
        return data
    return bytes(encode_batch(read_header(data), data[_HEADER : rng.randrange(_HEADER, len(data))]))


def _odd_records(rng: Random, _data: bytes) -> bytes:
    odd: Sequence[bytes] = (
        raw_record(rng.choice((0, -1, 5, 2**31 - 1))),
        raw_record(key=rng.choice((2**31 - 1, -2, 100))),
        raw_record(value=rng.choice((2**31 - 1, -2, 100))),
        raw_record(longer=rng.choice((-3, 1, 1000))),
        raw_record(headers=raw_headers(rng.choice((1, -1, 2**30)), b"k", b"v")),
        raw_record(headers=raw_headers(1, None, b"v")),
        raw_record(headers=raw_headers(1, b"\xed\xa0\x80", b"v")),
        raw_record(time_delta=b"\xff" * rng.choice((9, 10, 11))),
    )
    return raw_batch(raw_record(0), rng.choice(odd), codec=rng.choice(CODECS), timestamp_ms=TIMESTAMP_MS)


def _bomb(rng: Random, _data: bytes) -> bytes:
    """Return a small batch with a huge decompressed size: one record, many, or none; or a nested stream."""
    codec = rng.choice((Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY))
    size = rng.choice((100_000, 1_000_000, BOMB_BYTES))
    match rng.randrange(3):
        case 0:
            return raw_batch(raw_record(value=bytes(size)), codec=codec, timestamp_ms=TIMESTAMP_MS)
        case 1:
            count = size // 200
            records = b"".join(raw_record(delta, value=None) for delta in range(count))
            return raw_batch(records, count=count, last_offset_delta=count - 1, codec=codec, timestamp_ms=TIMESTAMP_MS)
        case _:
            header = read_header(raw_batch(raw_record(0), codec=codec, timestamp_ms=TIMESTAMP_MS))
            return bytes(encode_batch(header, compress(codec, bytes(size))))


def _doubled(_rng: Random, data: bytes) -> bytes:
    """Return two batches where only one is allowed."""
    return data + data


def _no_records(rng: Random, _data: bytes) -> bytes:
    return (
        bytes(encode_batch(read_header(raw_batch(raw_record(0), count=0, timestamp_ms=TIMESTAMP_MS)), b""))
        if rng
        else b""
    )


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _rubbish(rng: Random, _data: bytes) -> bytes:
    return rng.randbytes(rng.choice((1, 12, 60, 61, 200)))


def _old_magic(rng: Random, data: bytes) -> bytes:
    return _raw_field(data, "magic", rng.choice((0, 1, 3, -1))) if len(data) > _HEADER else data


_BENDS: Final[tuple[Bend, ...]] = (
    _header_field,
    _header_field,
    _header_field,
    _damaged_payload,
    _damaged_payload,
    _shorter_payload,
    _odd_records,
    _odd_records,
    _doubled,
    _no_records,
    _cut,
    _rubbish,
    _old_magic,
)
_BOMBS_IN: Final = 60  # one bend in so many: they take long


def bent(rng: Random, data: bytes) -> tuple[str, bytes]:
    """Return a records field mutated in one way, and the mutation's name."""
    bend = _bomb if rng.randrange(_BOMBS_IN) == 0 else rng.choice(_BENDS)
    return bend.__name__.strip("_").replace("_", " "), bend(rng, data)
