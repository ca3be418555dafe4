"""Topics that a Metadata request names, that do not exist, and that may be created for it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.topic_names import name_error
from shareq.broker.security.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from shareq.broker.topics.creation import MOST_AUTO_CREATED
from shareq.protocol.errors import ApiError
from shareq.protocol.generated.metadata import MetadataRequestTopic
from shareq.protocol.names import CLUSTER_METADATA
from shareq.protocol.primitives import ZERO_UUID


async def create_missing(
    ctx: RequestContext, asked: Sequence[MetadataRequestTopic], unheard: Container[str | bytes]
) -> Mapping[str, ApiError]:
    """Create the first topics that do not exist and may be created, as many as their client may have created now; why
    some of them could not be, by name. `unheard` may exist.
    """
    metadata = ctx.services.metadata
    new: dict[str, None] = {}
    for topic in asked:
        name = topic.name
        if name is not None and topic.topic_id == ZERO_UUID and metadata.topic(name) is None:
            known = name_error(name) is None and name != CLUSTER_METADATA and name not in unheard
            if known and ctx.may(DESCRIBE_TOPIC, name) and may_create_topic(ctx, name):
                new[name] = None
                if len(new) == MOST_AUTO_CREATED:
                    break
        await ctx.breathe()
    names = list(new)
    if names:
        del names[ctx.services.auto_creations.take(ctx.owner, len(names), ctx.services.env.clock.now_ms()) :]
    return await ctx.services.ground.auto_create(names) if names else {}


def may_create_topic(ctx: RequestContext, name: str) -> bool:
    """Return True if the client may create a topic of this name."""
    return ctx.sees(CREATE_CLUSTER) or ctx.may(CREATE_TOPIC, name)
