"""The four codecs: round trips, framings of other libraries, decompression bombs and garbage."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Generator
from random import Random

import cramjam
import pytest
from aiokafka.codec import snappy_decode, snappy_encode
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.compression import (
    STEP_BYTES,
    Compression,
    compress,
    compress_in_steps,
    compress_pieces,
    decompress,
    opens_at_once,
)

CODECS = list(Compression)
REAL_CODECS = CODECS[1:]


@given(st.sampled_from(CODECS), st.binary(max_size=300), st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_what_was_compressed_comes_back(codec: Compression, data: bytes, repeat: int) -> None:
    plain = data * repeat
    packed = compress(codec, plain)
    assert decompress(codec, packed, max(len(plain), 1)) == plain
    assert decompress(codec, memoryview(packed), len(plain) + 100) == plain


def stepped(steps: Generator[None, None, bytes]) -> tuple[int, bytes]:
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES, 3 * STEP_BYTES + 5])
def test_what_is_compressed_in_steps_comes_back(codec: Compression, size: int) -> None:
    data = (Random(size).randbytes(1_000) * (size // 1_000 + 1))[:size]
    pauses, packed = stepped(compress_in_steps(codec, data))
    assert pauses == (-(-size // STEP_BYTES) if codec is not Compression.NONE and size > STEP_BYTES else 0)
    assert decompress(codec, packed) == data
    if codec in (Compression.NONE, Compression.SNAPPY):
        assert packed == compress(codec, data)
    elif codec is not Compression.ZSTD:
        assert packed[:6] == compress(codec, data)[:6], "the same format, with the same flags"


@pytest.mark.parametrize("codec", CODECS)
def test_pieces_of_any_size_are_compressed_with_a_pause_after_each(codec: Compression) -> None:
    pieces = [Random(size).randbytes(size) for size in (1, STEP_BYTES, 100, 0, STEP_BYTES + 3)]
    pauses, packed = stepped(compress_pieces(codec, iter(pieces)))
    assert pauses == len(pieces)
    assert decompress(codec, packed) == b"".join(pieces)


@pytest.mark.parametrize("codec", CODECS)
def test_one_byte_more_than_allowed_is_refused(codec: Compression) -> None:
    packed = compress(codec, bytes(100_000))
    with pytest.raises(MalformedMessage, match="larger than 99999 bytes"):
        decompress(codec, packed, 99_999)


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_bomb_takes_no_more_memory_than_allowed(codec: Compression) -> None:
    """The compression ratio is checked before memory is allocated."""
    bomb = compress(codec, bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            decompress(codec, bomb, 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_rubbish_is_malformed_and_nothing_else(codec: Compression) -> None:
    rng = Random(codec)
    packed = compress(codec, rng.randbytes(2_000) + bytes(2_000))
    for _ in range(300):
        damaged = bytearray(packed[: rng.randint(0, len(packed))])
        for _ in range(rng.randint(0, 3)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(MalformedMessage):
            assert len(decompress(codec, bytes(damaged), 10_000)) <= 10_000


def test_snappy_is_xerial_framed_as_javas_clients_write_it() -> None:
    plain = bytes(range(256)) * 400
    ours = compress(Compression.SNAPPY, plain)
    assert ours[:8] == b"\x82SNAPPY\x00"
    assert bytes(snappy_decode(ours)) == plain
    assert decompress(Compression.SNAPPY, snappy_encode(plain), len(plain)) == plain


def test_lz4_blocks_do_not_depend_on_each_other() -> None:
    """Java's reader refuses linked blocks (KIP-57)."""
    packed = compress(Compression.LZ4, bytes(200_000))
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0b0010_0000  # the frame descriptor's block independence flag


def test_raw_snappy_as_librdkafka_writes_it_is_read_too() -> None:
    plain = b"librdkafka" * 100
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(plain)), 1_000) == plain


def test_snappy_blocks_count_together() -> None:
    packed = compress(Compression.SNAPPY, bytes(200_000))  # seven blocks, each of them small enough
    with pytest.raises(MalformedMessage, match="larger than 100000"):
        decompress(Compression.SNAPPY, packed, 100_000)


def test_snappy_block_that_promises_more_than_it_holds() -> None:
    with pytest.raises(MalformedMessage):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0f", 1_000_000)  # raw block of 4 GiB by its own account
    with pytest.raises(MalformedMessage, match="snappy block length cut short"):
        decompress(Compression.SNAPPY, compress(Compression.SNAPPY, b"")[:16] + b"\x00\x00\x03", 1_000_000)
    with pytest.raises(MalformedMessage, match="snappy block of 1000 bytes where 1 are left"):
        decompress(Compression.SNAPPY, compress(Compression.SNAPPY, b"")[:16] + b"\x00\x00\x03\xe8x", 1_000_000)


def test_snappy_in_one_block_alone_is_opened_at_once() -> None:
    packed = snappy_encode(b"v" * 1_000, xerial_compatible=False)
    assert opens_at_once(Compression.SNAPPY, memoryview(packed))
    assert not opens_at_once(Compression.SNAPPY, memoryview(compress(Compression.SNAPPY, b"v" * 1_000)))
    assert not opens_at_once(Compression.ZSTD, memoryview(packed))
