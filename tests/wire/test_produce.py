"""Produce over a socket: every version, acknowledgement modes, errors by partition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.clients.requests import TIMESTAMP_MS, batch, create_topic, produce, produce_request
from devtools.clients.wire import WireClient
from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.support.kafka.transactions import numbered

SERVED = HANDLERS[ApiKey.PRODUCE].served


@pytest.mark.parametrize("version", range(SERVED.first, SERVED.last + 1))
def test_every_version_appends_and_reports_the_offset(client: WireClient, topic: str, version: int) -> None:
    topic_id = create_topic(client, topic)
    for expected in (0, 2):
        request = produce_request(batch(b"a", b"b"), topic=topic, topic_id=topic_id)
        (answer,) = client.call(request, version, ProduceResponse).responses
        (part,) = answer.partition_responses
        assert (part.index, part.error_code, part.base_offset) == (0, ErrorCode.NONE, expected)
        assert part.log_append_time_ms == -1
        assert part.log_start_offset == (0 if version >= 5 else -1)
        assert answer.topic_id == topic_id if version >= 13 else answer.name == topic


@pytest.mark.parametrize("acks", [1, -1])
def test_pipelined_requests_are_answered_in_order(client: WireClient, topic: str, acks: int) -> None:
    create_topic(client, topic)
    request = produce_request(batch(b"x"), topic=topic, acks=acks)
    client.send_raw(b"".join(client.requests.frame_of(request, 9) for _ in range(500)))
    offsets = []
    for _ in range(500):
        response = client.receive()
        assert isinstance(response, ProduceResponse)
        offsets.append(response.responses[0].partition_responses[0].base_offset)
    assert offsets == list(range(500))


def test_acks_zero_is_not_answered(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    client.send_raw(client.requests.frame_of(produce_request(batch(b"x"), topic=topic, acks=0), 9))
    client.requests.forget_last()
    assert produce(client, topic, batch(b"y")).base_offset == 1


def test_acks_zero_with_an_error_closes_the_connection(client: WireClient, topic: str) -> None:
    client.send(produce_request(batch(b"x"), topic=topic, acks=0), 9)
    assert client.is_closed()


def test_other_acks_are_refused(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    part = produce(client, topic, batch(b"x"), acks=2)
    assert (part.error_code, part.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)


def test_unknown_topics_and_partitions(client: WireClient, topic: str) -> None:
    assert produce(client, topic, batch(b"x")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create_topic(client, topic)
    for partition in (1, -1):
        part = produce(client, topic, batch(b"x"), partition=partition)
        assert (part.index, part.error_code) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("topic_id", [bytes(16), b"\1" * 16])
def test_an_unknown_topic_id(client: WireClient, topic_id: bytes) -> None:
    response = client.call(produce_request(batch(b"x"), topic_id=topic_id), 13, ProduceResponse)
    (answer,) = response.responses
    assert answer.topic_id == topic_id
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_wrong_checksum_is_refused_and_other_partitions_go_on(client: WireClient, topic: str) -> None:
    create_topic(client, topic, partitions=2)
    broken = bytearray(batch(b"hello"))
    broken[-1] ^= 1
    data = [PartitionProduceData(0, bytes(broken)), PartitionProduceData(1, batch(b"x"))]
    response = client.call(
        ProduceRequest(acks=1, topic_data=[TopicProduceData(topic, partition_data=data)]), 9, ProduceResponse
    )
    bad, good = response.responses[0].partition_responses
    assert (bad.error_code, bad.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert bad.error_message
    assert (good.error_code, good.base_offset) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("records", [None, b"", b"\0" * 20, b"\0" * 80])
def test_what_is_no_batch_is_refused(client: WireClient, topic: str, records: bytes | None) -> None:
    create_topic(client, topic)
    assert produce(client, topic, records).error_code == ErrorCode.INVALID_RECORD


def test_two_batches_in_one_partition_are_refused(client: WireClient, topic: str) -> None:
    """Apache Kafka: a produce request has exactly one batch a partition."""
    create_topic(client, topic)
    assert produce(client, topic, batch(b"x") + batch(b"y")).error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused(client: WireClient, topic: str, magic: int) -> None:
    create_topic(client, topic)
    old = bytearray(batch(b"x"))
    old[16] = magic
    assert produce(client, topic, bytes(old)).error_code == ErrorCode.INVALID_RECORD


def test_zstd_needs_version_7(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    records = bytes(
        build_batch([RecordData(None, b"x" * 100)], timestamp_ms=TIMESTAMP_MS, compression=Compression.ZSTD)
    )
    assert produce(client, topic, records, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(client, topic, records, version=7).error_code == ErrorCode.NONE


def test_a_transactional_batch_needs_a_transactional_id(client: WireClient, topic: str) -> None:
    create_topic(client, topic)
    records = numbered(b"x", producer_id=1, transactional=True)
    assert produce(client, topic, records).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_log_append_time_is_reported(client: WireClient, topic: str) -> None:
    create_topic(client, topic, configs={"message.timestamp.type": "LogAppendTime"})
    assert produce(client, topic, batch(b"x")).log_append_time_ms > TIMESTAMP_MS


def test_producer_ids_are_never_given_twice(connect: Callable[[], WireClient]) -> None:
    ids = [connect().call(InitProducerIdRequest(None), 5, InitProducerIdResponse).producer_id for _ in range(3)]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (InitProducerIdRequest(transactional_id="t"), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest(transactional_id=""), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest(None, producer_id=5), ErrorCode.INVALID_REQUEST),
    ],
)
def test_producer_ids_that_are_refused(client: WireClient, request_: InitProducerIdRequest, error: ErrorCode) -> None:
    response = client.call(request_, 4, InitProducerIdResponse)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (error, -1, -1)


def test_no_topics_is_an_empty_answer(client: WireClient) -> None:
    assert client.call(ProduceRequest(acks=1), 9, ProduceResponse).responses == []
