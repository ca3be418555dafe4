"""ReadShareGroupStateSummary, also sent by other nodes: v0-1 (KIP-932, KIP-1226).

Behaviour: as at every broker. The answer also has what the group's coordinating node needs to compute a lag, because
only the owner of the state reads the topic. A node's request may ask for this node's figures instead, or for its part
of an answer of the records API.
"""

from __future__ import annotations

from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.share.read_share_group_state_summary import result_of
from shareq.broker.handlers.shared.share_state_requests import for_each_partition
from shareq.broker.security.rights import CLUSTER_ACTION
from shareq.cluster.forward.node_figures import answer, are_asked_for, question_in, reply
from shareq.cluster.forward.state_changes import UNKNOWN_END, Reach
from shareq.cluster.forward.state_context import StateContext
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

CONTEXT = StateContext


async def handle(ctx: StateContext, request: ReadShareGroupStateSummaryRequest) -> ReadShareGroupStateSummaryResponse:
    if are_asked_for(request) and ctx.may(CLUSTER_ACTION):
        return answer(await ctx.figures())
    asked = question_in(request)
    if asked is not None and ctx.may(CLUSTER_ACTION):
        return reply(*await ctx.reply_to(asked))
    await ctx.hear_of(topic.topic_id for topic in request.topics)
    states, lookup = ctx.services.share_states, ctx.services.lookup

    def operate(key: SharePartitionKey, _data: PartitionData) -> Pending[tuple[SharePartitionKey, SummaryResult]]:
        return states.read_summary(key).then(lambda summary: (key, summary))

    def to_row(partition: int, result: tuple[SharePartitionKey, SummaryResult]) -> PartitionResult:
        key, summary = result
        row = result_of(partition, summary)
        if not summary.error:
            log = lookup.log(key.topic_id, partition)
            end = UNKNOWN_END if isinstance(log, ErrorCode) else log.high_watermark
            row.unknown_tags = Reach(summary.first_offset, end).tags()
        return row

    topics = await for_each_partition(ctx, request.group_id, request.topics, operate, to_row, PartitionResult)
    return ReadShareGroupStateSummaryResponse(results=[ReadStateSummaryResult(*topic) for topic in topics])
