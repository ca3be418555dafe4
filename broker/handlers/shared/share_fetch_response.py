"""The response to a ShareFetch, made from the fetched records and the results of the acknowledgements."""

from __future__ import annotations

from typing import cast

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.share.acknowledgements import AckResults
from shareq.broker.share.fetch import FetchedPartition
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)


def share_fetch_response(
    ctx: RequestContext, group_id: str, fetched: list[FetchedPartition], acked: AckResults
) -> ShareFetchResponse:
    """Return the response, with each partition of `fetched` or `acked` once. Add the leaders of partitions that other
    brokers lead.
    """
    response = ShareFetchResponse(
        acquisition_lock_timeout_ms=ctx.services.configs.share_group(group_id).record_lock_duration_ms
    )
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    for (topic_id, index), row in _rows(fetched, acked).items():
        if topic_id not in topics:
            topics[topic_id] = ShareFetchableTopicResponse(topic_id, [])
        topics[topic_id].partitions.append(row)
        if row.error_code:
            topic = ctx.services.metadata.topic_by_id(topic_id)
            leader = leader_to_name(ctx, topic.name if topic else None, index, row.error_code)
            if leader is not None:
                row.current_leader = LeaderIdAndEpoch(leader.node_id, leader.epoch)
                if leader.address is not None:
                    add_endpoint(response.node_endpoints, NodeEndpoint(*leader.address))
    response.responses = list(topics.values())
    return response


def _rows(fetched: list[FetchedPartition], acked: AckResults) -> dict[tuple[bytes, int], PartitionData]:
    rows: dict[tuple[bytes, int], PartitionData] = {}
    for result in fetched:
        rows[result.topic_id, result.partition] = PartitionData(
            partition_index=result.partition,
            error_code=result.error,
            records=result.records,
            acquired_records=cast("list[AcquiredRecords]", result.acquired),  # the codec also writes tuples
        )
    for (topic_id, index), error in acked.items():
        row = rows.setdefault((topic_id, index), PartitionData(partition_index=index, records=b""))
        row.acknowledge_error_code = error
        if error is not ErrorCode.NONE:
            row.acknowledge_error_message = text_of(error)
    return rows
