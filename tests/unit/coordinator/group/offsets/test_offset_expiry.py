"""The expiry of offsets and then of their groups, as in Apache Kafka 4.3.1 (KIP-211, KIP-496)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.offsets import expiry
from shareq.coordinator.group.offsets.expiry import expired
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.protocol.generated.group_metadata import GroupMetadataValue
from tests.unit.coordinator.group.offsets.world import DAY_MS, OffsetsWorld

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
CHECK_MS = 600_000


def test_offsets_of_a_simple_group_expire_with_their_commits(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    world.log.advance(4 * DAY_MS)
    world.committed({T1: 6})
    world.log.advance(3 * DAY_MS - 1)
    assert world.offsets() == {T0: 5, T1: 6}
    world.log.advance(CHECK_MS)
    assert world.offsets() == {T1: 6}
    world.log.advance(4 * DAY_MS)
    assert (world.offsets(), world.listed()) == ({}, [])
    world.log.reload()
    assert (world.offsets(), world.listed()) == ({}, [])


def test_a_retention_of_its_own(world: OffsetsWorld) -> None:
    """The request's retention counts in OffsetCommit 2 to 4, the broker's in later versions (KIP-211)."""
    world.commit({T0: 5}, retention_ms=CHECK_MS + 1, version=4)
    world.commit({T1: 6}, retention_ms=30 * DAY_MS, version=4)
    world.log.advance(CHECK_MS)
    assert world.offsets() == {T0: 5, T1: 6}
    world.log.reload()
    world.log.advance(CHECK_MS)
    assert world.offsets() == {T1: 6}
    world.log.advance(20 * DAY_MS)
    assert world.offsets() == {T1: 6}, "longer than the broker's"


def test_an_empty_group_keeps_its_offsets_since_it_lost_its_members(world: OffsetsWorld) -> None:
    world.has_members("t")
    world.commit({T0: 5}, generation=5, member="m")
    world.time.now_ms += 6 * DAY_MS
    world.has_no_members_any_more()
    world.log.advance(6 * DAY_MS)
    assert world.offsets() == {T0: 5}, "12 days after the commit, 6 after the last member left"
    world.log.advance(DAY_MS + CHECK_MS)
    assert (world.offsets(), world.listed()) == ({}, [])


def test_a_group_whose_record_does_not_say_when_it_became_empty(world: OffsetsWorld) -> None:
    """A release before 2.1 wrote the group; its offsets expire."""
    world.committed({T0: 5})
    world.has_record("g", GroupMetadataValue("consumer", 6, None, None, -1, []))
    world.log.advance(7 * DAY_MS - CHECK_MS)
    assert world.offsets() == {T0: 5}
    world.log.advance(2 * CHECK_MS)
    assert world.offsets() == {}


def stay_alive(world: OffsetsWorld, ms: int) -> None:
    """Commit T0 every half minute, with checks for expired offsets in between."""
    end = world.time.now_ms + ms
    while world.time.now_ms < end:
        world.log.advance(30_000)
        world.commit({T0: 5}, generation=5, member="m")


def test_members_keep_what_they_read_and_nothing_else() -> None:
    """Offsets of topics that no member reads any more expire, even if the group has members (KIP-496)."""
    world = OffsetsWorld(OffsetSettings(retention_ms=CHECK_MS * 2))
    world.has_members("t")
    world.commit({T1: 5, U0: 6}, generation=5, member="m")
    stay_alive(world, CHECK_MS * 3)
    assert world.offsets() == {T0: 5, T1: 5}
    assert world.listed() == [("g", "classic", "consumer", "Stable")]


def test_a_group_with_members_stays_without_offsets() -> None:
    world = OffsetsWorld(OffsetSettings(retention_ms=CHECK_MS))
    world.has_members("t")
    world.commit({U0: 6}, generation=5, member="m")
    for _ in range(CHECK_MS * 3 // 30_000):
        world.log.advance(30_000)
        world.shard.classic.committed("g", "m", world.time.now_ms)  # a sign of life
    assert world.offsets() == {}
    assert world.listed() == [("g", "classic", "consumer", "Stable")]


def test_members_that_cannot_be_read_keep_everything() -> None:
    world = OffsetsWorld(OffsetSettings(retention_ms=CHECK_MS * 2))
    world.has_members("t", protocol_type="connect")
    world.commit({T0: 5, U0: 6}, generation=5, member="m")
    stay_alive(world, CHECK_MS * 3)
    assert world.offsets() == {T0: 5, U0: 6}


def test_a_group_that_never_committed_goes_when_it_is_empty(world: OffsetsWorld) -> None:
    world.has_no_members_any_more()
    assert world.listed() == [("g", "classic", "consumer", "Empty")]
    world.log.advance(CHECK_MS)
    assert world.listed() == []
    assert world.log.value_types() == ["-GroupMetadataKey"]


def test_open_transactions_keep_offsets_and_groups(world: OffsetsWorld) -> None:
    world.committed({T0: 5})
    store = world.shard.offsets.store
    committed = store.get("g", "t", 0)
    assert committed is not None
    store.put("g", "t", 0, committed._replace(offset=6, record_offset=99), producer_id=7)
    world.log.advance(8 * DAY_MS)
    assert world.offsets() == {T0: 5}
    store.end_transaction(7, commit=False)
    store.put("g", "u", 0, committed, producer_id=8)
    world.log.advance(CHECK_MS)
    assert (world.offsets(), len(world.listed())) == ({}, 1)
    store.end_transaction(8, commit=False)
    world.log.advance(CHECK_MS)
    assert world.listed() == []


def test_many_expired_offsets_go_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch is written with the offsets that fit; the others follow at once."""
    monkeypatch.setattr(expiry, "MOST_TOMBSTONES", 3)
    world = OffsetsWorld()
    for number in range(5):
        world.committed({T0: 1, T1: 2}, group=f"g{number}")
    world.time.now_ms += 8 * DAY_MS
    sizes = []
    for _ in range(5):
        assert (world.shard.next_deadline_ms() or 0) <= world.time.now_ms
        world.log.run(world.shard.on_deadline(world.time.now_ms))
        sizes.append(len(world.log.last))
    assert (sizes, world.listed()) == ([3, 3, 3, 3, 3], [])


def test_the_expired_offsets_of_a_large_group_go_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MOST_TOMBSTONES", 2)
    world = OffsetsWorld()
    world.committed({("t", 0): 1, ("t", 1): 2, ("t", 2): 3, ("u", 0): 4, ("u", 1): 5})
    world.time.now_ms += 8 * DAY_MS
    sizes = []
    while (world.shard.next_deadline_ms() or 0) <= world.time.now_ms:
        world.log.run(world.shard.on_deadline(world.time.now_ms))
        sizes.append(len(world.log.last))
    assert (sizes, world.listed()) == ([2, 2, 2], []), "the last one with the group"
    assert world.shard.next_deadline_ms() == world.time.now_ms + CHECK_MS


def test_many_offsets_are_looked_at_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round checks each offset once; 100,000 of them once took 50 ms in one turn."""
    monkeypatch.setattr(expiry, "MOST_CHECKED", 6)
    looked_at: list[list[str]] = []

    def counted(group: Group, *rest: Any) -> Iterator[tuple[str, int]]:
        looked_at[-1].append(group.group_id)
        return expired(group, *rest)

    monkeypatch.setattr(expiry, "expired", counted)
    world = OffsetsWorld()
    for number in range(5):
        world.committed({T0: 1, T1: 2}, group=f"g{number}")
    world.time.now_ms += CHECK_MS
    while (world.shard.next_deadline_ms() or 0) <= world.time.now_ms:
        looked_at.append([])
        assert world.shard.on_deadline(world.time.now_ms).records == ()
    assert looked_at == [["g0", "g1"], ["g2", "g3"], ["g4"]]


def test_the_broker_looks_at_its_interval() -> None:
    world = OffsetsWorld(OffsetSettings(retention_ms=1, check_interval_ms=50))
    world.log.advance(10)
    world.committed({T0: 5})
    world.log.advance(39)
    assert world.offsets() == {T0: 5}
    world.log.advance(1)
    assert world.offsets() == {}
