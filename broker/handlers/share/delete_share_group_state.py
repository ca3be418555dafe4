"""DeleteShareGroupState: v0 (KIP-932).

Behaviour: removes the state of each share partition; a missing state is no error. If this broker has the share
partition in memory, it drops it.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(ctx: RequestContext, request: DeleteShareGroupStateRequest) -> DeleteShareGroupStateResponse:
    coordinator, leaders = ctx.services.share_states, ctx.services.share_leaders

    def operate(key: SharePartitionKey, data: PartitionData) -> Pending[ApiError]:
        leaders.state_deleted((key,))
        return coordinator.delete(key)

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, _result, PartitionResult)
    return DeleteShareGroupStateResponse(results=[DeleteStateResult(*topic) for topic in topics])


def _result(partition: int, result: ApiError) -> PartitionResult:
    return PartitionResult(partition, result.code, result.message)
