"""DeleteRecords over frames: deleted records, affected readers, refusals, durable answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from devtools.clients.requests import batch, fetch_request, produce
from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.log.promises.checkpoints import LOG_START_FILE
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from tests.support.clients.administration import delete_records_request
from tests.support.clients.share_client import ShareClient, append, from_the_start

SYNCED = {"log.flush.interval.messages": "1"}
Row = tuple[ErrorCode, int]


def deleted(client: MockConnection, topic: str, offsets: dict[int, int], version: int = 2) -> dict[int, Row]:
    answer = client.call(delete_records_request(topic, offsets), version, DeleteRecordsResponse)
    (result,) = answer.topics
    assert result.name == topic
    return {row.partition_index: (ErrorCode(row.error_code), row.low_watermark) for row in result.partitions}


def earliest(client: MockConnection, topic: str = "t", partition: int = 0) -> int:
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-2)])])
    return client.call(request, 7, ListOffsetsResponse).topics[0].partitions[0].offset


def fetch_error(client: MockConnection, offset: int) -> ErrorCode:
    answer = client.call(fetch_request("t", offset), 12, FetchResponse)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


def six_segments(world: BrokerWorld, client: MockConnection, topic: str) -> None:
    world.create_topic(topic, segment_bytes=str(1 << 20))
    for _ in range(6):
        assert produce(client, topic, batch(bytes(300_000), bytes(300_000))).error_code == ErrorCode.NONE


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.create_topic("t", 2)
    append(world, "t", 5, batches=2)
    append(world, "t", 3, partition=1)
    return world


@pytest.mark.parametrize("version", [0, 1, 2])
def test_records_below_the_offset_are_gone(world: BrokerWorld, version: int) -> None:
    client = world.connect()
    assert deleted(client, "t", {0: 4, 1: 0}, version) == {0: (ErrorCode.NONE, 4), 1: (ErrorCode.NONE, 0)}
    assert (earliest(client), earliest(client, partition=1)) == (4, 0)
    assert fetch_error(client, 3) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch_error(client, 4) is ErrorCode.NONE
    assert produce(client, "t", batch(b"x")).base_offset == 10


def test_the_low_watermark_never_moves_back(world: BrokerWorld) -> None:
    client = world.connect()
    assert deleted(client, "t", {0: 7}) == {0: (ErrorCode.NONE, 7)}
    assert deleted(client, "t", {0: 2}) == {0: (ErrorCode.NONE, 7)}


def test_minus_one_stands_for_the_high_watermark(world: BrokerWorld) -> None:
    client = world.connect()
    assert deleted(client, "t", {0: -1, 1: -1}) == {0: (ErrorCode.NONE, 10), 1: (ErrorCode.NONE, 3)}
    assert produce(client, "t", batch(b"x")).log_start_offset == 10


def test_refusals_concern_their_partition_alone(world: BrokerWorld) -> None:
    client = world.connect()
    beyond, unknown = ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    rows = deleted(client, "t", {0: 11, 1: 3, 2: 0, -1: 0})
    assert rows == {0: (beyond, -1), 1: (ErrorCode.NONE, 3), 2: (unknown, -1), -1: (unknown, -1)}
    assert deleted(client, "t", {0: -2}) == {0: (beyond, -1)}
    assert deleted(client, "nobody", {0: 0}) == {0: (unknown, -1)}
    assert earliest(client) == 0


@pytest.mark.parametrize(
    ("policy", "error"),
    [("compact", ErrorCode.POLICY_VIOLATION), ("compact,delete", ErrorCode.NONE), ("delete", ErrorCode.NONE)],
)
def test_a_topic_that_is_only_compacted_keeps_its_records(policy: str, error: ErrorCode) -> None:
    world = BrokerWorld()
    world.create_topic("c", cleanup_policy=policy)
    client = world.connect()
    assert deleted(client, "c", {0: 0}) == {0: (error, -1 if error else 0)}


def test_the_coordinators_topics_are_not_touched(world: BrokerWorld) -> None:
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    for topic in (CONSUMER_OFFSETS, SHARE_GROUP_STATE):
        assert deleted(world.connect(), topic, {0: -1}) == {0: (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)}


def test_a_partition_named_twice_has_one_row_and_the_last_offset_counts(world: BrokerWorld) -> None:
    topics = [DeleteRecordsTopic("t", [DeleteRecordsPartition(0, offset)]) for offset in (9, 11, 2)]
    answer = world.connect().call(DeleteRecordsRequest(topics), 2, DeleteRecordsResponse)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("t", 1)]
    assert answer.topics[0].partitions[0].low_watermark == 2


def test_all_partitions_of_a_request_are_one_write(world: BrokerWorld) -> None:
    world.fs.history.clear()
    deleted(world.connect(), "t", {0: 4, 1: 2})
    renamed = [path for kind, path in world.fs.history if kind == "rename"]
    assert len(renamed) == 1
    assert LOG_START_FILE in renamed[0]


# -- who follows


def test_a_share_group_goes_on_behind_the_deleted_records(world: BrokerWorld) -> None:
    """KIP-932: records that left the log are archived; the share start offset follows the log start."""
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    place = next((topic.topic_id, 0) for topic in world.services.metadata.topics() if topic.name == "t")
    deleted(world.connect(), "t", {0: 7})
    assert [(first, last) for first, last, _ in member.acquire(place)] == [(7, 9)]


def test_records_that_a_member_holds_can_still_be_acknowledged(world: BrokerWorld) -> None:
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    place = next((topic.topic_id, 0) for topic in world.services.metadata.topics() if topic.name == "t")
    assert member.acquire(place, max_records=5) == [(0, 4, 1)]
    deleted(world.connect(), "t", {0: -1})
    assert member.acknowledge(place, (0, 4, 1)) is ErrorCode.NONE
    append(world, "t", 2)
    assert [(first, last) for first, last, _ in member.acquire(place)] == [(10, 11)]


# -- failures


def test_a_log_start_that_cannot_be_saved_is_not_returned(world: BrokerWorld) -> None:
    client = world.connect()

    @contextmanager
    def no_checkpoint() -> Iterator[None]:
        world.fs.fail = lambda _kind, path: OSError(5, "broken", path) if LOG_START_FILE in path else None
        yield
        world.fs.fail = None

    with no_checkpoint():
        storage = ErrorCode.KAFKA_STORAGE_ERROR
        assert deleted(client, "t", {0: 4, 1: 9}) == {0: (storage, -1), 1: (ErrorCode.OFFSET_OUT_OF_RANGE, -1)}
    assert earliest(client) == 0
    assert fetch_error(client, 0) is ErrorCode.NONE
    assert deleted(client, "t", {0: 4}) == {0: (ErrorCode.NONE, 4)}


def test_a_crash_at_any_step_leaves_the_start_before_or_after() -> None:
    """Power is cut at every step of a deletion: an answered one persists, and no partial state remains."""
    crashed = 0
    for step in range(1, 25):
        world = BrokerWorld(SYNCED, seed=step)
        client = world.connect()
        six_segments(world, client, "t")
        world.clock.run_until_idle()
        world.fs.crash_at = world.fs.steps + step
        answered = False
        try:
            answered = deleted(client, "t", {0: 9}) == {0: (ErrorCode.NONE, 9)}
            world.clock.run_until_idle()
        except (SimulatedCrash, AssertionError):
            crashed += 1
        world.crash(CrashModel.POWER_LOSS)
        client = world.connect()
        start = earliest(client)
        assert start in ((9,) if answered else (0, 9)), f"step {step}"
        assert fetch_error(client, start) is ErrorCode.NONE
        assert produce(client, "t", batch(b"x")).base_offset == 12
    assert crashed >= 5
