"""DescribeGroups: a classic group as administrators see it."""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.groups import Group
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_groups import DescribedGroup, DescribedGroupMember

DEAD: Final = "Dead"
"""The state that is reported for a group that does not exist, or is not a classic one."""

NOT_FOUND_FROM_VERSION: Final = 6


def classic_group_entry(group: ClassicGroup) -> DescribedGroup:
    """Return the group's entry. Protocol and metadata are given for a Stable group only, because a rebalance changes
    them.
    """
    stable = group.state is ClassicState.STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=(group.protocol_name or "") if stable else "",
        members=[_member(group, member, stable) for member in group.members.values()],
    )


def no_classic_group(group_id: str, group: Group | None, version: int) -> DescribedGroup:
    """Return the entry of a group that is of another kind or does not exist (None).

    It has an error from version 6 on (KIP-1043); before, it is a group in state Dead.
    """
    if version < NOT_FOUND_FROM_VERSION:
        return DescribedGroup(group_id=group_id, group_state=DEAD)
    message = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
    return DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message, group_id=group_id, group_state=DEAD
    )


def classic_group_error_entry(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Return the entry of a group that cannot be described now."""
    return DescribedGroup(error_code=error, error_message=message, group_id=group_id)


def _member(group: ClassicGroup, member: ClassicMember, stable: bool) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if stable else b"",
        member_assignment=member.assignment,
    )
