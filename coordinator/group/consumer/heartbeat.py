"""ConsumerGroupHeartbeat: the changes by a member's heartbeat, and its answer (KIP-848, as Apache Kafka 4.3.1).

1. The member is created or updated; a changed subscription or changed topics lead to a new group epoch. 2. A group
epoch without a target assignment gets one, unless the last is too recent. 3. The member takes its next step towards its
target.

Patterns are matched sooner than in Apache Kafka, which does it outside of heartbeats: here the heartbeat that brings a
pattern matches it, and its answer has the partitions.

Everything here only decides; a group changes only by the replay of the returned records. Only `Activity`, which is in
no record, is changed at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from shareq.coordinator.group.consumer.group import Activity, ConsumerGroup
from shareq.coordinator.group.consumer.joining import owned_by, sender_of
from shareq.coordinator.group.consumer.member import JOIN_EPOCH, ConsumerMember, CurrentAssignment, PartitionEpochs
from shareq.coordinator.group.consumer.target.draft import Draft, HeartbeatInputs
from shareq.coordinator.group.groups import Client
from shareq.coordinator.shard import CoordinatorRecord, Steps
from shareq.protocol.generated.consumer_group_heartbeat import Assignment as WireAssignment
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatResponseTopicPartitions as WireTopicPartitions,
)


@dataclass(frozen=True, slots=True)
class HeartbeatOutcome:
    """The outcome of a heartbeat.

    `current`: the member's assignment after it; `moved`: that assignment was written. `bumped`: the group has a new
    epoch. `replaces`: the id of the member that this one replaces. `is_long`: its records are large.
    """

    response: ConsumerGroupHeartbeatResponse
    records: tuple[CoordinatorRecord, ...]
    member: ConsumerMember
    current: CurrentAssignment
    moved: bool
    bumped: bool
    replaces: str | None
    is_long: bool


def heartbeat(
    group: ConsumerGroup,
    activity: Activity,
    request: ConsumerGroupHeartbeatRequest,
    client: Client,
    inputs: HeartbeatInputs,
) -> Steps[HeartbeatOutcome]:
    """Decide on one heartbeat that passed `requests.check` and does not leave. Raises Refused: see `joining.sender_of`,
    and INVALID_REGULAR_EXPRESSION.
    """
    sender = sender_of(group, request, inputs.max_size)
    draft = Draft(group, sender, _updated(sender.member, request, client), inputs)
    yield from draft.pause()
    draft.update_epoch(activity)
    yield from draft.pause()
    epoch, target = yield from draft.retarget()
    yield from draft.pause()
    before = sender.current
    after = yield from draft.step(epoch, target, owned_by(request))
    yield from draft.pause()
    response = ConsumerGroupHeartbeatResponse(
        member_id=draft.member.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=inputs.settings.heartbeat_interval_ms,
    )
    if request.member_epoch == JOIN_EPOCH or _is_full(request) or after.assigned != before.assigned:
        response.assignment = WireAssignment(_wire(after.assigned))
    yield from draft.pause()
    return HeartbeatOutcome(
        response=response,
        records=tuple(draft.records),
        member=draft.member,
        current=after,
        moved=after != before,
        bumped=draft.bumped,
        replaces=sender.replaces,
        is_long=draft.is_long,
    )


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return True if the request has all fields set, as when a member joins, or has got no answer to its last
    heartbeat.
    """
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, client: Client) -> ConsumerMember:
    """Return the member as changed by the request. Fields missing in the request stay unchanged."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    updated = ConsumerMember(
        member_id=member.member_id,
        instance_id=_given(request.instance_id, member.instance_id),
        rack_id=_given(request.rack_id, member.rack_id),
        client_id=client.client_id,
        client_host=client.host,
        subscribed_topic_names=member.subscribed_topic_names if names is None else tuple(sorted(set(names))),
        subscribed_topic_regex=_given(regex, member.subscribed_topic_regex),
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=_given(request.server_assignor, member.server_assignor),
    )
    return member if updated == member else updated


def _given(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _wire(assigned: PartitionEpochs) -> list[WireTopicPartitions]:
    return [WireTopicPartitions(topic_id, sorted(assigned[topic_id])) for topic_id in sorted(assigned)]
