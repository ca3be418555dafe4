"""Reasons of releases and rejections, which shareq's clients send with acknowledgements, in a tagged field that only
shareq knows.

    AcknowledgePartition of ShareAcknowledge, tag 29553 (0x7371), any number of times one after the other:
        int64   offset
        uint16  length, then that many bytes of UTF-8: the reason

The tag is sent only to brokers that offer StartRedrive, which only shareq does. Other brokers skip an unknown tag. A
reason has one effect: it becomes a header of the dead letter (`__dlq.errors.shareq.error`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Final

from shareq.protocol.primitives import Tags

TAG: Final = 29553
MOST_BYTES: Final = 500
"""The most bytes of one reason; the rest is cut off."""
MOST: Final = 500
"""The most reasons of one partition in one request."""
_HEAD: Final = Struct(">qH")


def tags_of(reasons: Mapping[int, str]) -> Tags:
    """Return the tag with the reasons of these offsets; no tags without reasons."""
    value = bytearray()
    for offset, reason in list(reasons.items())[:MOST]:
        text = cut(reason)
        value += _HEAD.pack(offset, len(text)) + text
    return ((TAG, bytes(value)),) if value else ()


def cut(reason: str) -> bytes:
    """Return a reason as it is sent: whole characters, up to MOST_BYTES bytes."""
    return reason.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore").encode()


def reasons_in(tags: Tags) -> Iterator[tuple[int, bytes]]:
    """Return the offsets and reasons of a partition's tags, up to an unreadable one, and at most MOST."""
    for tag, value in tags:
        if tag != TAG:
            continue
        at = 0
        for _ in range(MOST):
            if at + _HEAD.size > len(value):
                return
            offset, size = _HEAD.unpack_from(value, at)
            at += _HEAD.size + size
            if size > MOST_BYTES or at > len(value):
                return
            yield offset, value[at - size : at]
