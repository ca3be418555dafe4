"""EndTxn, row by row of Apache Kafka 4.3.1's tables, and bumped epochs (KIP-890)."""

from __future__ import annotations

import pytest

from shareq.coordinator.transaction.metadata import LAST_EPOCH, MAX_EPOCH, TransactionState
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.support import START_WALL_MS
from tests.unit.coordinator.transaction.world import A0, A1, FIRST_PRODUCER_ID, Coordinator

FIRST = FIRST_PRODUCER_ID
ME = (FIRST, 0)
FENCED, INVALID, NONE = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE


def began(version: int) -> Coordinator:
    coordinator = Coordinator(version)
    coordinator.init()
    coordinator.add(ME, [A0, A1])
    return coordinator


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_ends_in_two_steps(version: int, commit: bool) -> None:
    coordinator = began(version)
    result = coordinator.end(ME, commit=commit)
    assert result.error is NONE
    assert result.markers is not None
    assert (result.markers.commit, result.markers.partitions) == (commit, frozenset((A0, A1)))
    assert coordinator.state().state is (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT)
    assert coordinator.state().partitions == {A0, A1}
    assert coordinator.shard.unfinished() == [result.markers]
    assert coordinator.complete(result.markers) is NONE
    assert coordinator.state().state is (
        TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    )
    assert coordinator.state().partitions == frozenset()
    assert coordinator.shard.unfinished() == []


@pytest.mark.parametrize("version", [0, 1])
def test_versions_0_and_1_leave_the_epoch_alone(version: int) -> None:
    coordinator = began(version)
    result = coordinator.end_and_complete(ME, commit=True)
    assert (result.producer_id, result.producer_epoch) == (-1, -1)
    assert coordinator.state().producer_epoch == 0
    assert result.markers is not None
    assert result.markers.producer_epoch == 0


def test_version_2_raises_it_and_says_so() -> None:
    coordinator = began(2)
    result = coordinator.end(ME, commit=True)
    assert (result.producer_id, result.producer_epoch) == (FIRST, 1)
    assert result.markers is not None
    assert (result.markers.producer_epoch, result.markers.transaction_version) == (1, 2)
    coordinator.complete(result.markers)
    assert coordinator.add(ME) is FENCED
    assert coordinator.add((FIRST, 1)) is NONE


def test_an_old_client_of_a_new_broker() -> None:
    """The client's version counts: librdkafka stays at version 1 whatever the feature level."""
    coordinator = began(2)
    result = coordinator.end_and_complete(ME, commit=True, version=0)
    assert (result.producer_id, result.producer_epoch, coordinator.state().producer_epoch) == (-1, -1, 0)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(
    ("transactional_id", "producer", "error"),
    [
        ("", ME, ErrorCode.INVALID_REQUEST),
        ("u", ME, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", (FIRST + 1, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", (FIRST, 1), FENCED),
        ("t", (FIRST, -1), FENCED),
    ],
)
def test_another_producer(version: int, transactional_id: str, producer: tuple[int, int], error: ErrorCode) -> None:
    coordinator = began(version)
    assert coordinator.end(producer, commit=True, transactional_id=transactional_id).error is error
    assert coordinator.log.last == ()


@pytest.mark.parametrize(
    ("ended", "commit", "error"),
    [
        (None, True, INVALID),
        (None, False, INVALID),
        (True, True, NONE),
        (True, False, INVALID),
        (False, True, INVALID),
        (False, False, NONE),
    ],
)
def test_versions_0_and_1_when_nothing_is_under_way(ended: bool | None, commit: bool, error: ErrorCode) -> None:
    coordinator = Coordinator(1)
    coordinator.init()
    if ended is not None:
        coordinator.add(ME)
        coordinator.end_and_complete(ME, commit=ended)
    assert coordinator.end(ME, commit=commit).error is error
    assert coordinator.log.last == ()


@pytest.mark.parametrize("ended", [None, False, True])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_version_2_when_nothing_is_under_way(ended: bool | None, again: bool, commit: bool) -> None:
    """The result is that of Apache Kafka's table: by state, previous or current epoch, and abort or commit."""
    coordinator = Coordinator(2)
    coordinator.init()
    if ended is None:
        coordinator.init()  # so that there is an epoch before
    else:
        coordinator.add(ME)
        coordinator.end_and_complete(ME, commit=ended)
    if ended is None and again:
        expected = FENCED
    elif again:
        expected = NONE if ended is commit else INVALID
    else:
        expected = INVALID if commit else NONE
    result = coordinator.end((FIRST, 0 if again else 1), commit=commit)
    assert result.error is expected
    if expected is NONE:
        assert (result.producer_id, result.producer_epoch) == (FIRST, 1 if again else 2)
    if expected is NONE and not again:
        assert result.markers is not None
        assert result.markers.partitions == frozenset()
        assert coordinator.state().start_ms == START_WALL_MS, "it has to have begun at some time"
        assert coordinator.complete(result.markers) is NONE
    else:
        assert coordinator.log.last == ()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_while_markers_are_written(version: int, first: bool, second: bool) -> None:
    coordinator = began(version)
    coordinator.end(ME, commit=first)
    assert coordinator.end(ME, commit=second).error is ErrorCode.CONCURRENT_TRANSACTIONS


def test_the_last_epoch_of_version_2() -> None:
    """Markers have the last epoch, which no producer gets; then a new producer id follows."""
    coordinator = Coordinator(2)
    coordinator.init()
    me = coordinator.at_epoch(LAST_EPOCH)
    coordinator.add(me)
    result = coordinator.end(me, commit=True)
    assert (result.producer_id, result.producer_epoch) == (FIRST + 1, 0)
    assert result.markers is not None
    assert (result.markers.producer_id, result.markers.producer_epoch) == (FIRST, MAX_EPOCH)
    coordinator.log.reload()
    assert coordinator.shard.unfinished() == [result.markers]
    assert coordinator.complete(result.markers) is NONE
    assert (coordinator.state().producer_id, coordinator.state().previous_producer_id) == (FIRST + 1, FIRST)
    again = coordinator.end(me, commit=True)
    assert (again.error, again.producer_id, again.producer_epoch) == (NONE, FIRST + 1, 0)
    assert coordinator.end(me, commit=False).error is INVALID
    assert coordinator.add((FIRST + 1, 0)) is NONE
    assert coordinator.end(me, commit=True).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_no_producer_id_to_be_had_at_the_last_epoch() -> None:
    coordinator = Coordinator(2)
    coordinator.init()
    me = coordinator.at_epoch(LAST_EPOCH)
    coordinator.add(me)
    coordinator.no_producer_ids = ErrorCode.KAFKA_STORAGE_ERROR
    assert coordinator.end(me, commit=True).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert coordinator.state().state is TransactionState.ONGOING


def test_markers_of_another_transaction_complete_nothing() -> None:
    coordinator = began(2)
    markers = coordinator.end(ME, commit=True).markers
    coordinator.complete(markers)
    assert coordinator.complete(markers) is INVALID
    coordinator.add((FIRST, 1))
    coordinator.end((FIRST, 1), commit=True)
    assert coordinator.complete(markers) is INVALID


def test_going_on_after_the_end_whose_answer_was_lost() -> None:
    """InitProducerId in the previous epoch is answered with the current one (KIP-890)."""
    coordinator = began(2)
    coordinator.end_and_complete(ME, commit=True)
    assert coordinator.init(ME).producer_epoch == 1
