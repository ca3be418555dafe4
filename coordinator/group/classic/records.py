"""The record of a classic group on `__consumer_offsets`, type 2, as Apache Kafka 4.3.1 writes it.

    key      string group
    value    version 3: string protocol type, int32 generation, nullable string protocol, nullable string leader,
             int64 time of day of the group's state, members
    member   string member id, nullable string instance id, string client id, string client host, int32 rebalance
             timeout, int32 session timeout (ms), bytes subscription, bytes assignment

A null value removes the group. The subscription is the member's metadata for the protocol that was selected. Older
versions are read: 0 has no rebalance timeout (the session's counts), 0 and 1 no time, 0 to 2 no instance id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.coordinator.group.classic.group import NO_ASSIGNMENT, ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.subscriptions import subscribed_topics
from shareq.coordinator.record_serde import RecordTypes
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

CLASSIC_GROUP_RECORD_TYPES: Final[RecordTypes] = {GroupMetadataKey.API_KEY: (GroupMetadataKey, GroupMetadataValue)}

_VERSION: Final = 3
_UNKNOWN: Final = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """Return the group's record. `assignments` are by member id; a member that is missing there has an empty
    assignment.
    """
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=assignments.get(member.member_id, NO_ASSIGNMENT),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=_UNKNOWN if group.state_since_ms is None else group.state_since_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group.group_id), value, _VERSION)


def new_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record of a group before its first generation. Members that are joining are not in it."""
    since = _UNKNOWN if group.state_since_ms is None else group.state_since_ms
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=since, members=[]
    )
    return CoordinatorRecord(GroupMetadataKey(group.group_id), value, _VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group_id), None)


def restored(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group that a record describes: Stable with members, otherwise Empty."""
    since = None if value.current_state_timestamp == _UNKNOWN else value.current_state_timestamp
    group = ClassicGroup(group_id, since)
    group.generation = value.generation
    group.protocol_name = value.protocol
    group.leader_id = value.leader
    group.type = value.protocol_type or None
    for each in value.members:
        session_ms = each.session_timeout
        member = ClassicMember(
            member_id=each.member_id,
            instance_id=each.group_instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout_ms=session_ms if each.rebalance_timeout == _UNKNOWN else each.rebalance_timeout,
            session_timeout_ms=session_ms,
            protocols=((value.protocol or "", each.subscription),),
            assignment=each.assignment,
        )
        group.add(member, value.protocol_type)
    if group.members:
        if group.leader_id not in group.members:  # of a member that is gone; no coordinator writes that
            group.leader_id = next(iter(group.members))
        group.state = ClassicState.STABLE
        group.protocol_name = value.protocol or ""
    group.subscribed_topics = subscribed_topics(group)
    return group
