from __future__ import annotations

import pytest

from devtools.clients.requests import TIMESTAMP_MS, batch, create_topic, produce
from devtools.clients.wire import WireClient
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.handlers.records.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import DeleteRecordsResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.clients.administration import delete_records_request

SERVED = HANDLERS[ApiKey.LIST_OFFSETS].served


def looked_up(
    client: WireClient, topic: str, timestamp: int, *, version: int = 11, epoch: int = -1, isolation_level: int = 0
) -> ListOffsetsPartitionResponse:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(0, epoch, timestamp)])],
    )
    return client.call(request, version, ListOffsetsResponse).topics[0].partitions[0]


def filled(client: WireClient, topic: str) -> None:
    """Write offsets 0, 1 at the base time, 2 an hour later, 3 half an hour later."""
    create_topic(client, topic)
    produce(client, topic, batch(b"a", b"b"))
    produce(client, topic, batch(b"c", timestamp_ms=TIMESTAMP_MS + 3_600_000))
    produce(client, topic, batch(b"d", timestamp_ms=TIMESTAMP_MS + 1_800_000))


@pytest.mark.parametrize("version", range(SERVED.first, SERVED.last + 1))
def test_every_version_knows_both_ends_and_times(client: WireClient, topic: str, version: int) -> None:
    filled(client, topic)
    assert looked_up(client, topic, LATEST, version=version).offset == 4
    assert looked_up(client, topic, EARLIEST, version=version).offset == 0
    part = looked_up(client, topic, TIMESTAMP_MS + 1, version=version)
    assert (part.offset, part.timestamp) == (2, TIMESTAMP_MS + 3_600_000)
    assert part.leader_epoch == (0 if version >= 4 else -1)


def test_named_offsets(client: WireClient, topic: str) -> None:
    filled(client, topic)
    part = looked_up(client, topic, MAX_TIMESTAMP)
    assert (part.offset, part.timestamp) == (2, TIMESTAMP_MS + 3_600_000)
    assert looked_up(client, topic, EARLIEST_LOCAL).offset == 0
    for nothing in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD, TIMESTAMP_MS * 2):
        part = looked_up(client, topic, nothing)
        assert (part.error_code, part.offset, part.timestamp) == (ErrorCode.NONE, -1, -1)
    assert looked_up(client, topic, LATEST, isolation_level=1).offset == 4


def test_the_largest_timestamp_stays_when_its_record_was_deleted(client: WireClient, topic: str) -> None:
    """The timestamp stays while the record's segment exists, as in Apache Kafka 4.3.1, whatever the log start is."""
    filled(client, topic)
    for start in (2, 3, 4):
        deleted = client.call(delete_records_request(topic, {0: start}), 2, DeleteRecordsResponse)
        assert deleted.topics[0].partitions[0].low_watermark == start
        part = looked_up(client, topic, MAX_TIMESTAMP)
        assert (part.offset, part.timestamp, part.leader_epoch) == (2, TIMESTAMP_MS + 3_600_000, 0)
        assert looked_up(client, topic, EARLIEST).offset == start


def test_an_empty_topic(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    assert looked_up(client, topic, LATEST).offset == 0
    assert looked_up(client, topic, EARLIEST).offset == 0
    for nothing in (MAX_TIMESTAMP, 0):
        part = looked_up(client, topic, nothing)
        assert (part.error_code, part.offset) == (ErrorCode.NONE, -1)


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (EARLIEST_PENDING_UPLOAD, 10), (-7, 11)],
)
def test_named_offsets_have_their_versions(client: WireClient, topic: str, timestamp: int, version: int) -> None:
    create_topic(client, topic)
    assert looked_up(client, topic, timestamp, version=version).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_errors(client: WireClient, topic: str) -> None:
    assert looked_up(client, topic, LATEST).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create_topic(client, topic)
    assert looked_up(client, topic, LATEST, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    twice = ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=LATEST)] * 2)
    response = client.call(ListOffsetsRequest(topics=[twice]), 7, ListOffsetsResponse)
    assert [part.error_code for part in response.topics[0].partitions] == [ErrorCode.INVALID_REQUEST] * 2


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_end_of_an_epoch(client: WireClient, topic: str, version: int) -> None:
    """KIP-320: the only epoch ends at the end of the log."""
    filled(client, topic)
    parts = [OffsetForLeaderPartition(0, leader_epoch=epoch) for epoch in (0, 7)]
    parts.append(OffsetForLeaderPartition(1, leader_epoch=0))
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic, parts)])
    answer = client.call(request, version, OffsetForLeaderEpochResponse).topics[0].partitions
    assert [(part.error_code, part.leader_epoch, part.end_offset) for part in answer] == [
        (ErrorCode.NONE, 0, 4),
        (ErrorCode.NONE, -1, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
    ]
