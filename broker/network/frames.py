"""The frames of one connection's input, cut from the bytes read.

    frame   int32 size (of what follows), then `size` bytes: request header and body

The size is checked before any byte is kept. Waiting bytes are kept unchanged; a large frame is collected separately,
in pieces, and joined once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from shareq.broker.network.request_limits import RequestLimits
from shareq.protocol.framing import SIZE_BYTES

_read_size: Final = struct.Struct(">i").unpack_from

_KEY_BYTES: Final = 2  # of a request's API key, with which its frame begins
LARGE_FRAME_BYTES: Final = 64 * 1024  # frames from here on are collected apart and joined once
SMALL_READ_BYTES: Final = 4 * 1024  # smaller reads of a large frame are joined at once: an object each would take more


class CloseConnection(Exception):
    """Error: the connection cannot continue, because of a malformed frame or an unknown RPC. The text is the logged
    reason.
    """


class Frames:
    """Bytes that were read but not handled. They begin at a frame's size field.

    `needed` is the number of bytes that make the next step possible: a size field, an API key, or a whole frame.
    `is_empty` is True while no bytes are held.
    """

    __slots__ = ("_at", "_missing", "_parts", "_rest", "_whole", "is_empty", "needed")

    def __init__(self) -> None:
        self._rest: bytes | bytearray = b""  # handled before _at
        self._at = 0
        self._parts: list[bytes | bytearray | memoryview] = []  # of a large frame, without its size
        self._whole: bytes | None = None  # such a frame, complete, in front of `_rest`
        self._missing = 0  # bytes of that frame which were not read yet
        self.needed = SIZE_BYTES
        self.is_empty = True

    @property
    def held(self) -> int:
        """The number of bytes that were read but not handled."""
        if self._missing:
            return self.needed - self._missing
        held = len(self._rest) - self._at
        return held if self._whole is None else held + SIZE_BYTES + len(self._whole)

    @property
    def collects(self) -> bool:
        """True while the rest of a large frame is expected."""
        return self._missing > 0

    @property
    def can_go_on(self) -> bool:
        """True if everything that the next step needs has arrived."""
        return self._whole is not None or (not self._missing and len(self._rest) - self._at >= self.needed)

    def add(self, data: bytes) -> None:
        """Add bytes that were read, at least one."""
        self.is_empty = False
        if self._missing:
            data = self._collect(data)
            if not data:
                return
        if self._at < len(self._rest):
            rest = self._rest
            if isinstance(rest, bytes):
                rest = bytearray(memoryview(rest)[self._at :])
            elif self._at:
                del rest[: self._at]
            rest += data
            self._rest, self._at = rest, 0
        else:
            self._rest, self._at = data, 0

    def complete(self, limits: RequestLimits, max_frame_bytes: int) -> Iterator[bytes]:
        """Yield the complete frames without their size fields; each one counts as handled afterwards.

        Nothing may be added during the iteration. Raise `CloseConnection` for a frame above `max_frame_bytes`, or
        larger than a request with its API key can be.
        """
        whole, self._whole = self._whole, None
        if whole is not None:
            yield whole
        rest = self._rest = bytes(self._rest)  # no copy of bytes
        at, end = self._at, len(rest)
        self.needed = SIZE_BYTES
        while end - at >= SIZE_BYTES:
            (size,) = _read_size(rest, at)
            if not 0 <= size <= max_frame_bytes:
                raise CloseConnection(f"frame of {size} bytes, at most {max_frame_bytes} are taken")
            begin = at + SIZE_BYTES
            stop = begin + size
            if stop > end:
                self.needed = SIZE_BYTES + size
                if size >= LARGE_FRAME_BYTES:
                    self._begin_large(rest, at, size, limits)
                return
            self._at = at = stop
            yield rest[begin:stop]

    def settle(self) -> None:
        """Drop the bytes of handled frames, so that a connection that keeps up holds no memory."""
        if self._at == len(self._rest):
            self._rest, self._at = b"", 0
            self.is_empty = not self._missing and self._whole is None
        elif self._at * 2 > len(self._rest):
            self._rest, self._at = bytes(memoryview(self._rest)[self._at :]), 0

    def clear(self) -> None:
        """Forget everything."""
        self._rest, self._at, self.needed = b"", 0, SIZE_BYTES
        self._parts, self._missing, self._whole = [], 0, None
        self.is_empty = True

    def _begin_large(self, data: bytes, at: int, size: int, limits: RequestLimits) -> None:
        """Begin to collect a large frame separately, if a request with its API key may be that large."""
        key_at = at + SIZE_BYTES
        if limits.largest_of is not None:
            if len(data) < key_at + _KEY_BYTES:
                self.needed = SIZE_BYTES + _KEY_BYTES
                return
            api_key = int.from_bytes(data[key_at : key_at + _KEY_BYTES], "big")
            if size > limits.largest_of(api_key):
                raise CloseConnection(f"frame of {size} bytes, requests with API key {api_key} have fewer")
        first = memoryview(data)[key_at:] if not at else data[key_at:]  # not with what was handled before
        self._parts, self._missing = [first], size - (len(data) - key_at)
        self._at = len(data)

    def _collect(self, data: bytes) -> bytes:
        """Add bytes to a large frame, which is joined once it is complete. Return the bytes behind it."""
        missing, last = self._missing, self._parts[-1]
        if len(data) >= missing:
            self._missing, self.needed = 0, SIZE_BYTES
            parts, self._parts = self._parts, []
            self._whole = b"".join([*parts, memoryview(data)[:missing]])
            return data[missing:]
        if len(data) >= SMALL_READ_BYTES:
            self._parts.append(data)
        elif isinstance(last, bytearray) and len(last) < LARGE_FRAME_BYTES:
            last += data
        else:
            self._parts.append(bytearray(data))
        self._missing -= len(data)
        return b""
