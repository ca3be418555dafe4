"""ShareAcknowledge: v1-2 (KIP-932, KIP-1222).

Behaviour: epoch -1 closes the session after acknowledging; epoch 0 is refused, since only ShareFetch opens a session. A
partition's error never fails the request. Answers when the state is durable. v2: renew acknowledgements (type 4,
announced by IsRenewAck); AcquisitionLockTimeoutMs in the response.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.handlers.shared.share_requests import (
    acknowledge,
    note_reasons,
    requested_acks,
    share_request_error,
)
from shareq.broker.share.acknowledgements import AckResults
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from shareq.protocol.share import FINAL_EPOCH


async def handle(ctx: RequestContext, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    error = share_request_error(ctx, request.group_id, request.member_id)
    if error is not ErrorCode.NONE or request.group_id is None or request.member_id is None:
        return ShareAcknowledgeResponse(error_code=error)
    group_id, member_id, epoch = request.group_id, request.member_id, request.share_session_epoch
    session = ctx.services.share.sessions.update(group_id, member_id, epoch)
    if isinstance(session, ErrorCode):
        return ShareAcknowledgeResponse(error_code=session)
    note_reasons(ctx, group_id, request.topics)
    acks = requested_acks(request.topics)
    results = await (await acknowledge(ctx, group_id, member_id, acks, renew_request=request.is_renew_ack))
    if epoch == FINAL_EPOCH:
        ctx.services.share.session_ends.close(session)
    return await _response(ctx, group_id, results)


async def _response(ctx: RequestContext, group_id: str, results: AckResults) -> ShareAcknowledgeResponse:
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=ctx.services.configs.share_group(group_id).record_lock_duration_ms
    )
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    for (topic_id, index), error in results.items():
        row = PartitionData(partition_index=index, error_code=error)
        if error is not ErrorCode.NONE:
            row.error_message = text_of(error)
            topic = ctx.services.metadata.topic_by_id(topic_id)
            leader = leader_to_name(ctx, topic.name if topic else None, index, error)
            if leader is not None:
                row.current_leader = LeaderIdAndEpoch(leader.node_id, leader.epoch)
                if leader.address is not None:
                    add_endpoint(response.node_endpoints, NodeEndpoint(*leader.address))
        if topic_id not in topics:
            topics[topic_id] = ShareAcknowledgeTopicResponse(topic_id, [])
        topics[topic_id].partitions.append(row)
        await ctx.breathe()
    response.responses = list(topics.values())
    return response
