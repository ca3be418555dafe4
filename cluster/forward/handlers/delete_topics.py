"""DeleteTopics, forwarded to the broker that takes changes of the cluster: v1-6, cut to the cluster's.

Behaviour: as the cluster's for the topics that the client may delete; no row reveals a topic that it may not describe.
A node's own topics do not exist for clients.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from shareq.broker.security.rights import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, failure_error, is_hidden
from shareq.cluster.link.ports import LinkFailure
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from shareq.protocol.primitives import ZERO_UUID

CONTEXT = ForwardContext

STATES_FROM = 6
"""The first version with a row for each topic, which names it by name or id."""


async def handle(ctx: ForwardContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete the topics that the client may delete. Rows of refused topics come first."""
    ids = [state.topic_id for state in request.topics if state.name is None and state.topic_id != ZERO_UUID]
    named = await ctx.find(ids)
    may_all = ctx.sees(DELETE_CLUSTER)
    response = DeleteTopicsResponse()
    wanted: list[DeleteTopicState] = []
    for state in _states(request):
        found = named.get(state.topic_id)
        name = found.name if isinstance(found, TopicImage) else state.name
        error = ApiError(found) if isinstance(found, ErrorCode) else _refusal(ctx, name, may_all=may_all)
        if error:
            response.responses.append(_row(state, error))
        else:
            wanted.append(state)
        await ctx.breathe()
    if wanted:
        asked = _request(ctx, request, wanted)
        answer = await ctx.send_to_controller(asked, DeleteTopicsResponse, timeout_ms=request.timeout_ms)
        if isinstance(answer, LinkFailure):
            response.responses += [_row(state, failure_error(answer)) for state in wanted]
        else:
            response.responses += answer.responses
            for row in answer.responses:
                if not row.error_code and row.topic_id != ZERO_UUID:
                    ctx.forwarding.topics.deleted(row.topic_id)
                elif not row.error_code:  # a version without ids: it may be another topic by now that has the name
                    await ctx.look_again(row.topic_id if row.name is None else row.name)
                await ctx.breathe()
    return response


def failed(request: DeleteTopicsRequest, error: ErrorCode) -> DeleteTopicsResponse:
    """Return one error for every topic."""
    return DeleteTopicsResponse(responses=[_row(state, ApiError(error)) for state in _states(request)])


def _states(request: DeleteTopicsRequest) -> Iterable[DeleteTopicState]:
    """Return the topics to delete in the form of v6, whichever version was sent."""
    return chain(request.topics, (DeleteTopicState(name=name) for name in request.topic_names))


def _request(ctx: ForwardContext, request: DeleteTopicsRequest, wanted: list[DeleteTopicState]) -> DeleteTopicsRequest:
    if ctx.api_version >= STATES_FROM:
        return DeleteTopicsRequest(wanted, timeout_ms=request.timeout_ms)
    return DeleteTopicsRequest(topic_names=[state.name or "" for state in wanted], timeout_ms=request.timeout_ms)


def _refusal(ctx: ForwardContext, name: str | None, *, may_all: bool) -> ApiError:
    """Return the error for a topic that the client may not delete. A malformed row is left for the cluster to
    refuse.
    """
    if name is None:
        return NO_ERROR
    if is_hidden(name):
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not may_all and not (ctx.may(DESCRIBE_TOPIC, name) and ctx.may(DELETE_TOPIC, name)):
        return ApiError(DELETE_TOPIC.error)
    return NO_ERROR


def _row(state: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    return DeletableTopicResult(state.name, state.topic_id, error.code, error.message)
