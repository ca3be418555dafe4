"""AlterReplicaLogDirs: v1-2 (KIP-113).

Behaviour: there is one data folder, and every partition is in it already, so moving one there succeeds and changes
nothing; any other path is LOG_DIR_NOT_FOUND. Paths are compared as they are, as in Apache Kafka: absolute, and as
DescribeLogDirs returns them. A partition that is named with several paths is answered for the last. ALTER on the
cluster is needed.
"""

from __future__ import annotations

import os

from shareq.broker.dispatch.context import RequestContext
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


def handle(ctx: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    home = os.path.abspath(ctx.services.started_with.data_dir)
    return _response(
        {
            (topic, partition): _moved(ctx, topic, partition, path == home)
            for (topic, partition), path in _paths(request).items()
        }
    )


def failed(request: AlterReplicaLogDirsRequest, error: ErrorCode) -> AlterReplicaLogDirsResponse:
    return _response(dict.fromkeys(_paths(request), error))


def _paths(request: AlterReplicaLogDirsRequest) -> dict[tuple[str, int], str]:
    return {
        (topic.name, partition): folder.path
        for folder in request.dirs
        for topic in folder.topics
        for partition in topic.partitions
    }


def _moved(ctx: RequestContext, topic: str, partition: int, home: bool) -> ErrorCode:
    if len(f"{topic}-{partition}") + _FUTURE_SUFFIX > _LONGEST_FOLDER:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not home:
        return ErrorCode.LOG_DIR_NOT_FOUND
    image = ctx.services.metadata.topic(topic)
    if image is None or not 0 <= partition < image.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ctx.services.logs.get(topic, partition).refusal


def _response(errors: dict[tuple[str, int], ErrorCode]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for (topic, partition), error in errors.items():
        topics.setdefault(topic, []).append(AlterReplicaLogDirPartitionResult(partition, error))
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic, rows) for topic, rows in topics.items()]
    )
