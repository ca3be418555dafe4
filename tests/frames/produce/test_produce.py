"""Parts of Produce that socket tests cannot show: the fast path for repeated requests, and failing disks."""

from __future__ import annotations

import errno

import pytest

from devtools.clients.requests import batch, fetch_request, only_partition, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.handlers.records.produce_fast_path import MOST_LEARNED
from shareq.broker.handlers.shared.produce_append import ProduceAppend
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.names import CONSUMER_OFFSETS
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.support.fakes.host import ELSEWHERE
from tests.support.kafka.transactions import numbered


def produced(
    client: MockConnection, records: bytes | None, version: int = 9, *, topic_id: bytes = bytes(16), partition: int = 0
) -> PartitionProduceResponse:
    request = produce_request(records, topic="t", topic_id=topic_id, partition=partition)
    response = client.call(request, version, ProduceResponse)
    return response.responses[0].partition_responses[0]


def damaged(records: bytes) -> bytes:
    return records[:-1] + bytes([records[-1] ^ 1])


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("size", [1, 40, 100, 20_000])
def test_the_short_way_answers_byte_for_byte_as_the_ordinary_one(version: int, size: int, world: BrokerWorld) -> None:
    topic = world.create_topic("t")
    request = produce_request(batch(b"x" * size), topic="t", topic_id=topic.topic_id)
    # A connection's first request goes the ordinary way. Both answers are made at the same offset of equal logs.
    ordinary = world.connect()
    world.connect().call(request, version, ProduceResponse)
    ordinary.send(request, version)
    expected = ordinary.receive_frame()

    other = BrokerWorld()
    request.topic_data[0].topic_id = other.create_topic("t").topic_id
    quick = other.connect()
    quick.call(request, version, ProduceResponse)
    quick.send(request, version)
    got = quick.receive_frame()
    assert got[4:] == expected[4:]
    assert got[:4] == (2).to_bytes(4, "big")
    for log in (world.folder.logs.get("t", 0), other.folder.logs.get("t", 0)):
        assert log.high_watermark == 2


def test_the_short_way_takes_other_sizes_partitions_and_topics(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=3)
    world.create_topic("another-topic")
    client = world.connect()
    for round_ in range(3):
        for partition in range(3):
            assert produced(client, batch(b"x" * 10 ** (round_ + 1)), partition=partition).base_offset == round_
        request = produce_request(batch(b"y"), topic="another-topic")
        response = client.call(request, 9, ProduceResponse)
        assert response.responses[0].partition_responses[0].base_offset == round_


def test_errors_on_the_short_way_are_those_of_the_ordinary_one(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    for _ in range(2):
        assert produced(client, batch(b"x")).error_code == ErrorCode.NONE
    assert produced(client, damaged(batch(b"x"))).error_code == ErrorCode.CORRUPT_MESSAGE
    for _ in range(2):
        assert produced(client, batch(b"x")).error_code == ErrorCode.NONE
    for nothing in (None, b"", b"\0" * 30, batch(b"x") * 2):
        assert produced(client, nothing).error_code == ErrorCode.INVALID_RECORD
    transactional = numbered(b"x", producer_id=1, transactional=True)
    assert produced(client, transactional).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produced(client, batch(b"x")).base_offset == 4


def test_zstd_needs_version_7_on_the_short_way_too(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    zstd = bytes(build_batch([RecordData(None, b"x" * 99)], timestamp_ms=0, compression=Compression.ZSTD))
    for version, error in ((6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)):
        assert produced(client, batch(b"x"), version).error_code == ErrorCode.NONE
        assert produced(client, zstd, version).error_code == error


@pytest.mark.parametrize("version", [9, 13])
def test_a_topic_that_was_deleted_and_made_again_is_noticed(version: int, world: BrokerWorld) -> None:
    old_id = world.create_topic("t").topic_id
    client = world.connect()
    for _ in range(2):
        produced(client, batch(b"x"), version, topic_id=old_id)
    world.folder.metadata.delete_topics(["t"])
    gone = ErrorCode.UNKNOWN_TOPIC_ID if version == 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produced(client, batch(b"x"), version, topic_id=old_id).error_code == gone
    world.create_topic("t")
    part = produced(client, batch(b"x"), version, topic_id=old_id)
    assert part.error_code == (gone if version == 13 else ErrorCode.NONE)
    assert part.base_offset == (-1 if version == 13 else 0)


@pytest.mark.parametrize("requests", [1, 3])
def test_a_disk_that_is_full_is_a_storage_error_and_nothing_more(requests: int, world: BrokerWorld) -> None:
    """Answered records stay readable, and writes continue when there is space again."""
    world.create_topic("t")
    client = world.connect()
    for _ in range(requests):
        assert produced(client, batch(b"kept")).error_code == ErrorCode.NONE
    world.fs.space_left = 10
    part = produced(client, batch(b"lost"))
    assert (part.error_code, part.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert part.error_message
    world.fs.space_left = None
    assert produced(client, batch(b"next")).base_offset == requests
    fetched = only_partition(client.call(fetch_request("t"), 12, FetchResponse))
    assert fetched.high_watermark == requests + 1


def test_a_disk_that_fails_is_reported_to_all_who_wait(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    produced(client, batch(b"x"))
    world.fs.fail = lambda kind, path: OSError(errno.EIO, "broken", path) if kind == "write" else None
    request = produce_request(batch(b"x"), topic="t")
    client.send_raw(b"".join(client.requests.frame_of(request, 9) for _ in range(3)))
    codes = [client.receive(ProduceResponse).responses[0].partition_responses[0].error_code for _ in range(3)]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 3


def test_acks_0_on_the_short_way(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    request = produce_request(batch(b"x"), topic="t", acks=0)
    for _ in range(3):
        client.send(request, 9)
        client.requests.forget_last()
    world.clock.run_until_idle()
    assert world.folder.logs.get("t", 0).high_watermark == 3
    request.topic_data[0].partition_data[0].records = damaged(batch(b"x"))
    client.send(request, 9)
    assert client.closed
    assert not client.frames


def test_acks_0_is_not_answered_by_a_fault_of_ours_either(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, world: BrokerWorld
) -> None:
    world.create_topic("t")
    client = world.connect()

    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(ProduceAppend, "image", broken)
    client.send(produce_request(batch(b"x"), topic="t", acks=0), 9)
    assert client.closed
    assert not client.frames
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]


def test_internal_topics_are_for_the_broker_alone(world: BrokerWorld) -> None:
    world.folder.internal_topics.ensure(CONSUMER_OFFSETS)
    keyed = bytes(build_batch([RecordData(b"key", b"value")], timestamp_ms=0))
    request = produce_request(keyed, topic=CONSUMER_OFFSETS)
    for client_id in ("mock", "__admin_client"):  # the latter may in Apache Kafka (AdminUtils)
        client = world.connect(client_id=client_id)
        for _ in range(2):
            response = client.call(request, 9, ProduceResponse)
            assert response.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert world.folder.logs.get(CONSUMER_OFFSETS, 0).log_end_offset == 0


def test_what_is_learned_is_bounded(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=MOST_LEARNED + 10)
    client = world.connect()
    for round_ in range(2):
        for partition in range(MOST_LEARNED + 10):
            assert produced(client, batch(b"x"), partition=partition).base_offset == round_


def test_requests_with_several_partitions_go_the_ordinary_way(world: BrokerWorld) -> None:
    world.create_topic("t", partitions=2)
    client = world.connect()
    data = [PartitionProduceData(index, batch(b"x")) for index in range(2)]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData("t", partition_data=data)])
    for round_ in range(3):
        (topic,) = client.call(request, 9, ProduceResponse).responses
        assert [part.base_offset for part in topic.partition_responses] == [round_, round_]


@pytest.mark.parametrize("version", [9, 13])
def test_a_partition_that_another_broker_leads_takes_nothing_by_either_way(version: int, world: BrokerWorld) -> None:
    topic = world.create_topic("t", partitions=2)
    client = world.connect()

    def errors() -> list[int]:
        return [
            produced(client, batch(b"x"), version, topic_id=topic.topic_id, partition=partition).error_code
            for partition in (0, 1)
        ]

    for _ in range(2):  # the second goes the short way
        assert errors() == [ErrorCode.NONE, ErrorCode.NONE]
    world.leaders.move("t", 1, ELSEWHERE)
    for _ in range(2):
        assert errors() == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
    world.leaders.move("t", 1, None)
    assert errors() == [ErrorCode.NONE, ErrorCode.NONE]
    assert [world.folder.logs.get("t", partition).high_watermark for partition in (0, 1)] == [5, 3]
