from __future__ import annotations

import pytest

from shareq.broker.log.markers import TransactionMarker
from shareq.coordinator.shard import CoordinatorResult, LateAnswer, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from shareq.protocol.records.batch import read_header
from tests.support.fakes.coordinator_partition import PRODUCER, Rig
from tests.support.fakes.note_shard import note, result

# -- requests that wait


def test_a_late_answer_comes_when_its_operation_is_durable(rig: Rig) -> None:
    waiting, token = rig.park("joins")
    rig.ports.logs.flush()
    assert not waiting.done
    answer = HeartbeatResponse(5)
    rig.partition.schedule(
        lambda: result("done", note("all here"), answers=[LateAnswer(token, answer)]), lambda error: error.name
    )
    assert not waiting.done
    rig.ports.logs.flush()
    assert waiting.value is answer


def test_each_request_that_waits_has_a_token_of_its_own_and_is_answered_once(rig: Rig) -> None:
    (one, first), (two, second) = rig.park("1"), rig.park("2")
    assert (first, second) == (1, 2)
    late = [
        LateAnswer(first, HeartbeatResponse(1)),
        LateAnswer(first, HeartbeatResponse(2)),
        LateAnswer(99, HeartbeatResponse(3)),
    ]
    rig.partition.schedule(lambda: result("done", answers=late), lambda error: error.name)
    rig.ports.logs.flush()
    assert one.value.throttle_time_ms == 1
    assert not two.done


def test_a_late_answer_whose_append_fails_is_an_error(rig: Rig) -> None:
    waiting, token = rig.park("joins")
    other, _ = rig.park("joins, too")
    rig.ports.logs.flush()
    rig.log.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    rig.partition.schedule(
        lambda: result("", note("x"), answers=[LateAnswer(token, HeartbeatResponse())]), lambda error: error.name
    )
    rig.ports.logs.flush()
    assert waiting.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert other.value.error_code == ErrorCode.NOT_COORDINATOR, "its shard was thrown away"


def test_a_request_whose_own_records_are_lost_is_refused(rig: Rig) -> None:
    waiting, _ = rig.park("joins")
    rig.ports.logs.lose_all()
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR


def test_an_operation_that_raises_leaves_no_request_behind(rig: Rig) -> None:

    def fault(_token: int) -> CoordinatorResult[None]:
        raise ZeroDivisionError

    completed: list[ErrorCode] = []

    def failed(error: ErrorCode) -> HeartbeatResponse:
        completed.append(error)
        return HeartbeatResponse()

    with pytest.raises(ZeroDivisionError):
        rig.partition.schedule_waiting(fault, failed)
    rig.partition.refuse_parked()
    assert completed == []


def test_a_stop_refuses_what_waits_and_nothing_else(rig: Rig) -> None:
    waiting, token = rig.park("joins")
    pending = rig.schedule("under way", note("a"))
    rig.partition.refuse_parked()
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR
    assert not pending.done
    late = [LateAnswer(token, HeartbeatResponse())]
    rig.partition.schedule(lambda: result("", answers=late), lambda error: error.name)
    rig.ports.logs.flush()
    assert rig.answers == ["under way"]


# -- markers


def marker(*, commit: bool = True, epoch: int = 2, version: int = 1) -> TransactionMarker:
    return TransactionMarker(7, epoch, 0, commit, version)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_follows_what_was_collected_and_is_answered_when_durable(commit: bool, rig: Rig) -> None:
    rig.schedule("offsets", note("a"), producer=PRODUCER)
    ended = rig.partition.end_transaction(marker(commit=commit), rig.log)
    assert rig.partition.shard.ended == [(7, commit)]
    rig.schedule("behind")
    assert rig.partition.waiting == 3
    rig.log.make_durable(1)
    assert (rig.answers, ended.done) == (["offsets"], False)
    rig.log.make_durable(1)
    assert (rig.answers, ended.value) == (["offsets", "behind"], ErrorCode.NONE)
    assert [read_header(each).is_control for each in rig.log.appends] == [False, True]


def test_a_marker_that_is_refused_ends_nothing(rig: Rig) -> None:
    rig.schedule("offsets", note("a"), producer=PRODUCER)
    ended = rig.partition.end_transaction(marker(version=2), rig.log)
    assert ended.value is ErrorCode.INVALID_PRODUCER_EPOCH, "KIP-890: the transaction of that epoch is a newer one"
    assert rig.partition.shard.ended == []
    rig.ports.logs.flush()
    assert (rig.answers, rig.partition.waiting) == (["offsets"], 0)


def test_a_marker_that_is_lost_is_reported_so(rig: Rig) -> None:
    ended = rig.partition.end_transaction(marker(), rig.log)
    rig.log.lose()
    assert ended.value is ErrorCode.NOT_COORDINATOR
    assert rig.partition.shard.ended == []


def test_a_request_whose_operation_is_too_large_is_refused(rig: Rig) -> None:

    def operation(_token: int) -> CoordinatorResult[None]:
        raise RecordsTooLarge

    pending = rig.partition.schedule_waiting(operation, lambda error: HeartbeatResponse(error_code=error))
    assert pending.value.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
