"""DescribeLogDirs: v1-5.

Behaviour: the one data folder, as an absolute path, with the partitions that were asked for; null topics stand for
all. Sizes are bytes of segments; a partition without records has 0. Partitions that do not exist are left out, and so
are topics without any.
v3: a top-level error code, without which a refusal is an empty list. v4: the file system's total and usable bytes
(KIP-827). v5: cordoned folders (KIP-1066); none is.
"""

from __future__ import annotations

import logging
import os

from shareq.broker.dispatch.context import RequestContext
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

logger = logging.getLogger(__name__)


def handle(ctx: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    if not ctx.may(DESCRIBE_CLUSTER):
        return DescribeLogDirsResponse(error_code=DESCRIBE_CLUSTER.error)
    services = ctx.services
    folder = services.started_with.data_dir
    path = os.path.abspath(folder)
    try:
        space = services.env.fs.disk_space(folder)
    except OSError as error:
        logger.error("%s: cannot read the free space of its file system: %s", path, error)
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)])
    sizes = {(log.topic, log.partition): log.size_bytes for log in services.logs.logs()}
    topics = []
    for topic, partitions in _wanted(ctx, request.topics).items():
        rows = [DescribeLogDirsPartition(each, sizes.get((topic, each), 0)) for each in partitions]
        if rows:
            topics.append(DescribeLogDirsTopic(topic, rows))
    result = DescribeLogDirsResult(
        log_dir=path, topics=topics, total_bytes=space.total_bytes, usable_bytes=space.usable_bytes
    )
    return DescribeLogDirsResponse(results=[result])


def _wanted(ctx: RequestContext, asked: list[DescribableLogDirTopic] | None) -> dict[str, list[int]]:
    """Existing partitions in order, each once, by topic."""
    metadata = ctx.services.metadata
    if asked is None:
        return {topic.name: list(range(topic.partitions)) for topic in metadata.topics()}
    wanted: dict[str, set[int]] = {}
    for row in asked:
        topic = metadata.topic(row.topic)
        if topic is not None:
            wanted.setdefault(row.topic, set()).update(each for each in row.partitions if 0 <= each < topic.partitions)
    return {topic: sorted(partitions) for topic, partitions in wanted.items()}
