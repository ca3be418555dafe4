"""Frames: an int32 size, then that many bytes. Without I/O."""

from __future__ import annotations

from struct import Struct
from typing import Final

from shareq.protocol.primitives import MalformedMessage

_SIZE: Final = Struct(">i")
SIZE_BYTES: Final = 4


class FrameSplitter:
    """A splitter of a stream of bytes, fed as they arrive, into whole frames.

    `max_frame_bytes` limits a frame without its size field (`socket.request.max.bytes`). At most one incomplete frame
    is kept, and no memory is reserved for bytes that a size field announces.
    """

    __slots__ = ("_buffer", "_max_frame_bytes")

    def __init__(self, max_frame_bytes: int) -> None:
        self._buffer = bytearray()
        self._max_frame_bytes = max_frame_bytes

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes of an incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Return the frames that `data` completes, in order, without their size fields. Raises `MalformedMessage`.

        After an error the stream cannot be continued, and whole frames before the bad size are lost.
        """
        buffer = self._buffer
        if not buffer and type(data) is bytes:
            frames, pos = self._split(data)
            buffer += data[pos:]
            return frames
        buffer += data
        if len(buffer) < SIZE_BYTES or len(buffer) - SIZE_BYTES < self._size_at(buffer, 0):
            return []
        frames, pos = self._split(bytes(buffer))
        del buffer[:pos]
        return frames

    def _split(self, data: bytes) -> tuple[list[bytes], int]:
        frames: list[bytes] = []
        pos = 0
        while len(data) - pos >= SIZE_BYTES:
            start = pos + SIZE_BYTES
            end = start + self._size_at(data, pos)
            if end > len(data):
                break
            frames.append(data[start:end])
            pos = end
        return frames, pos

    def _size_at(self, data: bytes | bytearray, pos: int) -> int:
        size: int = _SIZE.unpack_from(data, pos)[0]
        if not 0 <= size <= self._max_frame_bytes:
            raise MalformedMessage(f"frame of {size} bytes; at most {self._max_frame_bytes} are accepted")
        return size


def frame(payload: bytes) -> bytes:
    """Return a payload with its size field in front."""
    return _SIZE.pack(len(payload)) + payload
