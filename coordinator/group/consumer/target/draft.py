"""One member's request as a draft of its group: the new epochs, the new target, and the member's next step.

Requests of both protocols lead here: the heartbeats of KIP-848's members, and the JoinGroups of members that speak the
classic protocol in a consumer group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shareq.coordinator.group.assignment import NOTHING, Assignment
from shareq.coordinator.group.consumer.group import Activity, ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.joining import Sender
from shareq.coordinator.group.consumer.member import ConsumerMember, CurrentAssignment
from shareq.coordinator.group.consumer.patterns import InvalidRegularExpression, compiled
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
from shareq.coordinator.group.consumer.target.assignors import ASSIGNORS, ConsumerAssignorMember
from shareq.coordinator.group.consumer.target.pattern_rounds import due, resolve
from shareq.coordinator.group.consumer.target.reconciliation import Target, UnknownStateError, reconciled
from shareq.coordinator.group.metadata_hash import metadata_hash
from shareq.coordinator.ports import ConsumerGroupSettings, TopicNames
from shareq.coordinator.shard import CoordinatorRecord, Steps
from shareq.protocol.errors import ErrorCode

MANY_TOPICS: Final = 500
"""The number of subscribed topics above which a request is decided in steps; each step takes at most 2 µs for a
topic.
"""


@dataclass(frozen=True, slots=True)
class HeartbeatInputs:
    """The inputs of a request apart from its group.

    `wall_ms` is the time of day. `assignors`: the names that members may ask for, the default first. `is_visible`
    returns True if the sender may see a topic; None: patterns are not matched.
    """

    metadata: TopicNames
    settings: ConsumerGroupSettings
    max_size: int
    assignors: tuple[str, ...]
    regex_refresh_interval_ms: int
    wall_ms: int
    is_visible: Callable[[str], bool] | None

    def may_assign(self, group: ConsumerGroup) -> bool:
        """Return True if the last target is old enough for a new one to be computed."""
        interval, last = self.settings.assignment_interval_ms, group.assignment_timestamp_ms
        return not last or not interval or self.wall_ms >= last + interval


class Draft:
    """The group as it will be after the replay of `records`. `sender` is the member before the request, `member` after
    it.
    """

    __slots__ = (
        "_assigns_many",
        "_known_ids",
        "epoch",
        "group",
        "inputs",
        "member",
        "metadata_hash",
        "partitions",
        "records",
        "resolved",
        "sender",
    )

    def __init__(
        self,
        group: ConsumerGroup,
        sender: Sender,
        member: ConsumerMember,
        inputs: HeartbeatInputs,
    ) -> None:
        self.group = group
        self.sender = sender
        self.member = member
        self.inputs = inputs
        self.epoch = group.group_epoch
        self.metadata_hash = group.metadata_hash
        self.resolved = group.resolved
        self._assigns_many = False
        self.partitions: dict[bytes, int] = {}  # of the topics that were looked up
        self._known_ids: dict[frozenset[str], frozenset[bytes]] = {}  # by name: many members subscribe to the same
        self.records: list[CoordinatorRecord] = list(sender.records)
        if member != sender.member:
            self.records.append(member_record(group.group_id, member))

    @property
    def bumped(self) -> bool:
        """True if the draft raises the group epoch."""
        return self.epoch > self.group.group_epoch

    @property
    def names_changed(self) -> bool:
        return self.member.subscribed_topic_names != self.sender.member.subscribed_topic_names

    @property
    def regex_changed(self) -> bool:
        return (self.member.subscribed_topic_regex or "") != (self.sender.member.subscribed_topic_regex or "")

    def update_epoch(self, activity: Activity) -> None:
        """Begin a new group epoch if the member's subscription, or the topics of the group, have changed.

        Raises Refused: INVALID_REGULAR_EXPRESSION.
        """
        topics_differ = self.update_regexes(activity)
        self.bump_if(self.names_changed or topics_differ, activity)

    def members(self) -> dict[str, ConsumerMember]:
        members = {m: member for m, member in self.group.members.items() if m != self.sender.replaces}
        members[self.member.member_id] = self.member
        return members

    @property
    def is_long(self) -> bool:
        """True if the decision is divided into steps, because of many topics.

        These are the topics of the member, or of all members if they get a new target.
        """
        if self._assigns_many:
            return True
        member = self.member
        found = self.resolved.get(member.subscribed_topic_regex) if member.subscribed_topic_regex else None
        return len(member.subscribed_topic_names) + (0 if found is None else len(found.topics)) > MANY_TOPICS

    def pause(self) -> Iterator[None]:
        """Pause if the decision is long, so that others have their turn."""
        if self.is_long:
            yield

    def topic_ids_of(self, member: ConsumerMember) -> frozenset[bytes]:
        """Return the ids of the existing topics that the member subscribes to, as they were at the first call: topics
        created or deleted during a pause wait for the next heartbeat.
        """
        names = self.group.topics_of(member, self.resolved)
        known = self._known_ids.get(names)
        if known is None:
            topics = [topic for name in names if (topic := self.inputs.metadata.topic(name)) is not None]
            self.partitions.update((topic.topic_id, topic.partitions) for topic in topics)
            known = self._known_ids[names] = frozenset([topic.topic_id for topic in topics])
        return known

    # -- patterns

    def update_regexes(self, activity: Activity) -> bool:
        """Match the patterns that are due, and forget unused ones.

        Return True if the member's pattern has changed, or the topics that match any pattern of the group.
        """
        if not self.regex_changed and not self.group.resolved and not self.member.subscribed_topic_regex:
            return False
        wanted = {m.subscribed_topic_regex for m in self.members().values() if m.subscribed_topic_regex}
        before = self.group.resolved
        gone = sorted(before.keys() - wanted)
        is_visible = self.inputs.is_visible
        found = {} if is_visible is None else self._resolve_due(wanted, activity, is_visible)
        self.resolved = {regex: each for regex, each in before.items() if regex in wanted} | found
        group_id = self.group.group_id
        self.records += [regex_record(group_id, regex, None) for regex in gone]
        self.records += [regex_record(group_id, regex, each) for regex, each in found.items()]
        return self.regex_changed or any(
            before.get(regex, _UNRESOLVED).topics != each.topics for regex, each in found.items()
        )

    def _resolve_due(
        self, wanted: Collection[str], activity: Activity, is_visible: Callable[[str], bool]
    ) -> dict[str, ResolvedRegex]:
        """Return the new results of those patterns whose matches have changed.

        Raise Refused: INVALID_REGULAR_EXPRESSION.
        """
        before, inputs, mine = self.group.resolved, self.inputs, self.member.subscribed_topic_regex
        if mine and mine not in before:
            _check_regex(mine)
        regexes = due(wanted, mine, before, activity, inputs.regex_refresh_interval_ms, inputs.wall_ms)
        if not regexes:
            return {}
        activity.matches.keep(wanted)
        activity.matches.look_at(frozenset(topic.name for topic in inputs.metadata.topics()))
        found, activity.to_match = resolve(regexes, activity.matches, before, is_visible, inputs.wall_ms)
        return found

    # -- epochs

    def bump_if(self, requested: bool, activity: Activity) -> None:
        """Begin a new group epoch, if requested or if the subscribed topics have changed."""
        if not requested and not activity.metadata_stale:
            return
        activity.metadata_stale = False
        group_id = self.group.group_id
        new_hash = metadata_hash(self._subscribed(), self.inputs.metadata)
        if requested or new_hash != self.metadata_hash:
            self.epoch += 1
            self.metadata_hash = new_hash
            self.records.append(epoch_record(group_id, self.epoch, new_hash))
        if self.group.has_partition_metadata:
            self.records.append(partition_metadata_tombstone(group_id))

    def _subscribed(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.group.topics_of(m, self.resolved) for m in self.members().values()))

    # -- the member's way

    def step(self, epoch: int, assignment: Assignment, owned: Assignment | None) -> Steps[CurrentAssignment]:
        """Return the member's next assignment on the way to its target of that epoch. `owned`: the partitions that the
        member reports as its own.

        Raise Refused: FENCED_MEMBER_EPOCH.
        """
        current = self.sender.current
        changed = self.names_changed or self.regex_changed
        if not changed and current.is_reconciled_to(epoch):
            return current
        subscribed = self.topic_ids_of(self.member)
        yield from self.pause()
        target = Target(
            member_id=self.member.member_id,
            epoch=epoch,
            assignment=assignment,
            subscribed=subscribed,
            subscription_changed=changed,
            owner=self._owner,
            owned=owned,
        )
        try:
            after = reconciled(current, target)
        except UnknownStateError:
            message = "The member is in a state of a later version: it has to join again."
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, message) from None
        if after != current:
            yield from self.pause()
            self.records.append(current_record(self.group.group_id, self.member.member_id, after))
        return after

    def _owner(self, topic_id: bytes, partition: int) -> str | None:
        owner = self.group.owner(topic_id, partition)
        return self.member.member_id if owner is not None and owner == self.sender.replaces else owner

    # -- targets

    def retarget(self) -> Steps[tuple[int, Assignment]]:
        """Return the assignment epoch, and the member's target in it. A new target is computed if the group epoch has
        none, unless the last one is too recent.
        """
        group = self.group
        if group.assignment_epoch >= self.epoch or not self.inputs.may_assign(group):
            return group.assignment_epoch, self.sender.target
        members = self.members()
        specs = {m: self._spec(member) for m, member in members.items()}
        self._assigns_many = len(self.partitions) > MANY_TOPICS
        yield from self.pause()
        targets = yield from ASSIGNORS[self._assignor(members.values())](specs, self.partitions)
        yield from self.pause()
        for member_id in sorted(members):
            target = targets.get(member_id, NOTHING)
            if target != self._target_before(member_id):
                self.records.append(target_record(group.group_id, member_id, target))
        self.records.append(assignment_epoch_record(group.group_id, self.epoch, self.inputs.wall_ms))
        return self.epoch, targets.get(self.member.member_id, NOTHING)

    def _spec(self, member: ConsumerMember) -> ConsumerAssignorMember:
        target = self.sender.target if member is self.member else self.group.target_of(member.member_id)
        return ConsumerAssignorMember(self.topic_ids_of(member), target, member.instance_id)

    def _target_before(self, member_id: str) -> Assignment | None:
        """Return the member's target before the request; None if it has no record of one."""
        if member_id == self.member.member_id and self.sender.replaces is not None:
            return self.sender.target
        return self.group.targets.get(member_id)

    def _assignor(self, members: Iterable[ConsumerMember]) -> str:
        return preferred_assignor(members, self.inputs.assignors)


_UNRESOLVED = ResolvedRegex()


def preferred_assignor(members: Iterable[ConsumerMember], assignors: tuple[str, ...]) -> str:
    """Return the assignor that most members name; if several are named equally often, or none is, the first of
    `assignors`.
    """
    votes = dict.fromkeys(assignors, 0)
    for member in members:
        if member.server_assignor in votes:
            votes[member.server_assignor] += 1
    return max(assignors, key=lambda name: votes[name])


def _check_regex(regex: str) -> None:
    try:
        compiled(regex)
    except InvalidRegularExpression as error:
        message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None
