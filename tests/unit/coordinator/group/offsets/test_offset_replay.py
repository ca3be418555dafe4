"""Committed offsets under random operations, compared with a dict; restarts and compaction change nothing."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shareq.broker.log.cleaner.survivors import latest_value
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.offsets.world import NONE, At, OffsetsWorld

CHECK_MS, RETENTION_MS = 1_000, 5_000
GROUPS = ("g", "h")
_groups = st.sampled_from(GROUPS)
_names = st.sampled_from(["t", "u"])
_partitions = st.integers(0, 2)


class Offsets(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = OffsetsWorld(OffsetSettings(retention_ms=RETENTION_MS, check_interval_ms=CHECK_MS))
        self.model: dict[str, dict[At, tuple[int, int]]] = {group: {} for group in GROUPS}
        """Offset, and the time it expires."""

    @rule(
        group=_groups,
        name=_names,
        partition=_partitions,
        offset=st.integers(0, 2**63 - 1),
        retention_ms=st.sampled_from([-1, 0, 700, 20_000]),
    )
    def commit(self, group: str, name: str, partition: int, offset: int, retention_ms: int) -> None:
        if self.world.topics.topic(name) is None:
            return
        at = (name, partition)
        assert self.world.commit({at: offset}, group=group, retention_ms=retention_ms) == {at: NONE}
        kept_ms = RETENTION_MS if retention_ms < 0 else retention_ms
        self.model[group][at] = (offset, self.world.time.now_ms + kept_ms)

    @rule(group=_groups, name=_names, partition=_partitions)
    def delete(self, group: str, name: str, partition: int) -> None:
        answer = self.world.delete((name, partition), group=group)
        if answer is ErrorCode.GROUP_ID_NOT_FOUND:
            assert not self.model[group]
        else:
            assert answer == {(name, partition): NONE}
        self.model[group].pop((name, partition), None)

    @rule(group=_groups)
    def delete_group(self, group: str) -> None:
        outcome = self.world.log.run(self.world.shard.delete_group(group))
        assert outcome.code is NONE or not self.model[group]
        self.model[group].clear()

    @rule(name=_names)
    def delete_topic(self, name: str) -> None:
        if self.world.topics.topic(name) is None:
            self.world.topics.create(name, 3)
            return
        self.world.delete_topic(name)
        for offsets in self.model.values():
            for at in [at for at in offsets if at[0] == name]:
                del offsets[at]

    @rule(ms=st.sampled_from([1, 400, 1_000, 4_999]))
    def wait(self, ms: int) -> None:
        end = self.world.time.now_ms + ms
        while (deadline := self.world.shard.next_deadline_ms()) is not None and deadline <= end:
            self.world.log.advance(deadline - self.world.time.now_ms)
            for offsets in self.model.values():
                for at in [at for at, (_, expires_ms) in offsets.items() if expires_ms <= deadline]:
                    del offsets[at]
        self.world.log.advance(end - self.world.time.now_ms)

    @rule()
    def restart(self) -> None:
        self.world.log.reload()

    @invariant()
    def the_model_is_right(self) -> None:
        for group in GROUPS:
            assert self.world.offsets(group) == {at: offset for at, (offset, _) in self.model[group].items()}

    @invariant()
    def a_group_with_offsets_is_there(self) -> None:
        listed = {group_id for group_id, *_ in self.world.listed()}
        assert {group for group in GROUPS if self.model[group]} <= listed

    @invariant()
    def replay_gives_the_live_state(self) -> None:
        assert durable(self.world.log.loaded()) == durable(self.world.shard)

    @invariant()
    def compaction_changes_nothing(self) -> None:
        live = durable(self.world.shard)
        for upto, tombstones_are_over in ((1, True), (2, False), (2, True)):
            end = len(self.world.log.encoded) * upto // 2
            assert durable(self.world.log.compacted(latest_value, end, tombstones_are_over)) == live


def durable(shard: GroupCoordinatorShard) -> list[tuple[str, str, int, CommittedOffset]]:
    return sorted(shard.offsets.store.all())


TestOffsets = Offsets.TestCase
TestOffsets.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
