from __future__ import annotations

from devtools.clients.requests import batch, fetch_request, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.durations import BOUNDS_NS, MS, Durations, Longest
from shareq.broker.network.counters import Requests
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.produce import ProduceRequest, ProduceResponse
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchableTopicResponse, ShareFetchResponse
from tests.support.each import for_each


def counted(world: BrokerWorld, api_key: ApiKey) -> Requests:
    return world.broker.dispatcher.requests[api_key]


def produce(client: MockConnection, *, acks: int = 1, topic: str = "t") -> ProduceRequest:
    request = produce_request(batch(b"v"), topic=topic, acks=acks)
    client.send(request, 9)
    if not acks:
        client.requests.forget_last()
    return request


def test_answers_are_counted_with_what_they_took(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    for _ in range(5):  # from the second on by the short way
        produce(client)
    for _ in range(5):
        client.receive(ProduceResponse)
    counters = counted(world, ApiKey.PRODUCE)
    assert (counters.durations.count, counters.durations.total_ns, counters.unanswered) == (5, 0, 0)
    assert counters.errors == {}


def test_a_long_poll_takes_as_long_as_it_waits(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    client.send(fetch_request("t", max_wait_ms=250), 12)
    world.clock.advance(1_000)
    client.receive(FetchResponse)
    durations = counted(world, ApiKey.FETCH).durations
    assert (durations.count, durations.total_ns) == (1, 250 * MS)


def test_a_request_that_waits_behind_another_is_counted_from_its_own_turn(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    client.send_raw(
        client.requests.frame_of(fetch_request("t", max_wait_ms=250), 12)
        + client.requests.frame_of(ApiVersionsRequest("c", "1"), 3)
    )
    world.clock.advance(1_000)
    client.receive(FetchResponse)
    client.receive(ApiVersionsResponse)
    assert counted(world, ApiKey.API_VERSIONS).durations.total_ns == 0


def test_requests_without_an_answer(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    for _ in range(3):
        produce(client, acks=0)
    counters = counted(world, ApiKey.PRODUCE)
    assert (counters.unanswered, counters.durations.count) == (3, 0)


def test_errors_are_counted_by_code_wherever_they_are(world: BrokerWorld) -> None:
    client = world.connect()
    topics = [MetadataRequestTopic(name="a b"), MetadataRequestTopic(name="..")]
    client.call(MetadataRequest(topics, allow_auto_topic_creation=False), 9, MetadataResponse)
    produce(client, topic="missing")
    client.receive(ProduceResponse)
    assert counted(world, ApiKey.METADATA).errors == {ErrorCode.INVALID_TOPIC_EXCEPTION: 2}
    assert counted(world, ApiKey.PRODUCE).errors == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 1}


def test_a_write_that_fails_on_the_short_way(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    for _ in range(2):
        produce(client)
        client.receive(ProduceResponse)
    world.fs.space_left = 0
    produce(client)
    client.receive(ProduceResponse)
    assert counted(world, ApiKey.PRODUCE).errors == {ErrorCode.KAFKA_STORAGE_ERROR: 1}


def test_an_unknown_version_of_api_versions(world: BrokerWorld) -> None:
    client = world.connect()
    client.send(ApiVersionsRequest("c", "1"), 4)
    client.receive_frame()
    request = bytearray(client.requests.frame_of(ApiVersionsRequest("c", "1"), 4))
    request[6:8] = (9).to_bytes(2, "big")
    client.send_raw(bytes(request))
    client.receive_frame()
    counters = counted(world, ApiKey.API_VERSIONS)
    assert (counters.durations.count, counters.errors) == (2, {ErrorCode.UNSUPPORTED_VERSION: 1})


@for_each("api_key", HANDLERS)
def test_every_response_has_a_reader(api_key: ApiKey) -> None:
    response_class = codec(api_key).response_class
    assert error_reader(response_class)(response_class()) == []


def test_all_errors_of_a_response_are_found() -> None:
    rows = [
        PartitionData(
            0, ErrorCode.UNKNOWN_TOPIC_ID, acknowledge_error_code=ErrorCode.INVALID_RECORD_STATE, records=b""
        ),
        PartitionData(1, records=b""),
        PartitionData(2, ErrorCode.UNKNOWN_TOPIC_ID, records=b""),
    ]
    topics = [ShareFetchableTopicResponse(bytes(16), rows[:2]), ShareFetchableTopicResponse(bytes(16), rows[2:])]
    response = ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST, responses=topics)
    assert sorted(error_reader(ShareFetchResponse)(response)) == sorted(
        [
            ErrorCode.INVALID_REQUEST,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.INVALID_RECORD_STATE,
        ]
    )


def test_durations_fall_into_buckets_with_their_bounds() -> None:
    durations = Durations()
    durations.add(0)
    durations.add(BOUNDS_NS[0], 2)
    durations.add(BOUNDS_NS[0] + 1)
    durations.add(BOUNDS_NS[-1] + 1)
    assert durations.buckets == [3, 1] + [0] * (len(BOUNDS_NS) - 2) + [1]
    assert (durations.count, durations.total_ns) == (5, 3 * BOUNDS_NS[0] + 1 + BOUNDS_NS[-1] + 1)


def test_the_longest_is_forgotten_after_a_minute_at_most() -> None:
    longest = Longest()
    longest.add(7, 1_000 * MS)
    longest.add(5, 2_000 * MS)
    assert longest.of(29_999 * MS) == 7
    longest.add(6, 30_000 * MS)
    assert longest.of(59_999 * MS) == 7
    assert longest.of(60_000 * MS) == 6
    assert longest.of(200_000 * MS) == 0
