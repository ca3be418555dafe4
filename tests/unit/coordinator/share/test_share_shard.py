"""The share coordinator: initialisation of states, and refused requests (KIP-932, durable share-partition state)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from tests.unit.coordinator.share.world import ACKNOWLEDGED, AVAILABLE, KEY, World, initialized
from tests.unit.coordinator.support import START_WALL_MS

# -- initialize


def test_initialize_writes_a_snapshot_with_epoch_0() -> None:
    """The group epoch is the state epoch; the start offset may be unresolved (KIP-932)."""
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
        state_epoch=2, start_offset=50, delivery_complete_count=0, first_offset=50
    )


def test_initialize_again_wipes_the_state_even_at_an_equal_epoch() -> None:
    """A snapshot without batches is written, as an alteration of offsets requires."""
    world = initialized(start_offset=0)
    world.write(StateBatch(0, 9, ACKNOWLEDGED, 1), start=0, count=10)
    assert world.initialize(state_epoch=2, start_offset=5).code is ErrorCode.NONE
    result = world.shard.read(KEY, 0).response
    assert (result.start_offset, result.batches) == (5, ())
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert value.snapshot_epoch == 1


def test_initialize_once_keeps_a_state_of_its_epoch_or_a_newer_one_and_wipes_an_older_one() -> None:
    """The group coordinator repeats the request when it could not record the outcome; acknowledgements since then must
    stay.

    A newer state belongs to a group whose own records were damaged: the group continues with it instead of being
    refused for ever.
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
    """The group's epoch may have risen since its first request."""
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
    """An epoch below the known one is refused; an equal, larger or (from Apache Kafka 4.4.0 on) negative one is not."""
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
    """The error is INVALID_REQUEST, as in Apache Kafka 4.3.1, not GROUP_ID_NOT_FOUND."""
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
