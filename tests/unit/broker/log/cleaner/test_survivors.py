"""Records that survive cleaning: both rules by example, and invariants of any rule over any log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.log.cleaner.survivors import Newest, Role, Rule, latest_value, share_state, survivors
from tests.support.worlds.cleaner import Reported

SNAPSHOT, UPDATE = b"\0\0", b"\0\1"
A, B = b"\0\1a....", b"\0\1b...."


def log_of(*records: tuple[bytes | None, bool]) -> list[Reported]:
    return [Reported(offset, key, has_value) for offset, (key, has_value) in enumerate(records)]


def left(rule: Rule, *records: tuple[bytes | None, bool], over: int = -1) -> list[int]:
    """Return the offsets that stay when tombstones up to `over` have expired."""
    return [r.offset for r in survivors(log_of(*records), rule, ends_are_over=lambda offset: offset <= over)]


def test_the_latest_value_of_each_key_stays() -> None:
    assert left(latest_value, (b"a", True), (b"b", True), (b"a", True), (b"c", True), (b"a", True)) == [1, 3, 4]


def test_a_tombstone_removes_its_key_and_goes_when_its_time_is_over() -> None:
    records = ((b"a", True), (b"a", False), (b"b", True))
    assert left(latest_value, *records) == [1, 2]
    assert left(latest_value, *records, over=1) == [2]


def test_a_value_after_a_tombstone_stays() -> None:
    assert left(latest_value, (b"a", False), (b"a", True), over=0) == [1]


def test_a_record_without_key_belongs_to_nothing() -> None:
    """Records without a key are dropped, as by Apache Kafka (Cleaner.shouldRetainRecord)."""
    assert left(latest_value, (None, True), (b"", True)) == [1]


def test_long_keys_are_distinguished() -> None:
    long = b"k" * 31
    assert left(latest_value, (long, True), (long + b"1", True), (long + b"2", True), (long + b"1", True)) == [0, 2, 3]


def test_updates_never_supersede_each_other() -> None:
    """A ShareUpdate is a change, so the last one alone would lose the others."""
    assert left(share_state, (SNAPSHOT + A, True), *[(UPDATE + A, True)] * 3) == [0, 1, 2, 3]


def test_a_snapshot_supersedes_everything_before_it_of_its_share_partition() -> None:
    records = (
        (SNAPSHOT + A, True),
        (UPDATE + A, True),
        (SNAPSHOT + B, True),
        (UPDATE + B, True),
        (SNAPSHOT + A, True),
        (UPDATE + A, True),
    )
    assert left(share_state, *records) == [2, 3, 4, 5]


def test_updates_do_not_supersede_their_snapshot_though_they_have_its_key() -> None:
    assert left(share_state, (SNAPSHOT + A, True), (UPDATE + A, True)) == [0, 1]


def test_a_snapshot_tombstone_removes_all_and_then_itself() -> None:
    records = ((SNAPSHOT + A, True), (UPDATE + A, True), (SNAPSHOT + A, False), (SNAPSHOT + B, True))
    assert left(share_state, *records) == [2, 3]
    assert left(share_state, *records, over=2) == [3]


def test_an_update_after_the_tombstone_stays() -> None:
    """With or without the tombstone, the update replays as a state with epoch 0."""
    records = ((SNAPSHOT + A, True), (SNAPSHOT + A, False), (UPDATE + A, True))
    assert left(share_state, *records, over=1) == [2]


@pytest.mark.parametrize("key", [None, b"", b"\0", b"\0\2rest", UPDATE + A])
def test_what_nobody_can_judge_stays(key: bytes | None) -> None:
    """Later releases write records of unknown types, and updates without a value mean nothing: both are kept."""
    has_value = key != UPDATE + A
    assert left(share_state, (key, has_value), (SNAPSHOT + A, True), (key, has_value), over=9) == [0, 1, 2]


def test_room_that_is_short_ends_the_part_that_is_judged() -> None:
    newest = Newest(latest_value, room=2, first_dirty_offset=0)
    first, second, third, fourth = log_of((b"a", True), (b"b", True), (b"c", True), (b"a", True))
    assert newest.note([first, second], 2)
    assert not newest.note([third], 3)
    assert (newest.end_offset, len(newest)) == (2, 2)
    assert all(newest.keeps(record, False) for record in (first, second, third, fourth))
    assert newest.note([fourth], 4)  # a known key needs no room
    assert not newest.keeps(first, False)


def test_the_first_batch_always_has_room() -> None:
    newest = Newest(latest_value, room=1, first_dirty_offset=0)
    assert newest.note(log_of((b"a", True), (b"b", True), (b"c", True)), 3)
    assert not newest.note([Reported(3, b"d", True)], 4)
    assert newest.end_offset == 3


def test_a_part_without_subjects_needs_no_room() -> None:
    newest = Newest(share_state, room=1, first_dirty_offset=5)
    assert newest.note(log_of((UPDATE + A, True), (UPDATE + B, True)), 9)
    assert (newest.end_offset, len(newest)) == (9, 0)


any_key = st.one_of(st.none(), st.sampled_from([b"", b"a", b"b", b"c" * 40, SNAPSHOT + A, SNAPSHOT + B, UPDATE + A]))
share_key = st.sampled_from([SNAPSHOT + A, UPDATE + A, UPDATE + A, SNAPSHOT + B, UPDATE + B, b"\0\3x"])
logs = st.one_of(
    st.tuples(st.just(latest_value), st.lists(st.tuples(any_key, st.booleans()), max_size=30)),
    st.tuples(st.just(share_state), st.lists(st.tuples(share_key, st.integers(0, 3).map(bool)), max_size=30)),
)


def replayed(records: list[Reported], rule: Rule) -> dict[bytes, list[int]]:
    """Return each subject's state and its changes since, which determine the result of any replay."""
    states: dict[bytes, list[int]] = {}
    for record in records:
        role, subject = rule(record.key, record.has_value)
        if role is Role.STATE:
            states[subject] = [record.offset]
        elif role is Role.CHANGE:
            states.setdefault(subject, []).append(record.offset)
        elif role is Role.END:
            states.pop(subject, None)
    return states


@given(logs, st.integers(-1, 30))
def test_a_compacted_log_replays_to_the_same(log: tuple[Rule, list[tuple[bytes | None, bool]]], over: int) -> None:
    rule, records = log
    after = survivors(log_of(*records), rule, ends_are_over=lambda offset: offset <= over)
    assert replayed(after, rule) == replayed(log_of(*records), rule)


@given(logs, st.integers(-1, 30))
def test_compacting_again_changes_nothing(log: tuple[Rule, list[tuple[bytes | None, bool]]], over: int) -> None:
    rule, records = log
    once = survivors(log_of(*records), rule, ends_are_over=lambda offset: offset <= over)
    assert survivors(once, rule, ends_are_over=lambda offset: offset <= over) == once


@given(logs, st.lists(st.tuples(st.integers(1, 4), st.integers(1, 8)), max_size=12))
def test_several_passes_with_little_room_come_to_the_same_as_one(
    log: tuple[Rule, list[tuple[bytes | None, bool]]], passes: list[tuple[int, int]]
) -> None:
    """Passes of limited batches and records lose nothing, and reach the same result together."""
    rule, records = log
    everything = log_of(*records)
    kept, first_dirty = everything, 0
    for room, size in [*passes, *[(1, 1)] * len(records), (1, 30)]:
        newest = Newest(rule, room, first_dirty)
        dirty = [record for record in kept if record.offset >= first_dirty]
        for at in range(0, len(dirty), size):
            batch = dirty[at : at + size]
            if not newest.note(batch, batch[-1].offset + 1):
                break
        kept = [record for record in kept if newest.keeps(record, True)]
        assert replayed(kept, rule) == replayed(everything, rule)
        first_dirty = newest.end_offset
    assert kept == survivors(everything, rule, ends_are_over=lambda offset: True)
