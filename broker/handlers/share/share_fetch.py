"""ShareFetch: v1-2 (KIP-932, KIP-1206, KIP-1222).

Behaviour: opens (epoch 0), uses or ends (-1) the member's share session; applies the acknowledgements it carries, and
fetches from the session's partitions at the same time; answers when both are done. Errors of fetching and of
acknowledging are apart, for each partition. Records are never null. The answer that opens a session lists every
partition that was looked at; later ones leave out what has nothing new; the last one lists acknowledgements alone.
v2: ShareAcquireMode, IsRenewAck (renews locks, fetches nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.table import VersionRange
from shareq.broker.foundation.pending import Pending, completed, join
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.broker.share.acknowledgements import (
    AckResults,
    PartitionAcks,
    acknowledge_all,
    leader_of,
    needs_leader,
    request_error,
    requested_acks,
)
from shareq.broker.share.core.fetch_plan import rotate
from shareq.broker.share.core.session import ListedPartition, ShareFetchContext
from shareq.broker.share.core.window.record_state import AcquireMode
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchParams, WantedPartition
from shareq.broker.topics.leaders import Leader
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

VERSIONS = VersionRange(1, 2)

ShareFetchAnswer = ShareFetchResponse | Pending[ShareFetchResponse]


def handle(ctx: RequestContext, request: ShareFetchRequest) -> ShareFetchAnswer:
    error = request_error(ctx, request.group_id, request.member_id)
    if error is ErrorCode.NONE and request.is_renew_ack and _asks_for_records(request):
        error = ErrorCode.INVALID_REQUEST  # KIP-1222: before the session is touched, so its epoch stays
    if error is not ErrorCode.NONE or request.group_id is None:
        return ShareFetchResponse(error_code=error)
    acks = requested_acks(request.topics)
    has_acks = any(ack.batches for ack in acks)
    context = _session(ctx, request, request.group_id, has_acks=has_acks)
    if context is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
        return _later(ctx, request.max_wait_ms, ShareFetchResponse(error_code=context))
    if isinstance(context, ErrorCode):
        return ShareFetchResponse(error_code=context)
    return _acknowledge_and_fetch(ctx, request, request.group_id, context, acks if has_acks else [])


def _asks_for_records(request: ShareFetchRequest) -> bool:
    return bool(request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)


def _session(
    ctx: RequestContext, request: ShareFetchRequest, group_id: str, *, has_acks: bool
) -> ShareFetchContext | ErrorCode:
    metadata = ctx.broker.metadata
    listed = []
    for topic in request.topics:
        image = metadata.topic_by_id(topic.topic_id)
        name = None if image is None else image.name
        listed += [ListedPartition(topic.topic_id, each.partition_index, name) for each in topic.partitions]
    forgotten = [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
    context = ctx.broker.share_sessions.sessions.open_or_update(
        group_id,
        request.member_id or "",
        request.share_session_epoch,
        listed,
        forgotten,
        has_acks=has_acks,
        connection_id=ctx.connection.id,
    )
    if not isinstance(context, ErrorCode) and request.share_session_epoch == 0:
        ctx.broker.share_sessions.watch(ctx.connection)
    return context


def _later(ctx: RequestContext, delay_ms: int, response: ShareFetchResponse) -> ShareFetchAnswer:
    """The answer after a delay, lest a client that was refused tries again at once."""
    if delay_ms <= 0:
        return response
    pending: Pending[ShareFetchResponse] = Pending()
    clock = ctx.broker.env.clock
    timer = clock.call_at(clock.now_ms() + delay_ms, lambda: pending.complete(response))
    ctx.connection.on_close(timer.cancel)
    return pending


def _acknowledge_and_fetch(
    ctx: RequestContext,
    request: ShareFetchRequest,
    group_id: str,
    context: ShareFetchContext,
    acks: list[PartitionAcks],
) -> ShareFetchAnswer:
    member_id = request.member_id or ""
    acked = acknowledge_all(
        ctx,
        group_id,
        member_id,
        acks,
        renew_request=request.is_renew_ack,
        renew_version=ctx.api_version >= 2,
    )
    wanted = [] if context.is_final or request.is_renew_ack else _wanted(ctx, context)
    refuse = _refusal(ctx, group_id)
    fetched: Pending[list[FetchedPartition]] = completed([])
    if wanted:
        try:
            mode = AcquireMode(request.share_acquire_mode)
        except ValueError:  # found out late, as by Apache Kafka: the epoch and the acknowledgements have gone through
            if any(each.topic is not None for each in wanted):
                return ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
            mode = AcquireMode.BATCH_OPTIMIZED
        fetched = _fetch(ctx, request, group_id, mode, wanted, refuse)

    def respond(both: tuple[AckResults, list[FetchedPartition]]) -> ShareFetchResponse:
        if context.is_final:
            ctx.broker.share_sessions.close(context.session)
        results = both[1] if refuse is None else [_held_back(ctx, each, refuse) for each in both[1]]
        if any(each.error is READ_GROUP.error for each in results):
            return ShareFetchResponse(error_code=READ_GROUP.error)
        return _response(ctx, group_id, context, both[0], results)

    return join(acked, fetched).then(respond)


def _refusal(ctx: RequestContext, group_id: str) -> Callable[[str], ErrorCode] | None:
    """What tells why records of a topic may not be handed out now; None where everybody may have them."""
    if ctx.broker.authorizer is None:
        return None

    def refuse(topic: str) -> ErrorCode:
        if not ctx.may(READ_GROUP, group_id):
            return READ_GROUP.error
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


def _held_back(ctx: RequestContext, result: FetchedPartition, refuse: Callable[[str], ErrorCode]) -> FetchedPartition:
    """The result, without records that may not be read any more: acknowledgements of the same request were still being
    written. The locks run out, as for any answer that is not taken.
    """
    topic = ctx.broker.metadata.topic_by_id(result.topic_id) if result.acquired else None
    error = ErrorCode.NONE if topic is None else refuse(topic.name)
    return result if error is ErrorCode.NONE else FetchedPartition(result.topic_id, result.partition, error)


def _wanted(ctx: RequestContext, context: ShareFetchContext) -> list[WantedPartition]:
    metadata = ctx.broker.metadata
    wanted = []
    for each in rotate(context.partitions, context.epoch):
        if each.topic is None:
            wanted.append(WantedPartition(each.topic_id, each.partition, None, ErrorCode.UNKNOWN_TOPIC_ID))
            continue
        if not ctx.may(READ_TOPIC, each.topic):
            wanted.append(WantedPartition(each.topic_id, each.partition, None, READ_TOPIC.error))
            continue
        topic = metadata.topic_by_id(each.topic_id)
        known = topic is not None and 0 <= each.partition < topic.partitions
        error = ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if known and ctx.broker.leaders.other_leader(each.topic, each.partition) is not None:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        served = each.topic if error is ErrorCode.NONE else None
        wanted.append(WantedPartition(each.topic_id, each.partition, served, error))
    return wanted


def _fetch(
    ctx: RequestContext,
    request: ShareFetchRequest,
    group_id: str,
    mode: AcquireMode,
    wanted: Sequence[WantedPartition],
    refuse: Callable[[str], ErrorCode] | None,
) -> Pending[list[FetchedPartition]]:
    params = ShareFetchParams(
        group_id=group_id,
        member_id=request.member_id or "",
        mode=mode,
        max_wait_ms=request.max_wait_ms,
        min_bytes=request.min_bytes,
        max_bytes=min(request.max_bytes, ctx.broker.config.fetch_max_bytes),
        max_records=request.max_records,
        batch_size=request.batch_size,
    )
    fetch = ShareFetch(ctx.broker, params, wanted, refuse)
    pending = fetch.start()
    if not pending.done:
        forget = ctx.connection.on_close(fetch.cancel)
        pending.on_complete(lambda _fetched: forget())
    return pending


def _response(
    ctx: RequestContext,
    group_id: str,
    context: ShareFetchContext,
    acked: AckResults,
    fetched: list[FetchedPartition],
) -> ShareFetchResponse:
    selected = context.select(fetched)
    if isinstance(selected, ErrorCode):
        return ShareFetchResponse(error_code=selected)
    rows: dict[tuple[bytes, int], PartitionData] = {}
    for result in selected:
        rows[result.topic_id, result.partition] = PartitionData(
            partition_index=result.partition,
            error_code=result.error,
            records=result.records,
            acquired_records=[AcquiredRecords(*acquired) for acquired in result.acquired],
        )
    for (topic_id, index), error in acked.items():
        row = rows.setdefault((topic_id, index), PartitionData(partition_index=index, records=b""))
        row.acknowledge_error_code = error
        if error is not ErrorCode.NONE:
            row.acknowledge_error_message = text_of(error)
    response = ShareFetchResponse(
        acquisition_lock_timeout_ms=ctx.broker.configs.share_group(group_id).record_lock_duration_ms
    )
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for (topic_id, _), row in rows.items():
        if topic_id not in topics:
            topics[topic_id] = ShareFetchableTopicResponse(topic_id, [])
        topics[topic_id].partitions.append(row)
        if needs_leader(row.error_code):
            _name_leader(response, row, leader_of(ctx, topic_id, row.partition_index))
    response.responses = list(topics.values())
    return response


def _name_leader(response: ShareFetchResponse, row: PartitionData, leader: Leader) -> None:
    endpoint, epoch = leader
    row.current_leader = LeaderIdAndEpoch(endpoint.node_id, epoch)
    if all(named.node_id != endpoint.node_id for named in response.node_endpoints):
        response.node_endpoints.append(NodeEndpoint(endpoint.node_id, endpoint.host, endpoint.port))
