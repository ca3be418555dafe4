"""WriteTxnMarkers: v1-2 (KIP-98, KIP-664).

Behaviour: writes markers that end the transactions of producers in the named partitions, without their coordinator.
Administrators do this to transactions that no producer will end. Each partition has its own error; the answer is sent
when the markers are durable. v2: the transaction version, which determines if a marker needs a new epoch.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.security.rights import ALTER_CLUSTER, CLUSTER_ACTION
from shareq.broker.transactions.markers import MARKER_ELEMENTS
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

CONTEXT = FolderContext

# Neither Apache Kafka's coordinator nor a client expects these errors from a partition's leader.
_AS_LEADER = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}

_REFUSED: Final = completed(CLUSTER_ACTION.error)


async def handle(ctx: FolderContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    may = ctx.sees(ALTER_CLUSTER) or ctx.may(CLUSTER_ACTION)
    rows = _Rows()
    written: deque[tuple[int, str, int, Pending[ErrorCode]]] = deque()
    for row in request.markers:
        rows.of_producer(row.producer_id)
        for topic in row.topics:
            for partition in topic.partition_indexes:
                at = TopicPartition(topic.name, partition)
                answer = ctx.ground.transactions.markers.write(at, _marker(row)) if may else _REFUSED
                written.append((row.producer_id, *at, answer))
                await ctx.breathe(MARKER_ELEMENTS if may else 1)
            await ctx.breathe()
        await ctx.breathe()
    while written:
        producer_id, name, partition, answer = written.popleft()
        error = await answer
        rows.add(producer_id, name, partition, _AS_LEADER.get(error, error))
        await ctx.breathe()
    return rows.response


def failed(request: WriteTxnMarkersRequest, error: ErrorCode) -> WriteTxnMarkersResponse:
    """Return the answer with the same error for every partition."""
    rows = _Rows()
    for row in request.markers:
        rows.of_producer(row.producer_id)
        for topic in row.topics:
            for partition in topic.partition_indexes:
                rows.add(row.producer_id, topic.name, partition, error)
    return rows.response


class _Topic(NamedTuple):
    """The rows of one producer's topic, as a list and by partition."""

    result: WritableTxnMarkerTopicResult
    rows: dict[int, WritableTxnMarkerPartitionResult]


class _Rows:
    """The rows of an answer: one for each partition of a producer, with its last error."""

    __slots__ = ("_producers", "_topics", "response")

    def __init__(self) -> None:
        self.response = WriteTxnMarkersResponse()
        self._producers: dict[int, WritableTxnMarkerResult] = {}
        self._topics: dict[tuple[int, str], _Topic] = {}

    def of_producer(self, producer_id: int) -> WritableTxnMarkerResult:
        """Return the rows of a producer; create them if there are none yet."""
        found = self._producers.get(producer_id)
        if found is None:
            found = self._producers[producer_id] = WritableTxnMarkerResult(producer_id, [])
            self.response.markers.append(found)
        return found

    def add(self, producer_id: int, topic: str, partition: int, error: ErrorCode) -> None:
        """Set the error of a partition."""
        known = self._topics.get((producer_id, topic))
        if known is None:
            known = self._topics[producer_id, topic] = _Topic(WritableTxnMarkerTopicResult(topic, []), {})
            self.of_producer(producer_id).topics.append(known.result)
        row = known.rows.get(partition)
        if row is None:
            row = known.rows[partition] = WritableTxnMarkerPartitionResult(partition)
            known.result.partitions.append(row)
        row.error_code = error


def _marker(row: WritableTxnMarker) -> TransactionMarker:
    return TransactionMarker(
        row.producer_id, row.producer_epoch, row.coordinator_epoch, row.transaction_result, row.transaction_version
    )
