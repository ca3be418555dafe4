"""Listing records in flight with state, member, time of acquisition and lock deadline, in parts of any size."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.window.ranges import STATES, RecordRange, list_persisted
from shareq.coordinator.ports import RedeliveryBackoff
from shareq.protocol.share import RecordState
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import (
    ACCEPT,
    FAILED,
    KEY,
    RECORDS,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    batches,
    fetch,
    settings,
    settle,
    share_partition,
    spans,
    written,
)
from tests.unit.broker.share.core.test_order import A, B, Ordered

LOCK_MS = 30_000


def listed(core: SharePartition, most: int = 1_000, first: int = 0) -> list[RecordRange]:
    found: list[RecordRange] = []
    position: int | None = first
    while position is not None:
        part = core.list_ranges(position, most, heads=True)
        assert len(part.ranges) <= most + 1
        assert part.following is None or part.following > position
        found += part.ranges
        position = part.following
    return found


def test_nothing_is_in_flight() -> None:
    assert listed(share_partition()) == []
    assert share_partition().first_record() is None


def test_the_first_record_is_the_first_one_listed() -> None:
    """The first record is listed alone although its neighbours are equal, in windows of all kinds."""
    rng = random.Random(5)
    seen = set[str]()
    for seed in range(300):
        core = share_partition(start=3, persisted=[(5, 9, 0, 1)] if rng.randrange(2) else [(3, 9, 0, 1)])
        for member in ("m1", "m2"):
            if rng.randrange(4):
                fetch(core, spans((0, 9), (10, 19)), member, now_ms=100 + seed, max_records=rng.randrange(1, 9))
        for each in listed(core):
            if each.owner and rng.randrange(3):
                last = rng.randint(each.first_offset, each.last_offset)
                settle(core, each.first_offset, last, rng.choice([ACCEPT, RELEASE]), member=each.owner)
        first = core.first_record()
        if not listed(core):
            assert first is None
            continue
        expected = listed(core)[0]
        assert first == expected._replace(last_offset=expected.first_offset)
        assert first.first_offset == core.start_offset
        seen.add(first.state)
    assert seen == {"available", "acquired"}


def test_acquired_records_have_a_member_since_when_and_until_when() -> None:
    core = share_partition()
    fetch(core, spans((0, 4)), "m1", now_ms=100)
    fetch(core, spans((5, 9)), "m2", now_ms=200)
    assert listed(core) == [
        RecordRange(0, 4, "acquired", 1, False, "m1", 100, 100 + LOCK_MS, None, 100),
        RecordRange(5, 9, "acquired", 1, False, "m2", 200, 200 + LOCK_MS, None, 200),
    ]


def test_a_renewed_lock_ends_later_and_began_when_it_began() -> None:
    core = share_partition()
    fetch(core, spans((0, 1)), now_ms=100)
    assert ack(core, 0, 0, RENEW, now_ms=5_000).write_id is None
    first, second = listed(core)
    assert (first.since_ms, first.until_ms) == (100, 5_000 + LOCK_MS)
    assert (second.since_ms, second.until_ms) == (100, 100 + LOCK_MS)


def test_a_changed_lock_duration_does_not_change_since_when_a_record_is_held() -> None:
    core = share_partition()
    fetch(core, spans((0, 1)), now_ms=100)
    core.settings = core.settings._replace(record_lock_duration_ms=1_000)
    assert [(each.since_ms, each.until_ms) for each in listed(core)] == [(100, 100 + LOCK_MS)]


def test_what_is_being_written_is_pending_and_the_members_until_then() -> None:
    core = share_partition()
    fetch(core, spans((0, 2)), now_ms=100)
    outcome = ack(core, 1, 1, ACCEPT, now_ms=200)
    assert [(each.state, each.pending, each.owner, each.since_ms) for each in listed(core)] == [
        ("acquired", False, "m1", 100),
        ("acknowledged", True, "m1", 100),
        ("acquired", False, "m1", 100),
    ]
    written(core, outcome.effects, FAILED, 300)
    assert [each[:6] for each in listed(core)] == [(0, 2, "acquired", 1, False, "m1")]


def test_released_and_rejected_records_belong_to_nobody() -> None:
    core = share_partition()
    fetch(core, spans((0, 3)), now_ms=100)
    settle(core, 1, 1, RELEASE)
    settle(core, 2, 2, REJECT)
    assert [each[:8] for each in listed(core)[1:3]] == [
        (1, 1, "available", 1, False, "", None, None),
        (2, 2, "archived", 1, False, "", None, None),
    ]


def test_finished_records_below_the_start_offset_are_not_listed() -> None:
    core = share_partition()
    fetch(core, spans((0, 4)))
    settle(core, 0, 1, ACCEPT)
    assert [each[:3] for each in listed(core)] == [(2, 4, "acquired")]
    assert [each[:2] for each in listed(core, first=3)] == [(3, 4)]
    assert listed(core, first=5) == []


def test_a_record_that_failed_is_delayed_until_its_time() -> None:
    core = share_partition()
    core.settings = core.settings._replace(redelivery=RedeliveryBackoff(initial_ms=1_000))
    fetch(core, spans((0, 1)), now_ms=100)
    settle(core, 0, 0, RELEASE, now_ms=200)
    first = listed(core)[0]
    assert (first.state, first.until_ms, first.owner, first.since_ms) == ("delayed", 1_200, "", None)
    core.on_deadline(1_200)
    assert listed(core)[0].state == "available"


def test_dead_records_are_archiving_until_their_letters_are_written() -> None:
    core = share_partition()
    core.settings = core.settings._replace(dead_letters=True)
    fetch(core, spans((0, 1)))
    settle(core, 0, 0, REJECT)
    assert [each.state for each in listed(core)] == ["archiving", "acquired"]


def test_a_waiting_record_says_which_one_it_waits_for() -> None:
    world = Ordered([A, B, A, A, B, None])
    assert world.fetch(at_ms=7) == [0, 1, 5]
    waiting = [each for each in listed(world.core) if each.state == "waiting"]
    assert [(each.first_offset, each.last_offset, each.behind) for each in waiting] == [(2, 3, 0), (4, 4, 1)]
    settle(world.core, 0, 0, ACCEPT)
    assert [(each.first_offset, each.state, each.behind) for each in listed(world.core)[1:3]] == [
        (2, "available", None),
        (3, "waiting", 2),
    ]
    plain = world.core.list_ranges(0, 100).ranges
    assert [(each.first_offset, each.last_offset, each.behind) for each in plain if each.state == "waiting"] == [
        (3, 4, None)
    ]


def test_what_was_acquired_before_a_reload_is_available() -> None:
    core = share_partition(persisted=((0, 1, 2, 1), (5, 6, 2, 1)))
    assert [each[:4] for each in listed(core)] == [(2, 4, "available", 0), (5, 6, "acknowledged", 1)]
    fetch(core, spans((2, 4)), at=2)
    assert [each[:3] for each in listed(core)] == [(2, 4, "acquired"), (5, 6, "acknowledged")]


def test_a_part_has_as_many_ranges_as_are_asked_for() -> None:
    core = share_partition()
    for first in range(0, 10, 2):
        fetch(core, spans((first, first + 1)), f"m{first}")
    assert [core.list_ranges(0, most).following for most in (1, 2, 3, 5)] == [2, 4, 6, None]
    assert [len(core.list_ranges(0, most).ranges) for most in (1, 2, 3, 5)] == [1, 2, 3, 5]


def _busy(seed: int) -> SharePartition:
    """Return a share partition after random operations; every other one has order by key."""
    rng = random.Random(seed)
    group = settings(max_deliveries=3)._replace(
        order_by_key=bool(seed % 2), dead_letters=True, redelivery=RedeliveryBackoff(initial_ms=50 * (seed % 3))
    )
    core = SharePartition(KEY, 1, group)
    core.load(1, 0, (), log_start_offset=0, log_end_offset=1 << 40)
    keys = {offset: rng.randrange(20) for offset in range(400)}
    for now_ms in range(0, 4_000, 20):
        at = core.next_fetch_offset()
        read = [each for each in batches(0, 399, 7) if each.last_offset >= at][:5]
        if read and core.can_acquire():
            wanted = core.keys_wanted(read)
            known = {each: keys[each] for each in range(wanted[0], wanted[1] + 1)} if wanted else {}
            core.acquire(rng.choice("abc"), RECORDS, 7, rng.randrange(1, 30), at, read, now_ms, keys=key_hashes(known))
        held = [each for each in core.snapshot() if each.owner]
        for each in rng.sample(held, min(len(held), 3)):
            offset = rng.randint(each.first_offset, each.last_offset)
            kind = rng.choice((ACCEPT, ACCEPT, RELEASE, REJECT, RENEW))
            outcome = ack(core, offset, offset, kind, member=each.owner, now_ms=now_ms)
            if outcome.write_id is not None and rng.random() < 0.8:
                written(core, outcome.effects, FAILED if rng.random() < 0.2 else FAILED.NONE, now_ms)
        if rng.random() < 0.3:
            core.on_deadline(now_ms)
    return core


@pytest.mark.parametrize("seed", range(12))
def test_every_offset_is_what_the_snapshot_says_however_small_the_parts(seed: int) -> None:
    core = _busy(seed)
    whole = listed(core)
    assert whole == _merged(listed(core, most=1)) == _merged(listed(core, most=7))
    offsets = {offset: each for each in whole for offset in range(each.first_offset, each.last_offset + 1)}
    views = {offset: each for each in core.snapshot() for offset in range(each.first_offset, each.last_offset + 1)}
    assert offsets.keys() == views.keys()
    assert len(offsets) > 20
    for offset, each in offsets.items():
        view = views[offset]
        expected = view.state.name.lower()
        if view.waits_for_key:
            expected = "waiting"
        elif view.not_before_ms is not None and not view.pending:
            expected = "delayed"
        assert (each.state, each.delivery_count, each.pending) == (expected, view.delivery_count, view.pending)
        if view.owner:
            assert (each.owner, each.until_ms) == (view.owner, view.deadline_ms)
        if each.behind is not None:
            assert offsets[each.behind].behind is None
            assert each.behind < offset
        assert (each.behind is not None) == view.waits_for_key


def _merged(parts: Sequence[RecordRange]) -> list[RecordRange]:
    found: list[RecordRange] = []
    for each in parts:
        if found and found[-1].last_offset + 1 == each.first_offset and found[-1][2:] == each[2:]:
            each = each._replace(first_offset=found.pop().first_offset)
        found.append(each)
    return found


def test_the_states_have_kafkas_names_and_two_more() -> None:
    kafkas = set(RecordState) - {RecordState.TX_PENDING}
    assert set(STATES) == {each.name.lower() for each in kafkas} | {"delayed", "waiting"}


# -- persisted states


ROWS = [(10, 12, 0, 2), (15, 15, 2, 1), (16, 19, 4, 5)]


def test_a_persisted_state_is_listed_as_its_leader_would_list_it() -> None:
    part = list_persisted(10, ROWS, [], 0, 0, 100)
    assert part.following is None
    assert [each[:4] for each in part.ranges] == [
        (10, 12, "available", 2),
        (13, 14, "available", 0),
        (15, 15, "acknowledged", 1),
        (16, 19, "archived", 5),
    ]
    loaded = listed(share_partition(start=10, persisted=ROWS))
    assert [each[:4] for each in part.ranges] == [each[:4] for each in loaded]


def test_a_persisted_state_is_listed_in_parts() -> None:
    found: list[RecordRange] = []
    position: int | None = 11
    while position is not None:
        part = list_persisted(10, ROWS, [], 0, position, 1)
        found += part.ranges
        position = part.following
    assert [each[:3] for each in found] == [
        (11, 12, "available"),
        (13, 14, "available"),
        (15, 15, "acknowledged"),
        (16, 19, "archived"),
    ]
    assert list_persisted(10, ROWS, [], 0, 20, 1) == ([], None)


def test_persisted_delays_hold_for_their_deliveries_until_their_time() -> None:
    delays = [(9, 10, 500, 2), (12, 12, 600, 2), (15, 18, 700, 1)]
    part = list_persisted(10, ROWS, delays, 550, 0, 100)
    assert [(*each[:3], each.until_ms) for each in part.ranges[:2]] == [
        (10, 11, "available", None),
        (12, 12, "delayed", 600),
    ]
    assert "delayed" not in {each.state for each in part.ranges[2:]}
