"""Changes of share-partition states that the coordinator of a group, a node, requests from the node that owns the
states' slot. Pure.

    InitializeShareGroupState, DeleteShareGroupState: a tagged field of our own, tag 29553 (0x7371)
        int8    1
        int8    0: write a new state in any case; 1: unless one of that epoch exists; 2: unless any exists
        int32   the node that asks
        int32   the generation in which it owns the group's slot
        int64   the number of the request, of that node

    ReadShareGroupStateSummary: the same tag of a partition in the answer
        int64   the first offset that is written down
        int64   the end of the partition's log, -1 if it is not known

A coordinator without an answer repeats its request, while the first one may still wait in a socket of a suspended
process. Handled late, it would wipe everything confirmed since. So the requesting node has to own the group's slot, by
the map of the state's owner, and a request older than one that has arrived is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from struct import Struct
from typing import Final, NamedTuple

from shareq.broker.foundation.pending import Pending, completed
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.primitives import Tags

TAG: Final = 29553
_FORMAT: Final = 1
_ASKED: Final = Struct(">bbiiq")
_SUMMARY: Final = Struct(">qq")
UNKNOWN_END: Final = -1


class How(Enum):
    """The existing states that an initialization may overwrite."""

    WIPE = 0
    ONCE = 1
    ONCE_OR_OLDER = 2


class Asked(NamedTuple):
    """The origin of a coordinator's request. A request with a lower generation, or with an older number, is refused."""

    how: How
    node_id: int
    generation: int
    number: int

    @property
    def order(self) -> tuple[int, int]:
        return self.generation, self.number

    def tags(self) -> Tags:
        """Return the origin as a request's tagged field."""
        return ((TAG, _ASKED.pack(_FORMAT, self.how.value, self.node_id, self.generation, self.number)),)


def asked_in(tags: Tags) -> Asked | None:
    """Return the origin in a request's tagged fields; None if it has none (other clients), or an unreadable one."""
    value = dict(tags).get(TAG)
    if value is None or len(value) != _ASKED.size:
        return None
    version, how, node_id, generation, number = _ASKED.unpack(value)
    if version != _FORMAT or how not in _HOWS:
        return None
    return Asked(How(how), node_id, generation, number)


_HOWS: Final = frozenset(how.value for how in How)


class Reach(NamedTuple):
    """The offsets between which a share partition's lag lies: the first offset that is written down, and the end of the
    log, or UNKNOWN_END.
    """

    first_offset: int
    end: int

    def tags(self) -> Tags:
        """Return the two offsets as a tagged field."""
        return ((TAG, _SUMMARY.pack(*self)),)


def reach_in(tags: Tags) -> Reach | None:
    """Return the offsets that a state's owner has added to its summary; None if it added none."""
    value = dict(tags).get(TAG)
    return Reach(*_SUMMARY.unpack(value)) if value is not None and len(value) == _SUMMARY.size else None


class StateChanges:
    """The check of coordinators' requests for being the latest.

    `slot_of` returns the number of a group's slot; `owner_of` the node that owns it by the current map, or None if no
    node does, or there is no map.
    """

    def __init__(self, slot_of: Callable[[str], int], owner_of: Callable[[int], int | None]) -> None:
        self._slot_of: Final = slot_of
        self._owner_of: Final = owner_of
        self._newest: dict[int, tuple[int, int]] = {}  # by the group's slot
        self._under_way: dict[SharePartitionKey, tuple[int, int]] = {}

    def admit(self, group_id: str, asked: Asked, keys: Collection[SharePartitionKey]) -> ApiError:
        """Return the error of a refused request. If it is admitted, `change` has to be called for each of its share
        partitions.
        """
        slot = self._slot_of(group_id)
        if self._owner_of(slot) != asked.node_id:
            return ApiError(ErrorCode.NOT_COORDINATOR, f"Node {asked.node_id} does not coordinate the group.")
        if asked.order < self._newest.get(slot, asked.order):
            return _OLDER
        self._newest[slot] = asked.order
        self._under_way.update(dict.fromkeys(keys, asked.order))
        return NO_ERROR

    def change(
        self,
        key: SharePartitionKey,
        asked: Asked,
        ready: Pending[ApiError],
        change: Callable[[], Pending[ApiError]],
    ) -> Pending[ApiError]:
        """Call `change` when `ready` is complete, in the same turn, unless a newer request has arrived for the key: it
        is refused then.
        """

        def begin(error: ApiError) -> Pending[ApiError]:
            if self._under_way.get(key) != asked.order:
                return completed(_OLDER)
            del self._under_way[key]
            return completed(error) if error else change()

        return ready.chain(begin)


_OLDER: Final = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A later request of the group's coordinator has come.")
