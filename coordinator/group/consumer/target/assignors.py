"""Server-side assignors of consumer groups, as plain functions: every partition of a subscribed topic has one member.

`range` and `uniform` are the assignors of these names in Apache Kafka 4.3.1. Kafka follows the order of its hash maps
in some places; here the order is that of member ids and topic ids, so that equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.shard import Steps

_TopicPartition = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class ConsumerAssignorMember:
    """A member as an assignor sees it: the existing topics that it subscribes to, and its present target."""

    topic_ids: frozenset[bytes]
    assigned: Assignment = field(default_factory=dict)
    instance_id: str | None = None


Members = Mapping[str, ConsumerAssignorMember]
"""The members by member id."""

PartitionCounts = Mapping[bytes, int]
"""The number of partitions by topic id."""

Assignor = Callable[[Members, PartitionCounts], Steps[dict[str, Assignment]]]

STEP_EFFORT: Final = 5_000
"""The effort between two pauses, counted in partitions that are assigned and subscribers that are checked: a
millisecond or two.
"""

_MOVE_EFFORT: Final = 5  # of a partition that is taken from one and given to another


class _Pace:
    """The pace of a long computation, which decides when to pause."""

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent = 0

    def is_over(self, effort: int) -> bool:
        """Add an effort; return True if it is time to pause."""
        self._spent += effort
        if self._spent < STEP_EFFORT:
            return False
        self._spent = 0
        return True


def assign_range(members: Members, partitions: PartitionCounts) -> Steps[dict[str, Assignment]]:
    """Assign to each subscriber a contiguous part of every topic's partitions; the first parts may be longer by one.

    Members with instance ids come first, in the order of these ids, so that they keep their place. Topics of equal size
    with equal subscribers are divided alike. Other members may get other partitions each time.
    """
    order = sorted(members, key=lambda member_id: _range_key(member_id, members[member_id]))
    targets: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    pace = _Pace()
    for topic_id in sorted(frozenset[bytes]().union(*(member.topic_ids for member in members.values()))):
        subscribers = [member_id for member_id in order if topic_id in members[member_id].topic_ids]
        share, longer = divmod(partitions[topic_id], len(subscribers))
        start = 0
        for index, member_id in enumerate(subscribers):
            end = start + share + (index < longer)
            if end > start:
                targets[member_id][topic_id] = frozenset(range(start, end))
            start = end
        if pace.is_over(len(order) + partitions[topic_id]):
            yield
    return dict(targets)


def _range_key(member_id: str, member: ConsumerAssignorMember) -> tuple[bool, str]:
    return member.instance_id is None, member_id if member.instance_id is None else member.instance_id


def assign_uniform(members: Members, partitions: PartitionCounts) -> Steps[dict[str, Assignment]]:
    """Assign as evenly as subscriptions allow, and then with as few moved partitions as possible.

    If all members subscribe to the same topics, loads differ by at most one. Otherwise no partition could move to a
    subscriber whose load is lower by two or more.
    """
    pace = _Pace()
    held: dict[str, set[_TopicPartition]] = {}
    assigned: set[_TopicPartition] = set()
    for member_id, member in members.items():
        held[member_id] = _still_held(member, partitions)
        assigned |= held[member_id]
        if pace.is_over(len(held[member_id])):
            yield
    subscriptions = {member.topic_ids for member in members.values()}
    wanted = frozenset[bytes]().union(*subscriptions)
    unassigned: list[_TopicPartition] = []
    for topic_id in sorted(wanted):
        of_topic = ((topic_id, partition) for partition in range(partitions[topic_id]))
        unassigned += (each for each in of_topic if each not in assigned)
        if pace.is_over(partitions[topic_id]):
            yield
    if len(subscriptions) <= 1:
        _fill_evenly(held, unassigned, sum(partitions[topic_id] for topic_id in wanted))
    else:
        yield from _fill_by_subscription(members, held, unassigned, pace)
    targets: dict[str, Assignment] = {}
    for member_id in members:
        targets[member_id] = _as_assignment(held[member_id])
        if pace.is_over(len(held[member_id])):
            yield
    return targets


def _still_held(member: ConsumerAssignorMember, partitions: PartitionCounts) -> set[_TopicPartition]:
    return {
        (topic_id, partition)
        for topic_id in member.assigned.keys() & member.topic_ids
        for partition in member.assigned[topic_id]
        if partition < partitions[topic_id]
    }


def _fill_evenly(held: dict[str, set[_TopicPartition]], unassigned: list[_TopicPartition], total: int) -> None:
    """Assign the partitions if every member may have any of them. Those that hold most get the larger shares, which
    moves least.
    """
    if not held:
        return
    share, larger = divmod(total, len(held))
    order = sorted(held, key=lambda member_id: (-len(held[member_id]), member_id))
    quotas = {member_id: share + (index < larger) for index, member_id in enumerate(order)}
    for member_id in order:
        for each in sorted(held[member_id])[quotas[member_id] :]:
            held[member_id].remove(each)
            unassigned.append(each)
    unassigned.sort()
    rest = iter(unassigned)
    for member_id in order:
        held[member_id].update(islice(rest, quotas[member_id] - len(held[member_id])))


def _fill_by_subscription(
    members: Members, held: dict[str, set[_TopicPartition]], unassigned: list[_TopicPartition], pace: _Pace
) -> Steps[None]:
    """Assign the partitions of topics with few subscribers first, each to the subscriber of lowest load; then even
    out.
    """
    subscribers = _subscribers(members)
    if pace.is_over(sum(len(member.topic_ids) for member in members.values())):
        yield
    free: dict[bytes, list[int]] = {}
    for topic_id, partition in unassigned:
        free.setdefault(topic_id, []).append(partition)
    for topic_id in sorted(free, key=lambda topic_id: (len(subscribers[topic_id]), topic_id)):
        loads = [(len(held[member_id]), member_id) for member_id in subscribers[topic_id]]
        heapify(loads)
        for partition in free[topic_id]:
            load, least = loads[0]
            held[least].add((topic_id, partition))
            heapreplace(loads, (load + 1, least))
        if pace.is_over(len(loads) + len(free[topic_id])):
            yield
    yield from _even_out_all(subscribers, held, pace)


def _subscribers(members: Members) -> dict[bytes, list[str]]:
    """Return the ids of each topic's subscribers, ascending.

    Topics with the same subscribers share one list, which must not be changed.
    """
    alike: dict[frozenset[bytes], list[str]] = {}
    for member_id, member in members.items():
        alike.setdefault(member.topic_ids, []).append(member_id)
    subscriptions = list(alike.values())
    by_topic: dict[bytes, list[int]] = {}
    for index, topic_ids in enumerate(alike):
        for topic_id in topic_ids:
            by_topic.setdefault(topic_id, []).append(index)
    lists: dict[tuple[int, ...], list[str]] = {}
    subscribers: dict[bytes, list[str]] = {}
    for topic_id, indexes in by_topic.items():
        key = tuple(indexes)
        if key not in lists:
            lists[key] = sorted(member_id for index in indexes for member_id in subscriptions[index])
        subscribers[topic_id] = lists[key]
    return subscribers


def _even_out_all(
    subscribers: Mapping[bytes, list[str]], held: dict[str, set[_TopicPartition]], pace: _Pace
) -> Steps[None]:
    """Move partitions until none could go to a subscriber of its topic with a load lower by two or more."""
    holders: dict[bytes, dict[str, set[int]]] = {}  # by topic and member; who has given all of it away stays
    for member_id, partitions in held.items():
        for topic_id, partition in partitions:
            holders.setdefault(topic_id, {}).setdefault(member_id, set()).add(partition)
        if pace.is_over(len(partitions)):
            yield
    shared = [topic_id for topic_id in sorted(holders) if len(subscribers[topic_id]) > 1]
    lowest = min(map(len, held.values()))
    moved = True
    while moved:  # every move lowers the sum of squared loads, so this ends
        moved = False
        for topic_id in shared:
            if pace.is_over(len(holders[topic_id])):
                yield
            if max(len(held[member_id]) for member_id in holders[topic_id]) - lowest < 2:
                continue
            if (yield from _even_out(topic_id, subscribers[topic_id], holders[topic_id], held, pace)):
                lowest = min(map(len, held.values()))
                moved = True


def _even_out(
    topic_id: bytes,
    subscribers: list[str],
    holders: dict[str, set[int]],
    held: dict[str, set[_TopicPartition]],
    pace: _Pace,
) -> Steps[bool]:
    """Move partitions of the topic, now held by `holders`, to subscribers whose load is lower by two or more; return
    True if any was moved.
    """
    moved = False
    of_topic: dict[str, list[int]] = {m: [] for m in subscribers}
    for m, partitions in holders.items():
        of_topic[m] = sorted(partitions, reverse=True)
    # An entry with a load that is not the member's any more is passed over: its present one is in the heap, too.
    givers = [(-len(held[m]), m) for m in subscribers if of_topic[m]]
    takers = [(len(held[m]), m) for m in subscribers]
    heapify(givers)
    heapify(takers)
    if pace.is_over(_MOVE_EFFORT * len(subscribers)):
        yield
    while givers:
        most, least = givers[0][1], takers[0][1]
        if -givers[0][0] != len(held[most]) or not of_topic[most]:
            heappop(givers)
        elif takers[0][0] != len(held[least]):
            heappop(takers)
        elif len(held[most]) - len(held[least]) < 2:
            return moved
        else:
            partition = of_topic[most].pop(0)
            of_topic[least].append(partition)
            holders[most].remove(partition)
            holders.setdefault(least, set()).add(partition)
            held[most].remove((topic_id, partition))
            held[least].add((topic_id, partition))
            for member_id in (most, least):
                heappush(givers, (-len(held[member_id]), member_id))
                heappush(takers, (len(held[member_id]), member_id))
            moved = True
            if pace.is_over(_MOVE_EFFORT):
                yield
    return moved


def _as_assignment(partitions: Iterable[_TopicPartition]) -> Assignment:
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, partition in partitions:
        if topic_id in by_topic:
            by_topic[topic_id].append(partition)
        else:
            by_topic[topic_id] = [partition]
    return {topic_id: frozenset(by_topic[topic_id]) for topic_id in sorted(by_topic)}


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
"""The assignors by the name that clients and `group.consumer.assignors` know them by."""
