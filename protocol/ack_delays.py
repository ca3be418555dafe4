"""Delays of released records, which shareq's clients send with acknowledgements, in a tagged field that only shareq
knows.

    AcknowledgePartition of ShareAcknowledge, FetchPartition of ShareFetch, tag 29554 (0x7372), for each range:
        int64   first offset
        int64   last offset, inclusive
        int64   delay in milliseconds, from when the broker applies it

The ranges are ascending and do not overlap. Released records at these offsets are delivered again only after the delay.
The tag is sent only if the group has shareq's property `shareq.delay.enable=true`; other brokers skip an unknown tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.primitives import Tags

TAG: Final = 29554
MOST: Final = 2_000
"""The most ranges of one partition in one request."""
_ROW: Final = Struct(">qqq")


class Later(NamedTuple):
    """The offsets `first_offset..last_offset` (inclusive), which are released and to be delivered again in
    `delay_ms`.
    """

    first_offset: int
    last_offset: int
    delay_ms: int


def tags_of(later: Sequence[Later]) -> Tags:
    """Return the tag with these delays; no tags without delays."""
    return ((TAG, b"".join(_ROW.pack(*each) for each in later)),) if later else ()


def delays_in(tags: Tags) -> Sequence[Later] | None:
    """Return the delays in a partition's tags; None if they are invalid."""
    value = next((value for tag, value in tags if tag == TAG), b"")
    if len(value) % _ROW.size or len(value) > MOST * _ROW.size:
        return None
    rows = [Later._make(row) for row in _ROW.iter_unpack(value)]
    reached = -1
    for first, last, _ in rows:
        if first <= reached or last < first:
            return None
        reached = last
    return rows
