"""The share coordinator, operation by operation (KIP-932, managing durable share-partition state)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE, update_batches
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from tests.unit.coordinator.support import START_WALL_MS, Log, Time, Topics, topic_id_of

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
KEY = SharePartitionKey("g", topic_id_of("t"), 0)


class World:
    """A shard over topic t with 2 partitions."""

    def __init__(self, **settings: int) -> None:
        self.topics = Topics(t=2)
        self.time = Time()
        self.settings = ShareCoordinatorSettings(**settings)
        self.log = Log(
            lambda: ShareCoordinatorShard(self.topics, self.time.wall_ms, self.settings), SHARE_STATE_SERDE, self.time
        )

    @property
    def shard(self) -> ShareCoordinatorShard:
        return self.log.shard

    def initialize(self, state_epoch: int = 2, start_offset: int = -1, key: SharePartitionKey = KEY) -> ApiError:
        return self.log.run(self.shard.initialize(key, state_epoch, start_offset))

    def write(
        self,
        *batches: StateBatch,
        start: int = -1,
        count: int = -1,
        state_epoch: int = 2,
        leader_epoch: int = 0,
        key: SharePartitionKey = KEY,
    ) -> ApiError:
        return self.log.run(self.shard.write(key, state_epoch, leader_epoch, start, count, batches))

    def batches(self) -> list[StateBatch]:
        state = self.shard.state_of(KEY)
        assert state is not None
        return list(state.batches)

    def last_value(self) -> ShareSnapshotValue | ShareUpdateValue:
        (record,) = self.log.last
        assert isinstance(record.value, (ShareSnapshotValue, ShareUpdateValue))
        return record.value


def initialized(start_offset: int = -1, **settings: int) -> World:
    world = World(**settings)
    assert world.initialize(start_offset=start_offset).code is ErrorCode.NONE
    return world


# -- initialize


def test_initialize_writes_a_snapshot_with_epoch_0() -> None:
    """KIP-932: the state epoch at initialisation is the group epoch; the start offset may be unresolved."""
    world = initialized()
    assert world.last_value() == ShareSnapshotValue(
        snapshot_epoch=0,
        state_epoch=2,
        leader_epoch=0,
        start_offset=-1,
        delivery_complete_count=-1,
        create_timestamp=START_WALL_MS,
        write_timestamp=START_WALL_MS,
    )


def test_initialize_with_an_offset_knows_that_nothing_is_complete() -> None:
    world = initialized(start_offset=50)
    assert world.last_value().delivery_complete_count == 0
    assert world.shard.read_summary(KEY).response == SummaryResult(
        state_epoch=2, start_offset=50, delivery_complete_count=0
    )


def test_initialize_again_wipes_the_state_even_at_an_equal_epoch() -> None:
    """Alter offsets: the share coordinator writes a full record and no batch survives."""
    world = initialized(start_offset=0)
    world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10)
    assert world.initialize(state_epoch=2, start_offset=5).code is ErrorCode.NONE
    result = world.shard.read(KEY, 0).response
    assert (result.start_offset, result.batches) == (5, ())
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.snapshot_epoch == 1


def test_initialize_once_keeps_a_state_of_its_epoch_or_a_newer_one_and_wipes_an_older_one() -> None:
    """The group coordinator repeats it when it could not record the outcome; what was acknowledged since must stay. A
    newer state is that of a group whose own records were damaged: it goes on with it, and is not refused for ever.
    """
    world = World()
    for epoch, wiped in ((2, True), (2, False), (3, True)):
        assert world.log.run(world.shard.initialize_once(KEY, epoch)).code is ErrorCode.NONE
        assert bool(world.log.last) is wiped
        assert bool(world.batches()) is not wiped
        world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10, state_epoch=epoch)
    assert world.log.run(world.shard.initialize_once(KEY, 2)).code is ErrorCode.NONE
    assert world.log.last == ()


def test_initialize_once_again_keeps_a_state_of_any_epoch() -> None:
    """The group's epoch may have risen since it asked first."""
    world = initialized()
    world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10)
    assert world.log.run(world.shard.initialize_once(KEY, 5, again=True)).code is ErrorCode.NONE
    assert world.log.last == ()
    assert world.batches()
    assert world.log.run(world.shard.initialize_once(KEY, 1, again=True)).code is ErrorCode.NONE
    assert world.log.last == ()
    assert world.log.run(World().shard.initialize_once(KEY, 5, again=True)).code is ErrorCode.NONE


def test_initialize_resets_the_leader_epoch_but_not_the_fence() -> None:
    world = initialized()
    world.log.run(world.shard.read(KEY, 7))
    world.initialize(state_epoch=3)
    assert world.shard.read_summary(KEY).response.leader_epoch == 0
    assert world.shard.read(KEY, 6).response.error is ErrorCode.FENCED_LEADER_EPOCH


# -- fencing: who is refused at which epoch, after Initialize at state epoch 5 and a Read at leader epoch 3

Attempt = Callable[[World], CoordinatorResult[Any]]


def _initialize_at(state_epoch: int) -> Attempt:
    return lambda world: world.shard.initialize(KEY, state_epoch, 0)


def _read_at(leader_epoch: int) -> Attempt:
    return lambda world: world.shard.read(KEY, leader_epoch)


def _write_at(state_epoch: int, leader_epoch: int) -> Attempt:
    return lambda world: world.shard.write(KEY, state_epoch, leader_epoch, 0, 0, ())


FENCING = [
    (_initialize_at(4), ErrorCode.FENCED_STATE_EPOCH),
    (_initialize_at(5), ErrorCode.NONE),
    (_initialize_at(6), ErrorCode.NONE),
    (_initialize_at(-1), ErrorCode.INVALID_REQUEST),
    (_read_at(2), ErrorCode.FENCED_LEADER_EPOCH),
    (_read_at(3), ErrorCode.NONE),
    (_read_at(4), ErrorCode.NONE),
    (_read_at(-1), ErrorCode.INVALID_REQUEST),
    (_write_at(4, 3), ErrorCode.FENCED_STATE_EPOCH),
    (_write_at(5, 3), ErrorCode.NONE),
    (_write_at(6, 3), ErrorCode.NONE),
    (_write_at(-1, 3), ErrorCode.INVALID_REQUEST),
    (_write_at(5, 2), ErrorCode.FENCED_LEADER_EPOCH),
    (_write_at(4, 2), ErrorCode.FENCED_LEADER_EPOCH),
    (_write_at(5, 4), ErrorCode.NONE),
    (_write_at(5, -1), ErrorCode.INVALID_REQUEST),
    (_write_at(-1, -1), ErrorCode.INVALID_REQUEST),
]


@pytest.mark.parametrize(("attempt", "expected"), FENCING)
def test_fencing(attempt: Attempt, expected: ErrorCode) -> None:
    """Smaller than known is refused, equal or larger passes, a negative one is none (from Apache Kafka 4.4.0 on)."""
    world = World()
    world.initialize(state_epoch=5, start_offset=0)
    world.log.run(world.shard.read(KEY, 3))
    result = attempt(world)
    error = result.response
    assert (error.code if isinstance(error, ApiError) else error.error) is expected
    if expected is not ErrorCode.NONE:
        assert result.records == ()


def test_a_negative_epoch_is_named() -> None:
    world = initialized()
    leader, state = "The leader epoch cannot be a negative number.", "The state epoch cannot be a negative number."
    assert world.shard.read(KEY, -1).response.message == leader
    assert world.write(leader_epoch=-1, state_epoch=-1).message == leader
    assert world.write(state_epoch=-2).message == state
    assert world.initialize(state_epoch=-1).message == state
    unknown = World()
    assert unknown.shard.read(KEY, -1).response.message == leader, "before it is asked whether there is a state"
    assert unknown.shard.read(KEY._replace(partition=-1), -1).response.message != leader


def test_the_leader_of_now_is_not_fenced() -> None:
    world = initialized(start_offset=0)
    world.log.run(world.shard.read(KEY, 7))
    assert world.log.run(world.shard.write(KEY, 2, None, 0, 0, ())).code is ErrorCode.NONE
    assert world.shard.read_summary(KEY).response.leader_epoch == 7


def test_a_write_never_raises_the_stored_epochs() -> None:
    world = initialized(start_offset=0)
    world.write(start=0, count=0, state_epoch=9, leader_epoch=9)
    state = world.shard.state_of(KEY)
    assert state is not None
    assert (state.state_epoch, state.leader_epoch) == (2, 0)
    assert world.write(start=0, count=0, state_epoch=2, leader_epoch=0).code is ErrorCode.NONE


# -- unknown partitions and states


def test_what_never_was_initialised_cannot_be_read_or_written() -> None:
    """Apache Kafka 4.3.1 answers INVALID_REQUEST, not GROUP_ID_NOT_FOUND."""
    world = World()
    read = world.shard.read(KEY, 0).response
    write = world.write()
    assert (read.error, write.code) == (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST)
    assert read.message != write.message


def test_summary_and_delete_of_what_never_was_succeed() -> None:
    world = World()
    assert world.shard.read_summary(KEY).response == SummaryResult(ErrorCode.NONE, None, 0, 0, -1, -1)
    result = world.shard.delete(KEY)
    assert (result.response.code, result.records) == (ErrorCode.NONE, ())


@pytest.mark.parametrize("key", [KEY._replace(partition=2), KEY._replace(topic_id=bytes(16))])
def test_a_partition_that_does_not_exist(key: SharePartitionKey) -> None:
    world = World()
    assert world.initialize(key=key).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.shard.read_summary(key).response.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.shard.delete(key).response.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # For reads and writes the missing state is noticed first.
    assert world.shard.read(key, 0).response.error is ErrorCode.INVALID_REQUEST
    assert world.write(key=key).code is ErrorCode.INVALID_REQUEST


def test_a_partition_whose_topic_went_but_whose_state_did_not_yet() -> None:
    world = initialized()
    world.topics.delete("t")
    assert world.shard.read(KEY, 0).response.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.write().code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_negative_partition_is_an_invalid_request() -> None:
    world = World()
    key = KEY._replace(partition=-1)
    assert world.initialize(key=key).code is ErrorCode.INVALID_REQUEST
    assert world.shard.read(key, -1).response.error is ErrorCode.INVALID_REQUEST
    assert world.write(key=key).code is ErrorCode.INVALID_REQUEST
    assert world.shard.read_summary(key).response.error is ErrorCode.INVALID_REQUEST
    assert world.shard.delete(key).response.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "batch",
    [
        StateBatch(5, 4, AVAILABLE, 1),
        StateBatch(-1, 4, AVAILABLE, 1),
        StateBatch(0, 4, 1, 1),  # acquired is never persisted
        StateBatch(0, 4, 5, 1),
        StateBatch(0, 4, AVAILABLE, -1),
    ],
)
def test_a_batch_that_means_nothing_is_an_invalid_request(batch: StateBatch) -> None:
    world = initialized()
    assert world.write(batch).code is ErrorCode.INVALID_REQUEST
    assert world.log.last == ()


def test_a_start_offset_that_means_nothing_is_an_invalid_request() -> None:
    world = World()
    assert world.initialize(start_offset=-2).code is ErrorCode.INVALID_REQUEST
    world.initialize()
    assert world.write(start=-2).code is ErrorCode.INVALID_REQUEST


# -- read


@pytest.mark.parametrize("count", [-1, -2, -(2**31)])
def test_a_negative_count_is_unknown(count: int) -> None:
    """A record with a lower one than -1 is damaged, and a load would skip it."""
    world = initialized()
    assert world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=count).code is ErrorCode.NONE
    assert world.shard.read_summary(KEY).response.delivery_complete_count == -1


def test_a_read_stores_a_new_leader_epoch() -> None:
    world = initialized(start_offset=10)
    result = world.log.run(world.shard.read(KEY, 4))
    assert result.start_offset == 10
    assert world.last_value() == ShareUpdateValue(
        snapshot_epoch=0, leader_epoch=4, start_offset=10, delivery_complete_count=0
    )
    assert world.shard.read(KEY, 4).records == ()


def test_a_read_with_the_known_leader_epoch_writes_nothing() -> None:
    """A fresh topic's leader epoch is 0, as is the initialised state's."""
    assert initialized().shard.read(KEY, 0).records == ()


# -- write: KIP-932's worked example


def test_the_worked_example_of_the_kip() -> None:
    """Acks and time-outs of 110-119 by three consumers; the coordinator's account after every write."""
    world = initialized()
    world.write(StateBatch(100, 109, ACKNOWLEDGED, 1), start=100, count=10)
    assert world.batches() == [StateBatch(100, 109, ACKNOWLEDGED, 1)]
    world.write(StateBatch(110, 110, AVAILABLE, 1), start=110, count=0)
    world.write(StateBatch(119, 119, ACKNOWLEDGED, 1), start=110, count=1)
    world.write(StateBatch(111, 111, AVAILABLE, 1), StateBatch(112, 112, AVAILABLE, 1), start=110, count=1)
    assert world.batches() == [StateBatch(110, 112, AVAILABLE, 1), StateBatch(119, 119, ACKNOWLEDGED, 1)]
    world.write(StateBatch(113, 118, ACKNOWLEDGED, 1), start=110, count=7)
    world.write(StateBatch(110, 110, ACKNOWLEDGED, 2), start=110, count=8)
    world.write(StateBatch(111, 112, ACKNOWLEDGED, 2), start=111, count=9)
    assert world.batches() == [StateBatch(111, 112, ACKNOWLEDGED, 2), StateBatch(113, 119, ACKNOWLEDGED, 1)]
    state = world.shard.state_of(KEY)
    assert state is not None
    assert (state.start_offset, state.delivery_complete_count) == (111, 9)


def test_an_update_holds_the_requests_own_batches_combined_with_each_other() -> None:
    world = initialized(start_offset=0)
    world.write(StateBatch(50, 59, ACKNOWLEDGED, 1), start=0, count=10)
    world.write(StateBatch(3, 3, AVAILABLE, 1), StateBatch(2, 2, AVAILABLE, 1), StateBatch(0, 0, ARCHIVED, 1), start=2)
    assert world.last_value() == ShareUpdateValue(
        snapshot_epoch=0,
        leader_epoch=0,
        start_offset=2,
        delivery_complete_count=-1,
        state_batches=update_batches([StateBatch(2, 3, AVAILABLE, 1)]),
    )


def test_a_write_without_start_offset_leaves_it() -> None:
    world = initialized(start_offset=20)
    world.write(StateBatch(20, 24, AVAILABLE, 1), start=-1, count=0)
    assert world.last_value().start_offset == 20
    assert world.shard.read_summary(KEY).response.start_offset == 20


def test_a_delayed_write_cannot_move_the_start_offset_back() -> None:
    """As in Apache Kafka 4.4.0. In 4.3.1 a delayed retry revived an accepted record."""
    world = initialized(start_offset=100)
    world.write(StateBatch(100, 109, ACKNOWLEDGED, 1), start=100, count=10)
    world.write(StateBatch(115, 119, ACKNOWLEDGED, 1), start=110, count=5)
    world.write(StateBatch(100, 112, AVAILABLE, 2), start=100, count=0)
    state = world.shard.state_of(KEY)
    assert state is not None
    assert (state.start_offset, state.delivery_complete_count) == (110, 5)
    assert world.batches() == [StateBatch(110, 112, AVAILABLE, 2), StateBatch(115, 119, ACKNOWLEDGED, 1)]


@pytest.mark.parametrize("count", [-1, 0, 2, 4, 9])
def test_a_count_from_another_start_offset_is_left_out(count: int) -> None:
    """Apache Kafka 4.4.0, generateShareStateRecord."""
    world = initialized(start_offset=100)
    world.write(StateBatch(112, 114, ACKNOWLEDGED, 1), start=110, count=3)
    for start in (-1, 100, 109):
        world.write(start=start, count=count)
        assert world.shard.read_summary(KEY).response.delivery_complete_count == 3
    world.write(start=110, count=count)
    assert world.shard.read_summary(KEY).response.delivery_complete_count == max(count, 3)
    world.write(start=111, count=count)
    assert world.shard.read_summary(KEY).response.delivery_complete_count == count


def test_a_delayed_write_that_knows_no_count_leaves_it() -> None:
    world = initialized(start_offset=100)
    world.write(StateBatch(112, 114, ACKNOWLEDGED, 1), start=110, count=3)
    world.write(start=100, count=-1)
    assert world.shard.read_summary(KEY).response == SummaryResult(
        state_epoch=2, start_offset=110, delivery_complete_count=3
    )


def test_the_resolved_start_offset_stays_inside_until_the_first_acknowledgement() -> None:
    """It is persisted at the first acquire; from outside the partition looks uninitialised, as in 4.3.1."""
    world = initialized()
    world.write(start=42, count=-1)
    assert world.shard.read(KEY, 0).response.start_offset == 42
    summary = world.shard.read_summary(KEY).response
    assert (summary.start_offset, summary.delivery_complete_count) == (-1, -1)
    world.write(StateBatch(42, 42, ACKNOWLEDGED, 1), start=42, count=1)
    summary = world.shard.read_summary(KEY).response
    assert (summary.start_offset, summary.delivery_complete_count) == (42, 1)


def test_a_write_that_would_not_fit_into_one_record_is_refused() -> None:
    """A state is always small enough for a snapshot; what makes it smaller passes."""
    world = initialized(start_offset=0, max_record_bytes=1000)
    every_other = [StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1) for n in range(37)]
    assert world.write(*every_other[:36], start=0).code is ErrorCode.NONE
    assert world.write(*every_other[36:], start=0).code is ErrorCode.NONE
    before = world.batches()
    assert world.write(StateBatch(100, 100, ACKNOWLEDGED, 1), start=0).code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.batches() == before
    assert world.write(StateBatch(1, 5, ACKNOWLEDGED, 1), start=0).code is ErrorCode.NONE
    assert world.write(StateBatch(100, 100, ACKNOWLEDGED, 1), start=0).code is ErrorCode.NONE
    many = [StateBatch(2 * n, 2 * n, AVAILABLE, 1) for n in range(38)]
    assert world.write(*many, start=0).code is ErrorCode.UNKNOWN_SERVER_ERROR


# -- snapshots


def test_every_so_many_updates_a_snapshot_is_written() -> None:
    """KIP-932: snapshot epochs start at 0 and rise by one; updates repeat the latest."""
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=3)
    kinds = []
    for n in range(8):
        world.write(StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1), start=0, count=n + 1)
        value = world.last_value()
        kinds.append((type(value).__name__.removesuffix("Value"), value.snapshot_epoch))
    assert kinds == [
        *[("ShareUpdate", 0)] * 3,
        ("ShareSnapshot", 1),
        *[("ShareUpdate", 1)] * 3,
        ("ShareSnapshot", 2),
    ]
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert len(value.state_batches) == 8
    assert (value.state_epoch, value.delivery_complete_count) == (2, 8)


def test_with_a_limit_of_zero_every_write_is_a_snapshot() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=0)
    for n in range(3):
        world.write(StateBatch(n, n, ACKNOWLEDGED, 1), start=0, count=n + 1)
        assert isinstance(world.last_value(), ShareSnapshotValue)
    assert world.batches() == [StateBatch(0, 2, ACKNOWLEDGED, 1)]


@pytest.mark.parametrize(("batches", "updates"), [(20_000, 2), (45_000, 7)])
def test_a_state_of_many_batches_gets_a_snapshot_once_the_updates_are_worth_it(batches: int, updates: int) -> None:
    """Apache Kafka's widest window has 10,000 offsets; there it is the number of updates alone."""
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=2)
    world.write(*[StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1) for n in range(batches)], start=0, count=batches)
    kinds: list[type] = []
    while kinds.count(ShareSnapshotValue) < 2:
        world.write(StateBatch(0, 0, ACKNOWLEDGED, 1), start=0, count=batches)
        kinds.append(type(world.last_value()))
    assert kinds == [ShareUpdateValue, ShareSnapshotValue, *[ShareUpdateValue] * updates, ShareSnapshotValue]


def test_a_snapshot_that_moves_the_start_offset_has_nothing_below_it() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=1)
    world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10)
    world.write(StateBatch(15, 15, ACKNOWLEDGED, 1), start=10, count=1)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.start_offset == 10
    assert [(b.first_offset, b.last_offset) for b in value.state_batches] == [(15, 15)]


def test_an_initialisation_does_not_reset_the_update_count() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=2)
    world.write(start=0, count=0)
    world.initialize(state_epoch=3, start_offset=0)
    world.write(start=0, count=0, state_epoch=3)
    assert isinstance(world.last_value(), ShareUpdateValue)
    world.write(start=0, count=0, state_epoch=3)
    assert isinstance(world.last_value(), ShareSnapshotValue)


# -- cold snapshots


def test_a_snapshot_after_updates_is_of_now_and_makes_a_cold_state_due_again() -> None:
    world = initialized(start_offset=0, snapshot_update_records_per_snapshot=1, cold_partition_snapshot_interval_ms=100)
    world.log.advance(100)
    assert world.shard.next_deadline_ms() is None
    world.write(start=0, count=0)
    world.time.now_ms = 150
    world.write(start=0, count=0)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.create_timestamp == value.write_timestamp == START_WALL_MS + 150
    assert world.shard.next_deadline_ms() is not None


def test_a_state_without_snapshot_for_an_interval_gets_one_that_keeps_its_creation_time() -> None:
    world = initialized(start_offset=0, cold_partition_snapshot_interval_ms=1000)
    world.time.now_ms = 500
    world.write(StateBatch(0, 0, ACKNOWLEDGED, 1), start=0, count=1)
    world.log.advance(1500)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert (value.snapshot_epoch, value.create_timestamp) == (1, START_WALL_MS)
    assert value.write_timestamp == START_WALL_MS + 1000
    assert len(value.state_batches) == 1
    assert world.shard.next_deadline_ms() is None


def test_nothing_is_due_while_all_states_are_cold() -> None:
    world = World()
    assert world.shard.next_deadline_ms() is None
    world.initialize()
    assert world.shard.next_deadline_ms() == 300_000


def test_cold_snapshots_come_in_batches_that_fit() -> None:
    world = World(cold_partition_snapshot_interval_ms=1000, max_batch_bytes=600)
    for group in ("a", "b", "c", "d", "e"):
        world.initialize(key=KEY._replace(group_id=group))
    world.time.now_ms = 1000
    sizes = []
    while world.shard.next_deadline_ms() is not None:
        result = world.shard.on_deadline(1000)
        assert not result.atomic  # each is true without the others
        world.log.run(result)
        sizes.append(len(world.log.last))
    assert sizes == [2, 2, 1]


# -- deletion


def test_delete_writes_a_tombstone_and_forgets_everything() -> None:
    world = World()
    world.initialize(state_epoch=5)
    world.log.run(world.shard.delete(KEY))
    assert world.log.value_types() == ["-ShareSnapshotKey"]
    assert world.shard.state_of(KEY) is None
    assert world.initialize(state_epoch=1).code is ErrorCode.NONE
    assert world.shard.next_deadline_ms() is not None


def test_a_deleted_topic_takes_its_states_with_it() -> None:
    world = World()
    world.topics.create("other", 1)
    other = SharePartitionKey("g", topic_id_of("other"), 0)
    for key in (KEY, KEY._replace(partition=1), other):
        world.initialize(key=key)
    world.topics.delete("t")
    world.log.run(world.shard.topics_deleted([KEY.topic_id]))
    assert world.log.value_types() == ["-ShareSnapshotKey"] * 2
    assert world.shard.share_partitions() == [other]


# -- replay


def test_an_update_without_its_snapshot_becomes_the_state() -> None:
    """A compacted or pruned log may begin with it: state epoch 0, timestamps 0."""
    world = World(cold_partition_snapshot_interval_ms=1000)
    value = ShareUpdateValue(
        snapshot_epoch=4,
        leader_epoch=3,
        start_offset=10,
        delivery_complete_count=1,
        state_batches=update_batches([StateBatch(12, 12, ACKNOWLEDGED, 1)]),
    )
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), value), 0)
    state = world.shard.state_of(KEY)
    assert state is not None
    assert (state.snapshot_epoch, state.state_epoch, state.leader_epoch, state.start_offset) == (4, 0, 3, 10)
    assert (state.create_timestamp_ms, state.write_timestamp_ms) == (0, 0)
    assert world.batches() == [StateBatch(12, 12, ACKNOWLEDGED, 1)]
    world.log.advance(1000)
    assert isinstance(world.last_value(), ShareSnapshotValue)


def test_an_update_without_its_snapshot_and_without_a_start_offset_begins_at_0_after_a_load() -> None:
    world = World()
    value = ShareUpdateValue(snapshot_epoch=4, leader_epoch=3, start_offset=-1, delivery_complete_count=1)
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), value), 0)
    world.shard.on_loaded(0)
    assert world.shard.read(KEY, 3).response.start_offset == 0


def test_a_snapshot_without_a_start_offset_keeps_none_after_a_load() -> None:
    """Its leader has still to resolve it."""
    world = initialized(start_offset=-1)
    assert world.log.loaded().read(KEY, 0).response.start_offset == -1


def test_an_update_with_unset_fields_changes_only_the_count() -> None:
    world = initialized(start_offset=10)
    world.log.run(world.shard.read(KEY, 3))
    unset = ShareUpdateValue(snapshot_epoch=0, leader_epoch=-1, start_offset=-1, delivery_complete_count=6)
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), unset), 9)
    assert world.shard.read_summary(KEY).response == SummaryResult(
        state_epoch=2, leader_epoch=3, start_offset=10, delivery_complete_count=6
    )


def test_tombstones_of_unknown_states_are_passed_over() -> None:
    world = World()
    world.shard.replay(CoordinatorRecord(ShareUpdateKey(*KEY), None), 0)
    world.log.run(CoordinatorResult(None, ()))
    assert world.shard.share_partitions() == []


def test_settings_can_change_at_any_time() -> None:
    world = initialized(start_offset=0)
    world.write(start=0, count=0)
    world.shard.settings = replace(world.settings, snapshot_update_records_per_snapshot=1)
    world.write(start=0, count=0)
    assert isinstance(world.last_value(), ShareSnapshotValue)
