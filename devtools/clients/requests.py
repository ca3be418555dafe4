"""Requests that many tests send."""

from __future__ import annotations

from collections.abc import Mapping

from devtools.clients.wire import Caller
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.batch import RecordData, build_batch

TIMESTAMP_MS = 1_700_000_000_000


def batch(*values: bytes, timestamp_ms: int = TIMESTAMP_MS) -> bytes:
    """Return a batch with one record for each value."""
    return bytes(build_batch([RecordData(None, value) for value in values], timestamp_ms=timestamp_ms))


def create_topic(client: Caller, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
    """Create a topic and return its id."""
    topic = CreatableTopic(
        name, partitions, 1, configs=[CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    )
    response = client.call(CreateTopicsRequest([topic]), 7, CreateTopicsResponse)
    assert response.topics[0].error_code == ErrorCode.NONE, response
    return response.topics[0].topic_id


def produce_request(
    records: bytes | None,
    *,
    topic: str = "",
    topic_id: bytes = ZERO_UUID,
    partition: int = 0,
    acks: int = 1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    data = TopicProduceData(topic, topic_id, [PartitionProduceData(partition, records)])
    return ProduceRequest(transactional_id, acks, 30_000, [data])


def produce(
    client: Caller, topic: str, records: bytes | None, *, partition: int = 0, acks: int = 1, version: int = 9
) -> PartitionProduceResponse:
    """Produce one batch by the topic's name, and return its partition's answer."""
    request = produce_request(records, topic=topic, partition=partition, acks=acks)
    response = client.call(request, version, ProduceResponse)
    assert len(response.responses) == 1, response
    assert len(response.responses[0].partition_responses) == 1, response
    return response.responses[0].partition_responses[0]


def fetch_request(
    topic: str = "",
    offset: int = 0,
    *,
    topic_id: bytes = ZERO_UUID,
    partition: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    isolation_level: int = 0,
) -> FetchRequest:
    part = FetchPartition(
        partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes, current_leader_epoch=leader_epoch
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic, topic_id, [part])],
    )


def fetch(client: Caller, request: FetchRequest, version: int = 12) -> PartitionData:
    """Send a fetch for one partition, and return its answer."""
    return only_partition(client.call(request, version, FetchResponse))


def only_partition(response: FetchResponse) -> PartitionData:
    assert response.error_code == ErrorCode.NONE
    assert len(response.responses) == 1, response
    assert len(response.responses[0].partitions) == 1, response
    return response.responses[0].partitions[0]
