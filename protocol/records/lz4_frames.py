"""The decompression of lz4 frames block by block, since no library that is used here can stop after a block. Pure.

    4  magic 04 22 4d 18; a skippable frame (5x 2a 4d 18, int32 length) is ignored
    1  flags: version 01, blocks stand alone, block checksums, content size, content checksum, 0, dictionary
    1  bits 4 to 6: largest block, 4: 64 KiB, four times more with each
    8  content size, if the flags say so
    1  second byte of the XXH32 of the descriptor
    then blocks:  int32 size, highest bit: not compressed; that many bytes; XXH32 of them, if the flags say so
    4  0, and the XXH32 of the content, if the flags say so

Numbers are little-endian. Each block is decompressed as the end of a frame of its own. If blocks depend on earlier
ones, that frame begins with the last 64 KiB of content, to which the block may refer, as a block that is not
compressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage

_MAGIC: Final = 0x184D2204
_SKIPPABLE: Final = 0x184D2A50
_NUMBER: Final = struct.Struct("<I")
_LONG: Final = struct.Struct("<Q")
_VERSION: Final = 0x40
_ALONE, _BLOCK_SUMS, _HAS_SIZE, _CONTENT_SUM, _RESERVED, _DICTIONARY = 0x20, 0x10, 0x08, 0x04, 0x02, 0x01
_PLAIN: Final = 1 << 31  # of a block's size: not compressed
_HISTORY_BYTES: Final = 64 * 1024
_END: Final = bytes(4)


def lz4_blocks(data: memoryview) -> Iterator[bytes]:
    """Yield the content of all frames block by block, at most 4 MiB each. Raise MalformedMessage."""
    if not data:
        raise MalformedMessage("lz4 data cannot be read: it is empty")
    reader = _Reader(data)
    while reader.left:
        magic = reader.number()
        if magic & ~0xF == _SKIPPABLE:
            reader.take(reader.number())
        elif magic == _MAGIC:
            yield from _frame(reader)
        else:
            raise MalformedMessage(f"lz4 data cannot be read: a frame that begins with {magic:#x}")


class _Reader:
    """The unread bytes of the input."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        if size > self.left:
            raise MalformedMessage("lz4 data cut short")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        number: int = _NUMBER.unpack(self.take(4))[0]
        return number


class _Descriptor(NamedTuple):
    """The descriptor of a frame. `size`: the bytes of its content, None if it does not say."""

    flags: int
    largest: int
    size: int | None

    @property
    def start(self) -> bytes:
        """Return the header of a frame with the same kind of blocks and no checksums; its block size has room for the
        history, too.
        """
        descriptor = bytes((_VERSION | self.flags & _ALONE, self.largest))
        return _NUMBER.pack(_MAGIC) + descriptor + bytes((_sum(descriptor) >> 8 & 0xFF,))

    @property
    def largest_bytes(self) -> int:
        return 1 << (8 + 2 * (self.largest >> 4))


def _descriptor(reader: _Reader) -> _Descriptor:
    first = bytes(reader.take(2))
    flags, largest = first
    if flags & 0xC0 != _VERSION or flags & (_RESERVED | _DICTIONARY) or largest & 0x8F or largest >> 4 < 4:
        raise MalformedMessage(f"lz4 data cannot be read: a frame with flags {flags:#x} and {largest:#x}")
    size = bytes(reader.take(_LONG.size)) if flags & _HAS_SIZE else b""
    if reader.take(1)[0] != _sum(first + size) >> 8 & 0xFF:
        raise MalformedMessage("lz4 data cannot be read: the checksum of a frame's header is wrong")
    return _Descriptor(flags, largest, _LONG.unpack(size)[0] if size else None)


def _frame(reader: _Reader) -> Iterator[bytes]:
    from xxhash import xxh32

    descriptor = _descriptor(reader)
    content = xxh32()
    total = 0
    history = b""
    while size := reader.number():
        block = reader.take(size & ~_PLAIN)
        if descriptor.flags & _BLOCK_SUMS and reader.number() != _sum(block):
            raise MalformedMessage("lz4 data cannot be read: the checksum of a block is wrong")
        opened = _plain(block, descriptor) if size & _PLAIN else _opened(block, descriptor, history)
        if descriptor.flags & _CONTENT_SUM:
            content.update(opened)
        if not descriptor.flags & _ALONE:
            history = (history + opened)[-_HISTORY_BYTES:]
        total += len(opened)
        yield opened
    if descriptor.size is not None and descriptor.size != total:
        raise MalformedMessage(f"lz4 data cannot be read: {total} bytes in a frame of {descriptor.size}")
    if descriptor.flags & _CONTENT_SUM and reader.number() != content.intdigest():
        raise MalformedMessage("lz4 data cannot be read: the checksum of a frame is wrong")


def _plain(block: memoryview, descriptor: _Descriptor) -> bytes:
    if len(block) > descriptor.largest_bytes:
        raise MalformedMessage(f"lz4 data cannot be read: a block of {len(block)} bytes")
    return bytes(block)


def _opened(block: memoryview, descriptor: _Descriptor, history: bytes) -> bytes:
    import cramjam

    before = _NUMBER.pack(len(history) | _PLAIN) + history if history else b""
    frame = b"".join((descriptor.start, before, _NUMBER.pack(len(block)), block, _END))
    out = bytearray(len(history) + descriptor.largest_bytes)
    try:
        written: int = cramjam.lz4.decompress_into(frame, out)
    except cramjam.DecompressionError as error:
        raise MalformedMessage(f"lz4 data cannot be read: {error}") from error
    return bytes(memoryview(out)[len(history) : written])


def _sum(data: bytes | memoryview) -> int:
    from xxhash import xxh32_intdigest

    number: int = xxh32_intdigest(data)
    return number
