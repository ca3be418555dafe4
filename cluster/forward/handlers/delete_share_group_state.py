"""DeleteShareGroupState, also sent by other nodes: v0 (KIP-932).

Behaviour: as at every broker. A request that carries a node's mark is refused if a later one has arrived, and waits
until the dead letters of the state are written.
"""

from __future__ import annotations

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.handlers.share import delete_share_group_state
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.broker.security.rights import CLUSTER_ACTION
from shareq.cluster.forward.state_changes import asked_in
from shareq.cluster.forward.state_context import StateContext
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)

CONTEXT = StateContext


async def handle(ctx: StateContext, request: DeleteShareGroupStateRequest) -> DeleteShareGroupStateResponse:
    asked = asked_in(request.unknown_tags)
    if asked is None or not ctx.may(CLUSTER_ACTION):
        return await delete_share_group_state.handle(ctx, request)
    await ctx.hear_of(topic.topic_id for topic in request.topics)
    states, leaders = ctx.services.share_states, ctx.services.share_leaders
    keys = [
        SharePartitionKey(request.group_id, topic.topic_id, each.partition)
        for topic in request.topics
        for each in topic.partitions
    ]
    refusal = ctx.changes.admit(request.group_id, asked, keys)

    def operate(key: SharePartitionKey, _data: PartitionData) -> Pending[ApiError]:
        def delete() -> Pending[ApiError]:
            leaders.state_deleted((key,))
            return states.delete(key)

        if refusal:
            return completed(refusal)
        return ctx.changes.change(key, asked, leaders.letters_written(key), delete)

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, _result, PartitionResult)
    return DeleteShareGroupStateResponse(results=[DeleteStateResult(*topic) for topic in topics])


def _result(partition: int, result: ApiError) -> PartitionResult:
    return PartitionResult(partition, result.code, result.message)
