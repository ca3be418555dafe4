"""Faults to plant in the records that coordinators append, and in their refusals; see `planted`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.coordinator_runtime.batches import BatchLimit, LogBatchRoom
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ErrorCode
from tests.support.planting import Fault, Function, in_place_of, replaced

WRONG_ANSWER: Final = "heartbeat answered"


def large_operations_are_taken() -> AbstractContextManager[object]:
    return replaced((BatchLimit, "takes", lambda *_: True))


def a_refused_operation_is_replayed() -> AbstractContextManager[object]:
    original = CoordinatorPartition._collect

    def collect(self: CoordinatorPartition[Any], result: CoordinatorResult[Any], waiting: Any, producer: Any) -> None:
        before = self._records_bytes
        refused: list[ErrorCode] = []
        reported, waiting.fail = waiting.fail, refused.append
        original(self, result, waiting, producer)
        waiting.fail = reported
        if refused:
            if refused[0] is ErrorCode.UNKNOWN_SERVER_ERROR and before == self._records_bytes:
                self._replay(result.records, producer)
            reported(refused[0])

    return replaced(
        (LogBatchRoom, "fits", lambda _self, _records, spare_bytes=0: True), (CoordinatorPartition, "_collect", collect)
    )


@in_place_of(CoordinatorPartition, "_refuse_too_large")
def a_refused_operation_fails_those_beside_it(
    _original: Function, self: CoordinatorPartition[Any], waiting: Any
) -> None:
    """Plant the fault that a refused operation fails those that wait with it, as a failed append does."""
    waiting.fail(ErrorCode.UNKNOWN_SERVER_ERROR)
    for group in self._take_waiting():
        group.fail(ErrorCode.UNKNOWN_SERVER_ERROR)


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    large_operations_are_taken: (WRONG_ANSWER,),
    a_refused_operation_is_replayed: (WRONG_ANSWER, "replayed", "was answered"),
    a_refused_operation_fails_those_beside_it: (WRONG_ANSWER,),
}
