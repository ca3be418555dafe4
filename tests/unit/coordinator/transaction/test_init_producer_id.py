"""InitProducerId with a transactional id: KIP-98, KIP-360, and exhausted epochs as in Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from shareq.coordinator.transaction.metadata import LAST_EPOCH, MAX_EPOCH, NO_TIMESTAMP, TransactionState
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.transaction.world import A0, FIRST_PRODUCER_ID, Coordinator

FIRST = FIRST_PRODUCER_ID


def test_a_new_id_gets_a_producer_id_and_epoch_0(coordinator: Coordinator) -> None:
    result = coordinator.init()
    assert (result.error, result.producer_id, result.producer_epoch) == (ErrorCode.NONE, FIRST, 0)
    assert coordinator.state().state is TransactionState.EMPTY


def test_each_further_one_fences_the_one_before(coordinator: Coordinator) -> None:
    coordinator.init()
    result = coordinator.init()
    assert (result.producer_id, result.producer_epoch) == (FIRST, 1)
    assert coordinator.add((FIRST, 0)) is ErrorCode.PRODUCER_FENCED


def test_a_new_id_takes_whatever_the_client_says_it_has() -> None:
    """The client's transactional id has expired, so it gets a new producer id."""
    result = Coordinator().init((5, 9))
    assert (result.error, result.producer_id, result.producer_epoch) == (ErrorCode.NONE, FIRST, 0)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_out_of_bounds(timeout_ms: int) -> None:
    assert Coordinator().init(timeout_ms=timeout_ms).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_timeouts_that_are_just_in_bounds(timeout_ms: int) -> None:
    assert Coordinator().init(timeout_ms=timeout_ms).error is ErrorCode.NONE


def test_a_producer_that_begins_again_has_no_transaction_that_has_started(coordinator: Coordinator) -> None:
    coordinator.init()
    assert coordinator.add((FIRST, 0)) is ErrorCode.NONE
    done = coordinator.end_and_complete((FIRST, 0), commit=True)
    coordinator.init((done.producer_id, done.producer_epoch))
    assert coordinator.state().state is TransactionState.EMPTY
    assert coordinator.state().start_ms == NO_TIMESTAMP


def test_the_longest_timeout(coordinator: Coordinator) -> None:
    assert coordinator.init(timeout_ms=900_000).error is ErrorCode.NONE
    assert coordinator.state().timeout_ms == 900_000


def test_no_transactional_id() -> None:
    assert Coordinator().init(transactional_id="").error is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_transaction_under_way_is_aborted_first(version: int) -> None:
    coordinator = Coordinator(version)
    coordinator.init()
    coordinator.add((FIRST, 0))
    result = coordinator.init()
    assert result.error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert result.markers is not None
    assert (result.markers.commit, result.markers.partitions) == (False, frozenset((A0,)))
    assert result.markers.producer_epoch == 1, "an epoch that the fenced producer does not have"
    assert result.markers.transaction_version == (2 if version == 2 else 0)
    assert coordinator.init().error is ErrorCode.CONCURRENT_TRANSACTIONS, "the markers are not written"
    coordinator.complete(result.markers)
    again = coordinator.init()
    assert (again.error, again.producer_id, again.producer_epoch) == (ErrorCode.NONE, FIRST, 2)


@pytest.mark.parametrize("commit", [True, False])
def test_while_markers_are_written_nobody_is_initialized(commit: bool, coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.add((FIRST, 0))
    coordinator.end((FIRST, 0), commit=commit)
    assert coordinator.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.init((1, 1)).error is ErrorCode.CONCURRENT_TRANSACTIONS


# -- KIP-360: a producer goes on after an error


def test_going_on_raises_the_epoch(coordinator: Coordinator) -> None:
    coordinator.init()
    assert coordinator.init((FIRST, 0)).producer_epoch == 1


def test_going_on_again_gives_the_same_answer(coordinator: Coordinator) -> None:
    """The epoch rises only once when the same request is repeated after a lost answer."""
    coordinator.init()
    coordinator.init((FIRST, 0))
    result = coordinator.init((FIRST, 0))
    assert (result.error, result.producer_epoch) == (ErrorCode.NONE, 1)
    assert coordinator.init((FIRST, 0)).producer_epoch == 1, "and a third time"


def test_going_on_with_an_older_epoch_is_fenced(coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.init((FIRST, 0))
    coordinator.init((FIRST, 1))
    assert coordinator.init((FIRST, 0)).error is ErrorCode.PRODUCER_FENCED


def test_going_on_after_another_producer_initialized_is_fenced(coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.init()
    assert coordinator.init((FIRST, 0)).error is ErrorCode.PRODUCER_FENCED


def test_going_on_with_another_producer_id_is_fenced(coordinator: Coordinator) -> None:
    coordinator.init()
    assert coordinator.init((FIRST + 1, 0)).error is ErrorCode.PRODUCER_FENCED


def test_a_restart_forgets_who_may_ask_again(coordinator: Coordinator) -> None:
    """The previous epoch is not in the log, as in Apache Kafka."""
    coordinator.init()
    coordinator.init((FIRST, 0))
    coordinator.log.reload()
    assert coordinator.init((FIRST, 0)).error is ErrorCode.PRODUCER_FENCED
    assert coordinator.init((FIRST, 1)).producer_epoch == 2


@pytest.mark.parametrize("version", [0, 2])
def test_going_on_after_the_transaction_was_aborted(version: int) -> None:
    coordinator = Coordinator(version)
    coordinator.init()
    coordinator.add((FIRST, 0))
    coordinator.end_and_complete((FIRST, 0), commit=False)
    epoch = coordinator.state().producer_epoch
    assert coordinator.init((FIRST, epoch)).producer_epoch == epoch + 1


# -- the end of the epochs


def test_the_last_epoch_is_followed_by_a_new_producer_id(coordinator: Coordinator) -> None:
    coordinator.init()
    coordinator.at_epoch(LAST_EPOCH)
    result = coordinator.init()
    assert (result.producer_id, result.producer_epoch) == (FIRST + 1, 0)
    assert coordinator.state().previous_producer_id == FIRST


def test_going_on_from_the_last_epoch_and_again(coordinator: Coordinator) -> None:
    coordinator.init()
    last = coordinator.at_epoch(LAST_EPOCH)
    for _ in range(3):
        result = coordinator.init(last)
        assert (result.error, result.producer_id, result.producer_epoch) == (ErrorCode.NONE, FIRST + 1, 0)


def test_fencing_the_last_epoch_with_versions_0_and_1() -> None:
    """The epoch after the last one is used for fencing only."""
    coordinator = Coordinator(1)
    coordinator.init()
    coordinator.add(coordinator.at_epoch(LAST_EPOCH))
    markers = coordinator.init().markers
    assert markers is not None
    assert (markers.producer_id, markers.producer_epoch) == (FIRST, MAX_EPOCH)
    coordinator.complete(markers)
    result = coordinator.init()
    assert (result.producer_id, result.producer_epoch) == (FIRST + 1, 0)


def test_fencing_the_last_epoch_with_version_2() -> None:
    coordinator = Coordinator(2)
    coordinator.init()
    coordinator.add(coordinator.at_epoch(LAST_EPOCH))
    markers = coordinator.init().markers
    assert markers is not None
    assert (markers.producer_id, markers.producer_epoch) == (FIRST, MAX_EPOCH)
    coordinator.complete(markers)
    assert (coordinator.state().producer_id, coordinator.state().producer_epoch) == (FIRST + 1, 0)
    result = coordinator.init()
    assert (result.producer_id, result.producer_epoch) == (FIRST + 1, 1)


def test_no_producer_id_to_be_had(coordinator: Coordinator) -> None:
    coordinator.no_producer_ids = ErrorCode.KAFKA_STORAGE_ERROR
    assert coordinator.init().error is ErrorCode.KAFKA_STORAGE_ERROR
    coordinator.no_producer_ids = ErrorCode.NONE
    coordinator.init()
    coordinator.at_epoch(LAST_EPOCH)
    coordinator.no_producer_ids = ErrorCode.KAFKA_STORAGE_ERROR
    assert coordinator.init().error is ErrorCode.KAFKA_STORAGE_ERROR
    assert coordinator.log.last == ()
