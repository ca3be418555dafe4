"""ConsumerGroupHeartbeat: what a member's heartbeat changes and answers (KIP-848, as Apache Kafka 4.3.1).

1. The member is created or updated; a changed subscription makes a new group epoch, and so do changed topics.
2. A group epoch without a target assignment gets one, unless the last is too recent.
3. The member takes its next step towards its target.

One thing is quicker than in Apache Kafka, which matches patterns beside its heartbeats: here a pattern is matched by
the heartbeat that brings it, whose answer has the partitions.

Everything here decides; nothing changes a group but the replay of the records returned. Only `Activity`, which is in no
record, is changed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from shareq.coordinator.group.assignors import NOTHING, Assignment
from shareq.coordinator.group.consumer.assignors import ASSIGNORS, ConsumerAssignorMember
from shareq.coordinator.group.consumer.group import Activity, ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.joining import Sender, owned_by, sender_of
from shareq.coordinator.group.consumer.member import JOIN_EPOCH, ConsumerMember, CurrentAssignment, PartitionEpochs
from shareq.coordinator.group.consumer.reconciliation import Target, UnknownStateError, reconciled
from shareq.coordinator.group.consumer.records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_record,
    partition_metadata_tombstone,
    regex_record,
    target_record,
)
from shareq.coordinator.group.consumer.requests import Refused
from shareq.coordinator.group.consumer.subscriptions import (
    LEAST_RESOLVE_INTERVAL_MS,
    InvalidRegularExpression,
    compiled,
    resolve,
)
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.metadata_hash import metadata_hash
from shareq.coordinator.ports import ConsumerGroupSettings, TopicNames
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import Assignment as WireAssignment
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatResponseTopicPartitions as WireTopicPartitions,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a heartbeat looks at beside its group. `wall_ms` is the time of day. `assignors`: the names that may be
    asked for, the default first. `is_visible`: whether the sender may know of a topic.
    """

    metadata: TopicNames
    settings: ConsumerGroupSettings
    max_size: int
    assignors: tuple[str, ...]
    regex_refresh_interval_ms: int
    wall_ms: int
    is_visible: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Beat:
    """What a heartbeat came to. `current`: where the member stands then; `moved`: that was written anew. `replaces`:
    the id of the member that is gone by it.
    """

    response: ConsumerGroupHeartbeatResponse
    records: tuple[CoordinatorRecord, ...]
    member: ConsumerMember
    current: CurrentAssignment
    moved: bool
    replaces: str | None


def heartbeat(
    group: ConsumerGroup,
    activity: Activity,
    request: ConsumerGroupHeartbeatRequest,
    client: Client,
    around: Surroundings,
) -> Beat:
    """One heartbeat that passed `requests.check` and does not leave. Raises Refused: see `joining.sender_of`, and
    INVALID_REGULAR_EXPRESSION.
    """
    draft = _Draft(group, sender_of(group, request, around.max_size), request, client, around)
    if draft.member != draft.sender.member:
        draft.records.append(member_record(group.group_id, draft.member))
    topics_differ = draft.update_regexes(activity)
    draft.bump_if(draft.names_changed or topics_differ, activity)
    target_epoch, target = draft.retarget()
    before = draft.sender.current
    after = _step(draft, target_epoch, target, owned_by(request))
    if after != before:
        draft.records.append(current_record(group.group_id, draft.member.member_id, after))
    response = ConsumerGroupHeartbeatResponse(
        member_id=draft.member.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=around.settings.heartbeat_interval_ms,
    )
    if request.member_epoch == JOIN_EPOCH or _is_full(request) or after.assigned != before.assigned:
        response.assignment = WireAssignment(_wire(after.assigned))
    return Beat(response, tuple(draft.records), draft.member, after, after != before, draft.sender.replaces)


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Everything a member has to say: it does so when it joins, and after an answer that did not come."""
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None


def _step(draft: _Draft, epoch: int, assignment: Assignment, owned: Assignment | None) -> CurrentAssignment:
    current = draft.sender.current
    changed = draft.names_changed or draft.regex_changed
    if not changed and current.is_reconciled_to(epoch):
        return current
    target = Target(
        member_id=draft.member.member_id,
        epoch=epoch,
        assignment=assignment,
        subscribed=draft.topic_ids_of(draft.member),
        subscription_changed=changed,
        owner=draft.group.owner,
        owned=owned,
    )
    try:
        return reconciled(current, target)
    except UnknownStateError:
        message = "The member is in a state of a later version: it has to join again."
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, message) from None


class _Draft:
    """The group as it will be once `records` are replayed, with this member."""

    __slots__ = ("around", "epoch", "group", "member", "metadata_hash", "records", "resolved", "sender")

    def __init__(
        self,
        group: ConsumerGroup,
        sender: Sender,
        request: ConsumerGroupHeartbeatRequest,
        client: Client,
        around: Surroundings,
    ) -> None:
        self.group = group
        self.sender = sender
        self.member = _updated(sender.member, request, client)
        self.around = around
        self.epoch = group.group_epoch
        self.metadata_hash = group.metadata_hash
        self.resolved = group.resolved
        self.records: list[CoordinatorRecord] = list(sender.records)

    @property
    def names_changed(self) -> bool:
        return self.member.subscribed_topic_names != self.sender.member.subscribed_topic_names

    @property
    def regex_changed(self) -> bool:
        return self.member.subscribed_topic_regex != self.sender.member.subscribed_topic_regex

    def members(self) -> dict[str, ConsumerMember]:
        members = {m: member for m, member in self.group.members.items() if m != self.sender.replaces}
        members[self.member.member_id] = self.member
        return members

    def topic_ids_of(self, member: ConsumerMember) -> frozenset[bytes]:
        """The existing topics it subscribes to."""
        topics = map(self.around.metadata.topic, self.group.topics_of(member, self.resolved))
        return frozenset(topic.topic_id for topic in topics if topic is not None)

    # Patterns

    def update_regexes(self, activity: Activity) -> bool:
        """Match patterns as far as that is due, and forget those nobody has any more; whether topics may differ."""
        if not self.regex_changed and not self.group.resolved and not self.member.subscribed_topic_regex:
            return False
        wanted = {m.subscribed_topic_regex for m in self.members().values() if m.subscribed_topic_regex}
        gone = sorted(self.group.resolved.keys() - wanted)
        due = self._due_regexes(wanted, activity)
        self.resolved = {regex: each for regex, each in self.group.resolved.items() if regex in wanted}
        if due:
            names = (topic.name for topic in self.around.metadata.topics())
            self.resolved.update(resolve(due, names, self.around.is_visible, self.around.wall_ms))
        group_id = self.group.group_id
        self.records += [regex_record(group_id, regex, None) for regex in gone]
        self.records += [regex_record(group_id, regex, self.resolved[regex]) for regex in due]
        before = self.group.resolved
        return self.regex_changed or any(
            before.get(each, _UNRESOLVED).topics != self.resolved[each].topics for each in due
        )

    def _due_regexes(self, wanted: Collection[str], activity: Activity) -> list[str]:
        """All when topics have come or a while has passed; otherwise those that were never matched."""
        missing = sorted(set(wanted) - self.group.resolved.keys())
        mine = self.member.subscribed_topic_regex
        if mine in missing:
            _check_regex(mine)
        last = max((each.timestamp_ms for each in self.group.resolved.values()), default=0)
        age = self.around.wall_ms - last
        refresh = age > self.around.regex_refresh_interval_ms
        if refresh or (activity.topics_created and age > LEAST_RESOLVE_INTERVAL_MS):
            activity.topics_created = False
            return sorted(wanted)
        return missing

    # Epochs

    def bump_if(self, requested: bool, activity: Activity) -> None:
        """A new group epoch, when it is requested or the subscribed topics are not what they were."""
        if not requested and not activity.metadata_stale:
            return
        activity.metadata_stale = False
        group_id = self.group.group_id
        new_hash = metadata_hash(self._subscribed(), self.around.metadata)
        if requested or new_hash != self.metadata_hash:
            self.epoch += 1
            self.metadata_hash = new_hash
            self.records.append(epoch_record(group_id, self.epoch, new_hash))
        if self.group.has_partition_metadata:
            self.records.append(partition_metadata_tombstone(group_id))

    def _subscribed(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.group.topics_of(m, self.resolved) for m in self.members().values()))

    # Targets

    def retarget(self) -> tuple[int, Assignment]:
        """The assignment epoch, and the member's target in it; both anew when that is due."""
        group = self.group
        if group.assignment_epoch >= self.epoch or not self._may_assign():
            return group.assignment_epoch, self.sender.target
        members = self.members()
        specs = {m: self._spec(member) for m, member in members.items()}
        known = {topic_id for spec in specs.values() for topic_id in spec.topic_ids}
        images = {topic_id: self.around.metadata.topic_by_id(topic_id) for topic_id in known}
        counts = {topic_id: image.partitions for topic_id, image in images.items() if image is not None}
        targets = ASSIGNORS[self._assignor(members.values())](specs, counts)
        for member_id in sorted(members):
            target = targets.get(member_id, NOTHING)
            if target != self._target_before(member_id):
                self.records.append(target_record(group.group_id, member_id, target))
        self.records.append(assignment_epoch_record(group.group_id, self.epoch, self.around.wall_ms))
        return self.epoch, targets.get(self.member.member_id, NOTHING)

    def _may_assign(self) -> bool:
        interval, last = self.around.settings.assignment_interval_ms, self.group.assignment_timestamp_ms
        return not last or not interval or self.around.wall_ms >= last + interval

    def _spec(self, member: ConsumerMember) -> ConsumerAssignorMember:
        target = self.sender.target if member is self.member else self.group.target_of(member.member_id)
        return ConsumerAssignorMember(self.topic_ids_of(member), target, member.instance_id)

    def _target_before(self, member_id: str) -> Assignment | None:
        """None: it has no record of one."""
        if member_id == self.member.member_id and self.sender.replaces is not None:
            return self.sender.target
        return self.group.targets.get(member_id)

    def _assignor(self, members: Iterable[ConsumerMember]) -> str:
        return preferred_assignor(members, self.around.assignors)


_UNRESOLVED = ResolvedRegex()


def preferred_assignor(members: Iterable[ConsumerMember], assignors: tuple[str, ...]) -> str:
    """What most of those members ask for that ask; of equals the first of `assignors`, which is the default, too."""
    votes = dict.fromkeys(assignors, 0)
    for member in members:
        if member.server_assignor in votes:
            votes[member.server_assignor] += 1
    return max(assignors, key=lambda name: votes[name])


def _check_regex(regex: str | None) -> None:
    try:
        compiled(regex or "")
    except InvalidRegularExpression as error:
        message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None


def _updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, client: Client) -> ConsumerMember:
    """What a request leaves out stays as it was."""
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
