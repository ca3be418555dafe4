"""Produce: v3-13; v0-2 are advertised and not served (KAFKA-18659).

Behaviour: each partition carries exactly one batch, checked and appended unchanged; an error concerns its partition
alone. acks 1 and -1 are answered when the tick's appends are written (and synced if so configured). acks 0 is not
answered, and an error closes the connection. Later requests of the connection need not wait for the answer.
Transactional batches must belong to their producer's transaction; later requests wait until this is verified. v7: zstd.
v8: error messages, and the faulty records. v10: the leaders of partitions that other brokers lead. v11:
TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE. v12: transactional batches add their partition to the transaction
(KIP-890). v13: topic ids instead of names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.loop.effort import BATCH_EFFORT, EFFORT, LOOK_EFFORT, REFUSED_EFFORT
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.records.produce_fast_path import ProduceFastPath
from shareq.broker.handlers.shared.produce_append import LEADERS_FROM, ProduceAppend, failed, name_leaders
from shareq.broker.log.admission import LargeBatch
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import TRANSACTIONAL, attributes_of

if TYPE_CHECKING:
    from shareq.broker.transactions.produce import ProduceRefusals

CONTEXT = FolderContext
FAST_PATH = ProduceFastPath

__all__ = ["failed", "handle"]


async def handle(ctx: FolderContext, request: ProduceRequest) -> ProduceResponse | Pending[ProduceResponse] | None:
    """Append every batch of the request. The answer comes when they are durable; None with acks=0."""
    topics, acks = request.topic_data, request.acks  # kept: a long request is emptied while its batches are awaited
    refusals: Mapping[tuple[str, int], ErrorCode] = {}
    if _has_transactional(topics):
        admitted = _admit(ctx, request)
        if isinstance(admitted, ErrorCode):
            return failed(request, admitted)
        refusals = await admitted
    produce = ProduceAppend(ctx, acks, refusals)
    response = ProduceResponse()
    due = EFFORT.spent + LOOK_EFFORT
    for topic in topics:
        image = produce.image(topic)
        rows: list[PartitionProduceResponse] = []
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        EFFORT.spent += REFUSED_EFFORT
        if EFFORT.spent >= due:
            due = await produce.breathe(due)
        for data in topic.partition_data:
            if isinstance(image, ErrorCode):
                EFFORT.spent += REFUSED_EFFORT
                rows.append(produce.refuse(data, image))
            else:
                EFFORT.spent += BATCH_EFFORT
                try:
                    rows.append(produce.partition(image, data))
                except LargeBatch as large:
                    rows.append(await produce.large(large, image, data))
            if EFFORT.spent >= due:
                due = await produce.breathe(due)
    if acks == 0:
        if produce.failed:
            raise CloseConnection(
                "a Produce request with acks=0 failed, and has no response that could carry the error"
            )
        return None
    if produce.failed and ctx.api_version >= LEADERS_FROM:
        await name_leaders(ctx, response)
    return produce.answer(response)


def _has_transactional(topics: Sequence[TopicProduceData]) -> bool:
    for topic in topics:
        for data in topic.partition_data:
            records = data.records
            if records is not None and attributes_of(records) & TRANSACTIONAL:
                return True
    return False


def _admit(ctx: FolderContext, request: ProduceRequest) -> Pending[ProduceRefusals] | ErrorCode:
    """Return the errors of transactional batches that may not be appended. The connection's later requests wait while a
    coordinator is asked.

    Raise CloseConnection if it has to be asked although acks is 0.
    """
    from shareq.broker.transactions.produce import admit_batches  # only transactions need these rules

    admitted = admit_batches(ctx.ground.transactions.admission, ctx.ground.lookup, ctx.may, ctx.api_version, request)
    if request.acks == 0 and isinstance(admitted, Pending) and not admitted.done:
        raise CloseConnection("a transactional Produce request with acks=0 has no response that could carry an error")
    return admitted
