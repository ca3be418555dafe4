"""JoinGroup of a member that speaks the classic protocol in a consumer group.

It is answered at once, without waiting for others: the broker assigns, the member's epoch is its generation, and no
member leads. The member asks for its partitions by SyncGroup, learns by Heartbeat that its target has changed, and
joins again, first without the partitions it must give up, then with those that others have given up for it.
"""

from __future__ import annotations

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.embedded import read_subscription
from shareq.coordinator.group.classic.group import CONSUMER_PROTOCOL_TYPE
from shareq.coordinator.group.classic.rpc.join import MEMBER_ID_FROM_VERSION, Joining
from shareq.coordinator.group.consumer.group import ConsumerGroup
from shareq.coordinator.group.consumer.joining import Sender, check_size, replacing, static_member
from shareq.coordinator.group.consumer.member import ClassicMetadata, ConsumerMember, CurrentAssignment
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.join_group import JoinGroupResponse


def check_join(group: ConsumerGroup, joining: Joining, policy: MigrationPolicy, max_size: int) -> None:
    """Check whether the member may join. Raises Refused: INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED."""
    if policy is MigrationPolicy.DISABLED:
        raise _inconsistent("group.consumer.migration.policy is disabled")
    check_size(group, joining.request.member_id or joining.new_id, max_size)
    if joining.request.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _inconsistent(f"its protocol type is {joining.request.protocol_type}")
    if not group.supports_classic([name for name, _ in joining.protocols]):
        raise _inconsistent("none of its protocols is that of all other members of the classic protocol")


def needs_member_id(joining: Joining) -> bool:
    """Return True if the member has to repeat its request with the id that it gets (KIP-394)."""
    request = joining.request
    unknown = not request.member_id and request.group_instance_id is None
    return unknown and joining.version >= MEMBER_ID_FROM_VERSION


def subscription_of(joining: Joining) -> ConsumerProtocolSubscription:
    """Read the subscription in the member's preferred protocol. Raise Refused: INCONSISTENT_GROUP_PROTOCOL."""
    try:
        return read_subscription(joining.protocols[0][1])
    except MalformedMessage:
        raise _inconsistent("its subscription cannot be read") from None


def sender_of(group: ConsumerGroup, joining: Joining) -> Sender:
    """Return the member before the request. A new member may have any id; a static member without an id replaces the
    previous member of its instance id, whichever protocol that one speaks. Raises Refused: UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID.
    """
    request = joining.request
    member_id, instance_id = request.member_id or joining.new_id, request.group_instance_id
    if instance_id is None:
        known = group.members.get(member_id)
    elif request.member_id:
        known = static_member(group, member_id, instance_id)
    else:
        old = group.static_member(instance_id)
        if old is not None:
            return replacing(group, old, member_id)
        known = None
    if known is None:
        return Sender(ConsumerMember(member_id), CurrentAssignment(), {})
    return Sender(known, group.current_of(member_id), group.target_of(member_id))


def joined_member(
    member: ConsumerMember, joining: Joining, subscription: ConsumerProtocolSubscription
) -> ConsumerMember:
    """Return the member with the metadata of its request."""
    request = joining.request
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        client_id=joining.client.client_id,
        client_host=joining.client.host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        subscribed_topic_regex="",
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic=ClassicMetadata(request.session_timeout_ms, joining.protocols),
    )


def owned_partitions(subscription: ConsumerProtocolSubscription, metadata: MetadataImage) -> Assignment:
    """Return the partitions that a consumer keeps while it joins: none, unless its assignor is cooperative."""
    owned: dict[bytes, frozenset[int]] = {}
    for each in subscription.owned_partitions:
        topic = metadata.topic(each.topic)
        if topic is not None:
            owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()) | frozenset(each.partitions)
    return owned


def joined(member_id: str, epoch: int, protocol_name: str | None) -> JoinGroupResponse:
    """Return the JoinGroup answer for a member that has reached that epoch."""
    return JoinGroupResponse(
        generation_id=epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=protocol_name,
        leader="",
        member_id=member_id,
    )


def _inconsistent(why: str) -> Refused:
    return Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The member cannot join the consumer group: {why}.")
