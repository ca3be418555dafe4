from __future__ import annotations

import pytest

from shareq.coordinator.transaction.describe import TransactionFilter, unknown_states
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.support import START_WALL_MS
from tests.unit.coordinator.transaction.world import A0, A1, B0, FIRST_PRODUCER_ID, TIMEOUT_MS, Coordinator

ME = (FIRST_PRODUCER_ID, 0)
WEEK_MS = 604_800_000


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_past_its_timeout_is_aborted_and_its_producer_fenced(version: int) -> None:
    coordinator = Coordinator(version)
    coordinator.init()
    coordinator.add(ME, [A0])
    coordinator.time.now_ms = TIMEOUT_MS
    assert coordinator.log.run(coordinator.shard.abort_timed_out()) == []
    coordinator.time.now_ms = TIMEOUT_MS + 1
    result = coordinator.shard.abort_timed_out()
    assert result.atomic is False, "each is aborted for itself"
    (markers,) = coordinator.log.run(result)
    assert (markers.commit, markers.partitions, markers.producer_epoch) == (False, frozenset((A0,)), 1)
    assert coordinator.log.run(coordinator.shard.abort_timed_out()) == [], "it is being aborted"
    coordinator.complete(markers)
    assert coordinator.state().state is TransactionState.COMPLETE_ABORT
    assert coordinator.add(ME) is ErrorCode.PRODUCER_FENCED
    assert coordinator.end(ME, commit=True).error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)


def test_the_time_counts_from_the_first_partition(coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.time.now_ms = TIMEOUT_MS * 2
    coordinator.add(ME, [A0])
    coordinator.time.now_ms += TIMEOUT_MS
    coordinator.add(ME, [A1])
    assert coordinator.log.run(coordinator.shard.abort_timed_out()) == []
    coordinator.time.now_ms += 1
    assert len(coordinator.log.run(coordinator.shard.abort_timed_out())) == 1


def test_has_ongoing(coordinator: Coordinator) -> None:
    coordinator.init()
    assert not coordinator.shard.has_ongoing()
    coordinator.add(ME)
    assert coordinator.shard.has_ongoing()


def test_ids_that_nobody_uses_are_forgotten(coordinator: Coordinator) -> None:
    coordinator.init(transactional_id="empty")
    coordinator.init(transactional_id="ongoing")
    coordinator.add((FIRST_PRODUCER_ID + 1, 0), transactional_id="ongoing")
    coordinator.time.now_ms = WEEK_MS - 1
    assert coordinator.log.run(coordinator.shard.remove_expired()) == 0
    coordinator.time.now_ms = WEEK_MS
    assert coordinator.log.run(coordinator.shard.remove_expired()) == 1
    assert coordinator.shard.get("empty") is None
    assert coordinator.shard.get("ongoing") is not None
    coordinator.log.reload()
    assert (coordinator.shard.get("empty"), len(coordinator.shard)) == (None, 1)


def test_description(coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.add(ME, [B0, A1, A0])
    row = coordinator.shard.describe("t").response
    assert (row.error_code, row.transactional_id, row.transaction_state) == (0, "t", "Ongoing")
    assert (row.producer_id, row.producer_epoch, row.transaction_timeout_ms) == (*ME, TIMEOUT_MS)
    assert row.transaction_start_time_ms == START_WALL_MS
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("a", [0, 1]), ("b", [0])]


def test_description_of_nothing(coordinator: Coordinator) -> None:
    assert coordinator.shard.describe("t").response.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert coordinator.shard.describe("").response.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (TransactionFilter(), ["new", "old"]),
        (TransactionFilter(producer_ids=[FIRST_PRODUCER_ID]), ["old"]),
        (TransactionFilter(states=["Empty"]), ["new"]),
        (TransactionFilter(states=["Ongoing", "Nonsense"]), ["old"]),
        (TransactionFilter(states=["Nonsense"]), []),
        (TransactionFilter(longer_than_ms=99), ["new", "old"]),
        (TransactionFilter(longer_than_ms=100), ["new"]),  # which never began: since 1970
        (TransactionFilter(matches=lambda name: name == "old"), ["old"]),
    ],
)
def test_list(wanted: TransactionFilter, found: list[str], coordinator: Coordinator) -> None:
    coordinator.init(transactional_id="old")
    coordinator.add(ME, transactional_id="old")
    coordinator.init(transactional_id="new")
    coordinator.time.now_ms = 100
    rows = coordinator.shard.list_transactions(wanted).response
    assert sorted(row.transactional_id for row in rows) == found


def test_states_nobody_knows() -> None:
    names = ["Empty", "Dead", "PrepareEpochFence", "empty", "Nonsense"]
    assert unknown_states(names) == ["empty", "Nonsense"]
