from __future__ import annotations

import pytest

from shareq.coordinator.share.records import update_batches
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_update import ShareUpdateValue
from tests.unit.coordinator.share.world import ACKNOWLEDGED, ARCHIVED, AVAILABLE, KEY, initialized

# -- read


@pytest.mark.parametrize("count", [-1, -2, -(2**31)])
def test_a_negative_count_is_unknown(count: int) -> None:
    """The count is stored as -1, because a load would skip a record with a lower one as damaged."""
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
    """The leader epoch of a new topic is 0, as is that of the initialised state."""
    assert initialized().shard.read(KEY, 0).records == ()


# -- write: KIP-932's worked example


def test_the_worked_example_of_the_kip() -> None:
    """The state is checked after every write, with acknowledgements and timeouts of 110-119 by three consumers."""
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
    """Apache Kafka 4.4.0 keeps the start offset, too; in 4.3.1 a delayed retry revived an accepted record."""
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
        state_epoch=2, start_offset=110, delivery_complete_count=3, first_offset=110
    )


def test_the_resolved_start_offset_stays_inside_until_the_first_acknowledgement() -> None:
    """The start offset is persisted at the first acquisition, while summaries still show none, as in 4.3.1."""
    world = initialized()
    world.write(start=42, count=-1)
    assert world.shard.read(KEY, 0).response.start_offset == 42
    summary = world.shard.read_summary(KEY).response
    assert (summary.start_offset, summary.delivery_complete_count) == (-1, -1)
    world.write(StateBatch(42, 42, ACKNOWLEDGED, 1), start=42, count=1)
    summary = world.shard.read_summary(KEY).response
    assert (summary.start_offset, summary.delivery_complete_count) == (42, 1)


def test_a_write_that_would_not_fit_into_one_record_is_refused() -> None:
    """A state stays small enough for a snapshot; a write that shrinks it is accepted."""
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
