"""A member's next step towards its target (KIP-848, reconciliation of the group).

    STABLE                 at its target                    starts over on a new target or subscription
    UNREVOKED_PARTITIONS   asked to give partitions up      stays in its epoch until it does not own them any more
    UNRELEASED_PARTITIONS  at its target, but some of it    gets the rest as other members give it up
                           is still with other members

A partition never belongs to two members at once: a member gets only partitions that no other has, and keeps one to give
up until it reports that it has done so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.consumer.member import CurrentAssignment, MemberState, PartitionEpochs, united


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a member.

    `subscribed`: the ids of the existing topics that it subscribes to; `subscription_changed`: this request has changed
    them. `owner(topic_id, partition)`: the id of the member that has the partition, or None. `owned`: the partitions
    that the member reports as its own; None: it reports none.
    """

    member_id: str
    epoch: int
    assignment: Assignment
    subscribed: Collection[bytes]
    subscription_changed: bool
    owner: Callable[[bytes, int], str | None]
    owned: Assignment | None


class UnknownStateError(Exception):
    """The error for a member in an unknown state that reports partitions as its own: it has to join again."""


def reconciled(current: CurrentAssignment, target: Target) -> CurrentAssignment:
    """Return the member's next assignment; `current` itself if there is nothing to change. Raises UnknownStateError."""
    if current.state is MemberState.STABLE:
        if current.member_epoch != target.epoch:
            return _next(current, target)
        return _without_unsubscribed(current, target) if target.subscription_changed else current
    if current.state is MemberState.UNREVOKED_PARTITIONS and _owns_any(target.owned, current.revoking):
        return _without_unsubscribed(current, target) if target.subscription_changed else current
    if current.state is MemberState.UNKNOWN and (target.owned is None or target.owned):
        raise UnknownStateError
    return _next(current, target)


def _next(current: CurrentAssignment, target: Target) -> CurrentAssignment:
    kept: dict[bytes, Mapping[int, int]] = {}
    revoking: dict[bytes, Mapping[int, int]] = {}
    added: dict[bytes, Mapping[int, int]] = {}
    unreleased = False
    for topic_id in sorted({**current.assigned, **target.assignment}):
        wanted = target.assignment.get(topic_id, frozenset()) if topic_id in target.subscribed else frozenset[int]()
        missing, has = wanted, current.assigned.get(topic_id)
        if has:
            _put(kept, topic_id, {partition: epoch for partition, epoch in has.items() if partition in wanted})
            _put(revoking, topic_id, {partition: epoch for partition, epoch in has.items() if partition not in wanted})
            missing = wanted - has.keys()
        free = {partition for partition in missing if _is_free(current, target, topic_id, partition)}
        unreleased = unreleased or len(free) < len(missing)
        _put(added, topic_id, dict.fromkeys(sorted(free), target.epoch))
    if revoking and _owns_any(target.owned, revoking):
        return _moved(current, current.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return _moved(current, target.epoch, state, united(kept, added), {})


def _without_unsubscribed(current: CurrentAssignment, target: Target) -> CurrentAssignment:
    """Return the assignment without topics that are no longer subscribed to, which need not wait for a new target."""
    dropped = {topic_id: epochs for topic_id, epochs in current.assigned.items() if topic_id not in target.subscribed}
    if not dropped:
        return current
    kept = {topic_id: epochs for topic_id, epochs in current.assigned.items() if topic_id in target.subscribed}
    revoking = united(current.revoking, dropped)
    if _owns_any(target.owned, revoking):
        return _moved(current, current.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return _moved(current, current.member_epoch, current.state, kept, current.revoking)


def _moved(
    current: CurrentAssignment, epoch: int, state: MemberState, assigned: PartitionEpochs, revoking: PartitionEpochs
) -> CurrentAssignment:
    after = CurrentAssignment(epoch, current.member_epoch, state, assigned, revoking)
    # Only the epoch before would differ, which is of use while the answer with this one may be lost.
    return current if after == replace(current, previous_member_epoch=current.member_epoch) else after


def _is_free(current: CurrentAssignment, target: Target, topic_id: bytes, partition: int) -> bool:
    owner = target.owner(topic_id, partition)
    return owner is None or (owner == target.member_id and partition in current.revoking.get(topic_id, {}))


def _owns_any(owned: Assignment | None, partitions: PartitionEpochs) -> bool:
    """Return True if the member may still use one of the partitions: it reports one, or has not reported its partitions
    yet.
    """
    if owned is None:
        return True
    return any(partition in partitions.get(topic_id, {}) for topic_id in owned for partition in owned[topic_id])


def _put(into: dict[bytes, Mapping[int, int]], topic_id: bytes, partitions: Mapping[int, int]) -> None:
    if partitions:
        into[topic_id] = partitions
