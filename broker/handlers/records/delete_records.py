"""DeleteRecords: v0-2 (KIP-107).

Behaviour: the log start offset moves, durably before the answer, and with it every reader: share groups follow when
they next read. Offset -1 stands for the high watermark; below the log start nothing happens. The low watermark in the
answer is the log start, -1 with an error: OFFSET_OUT_OF_RANGE beyond the high watermark, POLICY_VIOLATION for topics
that are only compacted, INVALID_TOPIC_EXCEPTION for the coordinators' topics. Of a partition named twice the last
offset counts. The timeout is for replicas, of which there is none.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.rights import DELETE_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_NO_LOW_WATERMARK = -1


def handle(ctx: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    offsets = _offsets(request)
    hidden = ctx.lacking(DELETE_TOPIC, offsets)
    found = {
        (topic, partition): DELETE_TOPIC.error if topic in hidden else _deletable(ctx, topic, partition)
        for topic, partitions in offsets.items()
        for partition in partitions
    }
    cuts = {
        log: offsets[topic][partition] for (topic, partition), log in found.items() if isinstance(log, PartitionLog)
    }
    results = ctx.services.logs.truncate_prefixes(cuts)
    topics = []
    for topic, partitions in offsets.items():
        rows = []
        for partition in partitions:
            log = found[topic, partition]
            error = results[log] if isinstance(log, PartitionLog) else log
            low = log.log_start_offset if isinstance(log, PartitionLog) and not error else _NO_LOW_WATERMARK
            rows.append(DeleteRecordsPartitionResult(partition, low, error))
        topics.append(DeleteRecordsTopicResult(topic, rows))
    return DeleteRecordsResponse(topics=topics)


def failed(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """The same for every partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic, [DeleteRecordsPartitionResult(partition, _NO_LOW_WATERMARK, error) for partition in partitions]
            )
            for topic, partitions in _offsets(request).items()
        ]
    )


def _offsets(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    """By topic and partition; in the answer each of them comes once."""
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets.setdefault(topic.name, {}).update((part.partition_index, part.offset) for part in topic.partitions)
    return offsets


def _deletable(ctx: RequestContext, topic: str, partition: int) -> PartitionLog | ErrorCode:
    log = ctx.services.lookup.log(topic, partition)
    if isinstance(log, ErrorCode):
        return log
    if topic in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if log.settings.compact and not log.settings.delete:
        return ErrorCode.POLICY_VIOLATION
    return log
