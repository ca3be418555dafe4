"""The times of records that a share fetch has read: which records wait, which are refused, and which have expired. This
module is imported only for groups with delays or a time to live.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import merge
from operator import attrgetter
from struct import Struct
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.share.core.dates import NOTHING_DATED, Dated, dated
from shareq.broker.share.core.values import AckBatch, AcquiredRange
from shareq.broker.share.core.window.expiry import MOST_EXPIRED, Expired, joined, past
from shareq.broker.share.leader import OpenedBatch, SharePartitionLeader
from shareq.protocol.names import NOT_AFTER, NOT_BEFORE
from shareq.protocol.records.batch import CODEC_MASK
from shareq.protocol.records.header_values import HeaderValues, add_header_values
from shareq.protocol.records.older import records_older
from shareq.protocol.share import AcknowledgeType

_NOT_BEFORE: Final = NOT_BEFORE.encode()
_NOT_AFTER: Final = NOT_AFTER.encode()
_NO_VALUES: Final = HeaderValues([], [])
_crc: Final = Struct(">I").unpack_from
_CRC_AT: Final = 17
_first_offset = attrgetter("first_offset")


def dated_in(leader: SharePartitionLeader, read: ReadResult, clock: Clock) -> Dated:
    """Return the dated records of a read of the leader's partition."""
    found = _values_in(leader, read, _NOT_BEFORE)
    if not found.offsets:
        return NOTHING_DATED
    return dated(*found, clock.wall_ms(), clock.now_ms(), leader.core.settings.delay.max_ms)


def _values_in(leader: SharePartitionLeader, read: ReadResult, name: bytes) -> HeaderValues:
    """Return the header's value of each record of the read that has it; see `add_header_values`."""
    found = HeaderValues([], [])
    for span in read.batches:
        if span.attributes & CODEC_MASK:
            opened = _opened(leader, read.records, span.position, span.base_offset, name)
            found.offsets.extend(opened.offsets)
            found.values.extend(opened.values)
        else:
            add_header_values(read.records, span.position, name, found)
    return found


def _opened(leader: SharePartitionLeader, records: bytes, position: int, base_offset: int, name: bytes) -> HeaderValues:
    (crc,) = _crc(records, position + _CRC_AT)
    last = leader.opened.get(name)
    if last is None or (last.base_offset, last.crc) != (base_offset, crc):
        found = HeaderValues([], [])
        add_header_values(records, position, name, found)
        last = leader.opened[name] = OpenedBatch(base_offset, crc, found)
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


def expired_in(leader: SharePartitionLeader, read: ReadResult, first_offset: int, wall_ms: int) -> list[Expired]:
    """Return the expired records from an offset on of a read of the leader's partition, ascending and disjoint; at most
    one more than one read rejects.
    """
    ttl = leader.core.settings.ttl
    least_ms = wall_ms - ttl.ms if ttl.ms else None
    values = _values_in(leader, read, _NOT_AFTER) if ttl.by_header else _NO_VALUES
    return joined(_found(read, least_ms, values, first_offset, wall_ms), MOST_EXPIRED + 1)


def _found(
    read: ReadResult, least_ms: int | None, values: HeaderValues, first_offset: int, wall_ms: int
) -> Iterator[Expired]:
    for span in read.batches:
        if span.last_offset < first_offset:
            continue
        old: Sequence[tuple[int, int]] = ()
        if least_ms is not None and not span.is_control:
            old = records_older(read.records, span.position, least_ms)
            old = [(max(first, first_offset), last) for first, last in old if last >= first_offset]
        first = max(span.base_offset, first_offset)
        begin = bisect_left(values.offsets, first)
        end = bisect_left(values.offsets, span.last_offset + 1, begin)
        if begin == end or old == [(first, span.last_offset)]:
            yield from [Expired(*each) for each in old]
        else:
            yield from _merged(old, values, begin, end, wall_ms)


def _merged(
    old: Sequence[tuple[int, int]], values: HeaderValues, begin: int, end: int, wall_ms: int
) -> Iterator[Expired]:
    """Yield the records of a batch that are too old, or past the times that `values` has from index `begin` to `end`
    (exclusive).
    """
    reasons = ((values.offsets[at], past(values.values[at], wall_ms)) for at in range(begin, end))
    by_header = (Expired(offset, offset, reason) for offset, reason in reasons if reason)
    by_age = (Expired(at, at) for first, last in old for at in range(first, last + 1))
    last = -1
    for each in merge(by_age, by_header, key=_first_offset):  # for a record with both, the one by age comes first
        if each.first_offset > last:
            yield each
        last = each.first_offset
