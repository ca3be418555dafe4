"""Every history of a few steps with acknowledgements in transactions, and faults that the search must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.core.transactions import ending, staging
from shareq.broker.share.core.transactions.staging import StagedStatus
from shareq.coordinator.share import shard
from shareq.coordinator.share.staged import NONE_STAGED
from tests.exhaustive.scope import Scope
from tests.exhaustive.search import search
from tests.support.planting import Function, in_place_of, replaced
from tests.support.statuses import new_statuses

ONE = Scope(batches=(1,), trimmed=False, transactions=True)
TWO = Scope(batches=(2,), trimmed=False, transactions=True)
QUEUE = Scope(batches=(1, 1), trimmed=False, transactions=True, dead_letters=True, delivery_count_limit=1)
ORDERED = Scope(batches=(2,), trimmed=False, transactions=True, keys=(1, 1))


@pytest.fixture(autouse=True)
def statuses_of_its_own() -> Iterator[None]:
    with new_statuses():
        yield


@pytest.mark.parametrize(
    ("scope", "depth"),
    [(ONE, 5), (TWO, 4), (QUEUE, 4), (ORDERED, 4)],
    ids=["one record", "two records", "dead letters", "order"],
)
def test_no_life_with_transactions_breaks_a_promise(scope: Scope, depth: int) -> None:
    searched = search(scope, depth)
    assert searched.found is None, searched.found.listed(scope)
    assert all(states > 0 for states in searched.states)


# -- faults


def forgotten_by_a_load() -> AbstractContextManager[object]:
    return replaced((staging, "stage_loaded", lambda _window, _rows: None))


def not_persisted() -> AbstractContextManager[object]:
    return replaced((shard, "staged_in", lambda _tags: NONE_STAGED))


@in_place_of(StagedStatus, "__init__")
def pending_counts_as_finished(original: Function, self: StagedStatus, *arguments: Any, **named: Any) -> None:
    original(self, *arguments, **named)
    self.done = not self.write_id


@in_place_of(StagedStatus, "__init__")
def pending_is_available(original: Function, self: StagedStatus, *arguments: Any, **named: Any) -> None:
    original(self, *arguments, **named)
    self.available = not self.write_id


@in_place_of(ending, "resolve")
def an_abort_commits(original: Function, *arguments: Any, **named: Any) -> Any:
    return original(*arguments, **{**named, "commit": True})


@in_place_of(ending, "resolve")
def a_commit_aborts(original: Function, *arguments: Any, **named: Any) -> Any:
    return original(*arguments, **{**named, "commit": False})


@in_place_of(SharePartition, "end_transaction")
def an_end_leaves_what_was_staged(original: Function, self: SharePartition, *arguments: Any, **named: Any) -> Any:
    outcome = original(self, *arguments, **named)
    return type(outcome)(outcome.error, tuple(_without_end(each) for each in outcome.effects), outcome.write_id)


def _without_end(effect: Any) -> Any:
    fields = {name: getattr(effect, name) for name in type(effect).__slots__}
    return type(effect)(**{**fields, "staged": ()})


@pytest.mark.parametrize(
    ("fault", "depth"),
    [
        (forgotten_by_a_load, 4),
        (not_persisted, 4),
        (pending_counts_as_finished, 4),
        (pending_is_available, 4),
        (an_abort_commits, 5),
        (a_commit_aborts, 5),
        (an_end_leaves_what_was_staged, 5),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_planted_fault_is_found(fault: Callable[[], AbstractContextManager[object]], depth: int) -> None:
    with fault():
        found = search(ONE, depth).found
    assert found is not None
