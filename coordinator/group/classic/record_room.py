"""A check that a classic group still fits into its record when a member joins.

The record is written long after the member has joined: when the leader's assignment arrives. Apache Kafka notices only
then that it is too large, and the group rebalances again and again. Here the member is refused, and the group continues
without it.
"""

from __future__ import annotations

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.shard import LogRoom, RecordsTooLarge


def check_room(group: ClassicGroup, comer: ClassicMember, room: LogRoom) -> None:
    """Raise RecordsTooLarge for a member that would make the group's record too large.

    The size is computed with the largest protocol that all members support. `comer` replaces the member of its id or
    instance id, if there is one. Assignments count if they are written again: a returning static member keeps its own.
    """
    stays = group.state is ClassicState.STABLE and comer.instance_id in group.static_members
    if not stays and group.most_bytes + comer.most_bytes <= room.room_bytes():
        return
    after = _with(group, comer)
    after.protocol_name, most = _largest_protocol(after)
    if most > room.most_bytes():
        raise RecordsTooLarge
    assignments = {each.member_id: each.assignment for each in after.members.values()} if stays else {}
    if not room.fits((group_record(after, assignments),)):
        raise RecordsTooLarge


def _with(group: ClassicGroup, comer: ClassicMember) -> ClassicGroup:
    """Return a group of the same members and this one."""
    after = ClassicGroup(group.group_id, group.state_since_ms)
    replaced = group.static_members.get(comer.instance_id or "")
    for member in group.members.values():
        if member.member_id not in (comer.member_id, replaced):
            after.add(member, group.protocol_type)
    after.add(comer, group.protocol_type)
    return after


def _largest_protocol(group: ClassicGroup) -> tuple[str, int]:
    """Return the protocol that all members support and whose metadata is largest, and the bytes of its metadata."""
    bytes_of: dict[str, list[int]] = {}
    for member in group.members.values():
        for name, metadata in dict(reversed(member.protocols)).items():  # the first of a name counts
            bytes_of.setdefault(name, []).append(len(metadata))
    common = {name: sum(sizes) for name, sizes in bytes_of.items() if len(sizes) == len(group.members)}
    largest = max(common, key=lambda name: common[name])
    return largest, common[largest]
