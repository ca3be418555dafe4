"""InitializeShareGroupState: v0 (KIP-932).

Behaviour: gives each share partition a new state in place of the old one; a state epoch below the known one is fenced.
If this broker has the old state in memory, it drops it. Sent by the group coordinator; needs CLUSTER_ACTION where
access is controlled.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(ctx: RequestContext, request: InitializeShareGroupStateRequest) -> InitializeShareGroupStateResponse:
    coordinator, leaders = ctx.services.share_states, ctx.services.share_leaders

    def operate(key: SharePartitionKey, data: PartitionData) -> Pending[ApiError]:
        leaders.state_replaced((key,))
        return coordinator.initialize(key, data.state_epoch, data.start_offset)

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, _result, PartitionResult)
    return InitializeShareGroupStateResponse(results=[InitializeStateResult(*topic) for topic in topics])


def _result(partition: int, result: ApiError) -> PartitionResult:
    return PartitionResult(partition, result.code, result.message)
