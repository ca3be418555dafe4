"""Expired records: those older than `shareq.ttl.ms`, and those past the time in their header `shareq.not.after.ms`.

They are found when they are read to be handed out, and rejected then: archived, or dead with a dead letter. No member
had them, so their delivery count stays what it was. Nothing else is stored: a leader that loads the share partition
reads the same times again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.core.window.delivery_limit import given_up_state
from shareq.broker.share.core.window.delivery_status import DeliveryStatus, settled
from shareq.broker.share.core.window.window import InFlightWindow, Run
from shareq.coordinator.ports import ShareGroupSettings, TimeToLive
from shareq.protocol.names import LONGEST_TIME, NOT_AFTER, TTL_MS

MOST_EXPIRED: Final = 1_000
"""Ranges of expired records that one acquisition rejects; the next one goes on behind them."""


class Expired(NamedTuple):
    """Offsets `first_offset..last_offset` (both inclusive) that have expired. `reason` is text for dead letters, no
    bytes for what is too old.
    """

    first_offset: int
    last_offset: int
    reason: bytes = b""


def past(value: bytes, wall_ms: int) -> bytes:
    """Return the reason why a record with this value of the header has expired at `wall_ms`; no bytes if it has not.

    A value that is no time has expired at any time.
    """
    if not value.isdigit() or len(value) > LONGEST_TIME:
        return b"%s is no time in milliseconds since the epoch" % NOT_AFTER.encode()
    return b"expired: %s is %s" % (NOT_AFTER.encode(), value) if int(value) < wall_ms else b""


def too_old(ttl: TimeToLive) -> bytes:
    """Return the reason for rejecting an expired record, for the dead letter of one whose own reason is not known."""
    if ttl.by_header or not ttl.ms:
        return b"expired: older than %s, or past its %s" % (TTL_MS.encode(), NOT_AFTER.encode())
    return b"expired: older than %s (%d)" % (TTL_MS.encode(), ttl.ms)


def joined(expired: Iterable[Expired], most: int = sys.maxsize) -> list[Expired]:
    """Return the first `most` expired ranges, ascending, with neighbours of the same reason as one."""
    found: list[Expired] = []
    for each in expired:
        if found and found[-1].last_offset == each.first_offset - 1 and found[-1].reason == each.reason:
            found[-1] = found[-1]._replace(last_offset=each.last_offset)
        elif len(found) == most:
            break
        else:
            found.append(each)
    return found


def rejected_at_once(expired: Sequence[Expired], last: int) -> int:
    """Return the last offset (inclusive), at most `last`, up to which one acquisition may go: the records behind it
    have expired in too many ranges for one turn of the event loop.
    """
    return min(last, expired[MOST_EXPIRED].first_offset - 1) if len(expired) > MOST_EXPIRED else last


def reject_expired(
    window: InFlightWindow,
    acquired: Sequence[AcquiredRange],
    expired: Sequence[Expired],
    before: Mapping[DeliveryStatus, DeliveryStatus],
    settings: ShareGroupSettings,
) -> list[Run]:
    """Reject the records of `expired` (ascending, disjoint) that have just been acquired; return the changed runs,
    ascending.

    `before` maps each status of this acquisition to the one before it, whose delivery count they get back.
    """
    state = given_up_state(settings)

    def rejected(status: DeliveryStatus) -> DeliveryStatus:
        old = before.get(status)
        return status if old is None else settled(state, old.delivery_count)

    changed: list[Run] = []
    whole = joined(Expired(first, last) for first, last, _ in expired)  # a reason for each record cuts them apart
    for first, last in _common(whole, acquired):
        for batch in window.batches.overlapping(first, last):
            changed += window.remap(batch, first, last, rejected)
    return changed


def reasons_of(expired: Sequence[Expired], rejected: Sequence[StateBatch], most: int) -> Sequence[tuple[int, bytes]]:
    """Return the offsets that were rejected for a reason of their own, with it: the last `most` of them, ascending."""
    own = [each for each in expired if each.reason]
    if not own:
        return ()
    found: list[tuple[int, bytes]] = []
    for each in reversed(own):
        for first, last in reversed(list(_common([each], rejected))):
            found += [(at, each.reason) for at in range(last, first - 1, -1)][: most - len(found)]
        if len(found) >= most:
            break
    return found[::-1]


def _common(
    left: Sequence[Expired], right: Sequence[AcquiredRange] | Sequence[StateBatch]
) -> Iterator[tuple[int, int]]:
    """Yield the ranges (inclusive) that both have; each has ascending, disjoint ones."""
    at = 0
    for first, last, _ in left:
        while at < len(right) and right[at].last_offset < first:
            at += 1
        index = at
        while index < len(right) and right[index].first_offset <= last:
            yield max(first, right[index].first_offset), min(last, right[index].last_offset)
            index += 1
