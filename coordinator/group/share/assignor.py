"""Server-side assignors of share groups, as plain functions.

`simple` is the assignor of that name in Apache Kafka 4.3.1: balanced and sticky, and a partition is shared by several
members only when members outnumber partitions. It is not rack aware. Kafka follows the order of its hash maps in some
places; here the order is that of member ids and topic ids, so that equal input gives equal output. Among equally
balanced results, the one that moves fewest partitions is chosen.

One call makes a whole assignment: `group.share.max.size` bounds the members, `share.assignment.interval.ms` how
often it is made (`heartbeat.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from shareq.coordinator.group.assignment import Assignment

_TopicPartition = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class AssignorMember:
    """A member as an assignor sees it: the existing topics that it subscribes to, and its present target."""

    topic_ids: frozenset[bytes]
    assigned: Assignment = field(default_factory=dict)


def simple(members: Mapping[str, AssignorMember], assignable: Mapping[bytes, Collection[int]]) -> dict[str, Assignment]:
    """Return a target for every member. `assignable`: the partitions that may be assigned, by topic id.

    If all members subscribe to the same topics, all partitions are dealt together: with no more members than partitions
    each partition has one member, and loads differ by at most one. Otherwise every topic is dealt by itself, to the
    members that have fewest partitions so far.
    """
    dealt: dict[str, set[_TopicPartition]] = {member_id: set() for member_id in members}
    subscriptions = {member.topic_ids for member in members.values()}
    if len(subscriptions) == 1:
        _deal(members, _partitions_of(next(iter(subscriptions)), assignable), dealt)
    else:
        for topic_id in sorted(frozenset[bytes]().union(*subscriptions)):
            subscribers = {member_id: m for member_id, m in members.items() if topic_id in m.topic_ids}
            _deal(subscribers, _partitions_of((topic_id,), assignable), dealt)
    return {member_id: _as_assignment(partitions) for member_id, partitions in dealt.items()}


def _partitions_of(topic_ids: Iterable[bytes], assignable: Mapping[bytes, Collection[int]]) -> list[_TopicPartition]:
    return [
        (topic_id, partition) for topic_id in sorted(topic_ids) for partition in sorted(assignable.get(topic_id, ()))
    ]


def _as_assignment(partitions: Iterable[_TopicPartition]) -> Assignment:
    by_topic: dict[bytes, set[int]] = {}
    for topic_id, partition in partitions:
        by_topic.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(by_topic[topic_id]) for topic_id in sorted(by_topic)}


def _deal(
    members: Mapping[str, AssignorMember], partitions: list[_TopicPartition], dealt: dict[str, set[_TopicPartition]]
) -> None:
    """Deal `partitions`, none of which was dealt before; add each member's part to `dealt`."""
    if not partitions:
        return
    topics: dict[bytes, set[int]] = {}
    for topic_id, partition in partitions:
        topics.setdefault(topic_id, set()).add(partition)
    held = {
        member_id: {(t, p) for t, existing in topics.items() for p in member.assigned.get(t, frozenset()) & existing}
        for member_id, member in members.items()
    }
    order = sorted(members, key=lambda member_id: (-len(held[member_id]), len(dealt[member_id]), member_id))
    sharing, desired = _fair_share(order, len(partitions))
    shared = dict.fromkeys(partitions, 0)
    for held_partitions in held.values():
        for topic_partition in held_partitions:
            shared[topic_partition] += 1
    _take_from_overfilled_members(order, held, desired, shared)
    _take_from_overshared_partitions(order, held, shared, sharing)
    _fill(order, held, desired, shared, sharing)
    for member_id, held_partitions in held.items():
        dealt[member_id] |= held_partitions


def _fair_share(order: list[str], partitions: int) -> tuple[int, dict[str, int]]:
    """Return the number of members for every partition, and the number of partitions for every member.

    Members at the front of `order` get the larger numbers.
    """
    members = len(order)
    sharing = -(-members // partitions)
    slots = sharing * partitions
    bounds = [-(-index * slots // members) for index in range(members + 1)]
    shares = sorted((bounds[index + 1] - bounds[index] for index in range(members)), reverse=True)
    return sharing, dict(zip(order, shares, strict=True))


def _take_from_overfilled_members(
    order: list[str],
    held: dict[str, set[_TopicPartition]],
    desired: dict[str, int],
    shared: dict[_TopicPartition, int],
) -> None:
    for member_id in order:
        excess = len(held[member_id]) - desired[member_id]
        if excess > 0:
            for topic_partition in sorted(held[member_id], key=lambda tp: (shared[tp], tp))[-excess:]:
                held[member_id].remove(topic_partition)
                shared[topic_partition] -= 1


def _take_from_overshared_partitions(
    order: list[str], held: dict[str, set[_TopicPartition]], shared: dict[_TopicPartition, int], sharing: int
) -> None:
    for topic_partition in [tp for tp, count in shared.items() if count > sharing]:
        for member_id in reversed(order):
            if shared[topic_partition] > sharing and topic_partition in held[member_id]:
                held[member_id].remove(topic_partition)
                shared[topic_partition] -= 1


def _fill(
    order: list[str],
    held: dict[str, set[_TopicPartition]],
    desired: dict[str, int],
    shared: dict[_TopicPartition, int],
    sharing: int,
) -> None:
    """Deal the missing partitions round-robin. A partition has fewer members than planned if all members with room have
    it.
    """
    waiting = deque(member_id for member_id in order if len(held[member_id]) < desired[member_id])
    for topic_partition, count in shared.items():
        looked_at = 0
        while count < sharing and looked_at < len(waiting):
            member_id = waiting.popleft()
            if topic_partition in held[member_id]:
                waiting.append(member_id)
                looked_at += 1
                continue
            held[member_id].add(topic_partition)
            count += 1
            # It may not take this partition again, so it counts as looked at.
            if len(held[member_id]) < desired[member_id]:
                waiting.append(member_id)
                looked_at += 1
