"""A disk that fills up under a broker: the order of refusals, and what works with no byte left."""

from __future__ import annotations

import errno
import logging

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.requests import batch, fetch, fetch_request, produce
from devtools.in_memory.mock_transport import DATA, BrokerWorld, MockConnection
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.disk.policy import DiskState
from shareq.broker.log.promises.checkpoints import RECOVERY_POINT_FILE
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.clients.share_client import ACCEPT, ShareClient

NONE, STORAGE_ERROR = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
WARN, REFUSE, RESERVE = 40_000, 20_000, 10_000
RECORD = 400_000  # two in a segment
PROPERTIES = {
    "shareq.disk.warn.bytes": str(WARN),
    "shareq.disk.refuse.bytes": str(REFUSE),
    "shareq.disk.reserve.bytes": str(RESERVE),
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(PROPERTIES)
    world.clock.advance(3_000)
    assert world.folder.disk.reserve.size == RESERVE
    return world


def test_the_reserve_is_there_before_the_first_client(caplog: pytest.LogCaptureFixture) -> None:
    """Two seconds after the start the disk may be full, with nothing left to free space."""
    world = BrokerWorld({**PROPERTIES, "log.retention.bytes": "1", "log.segment.bytes": "1048576"})
    assert world.folder.disk.reserve.size == RESERVE
    world.create_topic("t")
    world.create_topic("doomed")
    client = world.connect()
    for _ in range(6):
        assert error_of_produce(client, RECORD) is NONE
    world.fs.space_left = 0
    assert deleted(client, "doomed") is NONE
    assert deleted_before(client, "t", 3) is NONE
    world.folder.disk.look()
    world.clock.run_until_idle()
    assert world.folder.logs.get("t", 0).log_start_offset > 3, "retention has run"


def without_a_reserve() -> BrokerWorld:
    """Return a broker that stopped with ten records and will have a reserve at its next start."""
    world = BrokerWorld({**PROPERTIES, "shareq.disk.reserve.bytes": "0"})
    world.create_topic("t")
    client = world.connect()
    for _ in range(10):
        assert error_of_produce(client) is NONE
    world.config = BrokerConfig.load({"log.dirs": DATA, **PROPERTIES})
    return world


@pytest.mark.parametrize(
    ("left", "state", "held"),
    [
        (REFUSE + REFUSE // 4 + 4_001, DiskState.LOW, 4_000),
        (REFUSE - 1_000, DiskState.FULL, 9_500),
        (REFUSE // 4 + 700, DiskState.FULL, 700),
        (REFUSE // 4 - 500, DiskState.CRITICAL, 2_250),
    ],
)
def test_a_start_on_a_disk_that_is_nearly_full_takes_what_makes_nothing_worse(
    left: int, state: DiskState, held: int
) -> None:
    world = without_a_reserve()
    world.fs.space_left = left
    world.restart()
    disk = world.folder.disk
    disk.look()
    assert disk.state is state
    assert disk.reserve.size == pytest.approx(held, abs=200)  # a start writes some bytes
    world.fs.space_left = 0
    assert deleted_before(world.connect(), "t", 3) is NONE


def test_retention_that_found_no_byte_is_tried_again_soon() -> None:
    """There is no reserve, but another program may have freed space."""
    world = BrokerWorld({**PROPERTIES, "shareq.disk.reserve.bytes": "0", "log.retention.bytes": "1"})
    world.create_topic("t", segment_bytes="1048576")
    client = world.connect()
    for _ in range(6):
        assert error_of_produce(client, RECORD) is NONE
    world.fs.space_left = 0
    world.clock.advance(2_000)
    assert world.folder.disk.state is DiskState.CRITICAL
    assert world.folder.logs.get("t", 0).log_start_offset == 0
    world.fs.space_left = 300
    world.clock.advance(6_000)
    assert world.folder.logs.get("t", 0).log_start_offset > 3


def test_a_reserve_that_could_not_be_taken_at_the_start_is_taken_later() -> None:
    world = without_a_reserve()
    world.fs.fail = lambda _kind, path: OSError(errno.ENOSPC, "full") if path == f"{DATA}/reserve" else None
    world.restart()
    assert world.folder.disk.reserve.size == 0
    world.fs.fail = None
    world.clock.advance(3_000)
    assert world.folder.disk.reserve.size == RESERVE


def error_of_produce(client: MockConnection, size: int = 10, topic: str = "t") -> ErrorCode:
    return ErrorCode(produce(client, topic, batch(b"x" * size)).error_code)


def created(client: MockConnection, name: str) -> ErrorCode:
    request = CreateTopicsRequest([CreatableTopic(name, 1, 1)])
    return ErrorCode(client.call(request, 7, CreateTopicsResponse).topics[0].error_code)


def deleted(client: MockConnection, name: str) -> ErrorCode:
    request = DeleteTopicsRequest([DeleteTopicState(name)])
    return ErrorCode(client.call(request, 6, DeleteTopicsResponse).responses[0].error_code)


def deleted_before(client: MockConnection, topic: str, offset: int) -> ErrorCode:
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])], 1000)
    return ErrorCode(client.call(request, 2, DeleteRecordsResponse).topics[0].partitions[0].error_code)


def test_a_warning_comes_first_and_once(world: BrokerWorld, caplog: pytest.LogCaptureFixture) -> None:
    world.create_topic("t")
    client = world.connect()
    with caplog.at_level(logging.INFO, "shareq.broker.disk"):
        world.fs.space_left = WARN - 1000
        for _ in range(5):
            assert error_of_produce(client) is NONE
            world.clock.advance(2_000)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"Produce will be refused below {REFUSE}" in caplog.text
    assert world.folder.disk.state is DiskState.LOW


def test_records_and_new_topics_are_refused_before_the_disk_is_full(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.create_topic("t")
    client = world.connect()
    assert error_of_produce(client) is NONE
    world.fs.space_left = REFUSE + 1000
    world.clock.advance(1_000)
    before = world.fs.space_left
    sent = 0
    while error_of_produce(client, 500) is NONE:
        sent += 1
    assert 1 <= sent <= 3
    assert world.fs.space_left > before - 3_000
    assert created(client, "new") is STORAGE_ERROR
    auto = client.call(MetadataRequest([MetadataRequestTopic(name="auto")]), 12, MetadataResponse)
    assert auto.topics[0].error_code == STORAGE_ERROR
    assert error_of_produce(client) is STORAGE_ERROR
    assert fetch(client, fetch_request("t")).error_code == NONE
    assert caplog.text.count("records of clients and new topics are refused") == 1


def test_refused_records_are_taken_again_with_a_quarter_more_room(world: BrokerWorld) -> None:
    world.create_topic("t")
    client = world.connect()
    assert error_of_produce(client) is NONE
    world.fs.space_left = REFUSE - 1
    world.clock.advance(1_000)
    assert error_of_produce(client) is STORAGE_ERROR
    world.fs.space_left = REFUSE + 100
    assert error_of_produce(client) is STORAGE_ERROR
    world.fs.space_left = REFUSE * 5 // 4 + 1
    assert error_of_produce(client) is NONE
    assert created(client, "new") is NONE


def test_an_idle_broker_with_room_sets_no_timer(world: BrokerWorld) -> None:
    world.clock.advance(60_000)
    before = world.fs.reads
    world.clock.advance(100_000)
    assert world.fs.reads == before


class Work:
    """A topic with records, and a share group and a consumer group that have begun to read it."""

    def __init__(self, world: BrokerWorld, records: int) -> None:
        self.world = world
        self.topic = world.create_topic("t", segment_bytes="1048576")
        self.client = world.connect()
        for _ in range(records):
            assert error_of_produce(self.client, RECORD) is NONE
        self.place = (self.topic.topic_id, 0)
        self.member = ShareClient(world, group="shares")
        self.member.join("t")
        self.acquired = [offset for first, last, _ in self.acquire() for offset in range(first, last + 1)]
        self.commit(1)

    def acquire(self) -> list[tuple[int, int, int]]:
        request = PutConfig(ResourceName("group", "shares"), "share.auto.offset.reset", "earliest")
        self.world.services.metadata.alter_configs([request])
        return self.member.acquire(self.place)

    def acknowledge(self) -> None:
        offset = self.acquired.pop(0)
        assert self.member.acknowledge(self.place, (offset, offset, ACCEPT)) is NONE

    def commit(self, offset: int) -> None:
        offsets = OffsetsClient(self.client, {"t": self.topic.topic_id})
        offsets.committed({("t", 0): offset}, group="consumers")

    def committed(self) -> int:
        offsets = OffsetsClient(self.world.connect(), {"t": self.topic.topic_id})
        return offsets.fetch([("t", 0)], group="consumers")[1]["t", 0].offset


def test_acknowledging_and_committing_go_on_when_records_are_refused(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.fs.space_left = REFUSE - 1
    world.clock.advance(1_000)
    assert error_of_produce(work.client) is STORAGE_ERROR
    for offset in (2, 3):
        work.acknowledge()
        work.commit(offset)
    assert world.folder.disk.reserve.size == RESERVE


def test_with_no_byte_left_acknowledgements_and_commits_get_half_the_reserve(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.fs.space_left = 0
    work.acknowledge()
    work.commit(2)
    assert world.folder.disk.reserve.size == RESERVE // 2
    assert error_of_produce(work.client) is STORAGE_ERROR
    assert world.folder.disk.state is DiskState.CRITICAL
    world.crash()
    assert work.committed() == 2


def test_when_half_the_reserve_is_used_up_nothing_answered_is_lost(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.fs.space_left = 0
    answered = 1
    client = OffsetsClient(work.client, {"t": work.topic.topic_id})
    while client.commit({("t", 0): answered + 1}, group="consumers") == {("t", 0): NONE}:
        answered += 1
    assert answered > 10
    assert world.folder.disk.reserve.size == RESERVE // 2
    world.restart(clean=False)
    assert work.committed() == answered
    assert deleted(world.connect(), "t") is NONE


@pytest.mark.parametrize("name", [RECOVERY_POINT_FILE, MANIFEST_FILE])
def test_a_file_that_a_start_does_without_gets_nothing_of_the_reserve(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """The reserve is for deletions: optional files once used all of it, and another program took the space."""
    world.create_topic("t", segment_bytes="1048576")
    client = world.connect()
    full = OSError(errno.ENOSPC, "full")
    world.fs.fail = lambda kind, path: full if name in path and kind == "write" else None
    for _ in range(3):
        assert error_of_produce(client, RECORD) is NONE
    world.clock.advance(2000)
    world.fs.fail = None
    world.fs.space_left = 0
    assert "not written" in caplog.text
    assert name in caplog.text
    assert "given up" not in caplog.text  # what is given up is taken back when there is room
    assert world.folder.disk.reserve.size == RESERVE
    assert deleted(client, "t") is NONE


def test_with_no_byte_left_records_can_be_deleted(world: BrokerWorld) -> None:
    """A deletion once failed with KAFKA_STORAGE_ERROR, and left the disk full."""
    work = Work(world, records=10)
    world.fs.space_left = 0
    assert deleted_before(work.client, "t", 6) is NONE
    world.clock.advance(10)
    assert world.fs.space_left > 4 * RECORD
    world.restart(clean=False)
    assert fetch(world.connect(), fetch_request("t", 5)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(world.connect(), fetch_request("t", 6)).error_code == NONE


def test_with_no_byte_left_a_topic_can_be_deleted(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    commits = world.db.commits
    world.fs.space_left = 0

    def full(_changes: object) -> None:
        if world.folder.disk.reserve.size:
            raise OSError(errno.ENOSPC, "database or disk is full")

    world.db.before_commit = full
    assert deleted(work.client, "t") is NONE
    assert world.db.commits == commits + 1
    world.clock.advance(10)
    assert world.fs.space_left > 9 * RECORD
    assert not [path for path in world.fs.paths() if path.startswith(f"{DATA}/t-")]


def test_a_full_disk_is_made_free_by_retention_at_once(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.services.metadata.alter_configs([PutConfig(ResourceName("topic", "t"), "retention.bytes", "1000000")])
    world.fs.space_left = 0
    assert error_of_produce(work.client) is STORAGE_ERROR
    world.clock.run_until_idle()
    assert world.fs.space_left > 4 * RECORD


def test_with_no_byte_left_a_clean_stop_is_clean_and_a_start_works(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.fs.space_left = 0
    work.commit(2)
    world.broker.close(clean=True)
    assert f"{DATA}/clean-shutdown" in world.fs.paths()
    world.restart()
    assert work.committed() == 2
    client = world.connect()
    assert fetch(client, fetch_request("t", 9)).high_watermark == 10
    assert error_of_produce(client) is STORAGE_ERROR


def test_the_reserve_is_taken_again_when_there_is_room(world: BrokerWorld) -> None:
    work = Work(world, records=10)
    world.fs.space_left = 0
    assert deleted_before(work.client, "t", 2) is NONE
    assert world.folder.disk.reserve.size == 0
    world.fs.space_left = REFUSE
    world.clock.advance(5_000)
    assert world.folder.disk.reserve.size == 0  # records come first
    world.fs.space_left = 10 * REFUSE
    world.clock.advance(5_000)
    assert world.folder.disk.reserve.size == RESERVE
    assert error_of_produce(work.client) is NONE


def test_a_quota_that_the_system_does_not_report_is_asked_for_again_each_second(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.create_topic("t")
    client = world.connect()
    assert error_of_produce(client) is NONE
    world.fs.fail = lambda kind, path: OSError(errno.EDQUOT, "quota") if kind == "write" and "/t-0/" in path else None
    for _ in range(10):
        assert error_of_produce(client) is STORAGE_ERROR
    assert caplog.text.count("write at byte") == 1
    world.fs.fail = None
    assert error_of_produce(client) is STORAGE_ERROR
    world.clock.advance(1_000)
    assert error_of_produce(client) is NONE
