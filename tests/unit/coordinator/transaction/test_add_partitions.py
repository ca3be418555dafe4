"""AddPartitionsToTxn, and a producer's permission to write to a partition (KIP-98, KIP-890)."""

from __future__ import annotations

import pytest

from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.support import START_WALL_MS
from tests.unit.coordinator.transaction.world import A0, A1, B0, FIRST_PRODUCER_ID, Coordinator

ME = (FIRST_PRODUCER_ID, 0)


@pytest.fixture
def coordinator() -> Coordinator:
    coordinator = Coordinator(1)
    coordinator.init()
    return coordinator


def test_the_first_partition_begins_the_transaction(coordinator: Coordinator) -> None:
    coordinator.time.now_ms = 5
    assert coordinator.add(ME, [A0]) is ErrorCode.NONE
    state = coordinator.state()
    assert (state.state, state.partitions, state.start_ms) == (
        TransactionState.ONGOING,
        frozenset((A0,)),
        START_WALL_MS + 5,
    )


def test_further_partitions_leave_its_start_alone(coordinator: Coordinator) -> None:
    coordinator.add(ME, [A0])
    coordinator.time.now_ms = 5
    coordinator.add(ME, [A1, B0])
    state = coordinator.state()
    assert (state.partitions, state.start_ms, state.last_update_ms) == (
        frozenset((A0, A1, B0)),
        START_WALL_MS,
        START_WALL_MS + 5,
    )


def test_partitions_that_are_in_it_are_not_logged_again(coordinator: Coordinator) -> None:
    coordinator.add(ME, [A0, A1])
    assert coordinator.add(ME, [A1]) is ErrorCode.NONE
    assert coordinator.log.last == ()


def test_the_next_transaction_begins_again(coordinator: Coordinator) -> None:
    coordinator.add(ME, [A0])
    coordinator.end_and_complete(ME, commit=True)
    coordinator.time.now_ms = 9
    assert coordinator.add(ME, [B0]) is ErrorCode.NONE
    assert (coordinator.state().partitions, coordinator.state().start_ms) == (frozenset((B0,)), START_WALL_MS + 9)


@pytest.mark.parametrize(
    ("transactional_id", "producer", "error"),
    [
        ("", ME, ErrorCode.INVALID_REQUEST),
        ("u", ME, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", (FIRST_PRODUCER_ID + 1, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", (FIRST_PRODUCER_ID, 1), ErrorCode.PRODUCER_FENCED),
        ("t", (FIRST_PRODUCER_ID, -1), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_another_producer(
    coordinator: Coordinator, transactional_id: str, producer: tuple[int, int], error: ErrorCode
) -> None:
    assert coordinator.add(producer, transactional_id=transactional_id) is error
    assert coordinator.verify(producer, transactional_id=transactional_id) is error


def test_verification(coordinator: Coordinator) -> None:
    assert coordinator.verify(ME, A0) is ErrorCode.TRANSACTION_ABORTABLE
    coordinator.add(ME, [A0])
    assert coordinator.verify(ME, A0) is ErrorCode.NONE
    assert coordinator.verify(ME, A1) is ErrorCode.TRANSACTION_ABORTABLE
    assert coordinator.log.last == ()
    coordinator.end_and_complete(ME, commit=True)
    assert coordinator.verify(ME, A0) is ErrorCode.TRANSACTION_ABORTABLE


@pytest.mark.parametrize("commit", [True, False])
def test_nothing_is_added_while_markers_are_written(coordinator: Coordinator, commit: bool) -> None:
    coordinator.add(ME, [A0])
    coordinator.end(ME, commit=commit)
    assert coordinator.add(ME, [A0]) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.add((1, 1), [A0]) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.verify(ME, A0) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_wall_clock_set_back_moves_no_time_back(coordinator: Coordinator) -> None:
    before = coordinator.state().last_update_ms
    coordinator.time.now_ms = -1_000
    coordinator.add(ME, [A0])
    assert coordinator.state().last_update_ms == before
