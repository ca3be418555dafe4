"""CreatePartitions, forwarded to the broker that takes changes of the cluster: v0-3, cut to the cluster's.

Behaviour: as the cluster's for the topics that the client may ALTER; a node's own topics do not exist for clients. A
topic named twice gets INVALID_REQUEST.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from shareq.broker.security.rights import ALTER_TOPIC
from shareq.cluster.forward.forwarding import ForwardContext, is_hidden
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

CONTEXT = ForwardContext
_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


async def handle(ctx: ForwardContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Add partitions to the topics that the client may alter."""
    errors: dict[str, ApiError] = {}
    for name, count in Counter(topic.name for topic in request.topics).items():
        errors[name] = _DUPLICATE if count > 1 else _refusal(ctx, name)
        await ctx.breathe()
    wanted = [topic for topic in request.topics if not errors[topic.name]]
    found: dict[str, CreatePartitionsTopicResult] = {}
    missing = NO_ERROR
    if wanted:
        forwarded = CreatePartitionsRequest(wanted, request.timeout_ms, request.validate_only)
        found, missing = await ctx.ask_controller(
            forwarded, CreatePartitionsResponse, lambda answer: answer.results, timeout_ms=request.timeout_ms
        )
    response = CreatePartitionsResponse()
    for name, error in errors.items():
        row = found.get(name) or _row(name, error or missing)
        response.results.append(row)
        if not row.error_code:
            await ctx.look_again(name)
        await ctx.breathe()
    return response


def failed(request: CreatePartitionsRequest, error: ErrorCode) -> CreatePartitionsResponse:
    """Return one error for every topic."""
    return CreatePartitionsResponse(results=[_row(topic.name, ApiError(error)) for topic in request.topics])


def _refusal(ctx: ForwardContext, name: str) -> ApiError:
    if not ctx.may(ALTER_TOPIC, name):
        return ApiError(ALTER_TOPIC.error)
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if is_hidden(name) else NO_ERROR


def _row(name: str, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name, error.code, error.message)
