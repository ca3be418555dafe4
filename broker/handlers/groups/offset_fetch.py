"""OffsetFetch: v1-10 (KIP-88).

Behaviour: the offsets of a group, of the partitions that are named, or of all that it has committed: no topics at all
(null) ask for the latter, an empty list for nothing. A partition without an offset is -1; so are all of a group that
does not exist. DESCRIBE on the group is needed, and on each topic that is named; of all, those are returned that the
client may describe.
v1: no null list; an error of the group stands in every row. v2: null lists, and a place for such errors. v5: leader
epochs. v7: `require_stable`. v8: many groups at once. v9: member id and epoch. v10: topics by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, each_in_turns, made_in_turns, pending_in_turns, run_in_turns
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.handlers.shared.long.offset_rows import (
    committed_in_turns,
    group_of,
    joined_in_turns,
    one_response,
    response_of,
    topic_of,
)
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.coordinator.group.offsets.fetch import parts_of, refused, refused_by_partition, refused_topic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

TURN_PARTITIONS: Final = 1_000
"""So many are looked up in one turn of the loop; a topic counts as one more."""

_TURN_TOPICS: Final = 2_000  # of versions before 8, put in the form of later ones
_GROUP: Final = 4  # what a group counts beside its topics and partitions

_GROUP_ERROR_FROM = 2
_MANY_GROUPS_FROM = 8
_IDS_FROM = 10


def handle(ctx: RequestContext, request: OffsetFetchRequest) -> Pending[OffsetFetchResponse]:
    stable = request.require_stable
    if ctx.api_version >= _MANY_GROUPS_FROM:

        def fetch(group: OffsetFetchRequestGroup) -> Pending[OffsetFetchResponseGroup]:
            return _fetch_in_turns(ctx, group, require_stable=stable)

        groups = each_in_turns(ctx, request.groups, fetch, TURN_PARTITIONS, _weight)
        return groups.then(lambda groups: OffsetFetchResponse(groups=groups))
    return pending_in_turns(ctx, _of_one_group(ctx, request))


def _of_one_group(ctx: RequestContext, request: OffsetFetchRequest) -> Steps[Pending[OffsetFetchResponse]]:
    topics = None
    if request.topics is not None:
        topics = yield from made_in_turns(request.topics, topic_of, _TURN_TOPICS)
    group = OffsetFetchRequestGroup(request.group_id, topics=topics)
    fetched = _fetch_in_turns(ctx, group, require_stable=request.require_stable)
    return fetched.chain(lambda group: pending_in_turns(ctx, one_response(group)))


def failed(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    """In every version an error for each place that it has: rows of version 1, the group, or each of many."""
    response = response_of(refused_by_partition(group_of(request), error))
    response.error_code = error
    response.groups = [OffsetFetchResponseGroup(group.group_id, error_code=error) for group in request.groups]
    return response


def _fetch_in_turns(
    ctx: RequestContext, group: OffsetFetchRequestGroup, *, require_stable: bool
) -> Pending[OffsetFetchResponseGroup]:
    """As `_fetch`, some partitions in each turn of the loop, where many are named, or committed."""
    if group.topics is None:
        all_of_it = ctx.services.groups.offsets.committed(group)
        if _weight(all_of_it) > TURN_PARTITIONS + _GROUP and ctx.may(DESCRIBE_GROUP, group.group_id):
            parts = parts_of(all_of_it, TURN_PARTITIONS)
            return pending_in_turns(ctx, committed_in_turns(ctx, parts, require_stable=require_stable))
    if _weight(group) <= TURN_PARTITIONS + _GROUP:
        return _fetch(ctx, group, require_stable=require_stable)
    if not ctx.sees(DESCRIBE_GROUP, group.group_id):
        if ctx.api_version >= _GROUP_ERROR_FROM:
            return _fetch(ctx, group, require_stable=require_stable)
        ctx.audit(DESCRIBE_GROUP, group.group_id, allowed=False)
        refused_parts = (refused_by_partition(part, DESCRIBE_GROUP.error) for part in parts_of(group, TURN_PARTITIONS))
        return pending_in_turns(ctx, joined_in_turns(refused_parts))
    fetched: Pending[OffsetFetchResponseGroup] = Pending()

    def steps() -> Iterator[None]:
        parts: list[Pending[OffsetFetchResponseGroup]] = []
        for part in parts_of(group, TURN_PARTITIONS):
            parts.append(_fetch(ctx, part, require_stable=require_stable))
            yield
        joined = gather(parts).chain(lambda parts: pending_in_turns(ctx, joined_in_turns(parts)))
        joined.on_complete(fetched.complete)

    run_in_turns(ctx, steps())
    return fetched


def _weight(group: OffsetFetchRequestGroup) -> int:
    """What a group counts in a turn."""
    topics = group.topics or ()
    if len(topics) > TURN_PARTITIONS:  # enough to know
        return _GROUP + len(topics)
    return _GROUP + len(topics) + sum(len(topic.partition_indexes) for topic in topics)


def _fetch(
    ctx: RequestContext, group: OffsetFetchRequestGroup, *, require_stable: bool
) -> Pending[OffsetFetchResponseGroup]:
    version, offsets = ctx.api_version, ctx.services.groups.offsets
    if not ctx.may(DESCRIBE_GROUP, group.group_id):
        refuse = refused if version >= _GROUP_ERROR_FROM else refused_by_partition
        return completed(refuse(group, DESCRIBE_GROUP.error))
    if ctx.services.authorizer is None:
        return offsets.fetch(group, version, require_stable=require_stable)
    hidden: list[OffsetFetchRequestTopics] = []
    ask_all = group.topics is None
    if group.topics is not None:
        named: list[OffsetFetchRequestTopics] = []
        for topic in group.topics:
            (named if _may_describe(ctx, topic) else hidden).append(topic)
        group.topics = named

    def respond(response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if ask_all:
            response.topics = [topic for topic in response.topics if ctx.sees(DESCRIBE_TOPIC, topic.name)]
        elif response.error_code == ErrorCode.NONE:
            response.topics = [*response.topics, *(refused_topic(topic, DESCRIBE_TOPIC.error) for topic in hidden)]
        return response

    return offsets.fetch(group, version, require_stable=require_stable).then(respond)


def _may_describe(ctx: RequestContext, topic: OffsetFetchRequestTopics) -> bool:
    """Of an unknown id there is nothing to hide."""
    if ctx.api_version < _IDS_FROM:
        return ctx.may(DESCRIBE_TOPIC, topic.name)
    image = ctx.services.metadata.topic_by_id(topic.topic_id)
    return image is None or ctx.may(DESCRIBE_TOPIC, image.name)
