"""DescribeLogDirs: v1-5.

Behaviour: returns the single data folder, as an absolute path, with the requested partitions; null topics mean all.
Sizes are bytes of segments; a partition without records has size 0. Missing partitions are left out, and so are topics
with none. v3: a top-level error code; earlier versions return an empty list to a client that is refused. v4: the file
system's total and usable bytes (KIP-827). v5: cordoned folders (KIP-1066); there are none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

CONTEXT = FolderContext

logger = logging.getLogger(__name__)


async def handle(ctx: FolderContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    if not ctx.may(DESCRIBE_CLUSTER):
        return DescribeLogDirsResponse(error_code=DESCRIBE_CLUSTER.error)
    services = ctx.services
    folder = services.started_with.data_dir
    path = os.path.abspath(folder)
    try:
        space = ctx.ground.fs.disk_space(folder)
    except OSError as error:
        logger.error("%s: cannot read the free space of its file system: %s", path, error)
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)])
    sizes: dict[tuple[str, int], int] = {}
    for log in list(ctx.ground.logs.logs()):
        sizes[log.topic, log.partition] = log.size_bytes
        await ctx.breathe()
    topics: list[DescribeLogDirsTopic] = []
    for topic, partitions in (await _wanted(ctx, request.topics)).items():
        rows: list[DescribeLogDirsPartition] = []
        for partition in partitions:
            rows.append(DescribeLogDirsPartition(partition, sizes.get((topic, partition), 0)))
            await ctx.breathe()
        if rows:
            topics.append(DescribeLogDirsTopic(topic, rows))
        await ctx.breathe()
    await ctx.give_back(sizes)
    result = DescribeLogDirsResult(
        log_dir=path, topics=topics, total_bytes=space.total_bytes, usable_bytes=space.usable_bytes
    )
    return DescribeLogDirsResponse(results=[result])


async def _wanted(ctx: FolderContext, asked: Sequence[DescribableLogDirTopic] | None) -> Mapping[str, Sequence[int]]:
    """Return the existing partitions among those asked for, by topic, in order and without repetition."""
    metadata = ctx.services.metadata
    if asked is None:
        return {topic.name: range(topic.partitions) for topic in metadata.topics()}
    wanted: dict[str, set[int]] = {}
    for row in asked:
        topic = metadata.topic(row.topic)
        if topic is not None:
            numbers = wanted.setdefault(row.topic, set())
            for partition in row.partitions:
                if 0 <= partition < topic.partitions:
                    numbers.add(partition)
                await ctx.breathe()
        await ctx.breathe()
    return {topic: sorted(partitions) for topic, partitions in wanted.items()}
