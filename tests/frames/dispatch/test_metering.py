"""Quotas on virtual time: throttle times, connections not read meanwhile, and the resulting rate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.clients.requests import batch, fetch_request, produce_request
from devtools.clients.wire import decode_response
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import PutQuota
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.quotas.clients import Account
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.coordinator.ports import TopicImage
from shareq.protocol.bounded_reading import BoundedReader
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message

RATE = 10_000.0
MEMBER = "mmmmmmmmmmmmmmmmmmmmmm"


def world_with(entity: QuotaEntity, key: str, value: float) -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t")
    limit(world, entity, key, value)
    return world


def limit(world: BrokerWorld, entity: QuotaEntity, key: str, value: float | None) -> None:
    world.services.metadata.alter_quotas([PutQuota(entity, key, value)])


def produce(client: MockConnection, size: int = 2000) -> ProduceResponse:
    return client.call(produce_request(batch(b"x" * size), topic="t"), 9, ProduceResponse)


def run(world: BrokerWorld, seconds: int, step: Callable[[], int]) -> float:
    """Return the bytes per second of a client that sends each request as soon as the last is answered."""
    total, end_ms = 0, world.clock.now_ms() + seconds * 1000
    while world.clock.now_ms() < end_ms:
        done = step()
        total += done
        if not done:
            world.clock.advance(10)
    return total / seconds


def test_the_answer_goes_out_at_once_and_the_next_request_waits() -> None:
    world = world_with(QuotaEntity(None, "mock"), "producer_byte_rate", 1000.0)
    client, other = world.connect(), world.connect(client_id="other")
    answer = produce(client, 20_000)
    size = len(client.requests.frame_of(produce_request(batch(b"x" * 20_000), topic="t"), 9)) - 4
    client.requests.forget_last()
    assert answer.throttle_time_ms == size - 10_000
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert world.services.quotas.muted == 1
    client.send(ApiVersionsRequest(), 0)
    world.clock.advance(answer.throttle_time_ms - 1)
    assert not client.frames
    assert other.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == ErrorCode.NONE
    world.clock.advance(1)
    assert client.receive(ApiVersionsResponse).error_code == ErrorCode.NONE
    assert world.services.quotas.muted == 0


def test_requests_that_came_together_wait_as_well() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "producer_byte_rate", 1000.0)
    client = world.connect()
    request = produce_request(batch(b"x" * 20_000), topic="t")
    client.send_raw(b"".join(client.requests.frame_of(request, 9) for _ in range(3)))
    first = client.receive(ProduceResponse)
    assert not client.frames
    assert first.throttle_time_ms > 10_000
    world.clock.advance(first.throttle_time_ms)
    assert client.receive(ProduceResponse).throttle_time_ms > 10_000
    assert not client.frames


def test_a_muted_client_is_not_read_from_beyond_its_buffer() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "producer_byte_rate", 1000.0)
    client = world.connect()
    throttle_ms = produce(client, 20_000).throttle_time_ms
    frame = client.requests.frame_of(produce_request(batch(b"x" * 50_000), topic="t"), 9)
    client.requests.forget_last()
    for _ in range(6):
        client.send_raw(frame)
    assert not client.reading
    world.clock.advance(throttle_ms)
    world.clock.run_until_idle()
    assert len(client.frames) == 1
    client.disconnect()
    assert world.services.quotas.muted == 0
    world.clock.advance(10_000_000)


def test_without_an_answer_a_client_waits_too() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "producer_byte_rate", 1000.0)
    client = world.connect()
    client.send(produce_request(batch(b"x" * 20_000), topic="t", acks=0), 9)
    client.requests.forget_last()
    client.send(ApiVersionsRequest(), 0)
    world.clock.advance(10_000)
    assert not client.frames
    world.clock.advance(1_000)
    client.receive(ApiVersionsResponse)


def test_quotas_survive_a_restart() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "producer_byte_rate", 1000.0)
    world.restart()
    assert produce(world.connect(), 20_000).throttle_time_ms > 10_000


def filled(world: BrokerWorld, batches: int, size: int = 2000) -> None:
    producer = world.connect()
    for _ in range(batches):
        assert produce(producer, size).responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_a_consumer_is_slowed_to_its_rate_by_answers_without_records() -> None:
    world = world_with(QuotaEntity(None, "mock"), "consumer_byte_rate", RATE)
    filled(world, 1)
    client = world.connect()
    sent = empty = 0
    throttled: list[int] = []

    def step() -> int:
        nonlocal sent, empty
        if sent == len(throttled):
            client.send(fetch_request("t", 0, max_wait_ms=0), 12)
            sent += 1
        world.clock.run_until_idle()
        if not client.frames:
            return 0
        response = client.receive(FetchResponse)
        throttled.append(response.throttle_time_ms)
        size = sum(len(part.records or b"") for topic in response.responses for part in topic.partitions)
        assert not (size and response.throttle_time_ms)
        empty += not size
        return size

    rate = run(world, 120, step)
    assert RATE * 0.8 <= rate <= RATE * 1.1
    assert empty > 50
    assert max(throttled) > 0


def session_fetch(session_id: int, epoch: int) -> FetchRequest:
    request = fetch_request("t", 0, max_wait_ms=0)
    request.session_id, request.session_epoch = session_id, epoch
    return request


def test_a_throttled_fetch_leaves_the_session_as_it_is() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "consumer_byte_rate", 300.0)
    filled(world, 2)
    client = world.connect()
    first = client.call(session_fetch(0, 0), 12, FetchResponse)
    assert first.session_id != 0
    assert len(first.responses[0].partitions[0].records or b"") > 2000
    kept_back = client.call(session_fetch(first.session_id, 1), 12, FetchResponse)
    assert (kept_back.throttle_time_ms > 0, kept_back.responses) == (True, [])
    assert (kept_back.error_code, kept_back.session_id) == (ErrorCode.NONE, first.session_id)
    world.clock.advance(20_000)
    answered = client.call(session_fetch(first.session_id, 2), 12, FetchResponse)
    assert (answered.error_code, answered.throttle_time_ms) == (ErrorCode.NONE, 0)
    assert len(answered.responses[0].partitions[0].records or b"") > 2000


def test_a_share_consumer_gets_what_it_has_acquired_and_waits_afterwards() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "consumer_byte_rate", 1000.0)
    topic = world.services.metadata.topic("t")
    assert topic is not None
    client, worker = world.connect(), world.connect()
    beat = ShareGroupHeartbeatRequest("g", MEMBER, 0, subscribed_topic_names=["t"])
    assert worker.call(beat, 1, ShareGroupHeartbeatResponse).error_code == ErrorCode.NONE
    total = 0
    began_ms = world.clock.now_ms()
    for epoch in range(20):
        part = [FetchTopic(topic.topic_id, [FetchPartition(0)])] if epoch == 0 else []
        request = ShareFetchRequest("g", MEMBER, epoch, 1000, 1, 1 << 20, 500, 500, topics=part)
        client.send(request, 1)
        world.clock.run_until_idle()
        filled(world, 1)
        world.clock.run_until_idle()
        if not client.frames:
            world.clock.advance(1001)
        response = client.receive(ShareFetchResponse)
        total += sum(len(part.records or b"") for topic in response.responses for part in topic.partitions)
        world.clock.advance(response.throttle_time_ms)
    seconds = (world.clock.now_ms() - began_ms) / 1000
    assert total > 30_000
    assert total / seconds <= 1000 * 1.1 + 10_000 / seconds


def test_the_time_that_requests_take_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "request_percentage", 10.0)
    client = world.connect()
    spent = iter(range(0, 1000, 1))
    monkeypatch.setattr(world.clock, "now_ns", lambda: world.clock.now_ms() * 1_000_000 + next(spent) * 300_000_000)
    throttled = [client.call(ApiVersionsRequest(), 1, ApiVersionsResponse).throttle_time_ms]
    while not throttled[-1]:
        throttled.append(client.call(ApiVersionsRequest(), 1, ApiVersionsResponse).throttle_time_ms)
    assert 0 < throttled[-1] <= 1000
    client.send(ApiVersionsRequest(), 1)
    world.clock.run_until_idle()
    assert not client.frames
    world.clock.advance(throttled[-1])
    client.receive(ApiVersionsResponse)


def creation(*names: str, partitions: int) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(name, partitions, 1) for name in names])


def test_topics_over_the_quota_are_refused() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "controller_mutation_rate", 1.0)
    client = world.connect()
    answer = client.call(creation("a", "b", partitions=12), 7, CreateTopicsResponse)
    codes = [topic.error_code for topic in answer.topics]
    assert codes == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert answer.throttle_time_ms == 1000
    world.clock.advance(1000)
    deletion = DeleteTopicsRequest([DeleteTopicState("a"), DeleteTopicState("t")])
    answer_d = client.call(deletion, 6, DeleteTopicsResponse)
    rows = {row.name: row.error_code for row in answer_d.responses}
    assert rows == {"a": ErrorCode.NONE, "t": ErrorCode.THROTTLING_QUOTA_EXCEEDED}
    assert answer_d.throttle_time_ms == 12_000
    world.clock.advance(12_000)
    growth = CreatePartitionsRequest([CreatePartitionsTopic("t", 3, None), CreatePartitionsTopic("nowhere", 3, None)])
    answer_p = client.call(growth, 3, CreatePartitionsResponse)
    assert [row.error_code for row in answer_p.results] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    again = client.call(CreatePartitionsRequest([CreatePartitionsTopic("t", 4, None)]), 3, CreatePartitionsResponse)
    assert (again.results[0].error_code, again.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 2000)


def test_older_clients_do_what_they_want_and_wait_afterwards() -> None:
    world = world_with(QuotaEntity("ANONYMOUS"), "controller_mutation_rate", 1.0)
    client = world.connect()
    answer = client.call(creation("a", "b", partitions=12), 5, CreateTopicsResponse)
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.NONE, ErrorCode.NONE]
    assert answer.throttle_time_ms == 13_000
    client.send(ApiVersionsRequest(), 0)
    world.clock.advance(12_999)
    assert not client.frames
    world.clock.advance(1)
    client.receive(ApiVersionsResponse)


def test_nothing_of_it_is_made_without_quotas(world: BrokerWorld) -> None:
    world.create_topic("t")
    produce(world.connect())
    assert "metering" not in vars(world.broker.dispatcher)
    limit(world, QuotaEntity(ip=DEFAULT), "connection_creation_rate", 5.0)
    produce(world.connect())
    assert "metering" not in vars(world.broker.dispatcher)


def test_a_frame_decodes_as_what_it_is() -> None:
    """Versions with a throttle time include it; the others are encoded without it."""
    world = world_with(QuotaEntity("ANONYMOUS"), "request_percentage", 1e-9)
    client = world.connect()
    client.send(ApiVersionsRequest(), 0)
    world.clock.advance(5000)
    _, response = decode_response(client.frames[0], ApiVersionsRequest.API_KEY, 0)
    assert isinstance(response, ApiVersionsResponse)


def test_the_turns_of_a_long_request_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all of 20,000 topic look-ups are in turns after the handler's first."""
    world = world_with(QuotaEntity(None, "mock"), "request_percentage", 1.0)
    client, used = world.connect(), list[int]()
    count_used, look_up, count = Account.used, MetadataStore.topic_by_id, BoundedReader._count
    now_ns = 0

    def looking(self: MetadataStore, topic_id: bytes) -> TopicImage | None:
        nonlocal now_ns
        now_ns += 10_000
        return look_up(self, topic_id)

    def counting(self: BoundedReader[Message], elements: int) -> None:
        nonlocal now_ns
        now_ns += 1_000
        count(self, elements)

    def noting(self: Account, time_ns: int, now_ms: int) -> int:
        used.append(time_ns)
        return count_used(self, time_ns, now_ms)

    monkeypatch.setattr(MetadataStore, "topic_by_id", looking)
    monkeypatch.setattr(BoundedReader, "_count", counting)
    monkeypatch.setattr(Account, "used", noting)
    monkeypatch.setattr(world.clock, "now_ns", lambda: now_ns)
    ids = [number.to_bytes(16, "big") for number in range(1, 20_001)]
    client.send(MetadataRequest([MetadataRequestTopic(each, None) for each in ids]), 12)
    world.clock.run_until_idle()
    assert len(client.receive(MetadataResponse).topics) == 20_000
    assert sum(used) == now_ns > 20_000 * 10_000
    assert world.services.quotas.muted
    client.send(ApiVersionsRequest(), 0)
    world.clock.run_until_idle()
    assert not client.frames
    world.clock.advance(1000)
    assert client.receive(ApiVersionsResponse).error_code == ErrorCode.NONE
