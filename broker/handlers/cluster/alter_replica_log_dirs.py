"""AlterReplicaLogDirs: v1-2 (KIP-113).

Behaviour: paths are compared as text, as in Apache Kafka, with the absolute path that DescribeLogDirs returns. A
partition that is named with several paths gets an answer for the last one. ALTER on the cluster is needed.

Here: a move to the data folder succeeds and changes nothing; any other path gets LOG_DIR_NOT_FOUND.
"""

from __future__ import annotations

import os

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

CONTEXT = FolderContext

_LONGEST_FOLDER = 255
_FUTURE_SUFFIX = len(f".{'0' * 32}-future")  # the suffix of a replica's folder during a move


async def handle(ctx: FolderContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    may = ctx.may(ALTER_CLUSTER)
    home = os.path.abspath(ctx.services.started_with.data_dir)
    paths: dict[str, dict[int, str]] = {}  # for each named partition, the last path
    for folder in request.dirs:
        for topic in folder.topics:
            for partition in topic.partitions:
                paths.setdefault(topic.name, {})[partition] = folder.path
                await ctx.breathe()
            await ctx.breathe()
        await ctx.breathe()
    response = AlterReplicaLogDirsResponse()
    for name, by_partition in paths.items():
        result = AlterReplicaLogDirTopicResult(name)
        response.results.append(result)
        for partition, path in by_partition.items():
            error = _moved(ctx, name, partition, path == home) if may else ALTER_CLUSTER.error
            result.partitions.append(AlterReplicaLogDirPartitionResult(partition, error))
            await ctx.breathe()
    return response


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


def _moved(ctx: FolderContext, topic: str, partition: int, home: bool) -> ErrorCode:
    if len(f"{topic}-{partition}") + _FUTURE_SUFFIX > _LONGEST_FOLDER:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not home:
        return ErrorCode.LOG_DIR_NOT_FOUND
    image = ctx.services.metadata.topic(topic)
    if image is None or not 0 <= partition < image.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ctx.ground.logs.get(topic, partition).refusal
