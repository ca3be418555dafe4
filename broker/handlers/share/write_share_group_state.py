"""WriteShareGroupState: v0-1 (KIP-932, KIP-1226).

Behaviour: stores the states of records; leader or state epochs below the known ones are fenced. v1:
DeliveryCompleteCount.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.broker.share.core.effects import StateBatch
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


async def handle(ctx: RequestContext, request: WriteShareGroupStateRequest) -> WriteShareGroupStateResponse:
    coordinator = ctx.services.share_states

    def operate(key: SharePartitionKey, data: PartitionData) -> Pending[ApiError]:
        batches = [
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in data.state_batches
        ]
        return coordinator.write(
            key, data.state_epoch, data.leader_epoch, data.start_offset, data.delivery_complete_count, batches
        )

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, _result, PartitionResult)
    return WriteShareGroupStateResponse(results=[WriteStateResult(*topic) for topic in topics])


def _result(partition: int, result: ApiError) -> PartitionResult:
    return PartitionResult(partition, result.code, result.message)
