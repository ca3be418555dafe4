"""What one stranger asks holds nobody up: elements are bounded, and handled so many in a turn of the loop."""

from __future__ import annotations

import logging
import struct
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from devtools.clients.requests import batch, produce
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.dispatch import long_requests
from shareq.broker.dispatch.element_limits import MOST_ELEMENTS, RESOURCES, largest_frame, most_elements
from shareq.broker.dispatch.long_requests import FREED, arrays_of, let_go
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.effort import RECORD_EFFORT, STEP_EFFORT
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.groups.share import ShareGroupService
from shareq.broker.handlers.cluster import find_coordinator
from shareq.broker.handlers.groups import offset_fetch
from shareq.broker.handlers.records import delete_records
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.metadata.topic_names import SHARE_GROUP_STATE
from shareq.broker.network.connection_limits import ConnectionLimits
from shareq.broker.share import acknowledgements
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.transactions import named_partitions
from shareq.broker.transactions.markers import MarkerWriter
from shareq.coordinator.group.offsets import fetch as coordinator_fetch
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.bounded_reading import STEP_ELEMENTS, BoundedReader
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated import initialize_share_group_state
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from shareq.protocol.generated.fetch import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateData,
)
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from shareq.protocol.primitives import Message, uvarint
from shareq.protocol.records import opening
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.support.worlds.counted_work import Work

GROUP = 32

_HEADER = struct.Struct(">hhih")


def raw_request(api_key: ApiKey, version: int, count: int, element: bytes, rest: bytes) -> bytes:
    """The frame of a request whose first field is an array of equal elements."""
    header = _HEADER.pack(api_key, version, 7, 1) + b"x\0"
    return frame(header + uvarint(count + 1) + element * count + rest)


ATTACKS = {
    "DescribeConfigs of 10.4 M groups": (ApiKey.DESCRIBE_CONFIGS, 4, 10_400_000, b"\x20\x06aaaaa\0\0", b"\0\0\0"),
    "Metadata by 5.2 M ids": (ApiKey.METADATA, 12, 5_200_000, b"i" * 16 + b"\0\0", b"\1\0\0"),
    "ListGroups with 47 M filters": (ApiKey.LIST_GROUPS, 5, 47_000_000, b"\2a", b"\1\0"),
    "ListGroups with 5,000 filters": (ApiKey.LIST_GROUPS, 5, 5_000, b"\2a", b"\1\0"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_request_of_too_many_elements_is_refused_before_memory_is_taken(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = BrokerWorld()
    stranger = world.connect()
    stranger.send_raw(raw_request(ApiKey.METADATA, 12, 20_000, bytes(16) + b"\0\0", b"\0\0\0"))  # imports
    world.clock.run_until_idle()
    data = raw_request(*ATTACKS[name])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with caplog.at_level(logging.WARNING):
            stranger.send_raw(data)
            world.clock.run_until_idle()
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * len(data) + 100_000  # the frame itself, without its size, and what handles it
    assert stranger.closed
    (line,) = (each.getMessage() for each in caplog.records)
    assert f"more than {most_elements(ATTACKS[name][0])} elements" in line


def describe_groups(count: int) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(GROUP, f"group-{i}") for i in range(count)], True, True)


def test_groups_are_described_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 of 60 µs each: a third of a second, if it were done at once."""
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(ConfigAdmin, "describe_group", work.count(ConfigAdmin.describe_group))
    stranger.send(describe_groups(5_000), 4)
    work.run(world, neighbour)
    answer = stranger.receive(DescribeConfigsResponse)
    assert sum(work.ticks) == 5_000
    assert max(work.ticks) <= 40
    assert [row.resource_name for row in answer.results] == [f"group-{i}" for i in range(5_000)]
    one = world.connect().call(describe_groups(1), 4, DescribeConfigsResponse)
    assert all(row.configs == one.results[0].configs for row in answer.results)


@pytest.mark.parametrize("may_create", [True, False])
def test_unknown_topics_are_looked_up_in_turns(monkeypatch: pytest.MonkeyPatch, may_create: bool) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(MetadataStore, "topic_by_id", work.count(MetadataStore.topic_by_id))
    ids = [i.to_bytes(16, "big") for i in range(1, 50_001)]
    stranger.send(MetadataRequest([MetadataRequestTopic(each, None) for each in ids], may_create), 12)
    work.run(world, neighbour)
    answer = stranger.receive(MetadataResponse)
    assert sum(work.ticks) == 50_000
    assert max(work.ticks) <= 250
    assert [topic.topic_id for topic in answer.topics] == ids
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert [broker.port for broker in answer.brokers] == [9092]


def test_coordinators_are_found_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 of 4 µs each."""
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    keys = [f"group-{i}" for i in range(40_000)]
    stranger.call(FindCoordinatorRequest(coordinator_keys=keys[:1]), 5, FindCoordinatorResponse)  # makes the topic
    monkeypatch.setattr(find_coordinator, "_find", work.count(find_coordinator._find))
    stranger.send(FindCoordinatorRequest(coordinator_keys=keys), 5)
    work.run(world, neighbour)
    answer = stranger.receive(FindCoordinatorResponse)
    assert [row.key for row in answer.coordinators] == keys
    assert {row.error_code for row in answer.coordinators} == {ErrorCode.NONE}
    assert sum(work.ticks) == len(keys)
    assert max(work.ticks) <= 2_000


def test_markers_are_written_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 of 40 µs each. So many partitions as a request could have were 1.6 million, and a minute."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t")
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(MarkerWriter, "write", work.count(MarkerWriter.write))
    topic = WritableTxnMarkerTopic("t", list(range(3_000)))
    stranger.send(WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, [topic])]), 1)
    work.run(world, neighbour)
    (marker,) = stranger.receive(WriteTxnMarkersResponse).markers
    (answered,) = marker.topics
    assert [row.partition_index for row in answered.partitions] == topic.partition_indexes
    errors = [row.error_code for row in answered.partitions]
    assert errors == [ErrorCode.NONE, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2_999]
    assert max(work.ticks) <= 500
    assert sum(work.ticks) == 3_000


@pytest.mark.parametrize(
    ("version", "topics"),
    [(3, [("t", 30_000)]), (3, [(f"u{at}", 300) for at in range(100)]), (5, [("t", 30_000)]), (5, [("t", 900)])],
)
def test_partitions_of_transactions_are_looked_at_in_turns(
    monkeypatch: pytest.MonkeyPatch, version: int, topics: list[tuple[str, int]]
) -> None:
    """Of 5 µs each; in one transaction, or in thirty of brokers."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 2)
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(named_partitions, "TopicPartition", work.count(TopicPartition))  # two for each
    named = [AddPartitionsToTxnTopic(name, list(range(partitions))) for name, partitions in topics]
    if version == 3:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=1,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=named,
        )
    else:
        times = 30_000 // topics[0][1]
        request = AddPartitionsToTxnRequest(
            [AddPartitionsToTxnTransaction(f"x{at}", 1, 0, False, named) for at in range(times)]
        )
    stranger.send(request, version)
    work.run(world, neighbour)
    answer = stranger.receive(AddPartitionsToTxnResponse)
    results = answer.results_by_topic_v3_and_below
    for transaction in answer.results_by_transaction:
        results += transaction.topic_results
    rows = {
        (topic.name, row.partition_index): row.partition_error_code
        for topic in results
        for row in topic.results_by_partition
    }
    expected = {(name, at): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for name, count in topics for at in range(count)}
    expected |= {at: ErrorCode.OPERATION_NOT_ATTEMPTED for at in (("t", 0), ("t", 1)) if at in expected}
    assert rows == expected
    assert sum(work.ticks) >= 2 * len(rows)
    assert max(work.ticks) <= 5_000


def test_share_states_are_initialised_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 of 25 µs each, with the same share partition again and again: what is operated on last is answered."""
    world, work = BrokerWorld(), Work()
    topic_id = world.create_topic("t", 2).topic_id
    stranger, neighbour = world.connect(), world.connect()
    world.services.internal_topics.ensure(SHARE_GROUP_STATE)
    monkeypatch.setattr(ShareCoordinatorService, "initialize", work.count(ShareCoordinatorService.initialize))
    partitions = [initialize_share_group_state.PartitionData(index % 3, 0, 7) for index in range(5_000)]
    stranger.send(InitializeShareGroupStateRequest("g", [InitializeStateData(topic_id, partitions)]), 0)
    work.run(world, neighbour)
    (result,) = stranger.receive(InitializeShareGroupStateResponse).results
    errors = {row.partition: row.error_code for row in result.partitions}
    assert errors == {0: ErrorCode.NONE, 1: ErrorCode.NONE, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert sum(work.ticks) == 5_000
    assert max(work.ticks) <= 500


def test_a_long_request_is_given_back_in_steps() -> None:
    """190,000 acknowledgement batches, freed at once, held the loop for 20 ms."""
    freed = 0

    class Counted(AcknowledgementBatch):
        def __del__(self) -> None:
            nonlocal freed
            freed += 1

    def batches(count: int) -> list[AcknowledgementBatch]:
        return [Counted(0, 0, [1]) for _ in range(count)]

    kept = batches(10)
    many = [AcknowledgePartition(at, batches(5 * FREED)) for at in range(3)]
    few = [AcknowledgePartition(at, batches(1)) for at in range(2 * FREED)]
    shared = AcknowledgePartition(0, kept)
    topic = AcknowledgeTopic(bytes(16), [*many, *few, shared])
    held: list[Message] = [ShareAcknowledgeRequest("g", "m", 1, False, [topic])]
    del many, few, shared, topic
    steps, before = [], 0
    for _ in let_go(held):
        steps.append(freed - before)
        before = freed
    assert not held
    assert freed == 17 * FREED
    assert max(steps) < 2 * FREED
    assert len(kept) == 10


@pytest.mark.parametrize("last", [0, 1])
def test_a_long_request_with_arrays_that_are_null_is_given_back_in_steps(last: int) -> None:
    freed = 0

    class Counted(DescribeShareGroupOffsetsRequestTopic):
        def __del__(self) -> None:
            nonlocal freed
            freed += 1

    def group(at: int) -> DescribeShareGroupOffsetsRequestGroup:
        return DescribeShareGroupOffsetsRequestGroup("g", [Counted("t", [0]) for _ in range(100)] if at % 2 else None)

    held: list[Message] = [DescribeShareGroupOffsetsRequest([group(at + last) for at in range(400)])]
    steps, before = [], 0
    for _ in let_go(held):
        steps.append(freed - before)
        before = freed
    assert not held
    assert freed == 20_000
    assert max(steps) < 2 * FREED


def test_the_arrays_of_every_request_are_known() -> None:
    """What is given back in steps is found by the annotations of generated classes."""
    assert arrays_of(DescribeShareGroupOffsetsRequestGroup) == ["topics"]
    assert arrays_of(DescribeShareGroupOffsetsRequestTopic) == []
    for key in HANDLERS:
        request = codec(key).request_class()
        arrays = {name for name in request.FIELDS if type(getattr(request, name)) is list}
        numbers = {name for name, of in type(request).__init__.__annotations__.items() if of.startswith("list[int]")}
        assert arrays <= {*arrays_of(type(request)), *numbers}, key


@pytest.mark.parametrize("last", [None, []])
def test_arrays_that_are_null_in_some_elements_are_no_hindrance(last: list[AbortedTransaction] | None) -> None:
    """The aborted transactions of a Fetch: null beside an error, else a list."""
    rows = [PartitionData(at, aborted_transactions=None if at % 2 else [], records=b"") for at in range(3 * FREED)]
    rows[-1].aborted_transactions = last
    held: list[Message] = [FetchResponse(responses=[FetchableTopicResponse("t", partitions=rows)])]
    del rows
    assert len(list(let_go(held))) >= 2
    assert not held


def test_topics_of_many_partitions_are_answered_in_turns() -> None:
    world = BrokerWorld()
    for i in range(40):
        world.create_topic(f"t{i}", 500)
    client = world.connect()
    client.send(MetadataRequest(None), 12)
    ticks = 0
    while not client.frames:
        world.clock.run_tick()
        ticks += 1
    assert ticks >= 20
    answer = client.receive(MetadataResponse)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == sorted((f"t{i}", 500) for i in range(40))


def test_errors_in_parts_are_counted() -> None:
    world = BrokerWorld()
    client = world.connect()
    client.call(MetadataRequest([MetadataRequestTopic(bytes(15) + b"x", None)]), 12, MetadataResponse)
    ids = [i.to_bytes(16, "big") for i in range(1, 2_001)]
    client.call(MetadataRequest([MetadataRequestTopic(each, None) for each in ids]), 12, MetadataResponse)
    requests = world.broker.dispatcher.requests[ApiKey.METADATA]
    assert requests.errors[ErrorCode.UNKNOWN_TOPIC_ID] == 2_001
    assert requests.durations.count == 2


def test_a_long_request_of_an_ordinary_client_is_answered() -> None:
    """A commit of 100,000 offsets, as by one consumer of everything: read in steps, then handled as any other."""
    world = BrokerWorld()
    topics = [
        OffsetCommitRequestTopic(f"t{i}", partitions=[OffsetCommitRequestPartition(j, j) for j in range(100)])
        for i in range(1_000)
    ]
    client = world.connect()
    answer = client.call(OffsetCommitRequest("g", topics=topics), 9, OffsetCommitResponse)
    assert [len(topic.partitions) for topic in answer.topics] == [100] * 1_000


def test_requests_behind_a_long_one_wait_for_it() -> None:
    """Answers come in the order of requests, and nothing else of the connection is handled meanwhile."""
    world = BrokerWorld()
    client = world.connect()
    client.send(describe_groups(2_000), 4)
    client.send(ApiVersionsRequest(), 0)
    assert not client.frames
    assert len(client.receive(DescribeConfigsResponse).results) == 2_000
    assert client.receive(ApiVersionsResponse).api_keys


def test_a_client_that_goes_away_is_not_worked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(ConfigAdmin, "describe_group", work.count(ConfigAdmin.describe_group))
    stranger.send(describe_groups(5_000), 4)
    for _ in range(10):
        world.clock.run_tick()
    stranger.disconnect()
    work.run(world, neighbour)
    assert sum(work.ticks) < 1_000
    assert not world.services.turns


def test_a_client_that_goes_away_while_it_waits_leaves_nothing_behind() -> None:
    world = BrokerWorld()
    world.connect().call(describe_groups(5_000), 4, DescribeConfigsResponse)  # imports
    data = raw_request(ApiKey.METADATA, 12, 90_000, bytes(16) + b"\0\0", b"\0\0\0")
    world.connect().send(describe_groups(5_000), 4)
    budget = world.services.request_budget
    first = budget.held
    assert first > 0
    tracemalloc.start()
    try:
        for _ in range(20):
            stranger = world.connect()
            stranger.send_raw(data)
            assert budget.held == first + len(data)
            stranger.disconnect()
            assert budget.held == first
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < len(data)
    world.clock.run_until_idle()
    assert budget.held == 0
    assert len(world.services.turns) == 0


def test_an_answer_of_too_many_bytes_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(long_requests, "MOST_ANSWER_BYTES", 1_000_000)
    world = BrokerWorld()
    client = world.connect()
    client.send(describe_groups(5_000), 4)
    with caplog.at_level(logging.WARNING):
        world.clock.run_until_idle()
    assert client.closed
    assert "DESCRIBE_CONFIGS v4 takes more than 1000000 bytes" in caplog.text


def test_a_defect_in_a_part_is_logged_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = BrokerWorld()
    client = world.connect()
    calls = iter(range(2_000))

    def defect(*_: object) -> None:
        if next(calls) == 1_500:
            raise RuntimeError("a defect")

    monkeypatch.setattr(MetadataStore, "topic_by_id", defect)
    ids = [i.to_bytes(16, "big") for i in range(1, 2_001)]
    client.send(MetadataRequest([MetadataRequestTopic(each, None) for each in ids]), 12)
    world.clock.run_until_idle()
    assert client.closed
    assert not client.frames
    assert "METADATA v12 failed" in caplog.text
    assert not world.services.turns


def test_a_defect_in_the_reading_is_logged_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    monkeypatch.setattr(BoundedReader, "read_in_steps", failing)
    world = BrokerWorld()
    client = world.connect()
    client.send(describe_groups(5_000), 4)
    world.clock.run_until_idle()
    assert client.closed
    assert "a defect" in caplog.text


def test_a_defect_among_many_acknowledgements_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object, **__: object) -> ErrorCode:
        raise RuntimeError("a defect")

    world = BrokerWorld()
    client = world.connect()
    topic = world.create_topic("t", 3)
    joined = client.call(ShareGroupHeartbeatRequest("g", "m" * 22, 0, None, ["t"]), 1, ShareGroupHeartbeatResponse)
    assert not joined.error_code
    opened = client.call(ShareFetchRequest("g", "m" * 22, 0, max_records=1, batch_size=1), 1, ShareFetchResponse)
    assert not opened.error_code
    monkeypatch.setattr(acknowledgements, "validate_ack_batches", failing)
    partitions = [
        AcknowledgePartition(index, [AcknowledgementBatch(i, i, [1]) for i in range(1_000)]) for index in range(3)
    ]
    topics = [AcknowledgeTopic(topic.topic_id, partitions)]
    client.send(ShareAcknowledgeRequest("g", "m" * 22, 1, topics=topics), 1)
    world.clock.run_until_idle()
    assert client.closed
    assert not client.frames
    assert "a defect" in caplog.text


def test_every_limit_is_that_of_an_rpc_that_is_served() -> None:
    assert set(MOST_ELEMENTS) <= set(HANDLERS)
    assert most_elements(ApiKey.DESCRIBE_CONFIGS) == RESOURCES
    assert min(MOST_ELEMENTS.values()) + 1 > STEP_ELEMENTS


def test_a_list_of_groups_takes_the_filters_there_are() -> None:
    answer = BrokerWorld().connect().call(ListGroupsRequest(["Stable"] * 500, []), 5, ListGroupsResponse)
    assert answer.error_code == ErrorCode.NONE


def test_a_million_topic_names_in_a_heartbeat_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could be no record is refused by its size, what has more names than a turn takes by their number."""
    world, work = BrokerWorld(), Work()
    monkeypatch.setattr(ShareGroupService, "heartbeat", work.count(ShareGroupService.heartbeat))
    for count in (5_000, 5_001, 100_000, 1_000_000):
        client = world.connect()
        names = [f"{i % 1000:03}" for i in range(count)]
        client.send(ShareGroupHeartbeatRequest("g", f"m{count}", 0, None, names), 1)
        world.clock.run_until_idle()
        if client.frames:
            expected = ErrorCode.NONE if count == 5_000 else ErrorCode.UNKNOWN_SERVER_ERROR
            assert client.receive(ShareGroupHeartbeatResponse).error_code == expected
        else:
            assert client.closed
    assert work.now == 1


def test_offsets_by_time_are_looked_up_one_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may have to open a batch of 8 MiB, for which the slowest codec takes 15 ms."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 200)
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(PartitionLog, "seek_timestamp", work.count(PartitionLog.seek_timestamp))
    by_time = [ListOffsetsPartition(i, -1, 5) for i in range(100)]
    latest = [ListOffsetsPartition(i, -1, -1) for i in range(100, 200)]
    stranger.send(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", by_time), ListOffsetsTopic("t", latest)]), 7)
    assert work.now <= 2  # at the first look: whether one turn is enough
    work.run(world, neighbour)
    assert sum(work.ticks) == 100
    assert max(work.ticks) <= 2
    answer = stranger.receive(ListOffsetsResponse)
    assert [[part.partition_index for part in topic.partitions] for topic in answer.topics] == [
        list(range(100)),
        list(range(100, 200)),
    ]
    assert {part.error_code for topic in answer.topics for part in topic.partitions} == {ErrorCode.NONE}


def limited(world: BrokerWorld) -> MockConnection:
    """A connection with the limits that a server's have."""
    return world.connect(limits=ConnectionLimits(largest_of=largest_frame))


def by_time(world: BrokerWorld, time_ms: int) -> MockConnection:
    """A client that asks by time of a partition with a batch of 100,000 records, and one of one record behind it."""
    world.create_topic("t")
    times = [RecordData(b"k", b"", timestamp_ms=1_000 + at) for at in range(100_000)]
    for records in (times, [RecordData(b"k", b"", timestamp_ms=500_000)]):
        sent = bytes(build_batch(records, timestamp_ms=1_000, compression=Compression.ZSTD))
        assert produce(world.connect(), "t", sent).error_code == ErrorCode.NONE
    client = world.connect()
    client.send(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, time_ms)])]), 7)
    return client


@pytest.mark.parametrize(("time_ms", "offset"), [(0, 0), (1_000 + 77_777, 77_777), (100_999, 99_999)])
def test_a_large_batch_is_looked_into_in_steps(time_ms: int, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """250,000 records took 12 ms in one turn."""
    ticks, runs_of = [0], opening.record_runs

    def counted(*args: Any) -> Iterator[opening.Run]:
        for run in runs_of(*args):
            ticks[-1] += run.opened + RECORD_EFFORT * run.records
            yield run

    world = BrokerWorld()
    monkeypatch.setattr(opening, "record_runs", counted)
    client = by_time(world, time_ms)
    ticks[:] = [0]
    while world.clock.run_tick():
        ticks.append(0)
    (topic,) = client.receive(ListOffsetsResponse).topics
    assert [(part.error_code, part.offset) for part in topic.partitions] == [(ErrorCode.NONE, offset)]
    assert 0 < max(ticks) < 2 * STEP_EFFORT


def test_a_topic_that_is_deleted_while_it_is_looked_into_is_answered() -> None:
    """As if it had been deleted afterwards."""
    world = BrokerWorld()
    client = by_time(world, 1_000 + 77_777)
    for _ in range(3):
        world.clock.run_tick()
    world.services.metadata.delete_topics(["t"])
    (topic,) = client.receive(ListOffsetsResponse).topics
    assert [(part.error_code, part.offset) for part in topic.partitions] == [(ErrorCode.NONE, 77_777)]


@pytest.mark.parametrize("pieces", [[8], [4, 4], [5, 3], [4, 1, 1]], ids=str)
def test_a_frame_that_no_request_of_its_kind_has_is_refused_by_its_beginning(pieces: list[int]) -> None:
    world = BrokerWorld()
    stranger = limited(world)
    begin = struct.pack(">ihh", 95_000_000, ApiKey.LIST_GROUPS, 5)
    for size in pieces:
        assert not stranger.closed
        stranger.send_raw(begin[:size])
        begin = begin[size:]
        world.clock.run_until_idle()
    assert stranger.closed


def test_frames_of_records_are_as_large_as_ever() -> None:
    world = BrokerWorld()
    client = limited(world)
    client.send_raw(struct.pack(">ihh", 95_000_000, ApiKey.PRODUCE, 9) + bytes(100_000))
    world.clock.run_until_idle()
    assert not client.closed
    assert client.side.buffered_input == 100_008


def test_a_large_frame_that_comes_in_pieces_is_put_together() -> None:
    world = BrokerWorld()
    ids = [i.to_bytes(16, "big") for i in range(1, 10_001)]
    request = MetadataRequest([MetadataRequestTopic(each, None) for each in ids])
    expected = world.connect().call(request, 12, MetadataResponse)
    client = limited(world)
    data = client.requests.frame_of(request, 12)
    for end, start in ((5, 0), (6, 5), (100_000, 6), (len(data), 100_000)):
        client.send_raw(data[start:end])
    assert client.receive(MetadataResponse) == expected


def test_what_clients_send_at_most_fits_into_the_frames_there_are() -> None:
    """200,000 partitions with a commit of theirs, in 1,000 topics."""
    partitions = [OffsetCommitRequestPartition(i, i, 0, "m" * 50) for i in range(199)]
    topics = [OffsetCommitRequestTopic("t" * 249, partitions=partitions) for _ in range(1_000)]
    size = len(OffsetCommitRequest("g", topics=topics).encode(9))
    assert size < largest_frame(ApiKey.OFFSET_COMMIT)
    names = MetadataRequest([MetadataRequestTopic(bytes(16), "t" * 200) for _ in range(100_000)])
    assert len(names.encode(12)) < largest_frame(ApiKey.METADATA)
    assert largest_frame(999) < 32 * 1024 * 1024


def test_records_are_deleted_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 2)
    stranger, neighbour = world.connect(), world.connect()
    assert produce(neighbour, "t", batch(b"a", b"b")).error_code == ErrorCode.NONE
    monkeypatch.setattr(PartitionLookup, "log", work.count(PartitionLookup.log))
    unknown = [DeleteRecordsTopic(f"no-{i}", [DeleteRecordsPartition(0, 0)]) for i in range(1_500)]
    partitions = [DeleteRecordsPartition(i, 1) for i in range(1_500)]
    stranger.send(DeleteRecordsRequest([DeleteRecordsTopic("t", partitions), *unknown], 1_000), 2)
    work.run(world, neighbour)
    assert sum(work.ticks) == 3_000
    assert max(work.ticks) <= delete_records.TURN_PARTITIONS
    topic, *others = stranger.receive(DeleteRecordsResponse).topics
    found = [(row.partition_index, row.low_watermark, row.error_code) for row in topic.partitions]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found[:3] == [(0, 1, ErrorCode.NONE), (1, -1, ErrorCode.OFFSET_OUT_OF_RANGE), (2, -1, missing)]
    assert len(found) == 1_500
    assert [(row.name, row.partitions[0].error_code) for row in others] == [(f"no-{i}", missing) for i in range(1_500)]


@pytest.mark.parametrize("version", [7, 8, 10])
def test_all_offsets_of_a_group_are_fetched_and_written_in_turns(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 took 30 ms, for a request of 20 bytes."""
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    for name in ("b", "a"):
        world.create_topic(name, 1_700)
        rows = [OffsetCommitRequestPartition(i, i) for i in range(1_700)]
        commit = OffsetCommitRequest("g", -1, topics=[OffsetCommitRequestTopic(name, partitions=rows)])
        stranger.call(commit, 8, OffsetCommitResponse)
    monkeypatch.setattr(coordinator_fetch, "_row", work.count(coordinator_fetch._row))
    groups = [OffsetFetchRequestGroup("g", topics=None)] if version >= 8 else []
    request = OffsetFetchRequest(groups=groups) if version >= 8 else OffsetFetchRequest(group_id="g", topics=None)
    stranger.send(request, version)
    work.run(world, neighbour)
    assert sum(work.ticks) == 3_400
    assert max(work.ticks) <= offset_fetch.TURN_PARTITIONS
    answer = stranger.receive(OffsetFetchResponse)
    found: list[Any] = list(answer.groups[0].topics if version >= 8 else answer.topics)
    ids = [world.services.metadata.topic(name) for name in ("a", "b")]
    if version >= 10:
        assert [row.topic_id for row in found] == [topic.topic_id for topic in ids if topic is not None]
    else:
        assert [row.name for row in found] == ["a", "b"]
    for row in found:
        assert [part.committed_offset for part in row.partitions] == list(range(1_700))
    assert len(work.ticks) >= 3_400 / offset_fetch.TURN_PARTITIONS + 3_400 / 2_000


@pytest.mark.parametrize("version", [7, 8])
def test_offsets_of_many_partitions_are_fetched_in_turns(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 2)
    stranger, neighbour = world.connect(), world.connect()
    committed = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(i, 7 + i) for i in (0, 1)])
    commit = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[committed])
    stranger.call(commit, 8, OffsetCommitResponse)
    each = work.count(
        GroupOffsetsService.fetch, lambda _, group, *__: sum(len(t.partition_indexes) for t in group.topics)
    )
    monkeypatch.setattr(GroupOffsetsService, "fetch", each)
    if version >= 8:
        topics = [OffsetFetchRequestTopics(name=name, partition_indexes=list(range(1_500))) for name in ("t", "no")]
        topics += [OffsetFetchRequestTopics(name=f"no-{i}", partition_indexes=[0]) for i in range(1_500)]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
    else:
        named = [OffsetFetchRequestTopic(name, list(range(1_500))) for name in ("t", "no")]
        named += [OffsetFetchRequestTopic(f"no-{i}", [0]) for i in range(1_500)]
        request = OffsetFetchRequest(group_id="g", topics=named)
    stranger.send(request, version)
    work.run(world, neighbour)
    assert sum(work.ticks) == 4_500
    assert max(work.ticks) <= offset_fetch.TURN_PARTITIONS
    answer = stranger.receive(OffsetFetchResponse)
    rows: list[Any] = list(answer.groups[0].topics if version >= 8 else answer.topics)
    assert [row.name for row in rows] == ["t", "no", *(f"no-{i}" for i in range(1_500))]
    assert [part.partition_index for part in rows[0].partitions] == list(range(1_500))
    assert {i: part.committed_offset for i, part in enumerate(rows[0].partitions) if part.committed_offset >= 0} == {
        i: 7 + i for i in (0, 1)
    }
