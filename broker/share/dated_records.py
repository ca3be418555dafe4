"""The times in the headers of records that a share fetch has read: which records wait, and which are refused. This
module is imported only for groups with delays.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.dates import NOTHING_DATED, Dated, dated
from shareq.broker.share.core.values import AckBatch, AcquiredRange
from shareq.broker.share.leader import OpenedBatch, SharePartitionLeader
from shareq.protocol.names import NOT_BEFORE
from shareq.protocol.records.batch import CODEC_MASK
from shareq.protocol.records.header_values import HeaderValues, add_header_values
from shareq.protocol.share import AcknowledgeType

_NAME: Final = NOT_BEFORE.encode()
_crc: Final = Struct(">I").unpack_from
_CRC_AT: Final = 17


def dated_in(leader: SharePartitionLeader, read: ReadResult, clock: Clock) -> Dated:
    """Return the dated records of a read of the leader's partition."""
    found = HeaderValues([], [])
    for span in read.batches:
        if span.attributes & CODEC_MASK:
            opened = _opened(leader, read.records, span.position, span.base_offset)
            found.offsets.extend(opened.offsets)
            found.values.extend(opened.values)
        else:
            add_header_values(read.records, span.position, _NAME, found)
    if not found.offsets:
        return NOTHING_DATED
    return dated(*found, clock.wall_ms(), clock.now_ms(), leader.core.settings.delay.max_ms)


def _opened(leader: SharePartitionLeader, records: bytes, position: int, base_offset: int) -> HeaderValues:
    (crc,) = _crc(records, position + _CRC_AT)
    last = leader.opened
    if last is None or (last.base_offset, last.crc) != (base_offset, crc):
        found = HeaderValues([], [])
        add_header_values(records, position, _NAME, found)
        last = leader.opened = OpenedBatch(base_offset, crc, found)
    return last.found


def refused_of(acquired: Sequence[AcquiredRange], refused: Sequence[tuple[int, bytes]]) -> list[AckBatch]:
    """Return rejections of the acquired records that are refused, ascending, with neighbours joined."""
    found: list[AckBatch] = []
    at = 0
    for offset, _ in refused:
        while at < len(acquired) and acquired[at].last_offset < offset:
            at += 1
        if at == len(acquired):
            break
        if acquired[at].first_offset > offset:
            continue
        first = offset
        if found and found[-1].last_offset == offset - 1:
            first = found.pop().first_offset
        found.append(AckBatch(first, offset, (AcknowledgeType.REJECT,)))
    return found
