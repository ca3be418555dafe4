"""Replaying a share group's records restores the same state; invariants of any share group."""

from __future__ import annotations

from itertools import islice

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shareq.broker.log.cleaner.survivors import latest_value
from shareq.coordinator.group.shard import GroupCoordinatorSettings
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.share.world import GROUP, GroupWorld
from tests.unit.coordinator.support import Topics

members = st.sampled_from(["a", "b", "c", "d"])
subscriptions = st.one_of(st.none(), st.lists(st.sampled_from(["t", "u", "v"]), max_size=3))
outcomes = st.sampled_from([True, True, True, False, None])

DURABLE = [name for name in ShareGroup.__slots__ if name not in ("_revision", "_pending_cache")]


def durable(group: ShareGroup | None) -> object:
    return None if group is None else {name: getattr(group, name) for name in DURABLE}


class GroupReplay(RuleBasedStateMachine):
    """Random heartbeats of four members, split into their phases, with administration, topic changes and restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.world = GroupWorld(
            Topics(t=2, u=1),
            coordinator=GroupCoordinatorSettings(ShareGroupLimits(max_size=3, initialize_retry_interval_ms=10_000)),
        )
        self.epochs: dict[str, int] = {}
        self.plans: list[HeartbeatPlan] = []
        self.late: list[HeartbeatPlan] = []
        self.highest_epoch = 0

    @rule(member=members, topics=subscriptions, join=st.booleans(), outcome=outcomes)
    def heartbeat(self, member: str, topics: list[str] | None, join: bool, outcome: bool | None) -> None:
        epoch = 0 if join else self.epochs.get(member, 0)
        plan = self.world.begin(member, epoch, topics)
        if plan.response is None:
            self._finish(plan, outcome)
        else:
            self._note(plan, plan.response.error_code, plan.response.member_epoch)

    @rule(member=members, topics=subscriptions, join=st.booleans())
    def begin(self, member: str, topics: list[str] | None, join: bool) -> None:
        plan = self.world.begin(member, 0 if join else self.epochs.get(member, 0), topics)
        if plan.response is None:
            self.plans.append(plan)

    @rule(outcome=outcomes)
    def finish_one(self, outcome: bool | None) -> None:
        if self.plans:
            self._finish(self.plans.pop(0), outcome)

    @rule(outcome=st.booleans())
    def late_outcome(self, outcome: bool) -> None:
        if self.late:
            plan = self.late.pop(0)
            self.world.log.run(self.world.shard.share.finish_initialization(plan, outcome))

    @rule(member=members)
    def leave(self, member: str) -> None:
        self.world.beat(member, -1)
        self.epochs.pop(member, None)

    @rule(ms=st.sampled_from([1, 999, 5000, 12_000, 46_000]))
    def wait(self, ms: int) -> None:
        self.world.log.advance(ms)

    @rule(name=st.sampled_from(["t", "u", "v"]), reported=st.booleans())
    def create_or_grow(self, name: str, reported: bool) -> None:
        topic = self.world.topics.topic(name)
        if topic is None:
            self.world.topics.create(name, 1)
        else:
            self.world.topics.grow(name, min(topic.partitions + 1, 5))
        if reported:
            self.world.shard.topics_changed([name])

    @rule(name=st.sampled_from(["u", "v"]))
    def delete_topic(self, name: str) -> None:
        if self.world.topics.topic(name) is not None:
            gone = self.world.topics.delete(name)
            self.world.log.run(self.world.shard.topics_deleted({gone.topic_id: name}))

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE]))
    def delete_group(self, error: ErrorCode) -> None:
        if self.world.log.run(self.world.shard.share.begin_delete_group(GROUP)).error.code is ErrorCode.NONE:
            outcome = self.world.log.run(self.world.shard.share.finish_delete_group(GROUP, error))
            if outcome.code is ErrorCode.NONE:
                self.highest_epoch = 0
                self.plans.clear()
                self.late.clear()

    @rule(offset=st.integers(0, 9), failed=st.booleans())
    def alter_offsets(self, offset: int, failed: bool) -> None:
        plan = self.world.log.run(
            self.world.shard.share.begin_alter_offsets(GROUP, {"t": {0: offset, 1: offset}}, self.world.time.now_ms)
        )
        keys: list[SharePartitionKey] = [i.key for i in islice(plan.initializations(), 1)] if failed else []
        if plan.error.code is ErrorCode.NONE:
            self.world.log.run(self.world.shard.share.finish_alter_offsets(GROUP, plan, keys))

    @rule(succeeded=st.booleans())
    def delete_offsets(self, succeeded: bool) -> None:
        plan = self.world.log.run(self.world.shard.share.begin_delete_offsets(GROUP, ["t", "u"]))
        topic_ids = {key.topic_id for keys in plan.delete.values() for key in keys} if succeeded else set()
        self.world.log.run(self.world.shard.share.finish_delete_offsets(GROUP, topic_ids))

    @rule()
    def restart(self) -> None:
        self.plans.clear()
        self.late.clear()
        self.world.log.reload()

    @invariant()
    def replay_gives_the_live_state(self) -> None:
        assert durable(self.world.log.loaded().share_group(GROUP)) == durable(self.world.shard.share_group(GROUP))

    @invariant()
    def compaction_changes_nothing(self) -> None:
        """Replay the log after any amount of compaction: there is no error, and the group is the same."""
        live = durable(self.world.shard.share_group(GROUP))
        for upto, tombstones_are_over in ((1, True), (2, False), (2, True)):
            end = len(self.world.log.encoded) * upto // 2
            shard = self.world.log.compacted(latest_value, end, tombstones_are_over)
            assert durable(shard.share_group(GROUP)) == live

    @invariant()
    def what_must_hold(self) -> None:
        group = self.world.shard.share_group(GROUP)
        if group is None:
            return
        assert group.group_epoch >= self.highest_epoch
        self.highest_epoch = group.group_epoch
        assert group.assignment_epoch <= group.group_epoch
        assert len(group.members) <= 3
        assert set(group.current) <= set(group.members)
        assert set(group.targets) <= set(group.members)
        if group.assignment_epoch == group.group_epoch:
            assert set(group.targets) == set(group.members)
        for member_id in group.members:
            assert group.current_of(member_id).member_epoch <= group.assignment_epoch

    def _finish(self, plan: HeartbeatPlan, outcome: bool | None) -> None:
        answer = self.world.finish(plan, outcome)
        if outcome is None and plan.initialize:
            self.late.append(plan)
        self._note(plan, answer.error, answer.epoch)

    def _note(self, plan: HeartbeatPlan, error: int, epoch: int) -> None:
        if error == ErrorCode.NONE:
            self.epochs[plan.member_id] = epoch
        else:
            self.epochs.pop(plan.member_id, None)

    def teardown(self) -> None:
        """Check that all members end with their share of every topic that they subscribe to."""
        world = self.world
        for plan in self.plans:
            world.finish(plan, True)
        group = world.shard.share_group(GROUP)
        if group is None or not group.members:
            return
        for _ in range(2):  # one round to find and initialise partitions, one to assign them
            world.time.now_ms += 12_000
            for member_id in list(group.members):
                answer = world.beat(member_id, group.current_of(member_id).member_epoch or 0, None)
                if answer.error is not ErrorCode.NONE:
                    names = group.members[member_id].subscribed_topic_names
                    answer = world.beat(member_id, 0, names or ["t"])
                assert answer.error is ErrorCode.NONE
        group = world.group
        for name in group.subscribers:
            topic = world.topics.topic(name)
            if topic is not None:
                held = {p for c in group.current.values() for p in c.assigned.get(topic.topic_id, ())}
                assert held == set(range(topic.partitions))
        assert {c.member_epoch for c in group.current.values()} == {group.group_epoch}


TestGroupReplay = GroupReplay.TestCase
TestGroupReplay.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
