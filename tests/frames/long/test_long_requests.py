"""A stranger's long request, which delays nobody: each turn of the loop handles only part of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from devtools.clients.requests import batch, produce
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.foundation.loop.effort import ELEMENT_EFFORT, RECORD_EFFORT
from shareq.broker.foundation.turn_budget import TURN_ELEMENTS
from shareq.broker.handlers.cluster import find_coordinator
from shareq.broker.handlers.topics import metadata
from shareq.broker.handlers.transactions import add_partitions_to_txn
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.transactions.markers import MARKER_ELEMENTS, MarkerWriter
from shareq.coordinator.group.offsets import fetch as coordinator_fetch
from shareq.coordinator.group.offsets.group_offsets import GroupOffsets
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
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
from shareq.protocol.generated.describe_configs import DescribeConfigsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateData,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
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
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.records import opening
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.support.long_requests import describe_groups
from tests.support.worlds.counted_work import Work

MOST_FETCHED = 1_000
"""The most offsets that are looked up in one turn of the loop."""


def test_groups_are_described_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 groups take 60 µs each, three turns' worth."""
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(ConfigAdmin, "describe_group", work.count(ConfigAdmin.describe_group))
    stranger.send(describe_groups(1_000), 4)
    work.run(world, neighbour)
    answer = stranger.receive(DescribeConfigsResponse)
    assert sum(work.ticks) == 1_000
    assert max(work.ticks) <= 40
    assert [row.resource_name for row in answer.results] == [f"group-{i}" for i in range(1_000)]
    one = world.connect().call(describe_groups(1), 4, DescribeConfigsResponse)
    assert all(row.configs == one.results[0].configs for row in answer.results)


@pytest.mark.parametrize("may_create", [True, False])
def test_unknown_topics_are_looked_up_in_turns(monkeypatch: pytest.MonkeyPatch, may_create: bool) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(MetadataStore, "topic_by_id", work.count(MetadataStore.topic_by_id))
    ids = [i.to_bytes(16, "big") for i in range(1, 10_001)]
    stranger.send(MetadataRequest([MetadataRequestTopic(each, None) for each in ids], may_create), 12)
    work.run(world, neighbour)
    answer = stranger.receive(MetadataResponse)
    assert sum(work.ticks) == 10_000
    assert max(work.ticks) <= 250
    assert [topic.topic_id for topic in answer.topics] == ids
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert [broker.port for broker in answer.brokers] == [9092]


def test_coordinators_are_found_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 keys take 4 µs each."""
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
    """3,000 markers take 40 µs each. A request may name 1.6 million partitions, which once took a minute."""
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
    assert max(work.ticks) <= TURN_ELEMENTS // MARKER_ELEMENTS
    assert sum(work.ticks) == 3_000


@pytest.mark.parametrize(
    ("version", "topics"),
    [(3, [("t", 30_000)]), (3, [(f"u{at}", 300) for at in range(100)]), (5, [("t", 30_000)]), (5, [("t", 900)])],
)
def test_partitions_of_transactions_are_looked_at_in_turns(
    monkeypatch: pytest.MonkeyPatch, version: int, topics: list[tuple[str, int]]
) -> None:
    """Partitions take 5 µs each, in one transaction or in thirty that brokers send."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 2)
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(add_partitions_to_txn, "TopicPartition", work.count(TopicPartition))  # two for each
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
    assert max(work.ticks) <= 2 * TURN_ELEMENTS


def test_share_states_are_initialised_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 states take 25 µs each. A share partition is repeated: its last result is returned."""
    world, work = BrokerWorld(), Work()
    topic_id = world.create_topic("t", 2).topic_id
    stranger, neighbour = world.connect(), world.connect()
    world.folder.internal_topics.ensure(SHARE_GROUP_STATE)
    monkeypatch.setattr(ShareCoordinatorService, "initialize", work.count(ShareCoordinatorService.initialize))
    partitions = [initialize_share_group_state.PartitionData(index % 3, 0, 7) for index in range(5_000)]
    stranger.send(InitializeShareGroupStateRequest("g", [InitializeStateData(topic_id, partitions)]), 0)
    work.run(world, neighbour)
    (result,) = stranger.receive(InitializeShareGroupStateResponse).results
    errors = {row.partition: row.error_code for row in result.partitions}
    assert errors == {0: ErrorCode.NONE, 1: ErrorCode.NONE, 2: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert sum(work.ticks) == 5_000
    assert max(work.ticks) <= 500


def test_topics_of_many_partitions_are_answered_in_turns(world: BrokerWorld) -> None:
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


def test_a_topic_of_many_partitions_is_answered_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 partitions take 0.5 µs each."""
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 5_000)
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(metadata, "MetadataResponsePartition", work.count(MetadataResponsePartition))
    stranger.send(MetadataRequest(None), 12)
    work.run(world, neighbour)
    (topic,) = stranger.receive(MetadataResponse).topics
    assert [part.partition_index for part in topic.partitions] == list(range(5_000))
    assert sum(work.ticks) == 5_000
    assert max(work.ticks) <= TURN_ELEMENTS


def test_errors_in_parts_are_counted(world: BrokerWorld) -> None:
    client = world.connect()
    client.call(MetadataRequest([MetadataRequestTopic(bytes(15) + b"x", None)]), 12, MetadataResponse)
    ids = [i.to_bytes(16, "big") for i in range(1, 2_001)]
    client.call(MetadataRequest([MetadataRequestTopic(each, None) for each in ids]), 12, MetadataResponse)
    requests = world.broker.dispatcher.requests[ApiKey.METADATA]
    assert requests.errors[ErrorCode.UNKNOWN_TOPIC_ID] == 2_001
    assert requests.durations.count == 2


def test_a_long_request_of_an_ordinary_client_is_answered(world: BrokerWorld) -> None:
    """One consumer commits 100,000 offsets: the request is decoded in steps, then handled like any other."""
    topics = [
        OffsetCommitRequestTopic(f"t{i}", partitions=[OffsetCommitRequestPartition(j, j) for j in range(100)])
        for i in range(1_000)
    ]
    client = world.connect()
    answer = client.call(OffsetCommitRequest("g", topics=topics), 9, OffsetCommitResponse)
    assert [len(topic.partitions) for topic in answer.topics] == [100] * 1_000


def test_requests_behind_a_long_one_wait_for_it(world: BrokerWorld) -> None:
    """Answers come in the order of the requests, and nothing else of the connection is handled meanwhile."""
    client = world.connect()
    client.send(describe_groups(2_000), 4)
    client.send(ApiVersionsRequest(), 0)
    assert not client.frames
    assert len(client.receive(DescribeConfigsResponse).results) == 2_000
    assert client.receive(ApiVersionsResponse).api_keys


def test_offsets_by_time_are_looked_up_one_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn opens at most one batch: 8 MiB of the slowest codec take 15 ms."""
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


def by_time(world: BrokerWorld, time_ms: int) -> MockConnection:
    """Return a client that looks up a time first in a batch of 100,000 records, then in a batch of one."""
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
    """250,000 records once took 12 ms in one turn."""
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
    assert max(ticks) < 2 * TURN_ELEMENTS * ELEMENT_EFFORT
    assert any(ticks) is (offset > 0)  # the first record is found in the first turn


def test_a_topic_that_is_deleted_while_it_is_looked_into_is_answered(world: BrokerWorld) -> None:
    client = by_time(world, 1_000 + 77_777)
    for _ in range(3):
        world.clock.run_tick()
    world.folder.metadata.delete_topics(["t"])
    (topic,) = client.receive(ListOffsetsResponse).topics
    assert [(part.error_code, part.offset) for part in topic.partitions] == [(ErrorCode.NONE, 77_777)]


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
    assert max(work.ticks) <= TURN_ELEMENTS
    topic, *others = stranger.receive(DeleteRecordsResponse).topics
    found = [(row.partition_index, row.low_watermark, row.error_code) for row in topic.partitions]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found[:3] == [(0, 1, ErrorCode.NONE), (1, -1, ErrorCode.OFFSET_OUT_OF_RANGE), (2, -1, missing)]
    assert len(found) == 1_500
    assert [(row.name, row.partitions[0].error_code) for row in others] == [(f"no-{i}", missing) for i in range(1_500)]


@pytest.mark.parametrize("version", [7, 8, 10])
def test_all_offsets_of_a_group_are_fetched_and_written_in_turns(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 offsets once took 30 ms, for a request of 20 bytes."""
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
    assert max(work.ticks) <= MOST_FETCHED
    answer = stranger.receive(OffsetFetchResponse)
    found: list[Any] = list(answer.groups[0].topics if version >= 8 else answer.topics)
    ids = [world.services.metadata.topic(name) for name in ("a", "b")]
    if version >= 10:
        assert [row.topic_id for row in found] == [topic.topic_id for topic in ids if topic is not None]
    else:
        assert [row.name for row in found] == ["a", "b"]
    for row in found:
        assert [part.committed_offset for part in row.partitions] == list(range(1_700))
    assert len(work.ticks) >= 3_400 / MOST_FETCHED + 3_400 / 2_000


def test_offsets_are_not_looked_up_for_a_client_that_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    world.create_topic("t", 3_000)
    rows = [OffsetCommitRequestPartition(i, i) for i in range(3_000)]
    commit = OffsetCommitRequest("g", -1, topics=[OffsetCommitRequestTopic("t", partitions=rows)])
    stranger.call(commit, 8, OffsetCommitResponse)
    monkeypatch.setattr(coordinator_fetch, "_row", work.count(coordinator_fetch._row))
    stranger.send(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)]), 8)
    while not work.now:
        assert world.clock.run_tick()
    stranger.disconnect()
    work.run(world, neighbour)
    assert 0 < sum(work.ticks) <= MOST_FETCHED
    assert not len(world.services.turns)


@pytest.mark.parametrize("version", [7, 8])
def test_offsets_of_many_partitions_are_fetched_in_turns(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    world.create_topic("t", 2)
    stranger, neighbour = world.connect(), world.connect()
    committed = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(i, 7 + i) for i in (0, 1)])
    commit = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[committed])
    stranger.call(commit, 8, OffsetCommitResponse)
    each = work.count(GroupOffsets.fetch, lambda _, group: sum(len(t.partition_indexes) for t in group.topics))
    monkeypatch.setattr(GroupOffsets, "fetch", each)
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
    assert max(work.ticks) <= MOST_FETCHED
    answer = stranger.receive(OffsetFetchResponse)
    rows: list[Any] = list(answer.groups[0].topics if version >= 8 else answer.topics)
    assert [row.name for row in rows] == ["t", "no", *(f"no-{i}" for i in range(1_500))]
    assert [part.partition_index for part in rows[0].partitions] == list(range(1_500))
    assert {i: part.committed_offset for i, part in enumerate(rows[0].partitions) if part.committed_offset >= 0} == {
        i: 7 + i for i in (0, 1)
    }
