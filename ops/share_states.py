"""The stored states of share partitions: the log `__share_group_state`, read as any topic.

It shows which records are finished and how often the others were delivered; never which are acquired, nor by whom. The
states are replayed as a share coordinator does (KIP-932): a snapshot is the whole state, an update changes it.

`combined` and `place` repeat rules of coordinator/share/state_batches.py and coordinator/routing.py, since operators'
tools know no coordinator; tests/unit/ops/test_share_states.py compares both texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.admin.calls import NotFound, Outcome, Partition
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError
from shareq.client.network import Network
from shareq.client.reader import Reader, ReadRecord
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from shareq.protocol.java_hash import java_abs, java_string_hash
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.primitives import uuid_to_text
from shareq.protocol.share import RecordState

ROUND_MS: Final = 500
WRITTEN: Final = {
    int(state): state.name.lower() for state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED)
}
"""Delivery states that show more than that a record is unfinished, with their names."""
_INT16: Final = Struct(">h")
_SNAPSHOT, _UPDATE = ShareSnapshotKey.API_KEY, ShareUpdateKey.API_KEY
_TIDY_ABOVE: Final = 10_000


class StateBatch(NamedTuple):
    """Offsets `first..last` (inclusive) in a delivery state (0 available, 2 acknowledged, 3 archiving, 4 archived),
    with their number of deliveries.
    """

    first: int
    last: int
    state: int
    deliveries: int


class StoredState(NamedTuple):
    """A share partition's state: `start` is the first unfinished offset, None before it was resolved.

    `batches` ascend, and are disjoint; offsets in none of them were never written.
    """

    start: int | None
    batches: tuple[StateBatch, ...]


class _State:
    """A state that is being replayed."""

    def __init__(self, start: int, batches: Iterable[StateBatch]) -> None:
        self.start = start
        self.batches = list(batches)

    def change(self, start: int, batches: Iterable[StateBatch]) -> None:
        if start >= 0:
            self.start = start
        self.batches += batches
        if len(self.batches) > _TIDY_ABOVE:
            self.batches = combined(self.batches, self.start)


def stored_states(
    network: Network, group: str, partitions: Sequence[Partition]
) -> dict[Partition, Outcome[StoredState]]:
    """Return the states of a group in partitions. Raises NotFound if it has none."""
    admin = Admin(network)
    count = _count(admin)
    ids = network.topic_ids({topic for topic, _ in partitions})
    wanted = {(group, ids[topic], number): (topic, number) for topic, number in partitions if topic in ids}
    found = {wanted[key]: state for key, state in _replayed(network, admin, count, wanted).items()}
    return {each: _stored(found[each]) if each in found else _missing(group, each) for each in partitions}


class StateLog:
    """All states of a cluster, replayed from the log, which this user may read."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._admin = Admin(network)
        self._reader: Reader | None = None
        self._states: dict[Key, _State] = {}

    def catch_up(self) -> None:
        """Replay what was added to the log. Raise NotFound if the log does not exist, BrokerError, Unreachable."""
        logs = [(SHARE_GROUP_STATE, number) for number in range(_count(self._admin))]
        reader, self._reader = self._reader, None  # what ends half way is read from the beginning the next time
        if reader is None or reader.positions.keys() != set(logs):
            reader = Reader(self._network, _known(self._admin.topics.offsets(dict.fromkeys(logs, EARLIEST))))
            self._states.clear()
        ends = _known(self._admin.topics.offsets(dict.fromkeys(logs, LATEST)))
        _take(self._states, reader.read_towards(ends, ROUND_MS))
        self._reader = reader

    def state(self, group: str, topic_id: bytes, partition: int) -> StoredState | None:
        """Return the state of a share partition as of the last `catch_up`; None without one."""
        found = self._states.get((group, topic_id, partition))
        return None if found is None else _stored(found)


def _missing(group: str, partition: Partition) -> NotFound:
    topic, number = partition
    return NotFound(ErrorCode.RESOURCE_NOT_FOUND, f"state of {group} in {topic}:{number}")


Key = tuple[str, bytes, int]
"""A group, a topic's id, and a partition."""


def place(group: str, topic_id: bytes, partition: int, count: int) -> int:
    """Return the partition of the log, of `count` in all, with a share partition's state."""
    return java_abs(java_string_hash(f"{group}:{uuid_to_text(topic_id)}:{partition}")) % count


def _count(admin: Admin) -> int:
    for _, outcome in admin.topics.describe([SHARE_GROUP_STATE]):
        if isinstance(outcome, ClientError):
            raise outcome
        return len(outcome.partitions)
    raise NotFound(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {SHARE_GROUP_STATE}")


def _replayed(network: Network, admin: Admin, count: int, wanted: Collection[Key]) -> dict[Key, _State]:
    logs = [(SHARE_GROUP_STATE, number) for number in sorted({place(*key, count) for key in wanted})]
    starts, ends = (admin.topics.offsets(dict.fromkeys(logs, at)) for at in (EARLIEST, LATEST))
    states: dict[Key, _State] = {}
    _take(states, Reader(network, _known(starts)).read_towards(_known(ends), ROUND_MS), wanted)
    return states


def _take(states: dict[Key, _State], records: Iterable[ReadRecord], wanted: Collection[Key] | None = None) -> None:
    """Replay records of the log, in their order. `wanted` None: of all share partitions."""
    for found in records:
        number, key = (-1, None) if found.record.key is None else _key(found.record.key)
        if key is not None and (wanted is None or key in wanted):
            _replay(states, key, number, found.record.value)


def _known(offsets: Mapping[Partition, Outcome[NamedTuple]]) -> dict[Partition, int]:
    found: dict[Partition, int] = {}
    for partition, outcome in offsets.items():
        if isinstance(outcome, ClientError):
            raise outcome
        found[partition] = getattr(outcome, "offset", None) or 0
    return found


def _key(data: bytes) -> tuple[int, Key | None]:
    """Return the record's type and share partition; None for unknown types."""
    number = _INT16.unpack_from(data)[0] if len(data) > _INT16.size else -1
    if number not in (_SNAPSHOT, _UPDATE):
        return number, None
    key, _ = ShareSnapshotKey.decode(data, 0, _INT16.size)  # that of an update has the same fields
    assert isinstance(key, ShareSnapshotKey)
    return number, (key.group_id, key.topic_id, key.partition)


def _replay(states: dict[Key, _State], key: Key, number: int, value: bytes | None) -> None:
    if value is None:
        states.pop(key, None)
        return
    kind = ShareSnapshotValue if number == _SNAPSHOT else ShareUpdateValue
    version = _INT16.unpack_from(value)[0] if len(value) > _INT16.size else -1
    if not kind.MIN_VERSION <= version <= kind.MAX_VERSION:
        raise MalformedMessage(f"{kind.__name__} has no version {version}")
    typed, _ = kind.decode(value, version, _INT16.size)
    assert isinstance(typed, ShareSnapshotValue | ShareUpdateValue)
    batches = [
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in typed.state_batches
    ]
    if number == _SNAPSHOT or key not in states:
        states[key] = _State(typed.start_offset, batches)
    else:
        states[key].change(typed.start_offset, batches)


def _stored(state: _State) -> StoredState:
    return StoredState(None if state.start < 0 else state.start, tuple(combined(state.batches, state.start)))


def combined(batches: Iterable[StateBatch], start: int) -> list[StateBatch]:
    """Combine overlapping batches into ascending, disjoint ones from `start` on.

    Where they differ, the greater delivery count wins, then the greater state (Apache Kafka 4.4.0).
    """
    ordered = sorted(each for each in batches if each.last >= start)
    points = sorted({max(each.first, start) for each in ordered} | {each.last + 1 for each in ordered})
    best: list[tuple[int, int, int]] = []  # -count, -state, last: of those that have begun
    at = 0
    found: list[StateBatch] = []
    for first, after in pairwise(points):
        while at < len(ordered) and ordered[at].first <= first:
            each = ordered[at]
            heappush(best, (-each.deliveries, -each.state, each.last))
            at += 1
        while best and best[0][2] < first:
            heappop(best)
        if best:
            _put(found, StateBatch(first, after - 1, -best[0][1], -best[0][0]))
    return found


def _put(found: list[StateBatch], each: StateBatch) -> None:
    if found and found[-1].last + 1 == each.first and found[-1][2:] == each[2:]:
        each = each._replace(first=found.pop().first)
    found.append(each)
