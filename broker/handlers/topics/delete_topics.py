"""DeleteTopics: v1-6.

Behaviour: every topic is handled separately; all existing ones are deleted, in commits of up to 200 partitions.
`delete.topic.enable=false` refuses the whole request: INVALID_REQUEST, or TOPIC_DELETION_DISABLED from v3. A topic
named twice, by name or id, gets one row with INVALID_REQUEST. Unknown topics get UNKNOWN_TOPIC_OR_PARTITION or
UNKNOWN_TOPIC_ID. The coordinators' topics can be deleted, too. v5: deletions above `controller_mutation_rate` are
refused. v6: a topic is named by name or by id; both or neither get INVALID_REQUEST.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.handlers.shared.mutation_quota import EXCEEDED, mutation_quota
from shareq.broker.security.rights import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure
from shareq.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from shareq.protocol.primitives import ZERO_UUID, uuid_to_text

_DUPLICATE: Final = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_NEITHER: Final = ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
_NAME_AND_ID: Final = ApiError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")

CONTEXT = FolderContext
logger = logging.getLogger(__name__)


DELETED_TOGETHER: Final = 200
"""The number of partitions at which a commit is full: 40 µs for each that has a folder."""

STATES_FOR_ONE: Final = 5
"""The number of share partitions whose states are forgotten in the time that the deletion of one partition takes."""


async def handle(ctx: FolderContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if not ctx.services.configs.broker.delete_topic_enable:
        code = ErrorCode.TOPIC_DELETION_DISABLED if ctx.api_version >= 3 else ErrorCode.INVALID_REQUEST
        return failed(request, code)
    metadata = ctx.ground.metadata
    changes = metadata.topic_changes
    may_all = ctx.sees(DELETE_CLUSTER)
    found: list[TopicImage | DeletableTopicResult] = []
    for state in _states(request):
        found.append(_find(ctx, state, may_all))
        await ctx.breathe()
    times = Counter(topic.name for topic in found if isinstance(topic, TopicImage))
    rows: list[DeletableTopicResult] = []
    repeated: set[str] = set()
    doomed: list[DeletableTopicResult] = []
    weights: list[int] = []
    quota = mutation_quota(ctx, strict_from=5)
    for topic in found:
        if isinstance(topic, DeletableTopicResult):
            rows.append(topic)
        elif times[topic.name] == 1:
            allowed = quota is None or quota.may(topic.partitions)
            (doomed if allowed else rows).append(_row(topic.name, topic.topic_id, NO_ERROR if allowed else EXCEEDED))
            if allowed:
                states = ctx.services.made.states_of(topic.topic_id)
                weights.append(topic.partitions + states // STATES_FOR_ONE)
        elif topic.name not in repeated:
            repeated.add(topic.name)
            rows.append(_row(topic.name, topic.topic_id, _DUPLICATE))
        await ctx.breathe()
    for some in _commits(doomed, weights):
        await metadata.gate.passing()
        if metadata.topic_changes != changes:  # others had their turns
            _mark_gone(ctx, some)
        _delete(ctx, [row for row in some if not row.error_code])
        changes = metadata.topic_changes
    return DeleteTopicsResponse(0 if quota is None else quota.throttle_ms, rows + doomed)


def failed(request: DeleteTopicsRequest, error: ErrorCode) -> DeleteTopicsResponse:
    rows = [_row(state.name, state.topic_id, ApiError(error)) for state in _states(request)]
    return DeleteTopicsResponse(responses=rows)


def _states(request: DeleteTopicsRequest) -> Iterable[DeleteTopicState]:
    """Yield the topics to delete, in the form of v6."""
    return chain(request.topics, (DeleteTopicState(name=name) for name in request.topic_names))


def _find(ctx: FolderContext, state: DeleteTopicState, may_all: bool) -> TopicImage | DeletableTopicResult:
    """Return the topic, or the row with the reason why it is not deleted.

    A topic that the client may not describe is not revealed by its row.
    """
    metadata, name, topic_id = ctx.ground.metadata, state.name, state.topic_id
    if name is not None and topic_id != ZERO_UUID:
        return _row(name, topic_id, _NAME_AND_ID)
    if name is None and topic_id == ZERO_UUID:
        return _row(None, topic_id, _NEITHER)
    topic = metadata.topic_by_id(topic_id) if name is None else metadata.topic(name)
    if topic is None and name is None:
        missing = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"There is no topic with id {uuid_to_text(topic_id)}")
        return _row(None, topic_id, missing)
    known = name or (topic.name if topic is not None else "")
    visible = may_all or ctx.may(DESCRIBE_TOPIC, known)
    if visible and topic is None:
        return _row(name, ZERO_UUID, ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _no_topic(name)))
    if not visible or topic is None or not (may_all or ctx.may(DELETE_TOPIC, known)):
        return _row(known if visible else name, topic_id, ApiError(DELETE_TOPIC.error))
    return topic


def _commits(doomed: list[DeletableTopicResult], weights: list[int]) -> list[list[DeletableTopicResult]]:
    """Return the rows divided into the commits that delete their topics; a commit is full at the weight
    `DELETED_TOGETHER`.
    """
    commits: list[list[DeletableTopicResult]] = []
    weighed = DELETED_TOGETHER
    for row, weight in zip(doomed, weights, strict=True):
        if weighed >= DELETED_TOGETHER:
            commits.append([])
            weighed = 0
        commits[-1].append(row)
        weighed += weight
    return commits


def _mark_gone(ctx: FolderContext, rows: Sequence[DeletableTopicResult]) -> None:
    """Set errors in the rows of topics that another request has deleted meanwhile."""
    for row in rows:
        topic = ctx.ground.metadata.topic(row.name or "")
        if topic is None or topic.topic_id != row.topic_id:
            row.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            row.error_message = _no_topic(row.name)


def _no_topic(name: str | None) -> str:
    return f"There is no topic '{name}'"


def _delete(ctx: FolderContext, rows: list[DeletableTopicResult]) -> None:
    names = [row.name for row in rows if row.name is not None]
    if not names:
        return
    try:
        ctx.ground.metadata.delete_topics(names)
    except OSError as error:
        logger.error("%d topics, %s the first: not deleted: %s", len(names), names[0], error)
        failure = storage_failure(error)
        for row in rows:
            row.error_code, row.error_message = failure.code, failure.message


def _row(name: str | None, topic_id: bytes, error: ApiError) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
