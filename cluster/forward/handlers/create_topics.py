"""CreateTopics, forwarded to the broker that takes changes of the cluster: v2-7, cut to the cluster's.

Behaviour: as the cluster's for the topics that the client may create; names of a node's own topics are INVALID_REQUEST,
as is a name given twice. Effective properties are left out for clients that may not DESCRIBE_CONFIGS of the topic. The
answer waits until the node knows the created topics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS
from shareq.cluster.forward.forwarding import ForwardContext, is_hidden
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

CONTEXT = ForwardContext

HEARD_OF_WITHIN_MS: Final = 10_000
"""The longest wait until brokers know a new topic, for which they are still creating folders. It is at most half of the
client's timeout, so that the client still gets its answer.
"""
AGAIN_MS: Final = 50
MOST_WAITED_FOR: Final = 100

_DUPLICATE = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_REFUSED = ApiError(CREATE_TOPIC.error, "Authorization failed.")


async def handle(ctx: ForwardContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create the topics that the client may create."""
    times = Counter(topic.name for topic in request.topics)
    may_all = ctx.sees(CREATE_CLUSTER)
    errors: dict[str, ApiError] = {}
    for name, count in times.items():
        errors[name] = _DUPLICATE if count > 1 else _refusal(ctx, name, may_all=may_all)
        await ctx.breathe()
    wanted = [topic for topic in request.topics if not errors[topic.name]]
    found: dict[str, CreatableTopicResult] = {}
    missing = NO_ERROR
    before: dict[str, TopicImage] = {}
    for topic in () if request.validate_only else wanted:
        known = ctx.forwarding.topics.known(topic.name)
        if known is not None:
            before[topic.name] = known
        await ctx.breathe()
    if wanted:
        forwarded = CreateTopicsRequest(wanted, request.timeout_ms, request.validate_only)
        found, missing = await ctx.ask_controller(
            forwarded, CreateTopicsResponse, lambda answer: answer.topics, timeout_ms=request.timeout_ms
        )
    response = CreateTopicsResponse()
    for name, error in errors.items():
        row = found.get(name)
        if row is not None and not row.error_code and name in before:
            ctx.forwarding.topics.deleted(before[name].topic_id)  # the name was free
        response.topics.append(_error_row(name, error or missing) if row is None else _shown(ctx, row))
        await ctx.breathe()
    if not request.validate_only:
        await _heard_of(ctx, [row.name for row in response.topics if not row.error_code], request.timeout_ms)
    return response


async def _heard_of(ctx: ForwardContext, names: Sequence[str], timeout_ms: int) -> None:
    """Wait until brokers know the topics, which they learn somewhat later than the controller. Only a few topics are
    waited for.
    """
    clock, topics = ctx.services.env.clock, ctx.forwarding.topics
    give_up_ms = clock.now_ms() + min(timeout_ms // 2, HEARD_OF_WITHIN_MS)
    if len(names) > MOST_WAITED_FOR:
        return
    while unheard := [name for name in names if topics.known(name) is None]:
        if clock.now_ms() >= give_up_ms:
            return
        for name in unheard:
            topics.find(name)  # asks; its answer may take as long as a request may
        await sleep(clock, AGAIN_MS)


def failed(request: CreateTopicsRequest, error: ErrorCode) -> CreateTopicsResponse:
    """Return one error for every topic."""
    return CreateTopicsResponse(topics=[_error_row(topic.name, ApiError(error)) for topic in request.topics])


def _refusal(ctx: ForwardContext, name: str, *, may_all: bool) -> ApiError:
    if is_hidden(name):
        return ApiError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    return NO_ERROR if may_all or ctx.may(CREATE_TOPIC, name) else _REFUSED


def _shown(ctx: ForwardContext, row: CreatableTopicResult) -> CreatableTopicResult:
    if not row.error_code and not ctx.may(DESCRIBE_TOPIC_CONFIGS, row.name):
        row.topic_config_error_code = DESCRIBE_TOPIC_CONFIGS.error
        row.num_partitions = row.replication_factor = -1
        row.configs = []
    return row


def _error_row(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name, error_code=error.code, error_message=error.message)
