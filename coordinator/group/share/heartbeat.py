"""ShareGroupHeartbeat: the changes and the answer of a member's heartbeat (KIP-932, as Apache Kafka 4.3.1, but
quicker).

In 4.3.1 the first heartbeat is answered with an empty assignment, since partitions are assigned only after their share
state was initialised, by a later heartbeat. Here the share coordinator is in the same process, so a heartbeat that
finds partitions to initialise has two phases, and its answer assigns them:

1. `begin`: records of the member, of a new group epoch if one is due, and of the partitions as initialising; they are
   durable before any initialisation, so that no share state has a state epoch that the group never had.
2. The shell has the share coordinator initialise them, and waits until that is durable.
3. `finish`: the partitions are recorded as initialised; target and current assignment at that epoch; the answer.

Everything here only decides; a group changes only by the replay of the returned records. Only `Activity`, which is in
no record, is changed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from shareq.coordinator.group.assignment import NOTHING, Assignment
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.metadata_hash import metadata_hash
from shareq.coordinator.group.share.assignor import AssignorMember, simple
from shareq.coordinator.group.share.group import (
    Activity,
    CurrentAssignment,
    ShareGroup,
    ShareMember,
    StatePartitions,
    TopicsById,
    united,
)
from shareq.coordinator.group.share.initialization import (
    StateInitialization,
    existing_topics,
    initialization_ended,
    initializations,
    partitions_to_initialize,
)
from shareq.coordinator.group.share.records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_gone_records,
    member_record,
    state_partitions_record,
    target_record,
)
from shareq.coordinator.ports import MAX_MEMBER_ID_LENGTH, MetadataImage, ShareGroupSettings, TopicImage
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LogRoom, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import Assignment as WireAssignment
from shareq.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from shareq.protocol.generated.share_group_heartbeat import TopicPartitions as WireTopicPartitions
from shareq.protocol.share import JOIN_EPOCH, LEAVE_EPOCH


@dataclass(frozen=True, slots=True)
class HeartbeatInputs:
    """The inputs of a heartbeat apart from its group. `now_ms` is monotonic, `wall_ms` the time of day."""

    metadata: MetadataImage
    settings: ShareGroupSettings
    max_group_size: int
    initialize_retry_interval_ms: int
    now_ms: int
    wall_ms: int


_NO_TOPICS: Final[TopicsById] = MappingProxyType({})


class HeartbeatPlan(NamedTuple):
    """The outcome of a heartbeat's first phase: an answer, or a second phase.

    `response` set: that is the answer. Otherwise the second phase follows: after `initialize` was carried out, or, if
    that is empty (`waits`), after the second phases of those heartbeats of the group whose `initialize` is not empty.
    """

    group_id: str
    member_id: str
    response: ShareGroupHeartbeatResponse | None = None
    initialize: tuple[StateInitialization, ...] = ()
    topics: TopicsById = _NO_TOPICS
    member_epoch: int = JOIN_EPOCH
    full_request: bool = False
    bumped: bool = False
    joined: bool = False

    @property
    def waits(self) -> bool:
        """True if the answer has to wait for partitions that other heartbeats of the group initialise."""
        return self.response is None and not self.initialize


def refusal(error: ErrorCode, message: str) -> ShareGroupHeartbeatResponse:
    """Return an answer with an error only."""
    return ShareGroupHeartbeatResponse(error_code=error, error_message=message)


def request_error(request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse | None:
    """Return INVALID_REQUEST for requests that every group refuses, else None."""
    if not request.group_id.strip():
        return refusal(ErrorCode.INVALID_REQUEST, "The group id is empty.")
    if not request.member_id.strip():
        return refusal(ErrorCode.INVALID_REQUEST, "The member id is empty.")
    if len(request.member_id) > MAX_MEMBER_ID_LENGTH:
        return refusal(ErrorCode.INVALID_REQUEST, f"The member id is longer than {MAX_MEMBER_ID_LENGTH} characters.")
    if request.rack_id is not None and not request.rack_id.strip():
        return refusal(ErrorCode.INVALID_REQUEST, "The rack id is empty.")
    if request.member_epoch < LEAVE_EPOCH:
        return refusal(ErrorCode.INVALID_REQUEST, f"There is no member epoch {request.member_epoch}.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        return refusal(ErrorCode.INVALID_REQUEST, "A member that joins has to subscribe to a topic.")
    return None


def check_size(request: ShareGroupHeartbeatRequest, room: LogRoom) -> None:
    """Check the names in the request, before any other work. Raises RecordsTooLarge if they are too long for a record
    of the log.
    """
    if request.subscribed_topic_names and sum(map(len, request.subscribed_topic_names)) > room.most_bytes():
        raise RecordsTooLarge


def begin(
    group: ShareGroup,
    activity: Activity,
    request: ShareGroupHeartbeatRequest,
    client: Client,
    inputs: HeartbeatInputs,
) -> CoordinatorResult[HeartbeatPlan]:
    """Decide on the first phase of a heartbeat that passed `request_error` and does not leave."""
    refused = _member_error(group, request, inputs.max_group_size)
    if refused is not None:
        return CoordinatorResult(HeartbeatPlan(group.group_id, request.member_id, refused))
    known = group.members.get(request.member_id)
    draft = _Draft(group, _updated(known, request, client), inputs)
    if draft.member != known:
        draft.records.append(member_record(group.group_id, request.member_id, draft.member))
    resubscribed = known is None or known.subscribed_topic_names != draft.member.subscribed_topic_names
    draft.bump_if(
        resubscribed
        or (group.assignment_epoch >= group.group_epoch and group.assignment_pending(draft.existing_topic_ids())),
        activity,
    )
    plan = HeartbeatPlan(
        group.group_id,
        request.member_id,
        member_epoch=request.member_epoch,
        full_request=request.subscribed_topic_names is not None,
        bumped=draft.bumped,
        joined=known is None,
    )
    missing = partitions_to_initialize(
        group, activity, draft.topics, inputs.now_ms, inputs.initialize_retry_interval_ms
    )
    if missing:
        partitions = (group.state_partitions or StatePartitions()).with_initializing(missing)
        draft.records.append(state_partitions_record(group.group_id, partitions))
        activity.initializing_since_ms = inputs.now_ms
        activity.initializations += 1
        plan = plan._replace(initialize=initializations(group, missing, draft.epoch), topics=missing)
    elif not (activity.initializations and draft.epoch > group.assignment_epoch):
        plan = plan._replace(response=_answer(draft, plan, group.initialized))
        if not (draft.records or activity.initializations or group.initializing):
            activity.settled_at = group.revision
    return CoordinatorResult(plan, tuple(draft.records))


def is_settled(group: ShareGroup, activity: Activity, member_id: str, member_epoch: int) -> bool:
    """Return True if a heartbeat of the member in this epoch, over the connection of its last one and without a
    subscription, would change nothing and would be answered without an assignment.
    """
    if activity.settled_at != group.revision or activity.metadata_stale or activity.initializations:
        return False
    current = group.current.get(member_id)
    return current is not None and current.member_epoch == member_epoch == group.group_epoch == group.assignment_epoch


def finish(
    group: ShareGroup, activity: Activity, plan: HeartbeatPlan, initialized: bool | None, inputs: HeartbeatInputs
) -> CoordinatorResult[ShareGroupHeartbeatResponse]:
    """Decide on the second phase. `initialized`: True if all of `plan.initialize` succeeded; None: the outcome is
    unknown, or there was nothing to initialise.
    """
    records: tuple[CoordinatorRecord, ...] = ()
    confirmed: TopicsById = {}
    if plan.initialize:
        activity.initializations = max(0, activity.initializations - 1)
        if initialized is not None:
            confirmed, records = initialization_ended(group, activity, plan.topics, initialized)
    member = group.members.get(plan.member_id)
    if member is None:
        response = refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {plan.member_id} is gone from the group.")
        return CoordinatorResult(response, records)
    draft = _Draft(group, member, inputs, records)
    if confirmed and group.assignment_epoch >= group.group_epoch:
        draft.bump_if(True, activity)
    response = _answer(draft, plan, united(group.initialized, confirmed), exempt=bool(confirmed))
    return CoordinatorResult(response, tuple(draft.records))


def fence(group: ShareGroup, member_ids: Iterable[str], metadata: MetadataImage) -> tuple[CoordinatorRecord, ...]:
    """Return the records that remove members from the group, whether they left or were silent. They raise the group
    epoch once.
    """
    gone = frozenset(member_ids)
    names = {
        name
        for member_id, member in group.members.items()
        if member_id not in gone
        for name in member.subscribed_topic_names
    }
    records = [record for member_id in sorted(gone) for record in member_gone_records(group.group_id, member_id)]
    epoch = group.group_epoch + 1
    records.append(epoch_record(group.group_id, epoch, metadata_hash(names, metadata)))
    if group.members.keys() <= gone:  # a group without members has the assignment that it should have
        records.append(assignment_epoch_record(group.group_id, epoch, 0))
    return tuple(records)


class _Draft:
    """The group as it will be after the replay of `records`, with this member."""

    __slots__ = ("_topics", "bumped", "epoch", "group", "inputs", "member", "metadata_hash", "records")

    def __init__(
        self,
        group: ShareGroup,
        member: ShareMember,
        inputs: HeartbeatInputs,
        records: Iterable[CoordinatorRecord] = (),
    ) -> None:
        self.group = group
        self.member = member
        self.inputs = inputs
        self.epoch = group.group_epoch
        self.metadata_hash = group.metadata_hash
        self.bumped = False
        self.records = list(records)
        self._topics: dict[str, TopicImage] | None = None

    def members(self) -> dict[str, ShareMember]:
        return {**self.group.members, self.member.member_id: self.member}

    @property
    def topics(self) -> dict[str, TopicImage]:
        """The subscribed topics that exist, by name."""
        if self._topics is None:
            if self.group.members.get(self.member.member_id) is self.member:
                names: Iterable[str] = self.group.subscribers
            else:
                names = {name for member in self.members().values() for name in member.subscribed_topic_names}
            self._topics = existing_topics(names, self.inputs.metadata)
        return self._topics

    def existing_topic_ids(self) -> dict[str, bytes]:
        return {name: topic.topic_id for name, topic in self.topics.items()}

    def bump_if(self, requested: bool, activity: Activity) -> None:
        """Begin a new group epoch, if requested or if the subscribed topics have changed."""
        if not requested and not activity.metadata_stale:
            return
        activity.metadata_stale = False
        new_hash = metadata_hash(self.topics, self.inputs.metadata)
        if requested or new_hash != self.metadata_hash:
            self.epoch += 1
            self.metadata_hash = new_hash
            self.bumped = True
            self.records.append(epoch_record(self.group.group_id, self.epoch, new_hash))


def _member_error(
    group: ShareGroup, request: ShareGroupHeartbeatRequest, max_size: int
) -> ShareGroupHeartbeatResponse | None:
    known = request.member_id in group.members
    if not known and len(group.members) >= max_size:
        return refusal(
            ErrorCode.GROUP_MAX_SIZE_REACHED, f"The share group has its maximum of {max_size} members already."
        )
    if request.member_epoch == JOIN_EPOCH:
        return None  # a member that is known keeps its epoch and gets its assignment again
    if not known:
        return refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not in the group.")
    current = group.current_of(request.member_id)
    # The epoch before is accepted: the answer with the present one may have been lost.
    if request.member_epoch not in (current.member_epoch, current.previous_member_epoch):
        return refusal(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The member is at epoch {current.member_epoch}, the request at {request.member_epoch}.",
        )
    return None


def _updated(known: ShareMember | None, request: ShareGroupHeartbeatRequest, client: Client) -> ShareMember:
    member = known or ShareMember(request.member_id)
    names, rack_id = member.subscribed_topic_names, member.rack_id
    if request.subscribed_topic_names is not None:
        names = tuple(sorted(set(request.subscribed_topic_names)))
    if request.rack_id is not None:
        rack_id = request.rack_id
    updated = ShareMember(request.member_id, rack_id, client.client_id, client.host, names)
    return member if known == updated else updated


def _answer(
    draft: _Draft, plan: HeartbeatPlan, initialized: TopicsById, *, exempt: bool = False
) -> ShareGroupHeartbeatResponse:
    """Bring the target and the member's assignment up to date, as far as allowed now; return the answer."""
    group, member_id = draft.group, draft.member.member_id
    target_epoch, target = group.assignment_epoch, group.targets.get(member_id, NOTHING)
    exempt = exempt or plan.member_epoch == JOIN_EPOCH
    if target_epoch < draft.epoch and (exempt or _interval_is_over(draft)):
        target_epoch, target = draft.epoch, _retarget(draft, initialized)
    before = group.current_of(member_id)
    after = _reconciled(draft, before, target_epoch, target, refilter=draft.bumped or plan.bumped)
    if after is not before:
        draft.records.append(current_record(group.group_id, member_id, after))
    has_assignment = (
        plan.member_epoch == JOIN_EPOCH
        or plan.full_request
        or plan.member_epoch != before.member_epoch  # the answer with it was lost
        or after.assigned != before.assigned
    )
    return ShareGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=draft.inputs.settings.heartbeat_interval_ms,
        assignment=_wire_assignment(after.assigned) if has_assignment else None,
    )


def _interval_is_over(draft: _Draft) -> bool:
    """Return True if `share.assignment.interval.ms` has passed since the last target. A clock that was set back does
    not prolong it.
    """
    timestamp = draft.group.assignment_timestamp_ms
    elapsed = draft.inputs.wall_ms - timestamp
    return timestamp == 0 or not 0 <= elapsed < draft.inputs.settings.assignment_interval_ms


def _retarget(draft: _Draft, initialized: TopicsById) -> Assignment:
    """Compute a new target for every member, and add records for changed ones. Return this member's target."""
    group = draft.group
    topic_ids = draft.existing_topic_ids()
    assignable = {t: initialized[t].partitions for t in topic_ids.values() if t in initialized}
    targets = simple(
        {
            member_id: AssignorMember(
                _subscribed_ids(member, topic_ids), assigned=group.targets.get(member_id, NOTHING)
            )
            for member_id, member in draft.members().items()
        },
        assignable,
    )
    for member_id in sorted(targets):
        if group.targets.get(member_id) != targets[member_id]:
            draft.records.append(target_record(group.group_id, member_id, targets[member_id]))
    draft.records.append(assignment_epoch_record(group.group_id, draft.epoch, draft.inputs.wall_ms))
    return targets[draft.member.member_id]


def _reconciled(
    draft: _Draft, before: CurrentAssignment, target_epoch: int, target: Assignment, *, refilter: bool
) -> CurrentAssignment:
    """Return the member's assignment after this heartbeat.

    Partitions are assigned at once: no member has to give them up first.
    """
    if target_epoch != before.member_epoch:
        return CurrentAssignment(target_epoch, before.member_epoch, _restricted(target, draft))
    if refilter:
        assigned = _restricted(before.assigned, draft)
        return before if assigned == before.assigned else replace(before, assigned=assigned)
    return before


def _restricted(assignment: Assignment, draft: _Draft) -> Assignment:
    """Return the assignment without topics that do not exist or that the member does not subscribe to."""
    own = _subscribed_ids(draft.member, draft.existing_topic_ids())
    return {topic_id: partitions for topic_id, partitions in assignment.items() if topic_id in own}


def _subscribed_ids(member: ShareMember, topic_ids: Mapping[str, bytes]) -> frozenset[bytes]:
    return frozenset(topic_ids[name] for name in member.subscribed_topic_names if name in topic_ids)


def _wire_assignment(assigned: Assignment) -> WireAssignment:
    return WireAssignment([WireTopicPartitions(topic_id, sorted(assigned[topic_id])) for topic_id in sorted(assigned)])
