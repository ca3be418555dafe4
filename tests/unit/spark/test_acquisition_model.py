"""The contract of the source, over random histories of a query, its broker and another member of its group."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.spark.model import LOCK_MS, AckFate, Query, Record

FATES = st.sampled_from(get_args(AckFate))
STEPS = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 12)),
    st.tuples(st.just("batch"), st.integers(1, 25), FATES, st.integers(0, 6)),
    st.tuples(st.just("wait"), st.integers(1, 2 * LOCK_MS)),
    st.tuples(st.just("renew"), FATES),
    st.tuples(st.just("connection")),
    st.tuples(st.just("kill")),
    st.tuples(st.just("other"), st.integers(1, 10), st.sampled_from(["accept", "release"])),
)


@pytest.mark.parametrize("ack", ["commit", "log"])
@given(steps=st.lists(STEPS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_nothing_is_lost_and_no_record_is_in_two_micro_batches(ack: str, steps: list[tuple[object, ...]]) -> None:
    """What is accepted is committed (or logged) first; replays are identical; whatever is left comes in the end."""
    query = Query(ack)
    others: set[int] = set()
    for step in steps:
        play(query, step, others)
        query.check()
    settle(query)
    assert query.in_sink() | others == set(range(len(query.broker.records)))
    assert all(record.finished for record in query.broker.records)
    assert query.acquisition.unconfirmed == 0


def test_a_record_of_a_lost_connection_may_be_seen_by_another_member_and_only_then() -> None:
    """The overlap that the contract allows: handed to Spark here, and delivered there after the lock was lost."""
    query = Query("commit")
    others: set[int] = set()
    for step in (("produce", 5), ("batch", 5, "answered", 0), ("connection",), ("other", 9, "accept")):
        play(query, step, others)
    settle(query)
    assert query.in_sink() & others == set(range(5))


def play(query: Query, step: tuple[object, ...], others: set[int]) -> None:
    match step:
        case "produce", int(count):
            query.broker.records.extend(Record() for _ in range(count))
        case "batch", int(most), fate, int(stop_at):
            query.step(most, fate, stop_at)  # type: ignore[arg-type]
        case "wait", int(duration):
            query.now_ms += duration
        case "renew", fate:
            query.renew(fate)  # type: ignore[arg-type]
        case ("connection",):
            query.lose_connection()
        case ("kill",):
            query.restart()
        case "other", int(most), str(kind):
            for _, _, _, first, last, _ in query.broker.acquire(1, most, query.now_ms):
                for record in query.broker.records[first : last + 1]:
                    record.owner = None
                    record.finished = kind == "accept"
                others.update(range(first, last + 1) if kind == "accept" else ())


def settle(query: Query) -> None:
    """No more mishaps: time passes, and the query goes on until nothing is left."""
    for _ in range(2 + len(query.broker.records)):
        query.now_ms += 2 * LOCK_MS
        query.step(1_000, "answered", 0)
