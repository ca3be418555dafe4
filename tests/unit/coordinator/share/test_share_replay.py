"""Replaying a share coordinator's records restores the same state after any operations."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shareq.broker.log.cleaner.survivors import share_state
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.state_batches import StateBatch, combine
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.support import START_WALL_MS, Log, Time, Topics, topic_id_of

KEYS = [SharePartitionKey(group, topic_id_of(topic), 0) for group in ("g", "h") for topic in ("t", "u")]

keys = st.sampled_from(KEYS)
epochs = st.integers(-1, 4)
start_offsets = st.one_of(st.just(-1), st.integers(0, 40))
batches = st.builds(
    lambda first, length, state, count: StateBatch(first, first + length, state, count),
    st.integers(0, 40),
    st.integers(0, 8),
    st.sampled_from([0, 2, 4]),
    st.integers(1, 3),
)
delays = st.builds(
    lambda first, length, ms, count: Delay(first, first + length, START_WALL_MS + ms, count),
    st.integers(0, 40),
    st.integers(0, 8),
    st.integers(0, 2_000),
    st.integers(1, 3),
)


def durable(state: ShareState | None) -> object:
    if state is None:
        return None
    return {name: getattr(state, name) for name in ShareState.__slots__}


COUNTERS_AND_FENCES = {"updates", "updated_batches", "highest_leader_epoch", "highest_state_epoch"}


class ShareReplay(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.topics = Topics(t=1, u=1)
        self.time = Time()
        knobs = ShareCoordinatorSettings(
            snapshot_update_records_per_snapshot=3,
            cold_partition_snapshot_interval_ms=100,
            max_record_bytes=700,
            max_batch_bytes=700,
        )
        self.log = Log(
            lambda: ShareCoordinatorShard(self.topics, self.time.wall_ms, knobs), SHARE_STATE_SERDE, self.time
        )

    @rule(key=keys, epoch=epochs, start=start_offsets)
    def initialize(self, key: SharePartitionKey, epoch: int, start: int) -> None:
        self.log.run(self.log.shard.initialize(key, epoch, start))

    @rule(key=keys, epoch=epochs)
    def read(self, key: SharePartitionKey, epoch: int) -> None:
        before = durable(self.log.shard.state_of(key))
        result = self.log.run(self.log.shard.read(key, epoch))
        if result.error is ErrorCode.NONE and not self.log.last:
            assert durable(self.log.shard.state_of(key)) == before

    @rule(
        key=keys,
        epochs=st.tuples(epochs, epochs),
        start=start_offsets,
        count=st.integers(-1, 9),
        written=st.lists(batches, max_size=6),
        waiting=st.lists(delays, max_size=3),
    )
    def write(
        self,
        key: SharePartitionKey,
        epochs: tuple[int, int],
        start: int,
        count: int,
        written: list[StateBatch],
        waiting: list[Delay],
    ) -> None:
        state = self.log.shard.state_of(key)
        stored = ([], -1) if state is None else (list(state.batches), state.start_offset)
        result = self.log.run(self.log.shard.write(key, *epochs, start, count, written, waiting))
        state = self.log.shard.state_of(key)
        if result.code is ErrorCode.NONE:
            assert state is not None
            assert state.start_offset == max(start, stored[1])
            assert state.batches == combine([*stored[0], *written], state.start_offset)
        else:
            assert self.log.last == ()
            assert state is None or (state.batches, state.start_offset) == stored

    @rule(key=keys)
    def delete(self, key: SharePartitionKey) -> None:
        self.log.run(self.log.shard.delete(key))

    @rule()
    def delete_a_topic_and_create_it_again(self) -> None:
        gone = self.topics.delete("u")
        self.log.run(self.log.shard.topics_deleted([gone.topic_id]))
        self.topics.create("u", 1)

    @rule(ms=st.integers(1, 250))
    def wait(self, ms: int) -> None:
        self.log.advance(ms)

    @rule()
    def restart(self) -> None:
        self.log.reload()

    @invariant()
    def replay_gives_the_live_state(self) -> None:
        loaded = self.log.loaded()
        live = self.log.shard
        assert sorted(loaded.share_partitions()) == sorted(live.share_partitions())
        for key in live.share_partitions():
            assert durable(loaded.state_of(key)) == durable(live.state_of(key))

    @invariant()
    def compaction_changes_nothing_that_counts(self) -> None:
        """Any compaction keeps everything except fencing and the time of the next snapshot."""
        live = self.log.shard
        for upto, tombstones_are_over in ((1, True), (2, False), (2, True)):
            end = len(self.log.encoded) * upto // 2
            self._same(self.log.compacted(share_state, end, tombstones_are_over), live)

    def _same(self, shard: ShareCoordinatorShard, live: ShareCoordinatorShard) -> None:
        assert sorted(shard.share_partitions()) == sorted(live.share_partitions())
        for share_partition in live.share_partitions():
            one, other = shard.state_of(share_partition), live.state_of(share_partition)
            assert one is not None
            assert other is not None
            for name in set(ShareState.__slots__) - COUNTERS_AND_FENCES:
                assert getattr(one, name) == getattr(other, name), name


TestShareReplay = ShareReplay.TestCase
TestShareReplay.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
