"""The source's contract over random histories of a query, its broker and another member of its group."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import get_args

import pytest

from tests.unit.spark.query.model import LOCK_MS, AckFate, Query, Record

STEPS = {"batch": 8, "produce": 4, "wait": 4, "renew": 6, "connection": 1, "kill": 1, "other": 2}
FATES = {"answered": 5, "refused": 1, "lost before": 1, "lost after": 1}
SEEDS = range(400)

Step = tuple[object, ...]


def history(seed: int) -> Iterator[Step]:
    """Yield 60 steps: micro-batches that complete or are interrupted anywhere, and events around them."""
    random = Random(seed)
    for kind in random.choices(list(STEPS), list(STEPS.values()), k=60):
        match kind:
            case "batch":
                fates = random.choices(list(FATES), list(FATES.values()), k=3)
                yield kind, random.randint(1, 25), fates, random.choice([0, 0, 0, 0, 1, 2, 3, 4, 5])
            case "produce":
                yield kind, random.randint(1, 12)
            case "wait":
                yield kind, random.randint(1, LOCK_MS)
            case "renew":
                yield kind, random.choices(list(FATES), list(FATES.values()))[0]
            case "other":
                yield kind, random.randint(1, 10), random.choice(["accept", "release", "hold"])
            case _:
                yield (kind,)


@pytest.mark.parametrize("ack", ["commit", "log"])
def test_nothing_is_lost_and_no_record_is_in_two_micro_batches(ack: str) -> None:
    """Records are accepted only after the commit (or the log), replayed identically, and all delivered in the end."""
    for seed in SEEDS:
        query = Query(ack)
        others: set[int] = set()
        try:
            for step in history(seed):
                play(query, step, others)
                query.check()
            settle(query)
            assert query.in_sink() | others == set(range(len(query.broker.records)))
            assert all(record.finished for record in query.broker.records)
            assert query.books.unconfirmed == 0
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_the_histories_reach_what_they_are_for() -> None:
    """The histories contain swallowed redeliveries, lost and renewed locks, and repeated micro-batches."""
    totals: dict[str, int] = {}
    assert get_args(AckFate) == tuple(FATES)
    for seed in SEEDS[:50]:
        query = Query("commit")
        for step in history(seed):
            play(query, step, set())
            for name in ("swallowed", "lost", "renewed", "redelivered"):
                totals[name] = totals.get(name, 0) + getattr(query.counters, name)
    assert all(count > 100 for count in totals.values()), totals


def test_a_record_of_a_lost_connection_may_be_seen_by_another_member_and_only_then() -> None:
    """The contract allows a record to be emitted to Spark here, and delivered there after the lock was lost."""
    query = Query("commit")
    others: set[int] = set()
    for step in (("produce", 5), ("batch", 5, ["answered"] * 3, 0), ("connection",), ("other", 9, "accept")):
        play(query, step, others)
    settle(query)
    assert query.in_sink() & others == set(range(5))


def play(query: Query, step: Step, others: set[int]) -> None:
    match step:
        case "produce", int(count):
            query.broker.records.extend(Record() for _ in range(count))
        case "batch", int(most), fates, int(stop_at):
            query.step(most, fates, stop_at)  # type: ignore[arg-type]
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
                    record.owner = 1 if kind == "hold" else None
                    record.finished = kind == "accept"
                others.update(range(first, last + 1) if kind == "accept" else ())


def settle(query: Query) -> None:
    for _ in range(2 + len(query.broker.records)):
        query.now_ms += 2 * LOCK_MS
        query.step(1_000, ["answered"] * 3, 0)
