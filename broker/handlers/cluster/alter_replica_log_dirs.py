"""AlterReplicaLogDirs: v1-2 (KIP-113).

Behaviour: there is one data folder, and every partition is in it already, so moving one there succeeds and changes
nothing; any other path is LOG_DIR_NOT_FOUND. Paths are compared as they are, as in Apache Kafka: absolute, and as
DescribeLogDirs returns them. A partition that is named with several paths is answered for the last. ALTER on the
cluster is needed.
"""

from __future__ import annotations

import os
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns, pieces
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

_LONGEST_FOLDER = 255
_FUTURE_SUFFIX = len(f".{'0' * 32}-future")  # of the folder that a replica has while it moves


TURN_PARTITIONS: Final = 2_000
"""So many are looked at in one turn, 2 µs each, or sorted out; a topic or a path counts as one more."""

Moves = dict[tuple[str, int], str]


def handle(
    ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse | Pending[AlterReplicaLogDirsResponse]:
    return in_turns(ctx, _steps(ctx, request))


def _steps(ctx: RequestContext, request: AlterReplicaLogDirsRequest) -> Steps[AlterReplicaLogDirsResponse]:
    may = ctx.may(ALTER_CLUSTER)
    home = os.path.abspath(ctx.services.started_with.data_dir)
    paths = yield from _paths(request)
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    turn = TurnCount(TURN_PARTITIONS)
    for (topic, partition), path in paths.items():
        error = _moved(ctx, topic, partition, path == home) if may else ALTER_CLUSTER.error
        topics.setdefault(topic, []).append(AlterReplicaLogDirPartitionResult(partition, error))
        if turn.full():
            yield
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic, rows) for topic, rows in topics.items()]
    )


def failed(request: AlterReplicaLogDirsRequest, error: ErrorCode) -> AlterReplicaLogDirsResponse:
    topics: dict[str, dict[int, AlterReplicaLogDirPartitionResult]] = {}
    for folder in request.dirs:
        for topic in folder.topics:
            if topic.partitions:
                rows = topics.setdefault(topic.name, {})
                rows.update((each, AlterReplicaLogDirPartitionResult(each, error)) for each in topic.partitions)
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic, list(rows.values())) for topic, rows in topics.items()]
    )


def _paths(request: AlterReplicaLogDirsRequest) -> Steps[Moves]:
    """The last path of each partition that is named."""
    paths: Moves = {}
    turn = TurnCount(TURN_PARTITIONS)
    for folder in request.dirs:
        for topic in folder.topics:
            for piece in pieces(topic.partitions, TURN_PARTITIONS):
                paths.update(((topic.name, partition), folder.path) for partition in piece)
                if turn.full(len(piece)):
                    yield
            if turn.full():
                yield
        if turn.full():
            yield
    return paths


def _moved(ctx: RequestContext, topic: str, partition: int, home: bool) -> ErrorCode:
    if len(f"{topic}-{partition}") + _FUTURE_SUFFIX > _LONGEST_FOLDER:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not home:
        return ErrorCode.LOG_DIR_NOT_FOUND
    image = ctx.services.metadata.topic(topic)
    if image is None or not 0 <= partition < image.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ctx.services.logs.get(topic, partition).refusal
