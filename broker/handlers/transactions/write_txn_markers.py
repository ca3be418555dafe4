"""WriteTxnMarkers: v1-2 (KIP-98, KIP-664).

Behaviour: ends the transactions of producers in the partitions named, past their coordinator: administrators do that
to transactions that no producer will end. Each partition has its own error, answered when its marker is durable.
v2: the transaction version, which says whether a marker's epoch has to be a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import run_in_turns
from shareq.broker.foundation.pending import Pending, gather
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.security.rights import ALTER_CLUSTER, CLUSTER_ACTION
from shareq.broker.transactions.markers import MarkerWriter
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

TURN_MARKERS: Final = 75
"""So many are written in one turn of the loop: 40 µs each, 0.2 ms where the log has to be made."""

# Apache Kafka's coordinator does not expect these of a partition; a client neither.
_AS_LEADER = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


def handle(
    ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Pending[WriteTxnMarkersResponse]:
    if not (ctx.sees(ALTER_CLUSTER) or ctx.may(CLUSTER_ACTION)):
        return failed(request, CLUSTER_ACTION.error)
    at = [(row, each) for row in request.markers for each in _partitions(row)]
    written: Pending[list[ErrorCode]] = Pending()
    steps = _write(ctx.services.transactions.markers, at, written)
    if len(at) <= TURN_MARKERS:
        for _ in steps:
            pass
    else:
        run_in_turns(ctx, steps)

    def respond(errors: list[ErrorCode]) -> WriteTxnMarkersResponse:
        results: dict[int, dict[TopicPartition, ErrorCode]] = {row.producer_id: {} for row in request.markers}
        for (row, each), error in zip(at, errors, strict=True):
            results[row.producer_id][each] = _AS_LEADER.get(error, error)
        return WriteTxnMarkersResponse([_result(producer_id, rows) for producer_id, rows in results.items()])

    return written.then(respond)


def _write(
    markers: MarkerWriter, at: list[tuple[WritableTxnMarker, TopicPartition]], written: Pending[list[ErrorCode]]
) -> Iterator[None]:
    """Write each marker; `written` has what came of them when all are durable."""
    answers: list[Pending[ErrorCode]] = []
    for row, each in at:
        answers.append(markers.write(each, _marker(row)))
        if len(answers) % TURN_MARKERS == 0:
            yield
    gather(answers).on_complete(written.complete)


def failed(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    """The same for every partition."""
    return WriteTxnMarkersResponse(
        [_result(row.producer_id, dict.fromkeys(_partitions(row), error)) for row in request.markers]
    )


def _partitions(row: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in row.topics for partition in topic.partition_indexes]


def _marker(row: WritableTxnMarker) -> TransactionMarker:
    return TransactionMarker(
        row.producer_id, row.producer_epoch, row.coordinator_epoch, row.transaction_result, row.transaction_version
    )


def _result(producer_id: int, errors: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for at, error in errors.items():
        topics.setdefault(at.topic, []).append(WritableTxnMarkerPartitionResult(at.partition, error))
    return WritableTxnMarkerResult(
        producer_id, [WritableTxnMarkerTopicResult(topic, rows) for topic, rows in topics.items()]
    )
