"""Fetch over a socket: every version, limits, long polls, sessions, errors by partition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.clients.requests import batch, create_topic, fetch, fetch_request, only_partition, produce
from devtools.clients.wire import WireClient
from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from shareq.protocol.records.batch import batch_headers, decode_records

SERVED = HANDLERS[ApiKey.FETCH].served

LONG_MS = 20_000  # no test waits for that


def values(records: bytes | memoryview | None) -> list[bytes | None]:
    assert records is not None
    data = bytes(records)
    return [
        record.value
        for position, header in batch_headers(data)
        for record in decode_records(data[position : position + header.size])
    ]


@pytest.mark.parametrize("version", range(SERVED.first, SERVED.last + 1))
def test_every_version_reads_what_was_produced(client: WireClient, topic: str, version: int) -> None:
    topic_id = create_topic(client, topic)
    sent = [batch(b"a", b"b"), batch(b"c")]
    for records in sent:
        produce(client, topic, records)
    request = fetch_request(topic, topic_id=topic_id)
    response = client.call(request, version, FetchResponse)
    (answer,) = response.responses
    assert answer.topic_id == topic_id if version >= 13 else answer.topic == topic
    (part,) = answer.partitions
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (ErrorCode.NONE, 3, 3)
    assert part.aborted_transactions is None
    assert values(part.records) == [b"a", b"b", b"c"]
    headers = [header for _, header in batch_headers(bytes(part.records or b""))]
    assert [header.base_offset for header in headers] == [0, 2]
    assert [header.leader_epoch for header in headers] == [0, 0]


def test_unknown_partitions_are_answered_at_once_and_alone(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    produce(client, topic, batch(b"a"))
    parts = [FetchPartition(index, partition_max_bytes=1000) for index in (0, 1)]
    request = FetchRequest(
        max_wait_ms=LONG_MS,
        min_bytes=10_000,
        topics=[FetchTopic(topic, partitions=parts), FetchTopic("nowhere", partitions=[FetchPartition(0)])],
    )
    response = client.call(request, 11, FetchResponse)
    codes = [[part.error_code for part in answer.partitions] for answer in response.responses]
    assert codes == [[0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]]


def test_an_unknown_topic_id(client: WireClient) -> None:
    part = fetch(client, fetch_request(topic_id=b"\1" * 16), version=13)
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_leader_epoch_from_the_future(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    assert fetch(client, fetch_request(topic, leader_epoch=1)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert fetch(client, fetch_request(topic, leader_epoch=0)).error_code == ErrorCode.NONE


def session_request(
    session_id: int, epoch: int, *partitions: FetchPartition, topic: str, forget: int | None = None
) -> FetchRequest:
    return FetchRequest(
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic, partitions=list(partitions))] if partitions else [],
        forgotten_topics_data=[] if forget is None else [ForgottenTopic(topic, partitions=[forget])],
    )


def test_a_session_returns_only_what_is_new(client: WireClient, topic: str) -> None:
    """KIP-227: an incremental session returns only changed partitions."""
    create_topic(client, topic, partitions=2)
    parts = [FetchPartition(index, partition_max_bytes=1000) for index in (0, 1)]
    full = client.call(session_request(0, 0, *parts, topic=topic), 12, FetchResponse)
    assert full.session_id > 0
    assert len(full.responses[0].partitions) == 2

    def incremental(epoch: int, *changed: FetchPartition, forget: int | None = None) -> dict[int, list[bytes | None]]:
        request = session_request(full.session_id, epoch, *changed, topic=topic, forget=forget)
        response = client.call(request, 12, FetchResponse)
        assert (response.error_code, response.session_id) == (0, full.session_id)
        return {part.partition_index: values(part.records) for each in response.responses for part in each.partitions}

    assert incremental(1) == {}
    produce(client, topic, batch(b"a"), partition=1)
    assert incremental(2) == {1: [b"a"]}
    assert incremental(3, FetchPartition(1, fetch_offset=1, partition_max_bytes=1000)) == {}
    produce(client, topic, batch(b"b"), partition=1)
    assert incremental(4, forget=1) == {}
    closed = client.call(session_request(full.session_id, -1, *parts, topic=topic), 12, FetchResponse)
    assert closed.session_id == 0
    gone = client.call(session_request(full.session_id, 5, topic=topic), 12, FetchResponse)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_waits_for_all_its_partitions(connect: Callable[[], WireClient], topic: str) -> None:
    consumer, producer = connect(), connect()
    create_topic(producer, topic, partitions=2)
    parts = [FetchPartition(index, partition_max_bytes=1000) for index in (0, 1)]
    full = consumer.call(session_request(0, 0, *parts, topic=topic), 12, FetchResponse)
    request = session_request(full.session_id, 1, topic=topic)
    request.max_wait_ms, request.min_bytes = LONG_MS, 1
    consumer.send(request, 12)
    produce(producer, topic, batch(b"a"), partition=1)
    response = consumer.receive()
    assert isinstance(response, FetchResponse)
    part = only_partition(response)
    assert (part.partition_index, values(part.records)) == (1, [b"a"])
