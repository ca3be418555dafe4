"""Acknowledgements in transactions in the share coordinator's state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.staged import TAG, Staged, changed, end_of, is_of, staged_in, tags_of
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateValue
from shareq.protocol.share import RecordState
from tests.unit.coordinator.support import START_WALL_MS, Log, Time, Topics, topic_id_of

AVAILABLE: Final = RecordState.AVAILABLE
KEY = SharePartitionKey("g", topic_id_of("t"), 0)
ACCEPT, RELEASE, REJECT = 1, 2, 3

ranges = st.builds(
    lambda first, length, count, kind, producer, epoch: Staged(first, first + length, count, kind, producer, epoch),
    st.integers(0, 30),
    st.integers(0, 6),
    st.integers(1, 3),
    st.sampled_from([ACCEPT, RELEASE, REJECT]),
    st.integers(0, 2),
    st.integers(0, 2),
)
ends = st.builds(end_of, st.integers(0, 2), st.integers(0, 2))


def by_offset(changes: Sequence[Staged]) -> dict[int, tuple[int, ...]]:
    """Return what the changes leave at each offset, one offset after the other."""
    found: dict[int, tuple[int, ...]] = {}
    for row in changes:
        if row.is_end:
            found = {
                at: each
                for at, each in found.items()
                if not (each[2] == row.producer_id and each[3] <= row.producer_epoch)
            }
        else:
            found.update((at, row[2:]) for at in range(row.first_offset, row.last_offset + 1))
    return found


@given(st.lists(st.one_of(ranges, ranges, ends), max_size=10))
def test_changes_in_the_order_of_the_log(changes: list[Staged]) -> None:
    after = changed((), changes)
    assert by_offset(after) == by_offset(changes)
    assert all(one.last_offset < other.first_offset for one, other in pairwise(after))


@given(st.lists(st.one_of(ranges, ends), max_size=10))
def test_rows_are_read_as_they_were_written(rows: list[Staged]) -> None:
    assert list(staged_in(tags_of(rows))) == rows


@pytest.mark.parametrize(
    "row",
    [
        Staged(3, 2, 1, ACCEPT, 7, 0),
        Staged(-1, 2, 1, ACCEPT, 7, 0),
        Staged(0, 2, -1, ACCEPT, 7, 0),
        Staged(0, 2, 1, 4, 7, 0),
        Staged(0, 2, 1, ACCEPT, -7, 0),
        Staged(0, 2, 1, ACCEPT, 7, -1),
    ],
)
def test_what_no_leader_writes_is_not_read(row: Staged) -> None:
    sound = Staged(0, 2, 1, ACCEPT, 7, 0)
    assert staged_in(tags_of([sound, row])) == ()
    ((_, body),) = tags_of([sound])
    for broken in (b"", b"\2" + body[1:], body[:-1], body + b"\0"):
        assert staged_in(((TAG, broken),)) == ()


def test_an_end_is_that_of_earlier_epochs_too() -> None:
    row = Staged(0, 2, 1, ACCEPT, 7, 3)
    assert [is_of(row, 7, epoch) for epoch in (2, 3, 4)] == [False, True, True]
    assert not is_of(row, 8, 3)


# -- the shard


class World:
    """A shard that writes a snapshot as every third record of a share partition."""

    def __init__(self, **settings: int) -> None:
        self.time, self.topics = Time(), Topics(t=1)
        knobs = ShareCoordinatorSettings(snapshot_update_records_per_snapshot=2, **settings)
        self.log = Log(
            lambda: ShareCoordinatorShard(self.topics, self.time.wall_ms, knobs), SHARE_STATE_SERDE, self.time
        )
        self.log.run(self.log.shard.initialize(KEY, 1, 0))

    def write(self, *rows: Staged, batches: Sequence[StateBatch] = (), delays: Sequence[Delay] = ()) -> ApiError:
        return self.log.run(self.log.shard.write(KEY, 1, 0, -1, 0, batches, delays, rows))

    def stage(self, row: Staged) -> None:
        batch = StateBatch(row.first_offset, row.last_offset, AVAILABLE, row.delivery_count)
        assert self.write(row, batches=[batch]).code is ErrorCode.NONE

    def read(self) -> list[Staged]:
        """Return what a leader reads, and check that it is equal after a restart."""
        found = list(self.log.shard.read(KEY, 0).response.staged)
        loaded = self.log.loaded()
        assert list(loaded.read(KEY, 0).response.staged) == found
        assert loaded.has_staged is self.log.shard.has_staged is bool(found)
        return found

    def last_value(self) -> ShareSnapshotValue | ShareUpdateValue:
        (record,) = self.log.last
        assert isinstance(record.value, ShareSnapshotValue | ShareUpdateValue)
        return record.value


def test_it_stays_over_updates_and_snapshots_until_its_end() -> None:
    world = World()
    one, other = Staged(0, 4, 1, ACCEPT, 7, 1), Staged(5, 9, 1, REJECT, 8, 0)
    world.stage(one)
    world.stage(other)
    for count in (1, 2, 3):
        world.write(batches=[StateBatch(20, 20, AVAILABLE, count)])
        assert world.read() == [one, other]
    assert isinstance(world.last_value(), ShareUpdateValue)
    assert world.log.shard.staged_by(7, 1) == world.log.shard.staged_by(7, 2) == [KEY]
    assert world.log.shard.staged_by(7, 0) == []
    world.write(end_of(7, 1), batches=[StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1)])
    assert world.read() == [other]
    world.write(end_of(8, 3))
    assert world.read() == []
    assert world.log.shard.staged_by(8, 0) == []


def test_a_snapshot_of_an_idle_share_partition_has_it_too() -> None:
    world = World(cold_partition_snapshot_interval_ms=2_000)
    row, delay = Staged(0, 4, 1, ACCEPT, 7, 1), Delay(9, 9, START_WALL_MS + 60_000, 1)
    world.write(row, batches=[StateBatch(0, 9, AVAILABLE, 1)], delays=[delay])
    world.log.advance(2_000)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert list(staged_in(value.unknown_tags)) == [row] == world.read()
    assert world.log.shard.read(KEY, 0).response.delays == (delay,)


def test_a_new_state_and_a_deleted_one_have_none() -> None:
    world = World()
    world.stage(Staged(0, 4, 1, ACCEPT, 7, 1))
    world.log.run(world.log.shard.initialize(KEY, 2, 0))
    assert world.read() == []
    world.log.run(world.log.shard.write(KEY, 2, 0, -1, 0, (), (), [Staged(0, 4, 1, ACCEPT, 7, 1)]))
    world.log.run(world.log.shard.delete(KEY))
    assert not world.log.shard.has_staged
    assert not world.log.loaded().has_staged


def test_without_it_the_bytes_are_apache_kafkas() -> None:
    world = World()
    for count in (1, 2, 3):
        world.write(batches=[StateBatch(0, 9, AVAILABLE, count)])
        assert world.last_value().unknown_tags == ()


def test_it_is_refused_where_a_snapshot_would_have_no_room() -> None:
    world = World(max_record_bytes=800)
    rows = [Staged(at, at, 1, ACCEPT, 7 + at, 1) for at in range(0, 40, 2)]
    assert world.write(*rows, batches=[StateBatch(0, 40, AVAILABLE, 1)]).code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.read() == []
    assert world.write(*rows[:4], batches=[StateBatch(0, 40, AVAILABLE, 1)]).code is ErrorCode.NONE
    for count in (2, 3):
        world.write(batches=[StateBatch(90, 90, AVAILABLE, count)])
    assert isinstance(world.last_value(), ShareSnapshotValue)
    assert world.read() == rows[:4]
    assert len(SHARE_STATE_SERDE.encode(world.log.last[0])[1] or b"") <= 800


def test_no_leader_writes_what_cannot_be_read_again() -> None:
    assert World().write(Staged(0, 4, 1, 0, 7, 1)).code is ErrorCode.INVALID_REQUEST
