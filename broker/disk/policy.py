"""A policy for the work that a broker still does as its disk fills up. Pure.

    OK         everything
    LOW        everything, with a warning in the log
    FULL       no records of clients, no new topics, no more partitions
    CRITICAL   acknowledgements, offset commits, group membership, deletions and changed properties alone

A state gets worse as soon as the free space falls below its limit, and better only with a quarter more than the limit,
so that a broker at a limit does not change its mind with each segment. Below the last limit, when writes fail, the
reserve is used: one half for writes of coordinators, all of it for operations that free space and for a stop.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from shareq.broker.metadata.changes import MetaChange, PutAcl, PutMeta, PutScram, PutTopic

WARN_PART: Final = 10  # no limit is more than this part of a file system
REFUSE_PART: Final = 20
RESERVE_PART: Final = 50
CRITICAL_PART: Final = 4  # of what Produce is refused for
MARGIN_PART: Final = 4  # of a limit, that has to be free besides before the state gets better

_FULL_ERRORS: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class DiskState(IntEnum):
    """The state of the free space, from good to bad; see the module's docstring."""

    OK = 0
    LOW = 1
    FULL = 2
    CRITICAL = 3


class Use(IntEnum):
    """The purpose of a write, and thereby the share of the reserve given up for it."""

    CLIENTS = 0  # nothing
    COORDINATORS = 1  # half
    MAKING_ROOM = 2  # all


class DiskSettings(NamedTuple):
    """Configured limits in bytes: `shareq.disk.warn.bytes`, `.refuse.bytes`, `.reserve.bytes`."""

    warn_bytes: int
    refuse_bytes: int
    reserve_bytes: int


class DiskLimits(NamedTuple):
    """Limits in bytes; below each of the first three the state is at least LOW, FULL, CRITICAL."""

    low: int
    full: int
    critical: int
    reserve: int

    def state_of(self, usable_bytes: int) -> DiskState:
        """Return the state for so much room, whatever it was before."""
        if usable_bytes < self.critical:
            return DiskState.CRITICAL
        if usable_bytes < self.full:
            return DiskState.FULL
        return DiskState.LOW if usable_bytes < self.low else DiskState.OK


def limits_of(settings: DiskSettings, total_bytes: int) -> DiskLimits:
    """Return the limits on a file system of that size: as configured, on small ones a part of it."""
    full = min(settings.refuse_bytes, total_bytes // REFUSE_PART)
    low = max(min(settings.warn_bytes, total_bytes // WARN_PART), full)
    return DiskLimits(low, full, full // CRITICAL_PART, min(settings.reserve_bytes, total_bytes // RESERVE_PART))


def next_state(state: DiskState, usable_bytes: int, limits: DiskLimits) -> DiskState:
    """Return the state that follows `state` when so much can be written."""
    worst = limits.state_of(usable_bytes)
    if worst >= state:
        return worst
    return min(state, limits.state_of(usable_bytes * MARGIN_PART // (MARGIN_PART + 1)))


def room_for_reserve(usable_bytes: int, more: int, limits: DiskLimits) -> bool:
    """Return True if the reserve may take `more` bytes without causing clients' records to be refused."""
    return usable_bytes - more > limits.full + limits.full // MARGIN_PART


def first_reserve(usable_bytes: int, limits: DiskLimits) -> int:
    """Return how many bytes to reserve at the start at most: so few that the disk does not enter a worse state, and
    half of the free space if the disk is already full.
    """
    match limits.state_of(usable_bytes):
        case DiskState.CRITICAL:
            return usable_bytes // 2
        case DiskState.FULL:
            return min(usable_bytes // 2, usable_bytes - limits.critical)
    return max(usable_bytes - limits.full - limits.full // MARGIN_PART - 1, 0)


def admits(state: DiskState, changes: Iterable[MetaChange], *, partitions_of: dict[str, int]) -> bool:
    """Return True if changes of the metadata may be committed. `partitions_of`: partitions of existing topics.

    Internal topics may always be created: groups need them to commit and to acknowledge.
    """
    if state < DiskState.FULL:
        return True
    return not any(_grows(change, state, partitions_of) for change in changes)


def _grows(change: MetaChange, state: DiskState, partitions_of: dict[str, int]) -> bool:
    match change:
        case PutTopic(topic):
            return not topic.internal and topic.partitions > partitions_of.get(topic.name, 0)
        case PutAcl() | PutMeta():
            return state is DiskState.CRITICAL
        case PutScram(_, credential):
            return state is DiskState.CRITICAL and credential is not None
    return False


def is_full(error: OSError) -> bool:
    """Return True if a write failed for lack of space."""
    return error.errno in _FULL_ERRORS


def use_of(path: str) -> Use:
    """Return the purpose of a file or folder by its path inside the data folder.

    Files of the data folder itself say where logs begin and end, transaction indexes are needed to end a segment, and
    snapshots of producers to remove one: without them nothing can be deleted. Folders are renamed there when their
    topic is deleted.
    """
    folder, _, name = path.rpartition("/")
    if not folder or name.endswith((".txnindex", ".snapshot")):
        return Use.MAKING_ROOM
    return Use.COORDINATORS if folder.startswith("__") else Use.CLIENTS
