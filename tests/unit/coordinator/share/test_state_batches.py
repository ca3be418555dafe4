"""The combination of state batches, compared with Apache Kafka 4.3.1's rule, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.coordinator.share.state_batches import Account, StateBatch, account_of, combine, merge_into
from shareq.protocol.generated import share_update
from shareq.protocol.share import RecordState

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
ARCHIVING: Final = RecordState.ARCHIVING
ARCHIVED: Final = RecordState.ARCHIVED


def by_the_rule(batches: list[StateBatch], start_offset: int) -> list[StateBatch]:
    """Prune; then merge the first neighbours that overlap, or that touch and are equal, until no such pair is left."""
    if start_offset != -1:
        batches = [b for b in batches if b.last_offset >= start_offset]
        batches = [b._replace(first_offset=max(b.first_offset, start_offset)) for b in batches]
    open_batches = set(batches)
    final: list[StateBatch] = []
    while pair := _first_pair(open_batches, final):
        lower, upper = pair
        open_batches -= {lower, upper}
        open_batches |= set(_resolve(lower, upper))
    return final + sorted(open_batches, key=_order)


def _order(batch: StateBatch) -> tuple[int, int, int, int]:
    return batch.first_offset, batch.last_offset, batch.delivery_count, batch.delivery_state


def _priority(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state


def _first_pair(open_batches: set[StateBatch], final: list[StateBatch]) -> tuple[StateBatch, StateBatch] | None:
    ordered = sorted(open_batches, key=_order)
    for index, (lower, upper) in enumerate(pairwise(ordered)):
        touching = lower.last_offset + 1 == upper.first_offset and _priority(lower) == _priority(upper)
        if upper.first_offset <= lower.last_offset or touching:
            final.extend(ordered[:index])
            open_batches.difference_update(ordered[:index])
            return lower, upper
    return None


def _resolve(lower: StateBatch, upper: StateBatch) -> list[StateBatch]:
    if _priority(lower) == _priority(upper):
        return [lower._replace(last_offset=max(lower.last_offset, upper.last_offset))]
    winner, loser = (lower, upper) if _priority(lower) > _priority(upper) else (upper, lower)
    parts = [winner]
    if loser.first_offset < winner.first_offset:
        parts.append(loser._replace(last_offset=winner.first_offset - 1))
    if loser.last_offset > winner.last_offset:
        parts.append(loser._replace(first_offset=winner.last_offset + 1))
    return parts


def joined(batches: list[StateBatch]) -> list[StateBatch]:
    """Join equal neighbours, some of which the rule joins only in its next run."""
    result: list[StateBatch] = []
    for batch in batches:
        if result and result[-1].last_offset + 1 == batch.first_offset and _priority(result[-1]) == _priority(batch):
            result[-1] = result[-1]._replace(last_offset=batch.last_offset)
        else:
            result.append(batch)
    return result


@st.composite
def batch(draw: st.DrawFn, highest: int = 40) -> StateBatch:
    first = draw(st.integers(0, highest))
    last = draw(st.integers(first, min(highest + 5, first + draw(st.sampled_from([0, 1, 3, 10, 45])))))
    state = draw(st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED]))
    return StateBatch(first, last, state, draw(st.integers(1, 3)))


batch_lists = st.lists(batch(), max_size=12)
starts = st.one_of(st.just(-1), st.integers(0, 45))


@settings(max_examples=300, deadline=None)
@given(batch_lists, starts)
def test_combine_gives_what_the_rule_gives(batches: list[StateBatch], start_offset: int) -> None:
    assert combine(batches, start_offset) == joined(by_the_rule(batches, start_offset))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.lists(batch(), max_size=6), starts), max_size=6))
def test_merging_step_by_step_gives_what_combining_everything_gives(
    steps: list[tuple[list[StateBatch], int]],
) -> None:
    stored: list[StateBatch] = []
    for batches, start_offset in steps:
        everything = combine([*stored, *batches], start_offset)
        merge_into(stored, combine(batches), start_offset)
        assert stored == everything


@settings(max_examples=100, deadline=None)
@given(batch_lists, st.randoms(use_true_random=False))
def test_the_order_of_arrival_plays_no_part(batches: list[StateBatch], rng: object) -> None:
    shuffled = list(batches)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis's Random
    assert combine(shuffled) == combine(batches)


@settings(max_examples=100, deadline=None)
@given(batch_lists)
def test_every_offset_keeps_its_greatest_count_and_state(batches: list[StateBatch]) -> None:
    expected: dict[int, tuple[int, int]] = {}
    for b in batches:
        for offset in range(b.first_offset, b.last_offset + 1):
            expected[offset] = max(expected.get(offset, (0, 0)), _priority(b))
    found = {o: _priority(b) for b in combine(batches) for o in range(b.first_offset, b.last_offset + 1)}
    assert found == expected


def test_single_offset_batches_of_one_acknowledgement_become_one() -> None:
    """The expired locks of 111 and 112 are stored as one range, as in KIP-932's worked example."""
    timed_out = [StateBatch(111, 111, AVAILABLE, 1), StateBatch(112, 112, AVAILABLE, 1)]
    assert combine(timed_out) == [StateBatch(111, 112, AVAILABLE, 1)]


def test_a_record_in_the_middle_of_a_stored_range_splits_it() -> None:
    stored = [StateBatch(100, 109, AVAILABLE, 1)]
    merge_into(stored, [StateBatch(104, 104, ACKNOWLEDGED, 2)], -1)
    assert stored == [
        StateBatch(100, 103, AVAILABLE, 1),
        StateBatch(104, 104, ACKNOWLEDGED, 2),
        StateBatch(105, 109, AVAILABLE, 1),
    ]


def test_at_equal_count_archived_beats_archiving_beats_acknowledged_beats_available() -> None:
    one_range = [StateBatch(0, 9, state, 1) for state in (ARCHIVED, ARCHIVING, AVAILABLE, ACKNOWLEDGED)]
    assert combine(one_range) == [StateBatch(0, 9, ARCHIVED, 1)]
    assert combine(one_range[1:]) == [StateBatch(0, 9, ARCHIVING, 1)]
    assert combine(one_range[2:]) == [StateBatch(0, 9, ACKNOWLEDGED, 1)]


def test_a_higher_delivery_count_beats_any_state() -> None:
    assert combine([StateBatch(0, 9, ARCHIVED, 1), StateBatch(0, 9, AVAILABLE, 2)]) == [StateBatch(0, 9, AVAILABLE, 2)]


def test_a_batch_that_contains_the_start_offset_is_trimmed() -> None:
    assert combine([StateBatch(0, 4, ARCHIVED, 1), StateBatch(5, 20, AVAILABLE, 1)], 10) == [
        StateBatch(10, 20, AVAILABLE, 1)
    ]


def test_a_range_won_by_an_equal_neighbour_joins_it() -> None:
    stored = [StateBatch(0, 4, ACKNOWLEDGED, 2), StateBatch(5, 9, AVAILABLE, 1)]
    merge_into(stored, [StateBatch(5, 9, ACKNOWLEDGED, 2)], -1)
    assert stored == [StateBatch(0, 9, ACKNOWLEDGED, 2)]


def test_a_few_batches_strewn_over_many_combine_like_any_other() -> None:
    stored = [StateBatch(2 * n, 2 * n, ACKNOWLEDGED, 1) for n in range(500)]
    update = [StateBatch(2 * n + 1, 2 * n + 1, ACKNOWLEDGED, 1) for n in (3, 250, 480)]
    everything = combine([*stored, *update])
    merge_into(stored, update, -1)
    assert stored == everything


def test_an_account_is_combined_from_its_start_offset_on() -> None:
    in_order = (StateBatch(0, 4, ACKNOWLEDGED, 1), StateBatch(6, 9, AVAILABLE, 1))
    for batches in (in_order, reversed(in_order), share_update_batches(in_order)):
        account = account_of(batches, 2)
        assert account == [StateBatch(2, 4, ACKNOWLEDGED, 1), StateBatch(6, 9, AVAILABLE, 1)]
        assert type(account) is Account
        assert {type(batch) for batch in account} == {StateBatch}
    assert account_of((*in_order, StateBatch(5, 5, ACKNOWLEDGED, 1)), 5) == [
        StateBatch(5, 5, ACKNOWLEDGED, 1),
        StateBatch(6, 9, AVAILABLE, 1),
    ]


def test_no_account_is_made_of_what_no_leader_can_have_written() -> None:
    sound = StateBatch(0, 4, ACKNOWLEDGED, 1)
    for batch in (StateBatch(6, 5, 0, 1), StateBatch(-1, 5, 0, 1), StateBatch(5, 5, 1, 1), StateBatch(5, 5, 0, -1)):
        assert account_of((sound, batch)) is None
        assert account_of(share_update_batches((sound, batch))) is None


def share_update_batches(batches: Iterable[StateBatch]) -> list[share_update.StateBatch]:
    return [share_update.StateBatch(*batch) for batch in batches]
