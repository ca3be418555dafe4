"""DescribeQuorum: v0-2 (KIP-595, KIP-836, KIP-853).

Behaviour: returns leader and voters of `__cluster_metadata`. Any other topic gets UNKNOWN_TOPIC_OR_PARTITION. v1: the
time when the voter was last seen, which is now. v2: directory ids (zero here), and the listeners.

Here: the broker is the leader and the only voter. Metadata is in a database, not in a log, so in place of offsets the
answer has the epoch of the features, as in ApiVersions.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.broker.topics.leaders import Node
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    ReplicaState,
)
from shareq.protocol.generated.describe_quorum import Node as DescribedNode
from shareq.protocol.names import CLUSTER_METADATA

_NODES_FROM = 2


def handle(ctx: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    if not ctx.may(DESCRIBE_CLUSTER):
        return DescribeQuorumResponse(DESCRIBE_CLUSTER.error, text_of(DESCRIBE_CLUSTER.error))
    asked = [(topic.topic_name, [part.partition_index for part in topic.partitions]) for topic in request.topics]
    if asked != [(CLUSTER_METADATA, [0])]:
        return _unknown(asked)
    services = ctx.services
    controller = services.leaders.controller or Node(services.started_with.node_id, services.endpoints)
    node_id, offset, now = controller.node_id, services.metadata.features_epoch, services.env.clock.wall_ms()
    voter = ReplicaState(
        replica_id=node_id, log_end_offset=offset, last_fetch_timestamp=now, last_caught_up_timestamp=now
    )
    quorum = DescribeQuorumResponsePartitionData(
        error_message=None, leader_id=node_id, high_watermark=offset, current_voters=[voter]
    )
    response = DescribeQuorumResponse(
        error_message=None, topics=[DescribeQuorumResponseTopicData(CLUSTER_METADATA, [quorum])]
    )
    if ctx.api_version >= _NODES_FROM:
        listeners = [Listener(name, each.host, each.port) for name, each in controller.endpoints.items()]
        response.nodes = [DescribedNode(node_id, listeners)]
    return response


def _unknown(asked: list[tuple[str, list[int]]]) -> DescribeQuorumResponse:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [
        DescribeQuorumResponseTopicData(
            topic, [DescribeQuorumResponsePartitionData(each, error, text_of(error)) for each in partitions]
        )
        for topic, partitions in asked
    ]
    return DescribeQuorumResponse(error_message=None, topics=topics)
