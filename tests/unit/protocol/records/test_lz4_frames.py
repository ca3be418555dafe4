"""Reading lz4 block by block: same content and same errors as the library's reader of whole frames."""

from __future__ import annotations

import random
import struct

import cramjam
import pytest

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.compression import Compression, compress, decompress
from shareq.protocol.records.lz4_frames import lz4_blocks

SKIPPED = struct.pack("<II", 0x184D2A53, 4) + b"abcd"


def content_of(seed: int, size: int) -> bytes:
    """Return content some of whose parts repeat over up to 60 KB."""
    chance = random.Random(seed)
    content = bytearray(chance.randbytes(1_000))
    while len(content) < size:
        back = chance.randrange(1, min(len(content), 60_000))
        at = len(content) - back
        content += content[at : at + chance.randrange(2_000)] if chance.random() < 0.7 else chance.randbytes(300)
    return bytes(content[:size])


def frame_of(content: bytes, *, linked: bool = False, checksum: bool = False) -> bytes:
    compressor = cramjam.lz4.Compressor(content_checksum=checksum, block_linked=linked)
    compressor.compress(content)
    return bytes(compressor.finish())


def opened(data: bytes) -> bytes:
    return b"".join(lz4_blocks(memoryview(data)))


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 700_000])
def test_blocks_have_what_the_frame_has(size: int, checksum: bool, linked: bool) -> None:
    content = content_of(size, size) if size else b""
    data = frame_of(content, linked=linked, checksum=checksum)
    assert decompress(Compression.LZ4, data) == content
    blocks = list(lz4_blocks(memoryview(data)))
    assert b"".join(blocks) == content
    assert max(map(len, blocks), default=0) <= 65_536


def test_frames_behind_each_other_and_what_is_to_be_skipped_are_read() -> None:
    first, second = content_of(1, 100_000), content_of(2, 100_000)
    data = SKIPPED + frame_of(first, linked=True) + SKIPPED + frame_of(second, checksum=True) + SKIPPED
    assert opened(data) == decompress(Compression.LZ4, data) == first + second


def test_blocks_with_checksums_content_sizes_and_no_compression_are_read() -> None:
    from xxhash import xxh32_intdigest

    content = content_of(3, 60_000)
    plain, packed = content[:30_000], bytes(cramjam.lz4.compress_block(content[30_000:], store_size=False))
    descriptor = bytes((0x78, 0x40)) + struct.pack("<Q", len(content))
    start = struct.pack("<I", 0x184D2204) + descriptor
    start += bytes((xxh32_intdigest(descriptor) >> 8 & 0xFF,))
    blocks = struct.pack("<I", len(plain) | 1 << 31) + plain + struct.pack("<I", xxh32_intdigest(plain))
    blocks += struct.pack("<I", len(packed)) + packed + struct.pack("<I", xxh32_intdigest(packed))
    data = start + blocks + bytes(4)
    assert opened(data) == decompress(Compression.LZ4, data) == content


def test_what_is_no_frame_is_refused_as_the_library_refuses_it() -> None:
    """Every byte of small frames is changed, and every end cut."""
    content = content_of(4, 3_000)
    data = frame_of(content, checksum=True)
    chance = random.Random(5)
    broken = [data[:size] for size in range(0, len(data), 7)] + [data + b"x", data + data[:9], b""]
    for at in [*range(16), *range(16, len(data) - 8, 11), *range(len(data) - 8, len(data))]:
        bent = bytearray(data)
        bent[at] ^= 1 << chance.randrange(8)
        broken.append(bytes(bent))
    refused = 0
    for each in broken:
        try:
            expected = decompress(Compression.LZ4, each)
        except MalformedMessage:
            refused += 1
            with pytest.raises(MalformedMessage):
                opened(each)
        else:
            assert opened(each) == expected
    assert refused > len(broken) / 2
    with pytest.raises(MalformedMessage, match="the checksum of a frame is wrong"):
        opened(data[:-1] + bytes((data[-1] ^ 1,)))


def test_one_block_at_a_time_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 MB at once took 85 ms."""
    calls: list[int] = []
    into = cramjam.lz4.decompress_into

    def counted(data: bytes, out: bytearray) -> int:
        calls.append(len(out))
        return int(into(data, out))

    data = compress(Compression.LZ4, bytes(4_000_000))
    monkeypatch.setattr(cramjam.lz4, "decompress_into", counted)
    blocks = lz4_blocks(memoryview(data))
    for done in range(1, 10):
        assert len(next(blocks)) == 65_536
        assert len(calls) == done
    assert max(calls) <= 65_536
