r"""Compression and decompression with the four codecs of record batches. The decompressed size is limited before memory
is taken.

gzip, lz4 and zstd are plain frames of those formats. Snappy is xerial's framing, as Apache Kafka's clients write it:

    8  magic   82 53 4e 41 50 50 59 00  ("\x82SNAPPY\x00")
    4  version           int32, 1
    4  compatible since  int32, 1
    then blocks:  int32 length, that many bytes of raw snappy

librdkafka writes one block of raw snappy without any framing; Java's reader takes both, and so does this one.

cramjam is imported on first use: a broker listens earlier without it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from enum import IntEnum
from typing import Final

from shareq.protocol.errors import MalformedMessage

MAX_DECOMPRESSED_BYTES: Final = 64 * 1024 * 1024
"""The most bytes that readers decompress of one batch. Producers may send less: see `broker/log/admission.py`."""

STEP_BYTES: Final = 64 * 1024
"""The bytes that are compressed between two pauses: two or three milliseconds of gzip, less with other codecs."""

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_LENGTH: Final = struct.Struct(">i")
_FIRST_GUESS_BYTES: Final = 64 * 1024
_GZIP_SIZE: Final = struct.Struct("<I")  # at the end of a gzip member: its size uncompressed, modulo 2^32
_TOO_SMALL: Final = "failed to write whole buffer"  # cramjam: the output buffer was full


class Compression(IntEnum):
    """The codecs: bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TooLargeToOpen(MalformedMessage):
    """The error for compressed records that have more bytes than allowed when decompressed."""


def compress(codec: Compression, data: bytes | bytearray | memoryview) -> bytes:
    """Return the records of a batch compressed; with NONE, a copy."""
    if codec is Compression.NONE:
        return bytes(data)
    import cramjam

    if codec is Compression.GZIP:
        return bytes(cramjam.gzip.compress(data))
    if codec is Compression.LZ4:
        # Java's reader refuses frames whose blocks depend on each other (KIP-57).
        compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
        compressor.compress(bytes(data))
        return bytes(compressor.finish())
    if codec is Compression.ZSTD:
        return bytes(cramjam.zstd.compress(data))
    return _xerial_compress(memoryview(data))


def compress_in_steps(codec: Compression, data: bytes) -> Generator[None, None, bytes]:
    """Return the same as `compress`, with a pause after every `STEP_BYTES`; shorter records are compressed at once."""
    if codec is Compression.NONE or len(data) <= STEP_BYTES:
        return compress(codec, data)
    return (yield from compress_pieces(codec, (data[at : at + STEP_BYTES] for at in range(0, len(data), STEP_BYTES))))


def compress_pieces(codec: Compression, pieces: Iterable[bytes]) -> Generator[None, None, bytes]:
    """Return all pieces compressed as `compress` does, in any codec, with a pause after each piece."""
    if codec is Compression.NONE or codec is Compression.SNAPPY:
        parts = [_XERIAL_HEADER] if codec else []
        for piece in pieces:
            parts += _xerial_blocks(memoryview(piece)) if codec else (piece,)
            yield
        return b"".join(parts)
    import cramjam

    compressor: cramjam.gzip.Compressor | cramjam.lz4.Compressor | cramjam.zstd.Compressor
    if codec is Compression.GZIP:
        compressor = cramjam.gzip.Compressor()
    elif codec is Compression.LZ4:
        compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)  # as above
    else:
        compressor = cramjam.zstd.Compressor()
    for piece in pieces:
        compressor.compress(piece)
        yield
    return bytes(compressor.finish())


def decompress(
    codec: Compression, data: bytes | bytearray | memoryview, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Return the records of a batch uncompressed, at most `max_bytes`.

    Raises `MalformedMessage` for bytes that the codec cannot read, and `TooLargeToOpen` for more output than allowed;
    output beyond `max_bytes` is never produced.
    """
    if codec is Compression.NONE:
        if len(data) > max_bytes:
            raise _too_large(max_bytes)
        return bytes(data)
    import cramjam

    try:
        if codec is Compression.SNAPPY:
            return b"".join(_snappy_blocks(memoryview(data), max_bytes))
        return _decompress_growing(codec, data, max_bytes)
    except cramjam.DecompressionError as error:
        raise MalformedMessage(f"{codec.name.lower()} data cannot be read: {error}") from error


def _decompress_growing(codec: Compression, data: bytes | bytearray | memoryview, max_bytes: int) -> bytes:
    """Decompress into a buffer of a guessed size, which is made four times larger each time it was too small.

    The formats have no size that can be trusted, so only a fixed output buffer limits what a decompression bomb can
    take. The size at the end of gzip is used as the first guess.
    """
    import cramjam

    room = min(max(4 * len(data), _FIRST_GUESS_BYTES), max_bytes)
    if codec is Compression.GZIP:
        into = cramjam.gzip.decompress_into
        if len(data) >= _GZIP_SIZE.size:
            (size,) = _GZIP_SIZE.unpack_from(data, len(data) - _GZIP_SIZE.size)
            room = min(max(size, 1), max_bytes)
    elif codec is Compression.LZ4:
        into = cramjam.lz4.decompress_into
    else:
        into = cramjam.zstd.decompress_into
    while True:
        out = bytearray(room)
        try:
            written = into(data, out)
        except cramjam.DecompressionError as error:
            if _TOO_SMALL not in str(error):
                raise
            if room >= max_bytes:
                raise _too_large(max_bytes) from error
            room = min(4 * room, max_bytes)
        else:
            return bytes(memoryview(out)[:written])


def _xerial_compress(data: memoryview) -> bytes:
    return b"".join([_XERIAL_HEADER, *_xerial_blocks(data)])


def _xerial_blocks(data: memoryview) -> Iterator[bytes]:
    import cramjam

    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        yield _LENGTH.pack(len(block))
        yield block


def opens_at_once(codec: Compression, data: memoryview) -> bool:
    """Return True if these records can only be decompressed in one call: snappy in a single block."""
    return codec is Compression.SNAPPY and bytes(data[:8]) != _XERIAL_MAGIC


def snappy_blocks(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    """Yield the content of snappy data block by block, in xerial's framing or as a single block without it. Raises the
    errors of `decompress`.
    """
    import cramjam

    try:
        yield from _snappy_blocks(data, max_bytes)
    except cramjam.DecompressionError as error:
        raise MalformedMessage(f"snappy data cannot be read: {error}") from error


def _snappy_blocks(data: memoryview, max_bytes: int) -> Iterator[bytes]:
    if bytes(data[:8]) != _XERIAL_MAGIC:
        yield _snappy_block(data, max_bytes)
        return
    total = 0
    pos = len(_XERIAL_HEADER)
    while pos < len(data):
        if pos + 4 > len(data):
            raise MalformedMessage("snappy block length cut short")
        (length,) = _LENGTH.unpack_from(data, pos)
        pos += 4
        if length < 0 or length > len(data) - pos:
            raise MalformedMessage(f"snappy block of {length} bytes where {len(data) - pos} are left")
        part = _snappy_block(data[pos : pos + length], max_bytes, total)
        yield part
        total += len(part)
        pos += length


def _snappy_block(block: memoryview, max_bytes: int, before: int = 0) -> bytes:
    import cramjam

    size: int = cramjam.snappy.decompress_raw_len(block)  # from the block's own preamble: nothing is decompressed
    if before + size > max_bytes:
        raise _too_large(max_bytes)
    out = bytearray(size)
    written: int = cramjam.snappy.decompress_raw_into(block, out)
    return bytes(memoryview(out)[:written])


def _too_large(max_bytes: int) -> TooLargeToOpen:
    return TooLargeToOpen(f"records are larger than {max_bytes} bytes when decompressed")
