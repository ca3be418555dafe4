from __future__ import annotations

from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.delays import TAG, Delay, combined, delays_in, in_force, rows_of, tags_of
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE, update_batches
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch, combine
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.share_snapshot import ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from shareq.protocol.share import RecordState
from tests.unit.coordinator.support import START_WALL_MS, Log, Time, Topics, topic_id_of

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
KEY = SharePartitionKey("g", topic_id_of("t"), 0)
SOON, LATER = START_WALL_MS + 1_000, START_WALL_MS + 5_000
ROOM = 1 << 20

delays = st.builds(
    lambda first, length, time, count: Delay(first, first + length, time, count),
    st.integers(0, 30),
    st.integers(0, 6),
    st.integers(0, 5),
    st.integers(0, 3),
)
states = st.builds(
    lambda first, length, state, count: StateBatch(first, first + length, state, count),
    st.integers(0, 30),
    st.integers(0, 6),
    st.sampled_from([0, 2, 3, 4]),
    st.integers(0, 3),
)


def greatest(account: list[Delay]) -> dict[int, tuple[int, int]]:
    """Return, for each offset, the latest time of its highest delivery count."""
    found: dict[int, tuple[int, int]] = {}
    for first, last, time, count in account:
        for offset in range(first, last + 1):
            found[offset] = max(found.get(offset, (-1, -1)), (count, time))
    return found


# -- the account


@given(st.lists(delays, max_size=8), st.integers(-1, 20))
def test_the_greatest_count_holds_then_the_latest_time(account: list[Delay], start: int) -> None:
    known = combined(account, start)
    assert greatest(known) == {offset: held for offset, held in greatest(account).items() if offset >= start}
    assert all(before.last_offset < after.first_offset for before, after in pairwise(known))


@given(st.lists(delays, max_size=8), st.lists(delays, max_size=3), st.lists(states, max_size=8), st.integers(0, 5))
def test_in_force_is_what_is_available_after_just_so_many_deliveries(
    account: list[Delay], more: list[Delay], written: list[StateBatch], now_ms: int
) -> None:
    batches = combine(written)
    found = in_force(rows_of(account), batches, now_ms, combined(more))
    available = {
        offset: batch.delivery_count
        for batch in batches
        if batch.delivery_state == AVAILABLE
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    assert greatest(list(found)) == {
        offset: (count, time)
        for offset, (count, time) in greatest([*account, *more]).items()
        if time > now_ms and available.get(offset) == count
    }
    assert sum(last - first + 1 for first, last, _, _ in found) == len(greatest(list(found)))


# -- the tag


def test_the_bytes_of_an_update_with_a_delay() -> None:
    value = ShareUpdateValue(
        snapshot_epoch=3,
        leader_epoch=1,
        start_offset=-1,
        delivery_complete_count=-1,
        state_batches=update_batches([StateBatch(100, 109, AVAILABLE, 1)]),
        unknown_tags=tags_of([Delay(100, 104, 0x18BCFE56800, 1)], ROOM),
    )
    expected = bytes.fromhex(
        "0000 00000003 00000001 ffffffffffffffff"
        "02 0000000000000064 000000000000006d 00 0001 00"
        "01 f1e601 1b"  # one tag: 29553, 27 bytes
        "01 0000000000000064 0000000000000068 0000018bcfe56800 0001"
    )
    key, encoded = SHARE_STATE_SERDE.encode(CoordinatorRecord(ShareUpdateKey(*KEY), value))
    assert encoded == expected
    decoded = SHARE_STATE_SERDE.decode(key, expected)
    assert decoded is not None
    assert isinstance(decoded.value, ShareUpdateValue)
    assert delays_in(decoded.value.unknown_tags) == [Delay(100, 104, 0x18BCFE56800, 1)]


@given(st.lists(delays, max_size=8))
def test_what_is_written_is_read(account: list[Delay]) -> None:
    assert list(delays_in(((7, b"another"), *tags_of(account, ROOM)))) == account


def test_what_cannot_be_read_is_available_now() -> None:
    ((_, body),) = tags_of([Delay(0, 4, SOON, 1)], ROOM)
    for damaged in (b"", b"\2" + body[1:], body[:-1], body + b"\0", body[:1] + b"\xff" + body[2:]):
        assert delays_in(((TAG, damaged),)) == (), damaged
    assert delays_in(()) == ()


@pytest.mark.parametrize(
    "impossible", [Delay(-1, 4, SOON, 1), Delay(5, 4, SOON, 1), Delay(0, 4, -1, 1), Delay(0, 4, 0, -1)]
)
def test_one_that_makes_no_sense_spoils_all_of_its_record(impossible: Delay) -> None:
    assert delays_in(tags_of([Delay(0, 0, 0, 0)], ROOM)) == [Delay(0, 0, 0, 0)]
    assert delays_in(tags_of([Delay(10, 14, SOON, 1), impossible], ROOM)) == ()


def test_without_room_the_first_ones_are_kept() -> None:
    account = [Delay(offset, offset, SOON, 1) for offset in range(100)]
    assert list(delays_in(tags_of(account, 26 * 40 + 20))) == account[:40]
    assert tags_of(account, 20) == tags_of(account, -5) == ()


# -- the shard


class World:
    """A shard that writes a snapshot as every third record of a share partition."""

    def __init__(self, **settings: int) -> None:
        self.time, topics = Time(), Topics(t=1)
        knobs = ShareCoordinatorSettings(snapshot_update_records_per_snapshot=2, **settings)
        self.log = Log(lambda: ShareCoordinatorShard(topics, self.time.wall_ms, knobs), SHARE_STATE_SERDE, self.time)
        self.log.run(self.log.shard.initialize(KEY, 1, 0))

    def write(self, batch: StateBatch, *waiting: Delay, start: int = -1) -> ApiError:
        return self.log.run(self.log.shard.write(KEY, 1, 0, start, 0, [batch], waiting))

    def read(self) -> tuple[Delay, ...]:
        """Return the delays that a leader reads, and check that they are equal after a restart."""
        found = self.log.shard.read(KEY, 0).response.delays
        assert self.log.loaded().read(KEY, 0).response.delays == found
        return found

    def last_value(self) -> ShareSnapshotValue | ShareUpdateValue:
        (record,) = self.log.last
        assert isinstance(record.value, ShareSnapshotValue | ShareUpdateValue)
        return record.value


def test_a_leader_finds_what_waits_until_it_is_over() -> None:
    world = World()
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 4, SOON, 1), Delay(5, 9, LATER, 1))
    assert world.read() == (Delay(0, 4, SOON, 1), Delay(5, 9, LATER, 1))
    world.log.advance(1_000)
    assert world.read() == (Delay(5, 9, LATER, 1),)
    world.log.advance(4_000)
    assert world.read() == ()


def test_whatever_becomes_of_the_record_next_ends_its_wait() -> None:
    world = World()
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 9, LATER, 1))
    world.write(StateBatch(0, 3, ACKNOWLEDGED, 2))
    world.write(StateBatch(4, 5, AVAILABLE, 2))
    assert world.read() == (Delay(6, 9, LATER, 1),)
    world.write(StateBatch(7, 8, AVAILABLE, 2), Delay(7, 8, SOON, 2), start=5)
    assert world.read() == (Delay(6, 6, LATER, 1), Delay(7, 8, SOON, 2), Delay(9, 9, LATER, 1))


def test_what_waits_below_the_start_offset_is_not_written() -> None:
    world = World()
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 2, SOON, 1), Delay(3, 9, LATER, 1), start=5)
    assert list(delays_in(world.last_value().unknown_tags)) == [Delay(5, 9, LATER, 1)]


def test_a_snapshot_has_what_is_in_force_and_no_more() -> None:
    world = World()
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 9, SOON, 1))
    world.write(StateBatch(0, 3, AVAILABLE, 2), Delay(0, 3, LATER, 2))
    world.time.now_ms = 1_000
    world.write(StateBatch(20, 20, AVAILABLE, 1), Delay(20, 20, LATER, 1))
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    kept = [Delay(0, 3, LATER, 2), Delay(20, 20, LATER, 1)]
    assert list(delays_in(value.unknown_tags)) == kept == list(world.read())


def test_a_snapshot_of_an_idle_share_partition_has_them_too() -> None:
    world = World(cold_partition_snapshot_interval_ms=2_000)
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 3, SOON, 1), Delay(4, 9, LATER, 1))
    world.log.advance(2_000)
    value = world.last_value()
    assert isinstance(value, ShareSnapshotValue)
    assert list(delays_in(value.unknown_tags)) == [Delay(4, 9, LATER, 1)] == list(world.read())


def test_a_new_state_waits_for_nothing() -> None:
    world = World()
    world.write(StateBatch(0, 9, AVAILABLE, 1), Delay(0, 9, LATER, 1))
    world.log.run(world.log.shard.initialize(KEY, 1, 0))
    world.write(StateBatch(0, 9, AVAILABLE, 1))
    assert world.read() == ()


def test_without_delays_the_bytes_are_apache_kafkas() -> None:
    world = World()
    for count in (1, 2, 3):
        world.write(StateBatch(0, 9, AVAILABLE, count))
        assert world.last_value().unknown_tags == ()


def test_times_never_keep_a_state_from_being_written() -> None:
    world = World(max_record_bytes=400)
    waiting = [Delay(offset, offset, LATER + offset, 1) for offset in range(100)]
    assert world.write(StateBatch(0, 99, AVAILABLE, 1), *waiting).code is ErrorCode.NONE
    found = world.read()
    assert 0 < len(found) < 100
    assert list(found) == waiting[: len(found)]
    for _ in range(2):
        assert world.write(StateBatch(0, 99, AVAILABLE, 1), *waiting).code is ErrorCode.NONE
    assert isinstance(world.last_value(), ShareSnapshotValue)
    assert len(SHARE_STATE_SERDE.encode(world.log.last[0])[1] or b"") <= 400
