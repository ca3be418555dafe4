"""AlterShareGroupOffsets: v0 (KIP-932).

Behaviour: share partitions of a group without members begin at new offsets, whatever the log has there (-1: where the
group's share.auto.offset.reset says); what was acquired or acknowledged is forgotten. A group that does not exist is
created. READ on the group is needed, and on each topic. NON_EMPTY_GROUP, INVALID_GROUP_ID and GROUP_ID_NOT_FOUND
(another kind of group) concern the whole request; UNKNOWN_TOPIC_OR_PARTITION one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import (
    Steps,
    TurnCount,
    each_in_turns,
    emptied,
    lacking_in_turns,
    pending_in_turns,
    pieces,
)
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.administration import AlteredOffsets
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.coordinator.group.share.initialization import StateInitialization
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

TURN_PARTITIONS: Final = 200
"""So many states are written in one turn, 50 µs each: what letters they owe is looked at, too."""

_TURN_ROWS: Final = 2_000  # of the answer, a topic counted as one more

_REFUSED: Final = ApiError(READ_TOPIC.error, text_of(READ_TOPIC.error))


def handle(
    ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse | Pending[AlterShareGroupOffsetsResponse]:
    if not ctx.services.metadata.share_groups_enabled:
        error = ErrorCode.UNSUPPORTED_VERSION
        return AlterShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))
    if not ctx.may(READ_GROUP, request.group_id):
        error = READ_GROUP.error
        return AlterShareGroupOffsetsResponse(error_code=error, error_message=text_of(error))
    return pending_in_turns(ctx, _steps(ctx, request))


def _steps(
    ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> Steps[Pending[AlterShareGroupOffsetsResponse]]:
    topics = request.topics  # the request is given back before the answer comes, but for what is referred to
    refused = yield from lacking_in_turns(ctx, READ_TOPIC, (topic.topic_name for topic in request.topics))
    offsets: dict[str, dict[int, int]] = {}
    turn = TurnCount(_TURN_ROWS)
    for topic in request.topics:
        if topic.topic_name not in refused:
            by_partition = offsets.setdefault(topic.topic_name, {})
            for some in pieces(topic.partitions, _TURN_ROWS):
                by_partition.update((part.partition_index, part.start_offset) for part in some)
                if turn.full(len(some)):
                    yield
        if turn.full():
            yield
    groups = ctx.services.groups
    asked = yield from groups.administration.offsets_to_alter(offsets, turn.full)
    if len(offsets) > _TURN_ROWS:
        yield from emptied(offsets)

    def initialize_some(
        states: Sequence[StateInitialization], initialize: Callable[[StateInitialization], Pending[ApiError]]
    ) -> Pending[list[ApiError]]:
        return each_in_turns(ctx, states, initialize, TURN_PARTITIONS)

    pending = groups.names.make(
        request.group_id,
        ctx.owner,
        lambda: groups.administration.alter_offsets(request.group_id, asked, initialize_some),
        lambda message: AlteredOffsets(ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)),
    )
    done = pending.chain(lambda altered: pending_in_turns(ctx, _response(ctx, topics, altered, refused)))
    return done.chain(lambda response: pending_in_turns(ctx, _after(response, asked.refused)))


def _response(
    ctx: RequestContext,
    asked: Sequence[AlterShareGroupOffsetsRequestTopic],
    altered: AlteredOffsets,
    refused: Set[str],
) -> Steps[Pending[AlterShareGroupOffsetsResponse]]:
    """The answer, so many rows in a turn."""
    if altered.error:
        return completed(
            AlterShareGroupOffsetsResponse(error_code=altered.error.code, error_message=altered.error.message)
        )
    turn = TurnCount(_TURN_ROWS)
    topics: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
    for each in asked:
        name = each.topic_name
        if name not in topics:
            image = ctx.services.metadata.topic(name)
            topics[name] = AlterShareGroupOffsetsResponseTopic(name, ZERO_UUID if image is None else image.topic_id)
        for index in (part.partition_index for part in each.partitions):
            result = _REFUSED if name in refused else altered.partitions[name, index]
            topics[name].partitions.append(_partition(index, result))
            if turn.full():
                yield
        if turn.full():
            yield
    return completed(AlterShareGroupOffsetsResponse(responses=list(topics.values())))


def _after(
    response: AlterShareGroupOffsetsResponse, refused: dict[tuple[str, int], ApiError]
) -> Steps[Pending[AlterShareGroupOffsetsResponse]]:
    if len(refused) > _TURN_ROWS:
        yield from emptied(refused)
    return completed(response)


def _partition(partition: int, result: ApiError) -> AlterShareGroupOffsetsResponsePartition:
    return AlterShareGroupOffsetsResponsePartition(partition, result.code, result.message)
