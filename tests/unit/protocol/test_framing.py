"""Splitting a stream into frames."""

from __future__ import annotations

import random

import pytest

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.framing import FrameSplitter, frame


def test_frames_that_arrive_whole() -> None:
    splitter = FrameSplitter(100)
    assert splitter.feed(frame(b"one") + frame(b"") + frame(b"three")) == [b"one", b"", b"three"]
    assert splitter.buffered_bytes == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_frames_that_arrive_in_pieces(kind: type[bytes | bytearray | memoryview]) -> None:
    rng = random.Random("pieces")
    frames = [rng.randbytes(rng.choice((0, 1, 5, 300))) for _ in range(200)]
    stream = b"".join(map(frame, frames))
    for piece in (1, 3, 7, 64, 1000):
        splitter = FrameSplitter(300)
        found: list[bytes] = []
        for at in range(0, len(stream), piece):
            found += splitter.feed(kind(stream[at : at + piece]))
        assert found == frames
        assert splitter.buffered_bytes == 0


def test_an_incomplete_frame_waits() -> None:
    splitter = FrameSplitter(100)
    assert splitter.feed(frame(b"one") + b"\0\0") == [b"one"]
    assert splitter.buffered_bytes == 2
    assert splitter.feed(b"\0\x02t") == []
    assert splitter.feed(b"w" + frame(b"three")) == [b"tw", b"three"]


@pytest.mark.parametrize("size", [101, 2**31 - 1, -1, -(2**31)])
def test_a_size_out_of_bounds_is_refused_as_soon_as_it_is_read(size: int) -> None:
    splitter = FrameSplitter(100)
    with pytest.raises(MalformedMessage, match=f"frame of {size} bytes; at most 100"):
        splitter.feed(size.to_bytes(4, "big", signed=True))
    in_pieces = FrameSplitter(100)
    assert in_pieces.feed(size.to_bytes(4, "big", signed=True)[:3]) == []
    with pytest.raises(MalformedMessage):
        in_pieces.feed(size.to_bytes(4, "big", signed=True)[3:])


def test_the_largest_frame_is_accepted() -> None:
    assert FrameSplitter(100).feed(frame(bytes(100))) == [bytes(100)]
