"""Delays of released records, which our clients send with acknowledgements: a tagged field of our own.

    AcknowledgePartition of ShareAcknowledge, FetchPartition of ShareFetch, tag 29554 (0x7372), for each range:
        int64   first offset
        int64   last offset, inclusive
        int64   delay in milliseconds, from when the broker applies it

The ranges ascend and are disjoint. Released records among these offsets are delivered again only after the delay. The
tag is sent only if the group has `shareq.delay.enable=true`, a property of ours; other brokers skip an unknown tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from shareq.protocol.primitives import Tags

TAG: Final = 29554
MOST: Final = 2_000
"""Ranges in one request, of one partition."""
_ROW: Final = Struct(">qqq")


class Later(NamedTuple):
    """Offsets `first_offset..last_offset` (inclusive) that are given back, to be delivered in `delay_ms` again."""

    first_offset: int
    last_offset: int
    delay_ms: int


def tags_of(later: Sequence[Later]) -> Tags:
    """Return the tag with the times of the next deliveries; none without any."""
    return ((TAG, b"".join(_ROW.pack(*each) for each in later)),) if later else ()


def delays_in(tags: Tags) -> Sequence[Later] | None:
    """Return the content of a partition's tags; None if it is invalid."""
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
