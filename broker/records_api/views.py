"""The answers of the records API, made from the state in this broker's memory.

Each answer is a coroutine that returns bytes of JSON, and pauses to let other work on the loop run. Between two
pauses it shows one moment, but the whole answer may not. Nothing is changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shareq.broker.foundation.turn_budget import LOOK, PIECE, in_pieces
from shareq.broker.records_api.query import RecordsQuery, not_found
from shareq.broker.share.core.counters import SharePartitionCounters
from shareq.broker.share.core.window.ranges import Part, RecordRange, list_persisted
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.share_state import lag_of
from shareq.protocol.primitives import uuid_to_text
from shareq.protocol.share import AcknowledgeType

if TYPE_CHECKING:
    from shareq.broker.foundation.environment import Clock
    from shareq.broker.foundation.turn_budget import Breathe
    from shareq.broker.services import Services
    from shareq.broker.share.leader import SharePartitionLeader
    from shareq.coordinator.group.share.group import ShareGroup
    from shareq.coordinator.ports import TopicImage
    from shareq.coordinator.share.share_state import ShareState

MOST_STEPS: Final = 200_000  # ranges or rows of one answer; what is left is for the next one
NAMES_AT_ONCE: Final = 5_000  # names that are only compared, between two looks at the clock
MOST_COUNTED: Final = 50_000  # ranges of one answer about groups that are looked at to count what is held
END_OF_ROWS: Final = b"\n], "
_NOTHING: Final = SharePartitionCounters()
_SHOWN: Final = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)


class TimeOfDay:
    """A conversion from monotonic milliseconds to those since the epoch.

    A moment has the same time in every answer, until the clock is set. Both clocks have a resolution of a
    millisecond, so their difference seems to vary by one.
    """

    __slots__ = ("_ahead_ms", "_clock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_ms = clock.wall_ms() - clock.now_ms()

    @property
    def ahead_ms(self) -> int:
        """The difference in ms by which the time of day is ahead of monotonic time."""
        now = self._clock.wall_ms() - self._clock.now_ms()
        if abs(now - self._ahead_ms) > 1:
            self._ahead_ms = now
        return self._ahead_ms

    def of(self, monotonic_ms: int | None) -> int | None:
        """Return the time of day of a monotonic time; None for None."""
        return None if monotonic_ms is None else monotonic_ms + self.ahead_ms


class Place(NamedTuple):
    """A share partition of this broker: its leader if it is in memory; otherwise its persisted state, if it has one."""

    key: SharePartitionKey
    topic: TopicImage
    leader: SharePartitionLeader | None
    state: ShareState | None

    @property
    def start_offset(self) -> int | None:
        """The lowest unfinished offset; None if none has been persisted yet."""
        if self.leader is not None:
            return self.leader.core.start_offset
        return None if self.state is None or self.state.start_offset < 0 else self.state.start_offset


# -- groups


class _Elsewhere(NamedTuple):
    """A group that another node coordinates, with share partitions here."""

    group_id: str
    keys: Sequence[SharePartitionKey]


async def share_groups(services: Services, times: TimeOfDay, after: str, limit: int, *, is_part: bool = False) -> bytes:
    """Return the share groups whose names follow `after`, in order, with totals over their partitions. `is_part`: also
    groups of which only share partitions are here; their state is null.
    """
    found: list[ShareGroup | _Elsewhere] = []
    groups, breathe = services.made.groups, services.env.budget.breathe
    for partition in () if groups is None else groups.coordinator.partitions:
        every = partition.shard.share.all()
        for at in range(0, len(every), NAMES_AT_ONCE):
            later = (group for group in every[at : at + NAMES_AT_ONCE] if group.group_id > after)
            found = nsmallest(limit + 1, [*found, *later], key=lambda group: group.group_id)
            await breathe(LOOK)
    if is_part:
        others = (each for each in await _elsewhere(services) if each.group_id > after)
        found = nsmallest(limit + 1, [*found, *others], key=lambda group: group.group_id)
    page = _as_many_as_can_be_added_up(found[:limit])
    totals = {group.group_id: _Totals() for group in page}
    await _add_up(services, totals)
    for group in page:
        await _add_up_persisted(services, group, totals[group.group_id])
    parts = [_begin(services, {}, "groups")]
    for some in in_pieces(page):
        rows = (_group_row(times, group, totals[group.group_id]) for group in some)
        parts.append(_rows(rows, first=len(parts) == 1))
        await breathe(len(some))
    parts.append(_end(page[-1].group_id if len(found) > len(page) else None))
    return b"".join(parts)


async def _elsewhere(services: Services) -> list[_Elsewhere]:
    """Return the groups that another node coordinates, of which this one has states or leaders."""
    keys: dict[str, dict[SharePartitionKey, None]] = {}
    for key in _keys_here(services):
        keys.setdefault(key.group_id, {})[key] = None
        await services.env.budget.breathe()
    return [_Elsewhere(each, list(of_group)) for each, of_group in keys.items() if _group(services, each) is None]


def _keys_here(services: Services) -> list[SharePartitionKey]:
    share, states = services.made.share, services.made.share_states
    led = [] if share is None else [each.key for each in share.partitions.leaders()]
    return led if states is None else [*led, *states.keys()]


def _as_many_as_can_be_added_up(groups: Sequence[ShareGroup | _Elsewhere]) -> Sequence[ShareGroup | _Elsewhere]:
    """Return the first groups, at least one, that together have at most `MOST_STEPS` share partitions."""
    spent = 0
    for at, group in enumerate(groups):
        spent += _partitions_of(group)
        if at and spent > MOST_STEPS:
            return groups[:at]
    return groups


def _partitions_of(group: ShareGroup | _Elsewhere) -> int:
    if isinstance(group, _Elsewhere):
        return len(group.keys)
    return sum(len(each.partitions) for each in group.initialized.values())


class _Totals:
    """Sums over the share partitions of a group. `held` is None if more than `MOST_COUNTED` records would have to be
    counted.
    """

    __slots__ = ("accepted", "deliveries", "held", "in_flight", "lag", "loaded", "oldest_ms", "redeliveries")

    def __init__(self) -> None:
        self.loaded = self.in_flight = self.lag = self.deliveries = self.redeliveries = self.accepted = 0
        self.held: int | None = 0
        self.oldest_ms: int | None = None

    def add_oldest(self, since_ms: int | None) -> None:
        """Include the time when the oldest record of a share partition was put in flight."""
        if since_ms is not None:
            self.oldest_ms = since_ms if self.oldest_ms is None else min(self.oldest_ms, since_ms)


async def _add_up(services: Services, totals: dict[str, _Totals]) -> None:
    share, breathe = services.made.share, services.env.budget.breathe
    if share is None:
        return
    for key in [key for key in share.partitions.counters.partitions if key.group_id in totals]:
        _add_counters(totals[key.group_id], share.partitions.counters.partitions.get(key, _NOTHING))
        await breathe()
    active = [each for each in share.partitions.leaders() if each.is_active and each.key.group_id in totals]
    for leader in active:
        total, core = totals[leader.key.group_id], leader.core
        total.loaded += 1
        total.in_flight += core.in_flight_records
        total.lag += _lag(leader)
        total.add_oldest(core.oldest_since_ms())
        await breathe()
    await _count_held(active, totals, breathe)


async def _count_held(leaders: Sequence[SharePartitionLeader], totals: dict[str, _Totals], breathe: Breathe) -> None:
    """Count the records that members hold."""
    left = MOST_COUNTED
    for leader in leaders:
        total = totals[leader.key.group_id]
        position: int | None = leader.core.start_offset
        while position is not None and total.held is not None:
            if left <= 0:
                total.held = None
                break
            part = leader.core.list_ranges(position, PIECE)
            total.held += sum(each.size for each in part.ranges if each.owner)
            position = part.following
            spent = max(1, len(part.ranges))
            left -= spent
            await breathe(spent)


async def _add_up_persisted(services: Services, group: ShareGroup | _Elsewhere, total: _Totals) -> None:
    """Add the states that no leader has in memory: those of a group whose members have all left."""
    for key in group.keys if isinstance(group, _Elsewhere) else _initialized(group):
        await services.env.budget.breathe()
        topic = services.metadata.topic_by_id(key.topic_id)
        place = None if topic is None else place_of(services, group.group_id, topic.name, key.partition)
        if place is None or place.key != key or place.leader is not None:
            continue
        offsets, in_flight = _offsets(services, place), _persisted_in_flight(place)
        total.in_flight += in_flight
        total.lag += offsets["lag"] or 0
        total.add_oldest(_oldest_ms(services, place))


def _persisted_in_flight(place: Place) -> int:
    state, start = place.state, place.start_offset
    if state is None or start is None or not state.batches:
        return 0
    return max(0, state.batches[-1].last_offset + 1 - start)


def _oldest_ms(services: Services, place: Place) -> int | None:
    """Return when the oldest unfinished record was put in flight (monotonic), as far as this process knows; None if
    none is known.
    """
    if place.leader is not None:
        return place.leader.core.oldest_since_ms()
    share = services.made.share
    counters = None if share is None else share.partitions.counters.partitions.get(place.key)
    return counters.oldest_since_ms if counters is not None and _persisted_in_flight(place) else None


def _add_counters(total: _Totals, counters: SharePartitionCounters) -> None:
    total.deliveries += counters.deliveries
    total.redeliveries += counters.redeliveries
    total.accepted += counters.acknowledged[AcknowledgeType.ACCEPT]


def _initialized(group: ShareGroup) -> list[SharePartitionKey]:
    return [
        SharePartitionKey(group.group_id, topic_id, number)
        for topic_id, topic in group.initialized.items()
        for number in topic.partitions
    ]


def _group_row(times: TimeOfDay, group: ShareGroup | _Elsewhere, total: _Totals) -> dict[str, Any]:
    known = None if isinstance(group, _Elsewhere) else group
    return {
        "group": group.group_id,
        "state": None if known is None else known.state_name,
        "epoch": None if known is None else known.group_epoch,
        "members": None if known is None else len(known.members),
        "partitions": None if known is None else _partitions_of(known),
        "loaded": total.loaded,
        "in_flight": total.in_flight,
        "held": total.held,
        "lag": total.lag,
        "deliveries": total.deliveries,
        "redeliveries": total.redeliveries,
        "accepted": total.accepted,
        "oldest_in_flight_ms": times.of(total.oldest_ms),
    }


async def share_group(services: Services, group_id: str) -> bytes:
    """Return one group with its members."""
    group = _group(services, group_id)
    if group is None:
        raise not_found(f"share group {group_id} does not exist")
    head = {
        "group": group.group_id,
        "state": group.state_name,
        "epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
    }
    parts = [_begin(services, head, "members")]
    for member_id in sorted(group.members):
        if member_id in group.members:
            parts.append(_rows([_member_row(services, group, member_id)], first=len(parts) == 1))
        await services.env.budget.breathe()
    parts.append(_end(None))
    return b"".join(parts)


def _member_row(services: Services, group: ShareGroup, member_id: str) -> dict[str, Any]:
    member, current = group.members[member_id], group.current_of(member_id)
    topics = ((services.metadata.topic_by_id(topic_id), numbers) for topic_id, numbers in current.assigned.items())
    return {
        "member": member_id,
        **_client(group, member_id),
        "rack": member.rack_id,
        "epoch": current.member_epoch,
        "subscriptions": list(member.subscribed_topic_names),
        "assignment": {topic.name: sorted(numbers) for topic, numbers in topics if topic is not None},
    }


def _client(group: ShareGroup | None, member_id: str) -> dict[str, Any]:
    """Return the client of a member; None if the member has left meanwhile."""
    member = None if group is None else group.members.get(member_id)
    if member is None:
        return {"client_id": None, "host": None}
    return {"client_id": member.client_id, "host": member.client_host.removeprefix("/")}


# -- partitions


async def partitions(
    services: Services, times: TimeOfDay, group_id: str, after: str, limit: int, *, is_part: bool = False
) -> bytes:
    """Return the share partitions of a group, ordered by topic and number, that follow `after` (TOPIC:PARTITION).
    `is_part`: another node may coordinate the group.
    """
    breathe = services.env.budget.breathe
    group = _group(services, group_id)
    keys = _keys_of(services, group_id, group)
    if is_part:
        for key in _keys_here(services):
            if key.group_id == group_id:
                keys.add(key)
            await breathe()
    if group is None and not keys:
        raise not_found(f"share group {group_id} does not exist")
    behind: tuple[str, int] | None = None
    if after:
        topic, _, number = after.rpartition(":")
        behind = topic, int(number)
    found: list[tuple[str, int, SharePartitionKey]] = []
    listed = list(keys)
    for start in range(0, len(listed), NAMES_AT_ONCE):
        topics = ((services.metadata.topic_by_id(key.topic_id), key) for key in listed[start : start + NAMES_AT_ONCE])
        named = ((topic.name, key.partition, key) for topic, key in topics if topic is not None)
        found = nsmallest(limit + 1, [*found, *(each for each in named if behind is None or each[:2] > behind)])
        await breathe(LOOK)
    parts = [_begin(services, {"group": group_id}, "partitions")]
    members: set[str] = set()
    following: tuple[str, int] | None = None
    spent = 0
    for at, (topic_name, partition, key) in enumerate(found):
        if at == limit or spent >= MOST_STEPS:
            following = found[at - 1][:2]
            break
        place = place_of(services, group_id, topic_name, partition)
        if place is None or place.key != key:  # it was deleted meanwhile
            continue
        counted = await _count(services, place)
        spent += counted.ranges
        members.update(counted.held)
        parts.append(_rows([_partition_row(services, times, place, counted)], first=len(parts) == 1))
    named_last = None if following is None else ":".join(map(str, following))
    parts.append(_end(named_last, members_of(services, group_id, members)))
    return b"".join(parts)


class _Counted:
    """Sums over a share partition's offsets in flight."""

    __slots__ = ("held", "ranges", "states")

    def __init__(self) -> None:
        self.states: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.ranges = 0


async def _count(services: Services, place: Place) -> _Counted:
    """Return the sums over all ranges of a share partition."""
    into = _Counted()
    position: int | None = 0
    while position is not None:
        part = _part(services, place, position, heads=False)
        for each in part.ranges:
            into.states[each.state] += each.size
            if each.owner:
                into.held[each.owner] += each.size
        into.ranges += len(part.ranges)
        position = part.following
        await services.env.budget.breathe(max(1, len(part.ranges)))
    return into


def _partition_row(services: Services, times: TimeOfDay, place: Place, counted: _Counted) -> dict[str, Any]:
    leader, share = place.leader, services.made.share
    settings = services.configs.share_group(place.key.group_id)
    counters = _NOTHING if share is None else share.partitions.counters.partitions.get(place.key, _NOTHING)
    oldest_ms = _oldest_ms(services, place)
    return {
        "topic": place.topic.name,
        "topic_id": uuid_to_text(place.topic.topic_id),
        "partition": place.key.partition,
        "loaded": leader is not None,
        **_offsets(services, place),
        "in_flight": _persisted_in_flight(place) if leader is None else leader.core.in_flight_records,
        "in_flight_limit": settings.partition_max_record_locks,
        "lock_ms": settings.record_lock_duration_ms,
        "delivery_limit": settings.delivery_count_limit,
        "order_by_key": settings.order_by_key,
        "ranges": counted.ranges,
        "states": dict(counted.states),
        "held": dict(counted.held),
        "oldest_in_flight_ms": times.of(oldest_ms),
        "oldest_age_ms": None if oldest_ms is None else services.env.clock.now_ms() - oldest_ms,
        "deliveries": counters.deliveries,
        "redeliveries": counters.redeliveries,
        "acknowledged": {kind.name.lower(): counters.acknowledged[kind] for kind in _SHOWN},
        "lock_timeouts": counters.lock_timeouts,
        "given_up": counters.dead_letters,
        "waiting_fetches": 0 if leader is None else len(leader.waiters),
    }


def _offsets(services: Services, place: Place) -> dict[str, Any]:
    start, leader = place.start_offset, place.leader
    end_offset = start
    if leader is not None and leader.core.in_flight_records:
        end_offset = leader.core.end_offset + 1
    elif leader is None and place.state is not None and place.state.batches:
        end_offset = place.state.batches[-1].last_offset + 1
    finished = 0
    if leader is not None:
        finished = leader.core.delivery_complete_count
    elif place.state is not None:
        finished = place.state.delivery_complete_count
    log = services.lookup.log(place.topic.name, place.key.partition)
    high_watermark = None if isinstance(log, int) else log.high_watermark
    known = start is not None and high_watermark is not None
    return {
        "start_offset": start,
        "end_offset": end_offset,
        "high_watermark": high_watermark,
        "lag": max(0, lag_of(high_watermark, start, finished)) if known else None,  # type: ignore[arg-type]  # known
    }


# -- records


async def records(
    services: Services, times: TimeOfDay, group_id: str, topic: str, partition: int, wanted: RecordsQuery
) -> bytes:
    """Return the offsets in flight of one share partition, as ranges of offsets that are alike."""
    image = services.metadata.topic(topic)
    if image is None or not 0 <= partition < image.partitions:
        raise not_found(f"partition {topic}:{partition} does not exist")
    place = place_of(services, group_id, topic, partition)
    if place is None:
        raise not_found(f"share group {group_id} has not begun with {topic}:{partition}")
    settings = services.configs.share_group(place.key.group_id)
    head = {
        "group": place.key.group_id,
        "topic": place.topic.name,
        "topic_id": uuid_to_text(place.topic.topic_id),
        "partition": place.key.partition,
        "loaded": place.leader is not None,
        **_offsets(services, place),
        "in_flight_limit": settings.partition_max_record_locks,
        "lock_ms": settings.record_lock_duration_ms,
        "delivery_limit": settings.delivery_count_limit,
        "order_by_key": settings.order_by_key,
    }
    parts = [_begin(services, head, "ranges")]
    position: int | None = wanted.first
    left, spent, first = wanted.limit, 0, True
    members: set[str] = set()
    while position is not None and left > 0 and spent < MOST_STEPS:
        part = _part(services, place, position, heads=True)
        rows = [each for each in part.ranges if _is_wanted(each, wanted)]
        position = part.following
        if len(rows) > left:
            rows = rows[: left + 1]
            position = rows.pop().first_offset
        left -= len(rows)
        spent += PIECE
        members.update(each.owner for each in rows if each.owner)
        ahead_ms = 0 if place.leader is None else times.ahead_ms  # what is persisted has the time of day
        parts.append(_rows([_range_row(each, ahead_ms) for each in rows], first=first))
        first = first and not rows
        await services.env.budget.breathe(PIECE)
    parts.append(_end(position, members_of(services, group_id, members)))
    return b"".join(parts)


def _is_wanted(each: RecordRange, wanted: RecordsQuery) -> bool:
    if wanted.states and each.state not in wanted.states:
        return False
    return wanted.member is None or each.owner == wanted.member


def _range_row(each: RecordRange, ahead_ms: int) -> dict[str, Any]:
    return {
        "first": each.first_offset,
        "last": each.last_offset,
        "state": each.state,
        "pending": each.pending,
        "deliveries": each.delivery_count,
        "member": each.owner or None,
        "since_ms": None if each.since_ms is None else each.since_ms + ahead_ms,
        "until_ms": None if each.until_ms is None else each.until_ms + ahead_ms,
        "in_flight_ms": None if each.in_flight_ms is None else each.in_flight_ms + ahead_ms,
        "behind": each.behind,
    }


# -- where things are


def place_of(services: Services, group_id: str, topic: str, partition: int) -> Place | None:
    """Return a share partition of the group; None if it has neither a leader in memory nor a state here."""
    image = services.metadata.topic(topic)
    if image is None:
        return None
    key = SharePartitionKey(group_id, image.topic_id, partition)
    share = services.made.share
    leader = None if share is None else share.partitions.get(key)
    if leader is not None and leader.is_active:
        return Place(key, image, leader, None)
    state = _state_of(services, key)
    return None if state is None else Place(key, image, None, state)


def _state_of(services: Services, key: SharePartitionKey) -> ShareState | None:
    states = services.made.share_states
    return None if states is None else states.state_of(key)


def _group(services: Services, group_id: str) -> ShareGroup | None:
    groups = services.made.groups
    if groups is None or not groups.coordinator.partitions.count:
        return None
    return groups.coordinator.partition(group_id).shard.share_group(group_id)


def _keys_of(services: Services, group_id: str, group: ShareGroup | None) -> set[SharePartitionKey]:
    keys = set() if group is None else set(_initialized(group))
    share = services.made.share
    if share is not None:
        keys.update(each.key for each in share.partitions.leaders() if each.key.group_id == group_id)
    return keys


def _part(services: Services, place: Place, position: int, *, heads: bool) -> Part:
    if place.leader is not None:
        return place.leader.core.list_ranges(position, PIECE, heads=heads)
    state = place.state
    if state is None or state.start_offset < 0:
        return Part([], None)
    now_ms = services.env.clock.wall_ms()
    return list_persisted(state.start_offset, state.batches, state.delays, now_ms, position, PIECE)


def _lag(leader: SharePartitionLeader) -> int:
    core = leader.core
    return max(0, lag_of(leader.log.high_watermark, core.start_offset, core.delivery_complete_count))


def members_of(services: Services, group_id: str, ids: set[str]) -> dict[str, Any]:
    """Return the clients of the members with these ids, of a group that this process coordinates; None of others."""
    group = _group(services, group_id)
    return {each: _client(group, each) for each in sorted(ids)}


# -- JSON


def _begin(services: Services, head: dict[str, Any], rows: str) -> bytes:
    """Return the bytes of an object up to the beginning of its rows."""
    fields = {"at_ms": services.env.clock.wall_ms(), **head}
    return f"{json.dumps(fields, ensure_ascii=False)[:-1]}, {json.dumps(rows)}: [".encode()


def _rows(rows: Iterator[dict[str, Any]] | Sequence[dict[str, Any]], *, first: bool) -> bytes:
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return ("\n" if first else ",\n").encode() + text.encode() if text else b""


def _end(following: object, members: dict[str, Any] | None = None) -> bytes:
    fields = {} if members is None else {"members": members}
    return END_OF_ROWS + f"{json.dumps({**fields, 'next': following}, ensure_ascii=False)[1:]}\n".encode()
