"""DescribeConfigs: v1-4.

Behaviour: topics, brokers (this one by its id; all of them, with dynamic properties only, by ""), groups (which need
not exist). Null or empty configuration keys mean all. Each value comes with its source, and on request with everything
else that sets it. Errors are per resource.
v3: documentation and types.

Here: loggers and client metrics cannot be described: INVALID_REQUEST. Where keys are null or empty, a group's
properties that are shareq's own are left out unless they are set.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.config.describe import ConfigEntry
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.rows import Rows
from shareq.broker.handlers.shared.config_resources import ResourceType, check_broker_name
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_TOPIC_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_RESOURCE_ELEMENTS: Final = 3
"""The number of elements that a resource, or one of its properties, counts as, because it takes as long."""


async def handle(
    ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Rows[DescribeConfigsResponse]:
    rows = Rows(ctx, DescribeConfigsResponse(), "results")
    for resource in request.resources:
        entries = _entries(ctx, resource)
        if isinstance(entries, ApiError):
            await rows.add(row_of(resource, entries), _RESOURCE_ELEMENTS)
            continue
        wanted = set(resource.configuration_keys or ())
        shown = [each for each in entries if (each.key.name in wanted if wanted else not each.unlisted)]
        configs = [_config(entry, request) for entry in shown]
        await rows.add(row_of(resource, NO_ERROR, configs), _RESOURCE_ELEMENTS * (1 + len(entries)))
    return await rows.end()


def failed(request: DescribeConfigsRequest, error: ErrorCode) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[row_of(resource, ApiError(error)) for resource in request.resources])


def _refusal(ctx: RequestContext, resource: DescribeConfigsResource) -> ApiError:
    match resource.resource_type:
        case ResourceType.TOPIC:
            right, name = DESCRIBE_TOPIC_CONFIGS, resource.resource_name
        case ResourceType.GROUP:
            right, name = DESCRIBE_GROUP_CONFIGS, resource.resource_name
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER | ResourceType.CLIENT_METRICS:
            right, name = DESCRIBE_CLUSTER_CONFIGS, CLUSTER_NAME
        case _:
            return NO_ERROR
    return NO_ERROR if ctx.may(right, name) else ApiError(right.error, text_of(right.error))


def _entries(ctx: RequestContext, resource: DescribeConfigsResource) -> list[ConfigEntry] | ApiError:
    refused = _refusal(ctx, resource)
    if refused:
        return refused
    configs, name = ConfigAdmin(ctx.services.configs, ctx.services.metadata), resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            problem = name_error(name)
            if problem is not None:
                return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
            if ctx.services.metadata.topic(name) is None:
                return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return configs.describe_topic(name)
        case ResourceType.BROKER:
            error = check_broker_name(name, ctx.services.started_with.node_id)
            return error or configs.describe_broker(cluster=not name)
        case ResourceType.GROUP:
            if not name:
                return ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return configs.describe_group(name)
        case other:
            return ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {other}")


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.key.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[DescribeConfigsSynonym(synonym.name, synonym.value, synonym.source) for synonym in synonyms],
        config_type=entry.key.described_as,
        documentation=entry.key.doc if request.include_documentation else None,
    )


def row_of(
    resource: DescribeConfigsResource, error: ApiError, configs: list[DescribeConfigsResourceResult] | None = None
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message or "",  # never null, as by Apache Kafka
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs or [],
    )
