"""The work that a broker still does as its disk fills up. Pure.

    OK         everything
    LOW        everything, with a warning in the log
    FULL       no records of clients, no new topics, no more partitions
    CRITICAL   acknowledgements, offset commits, group membership, deletions and changed properties alone

A state gets worse as soon as the free space falls below its limit, and better only with a quarter more than the
limit, so that the state does not change with each segment near a limit. Below the last limit, when writes fail, the
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
CRITICAL_PART: Final = 4  # the part of the limit for Produce
MARGIN_PART: Final = 4  # the part of a limit that has to be free in addition before the state improves

_FULL_ERRORS: Final = frozenset((errno.ENOSPC, errno.EDQUOT))


class DiskState(IntEnum):
    """The state of the free space, from good to bad; the module's docstring describes the states."""

    OK = 0
    LOW = 1
    FULL = 2
    CRITICAL = 3


class Use(IntEnum):
    """The purpose of a write, which determines the part of the reserve that may be freed for it."""

    CLIENTS = 0  # nothing
    COORDINATORS = 1  # half
    MAKING_ROOM = 2  # all


class DiskSettings(NamedTuple):
    """Configured limits in bytes: `shareq.disk.warn.bytes`, `.refuse.bytes`, `.reserve.bytes`."""

    warn_bytes: int
    refuse_bytes: int
    reserve_bytes: int


class DiskLimits(NamedTuple):
    """Limits in bytes. With less free space than one of the first three, the state is at least LOW, FULL or
    CRITICAL.
    """

    low: int
    full: int
    critical: int
    reserve: int

    def state_of(self, usable_bytes: int) -> DiskState:
        """Return the state for this much free space, regardless of the previous state."""
        if usable_bytes < self.critical:
            return DiskState.CRITICAL
        if usable_bytes < self.full:
            return DiskState.FULL
        return DiskState.LOW if usable_bytes < self.low else DiskState.OK


def limits_of(settings: DiskSettings, total_bytes: int) -> DiskLimits:
    """Return the limits on a file system of that size: as configured, and smaller on small file systems."""
    full = min(settings.refuse_bytes, total_bytes // REFUSE_PART)
    low = max(min(settings.warn_bytes, total_bytes // WARN_PART), full)
    return DiskLimits(low, full, full // CRITICAL_PART, min(settings.reserve_bytes, total_bytes // RESERVE_PART))


def next_state(state: DiskState, usable_bytes: int, limits: DiskLimits) -> DiskState:
    """Return the state that follows `state` when so many bytes are usable."""
    worst = limits.state_of(usable_bytes)
    if worst >= state:
        return worst
    return min(state, limits.state_of(usable_bytes * MARGIN_PART // (MARGIN_PART + 1)))


def room_for_reserve(usable_bytes: int, more: int, limits: DiskLimits) -> bool:
    """Return True if the reserve may grow by `more` bytes without causing clients' records to be refused."""
    return usable_bytes - more > limits.full + limits.full // MARGIN_PART


def first_reserve(usable_bytes: int, limits: DiskLimits) -> int:
    """Return the most bytes to reserve at the start.

    They are so few that the disk does not enter a worse state; on a disk that is full already, they are half of the
    free space.
    """
    match limits.state_of(usable_bytes):
        case DiskState.CRITICAL:
            return usable_bytes // 2
        case DiskState.FULL:
            return min(usable_bytes // 2, usable_bytes - limits.critical)
    return max(usable_bytes - limits.full - limits.full // MARGIN_PART - 1, 0)


def admits(state: DiskState, changes: Iterable[MetaChange], *, partitions_of: dict[str, int]) -> bool:
    """Return True if changes of the metadata may be committed. `partitions_of` returns the number of partitions of
    an existing topic.

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
    """Return the purpose of a write, by the path of the file or folder inside the data folder.

    Three kinds of files are written even by deletions: files directly in the data folder, which have the starts and
    ends of logs; transaction indexes, when a segment is sealed; and snapshots of producers, before a segment is
    removed. Folders of deleted topics are renamed in the data folder.
    """
    folder, _, name = path.rpartition("/")
    if not folder or name.endswith((".txnindex", ".snapshot")):
        return Use.MAKING_ROOM
    return Use.COORDINATORS if folder.startswith("__") else Use.CLIENTS
