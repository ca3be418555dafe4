"""A real file system that fills up: ext4 in a file, mounted for the test. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.testing import Broker
from tests.support.waiting import until

DISK_BYTES = 64 << 20
RECORD = bytes(100_000)
SMALL_SEGMENTS = {"segment.bytes": str(1 << 20), "retention.ms": "-1"}
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.retention.check.interval.ms": "200",
}
NONE, STORAGE_ERROR = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount an empty file system of 64 MB."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("no mkfs.ext4 here")
    image, folder = tmp_path / "disk.img", tmp_path / "data"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def broker(disk: Path) -> Iterator[Broker]:
    """Run a broker on that file system; its log is shown if the test fails."""
    with Broker(config=PROPERTIES, data_dir=disk) as running:
        yield running


def fill(client: WireClient, topic: str) -> int:
    """Produce until refused; return the number of accepted records."""
    for sent in range(10_000):
        error = produce(client, topic, batch(RECORD)).error_code
        if error != NONE:
            assert error == STORAGE_ERROR
            return sent
    raise AssertionError("never full")


def hog_the_rest(folder: Path) -> None:
    """Take every remaining block, as another program may, before the broker meets the full disk."""
    with (folder / "lost+found" / "hog").open("wb", buffering=0) as hog:
        space, end = os.statvfs(folder), 0
        for size in (space.f_bavail * space.f_frsize, 1 << 20, 4096):
            try:
                while True:
                    os.posix_fallocate(hog.fileno(), end, size)
                    end += size
            except OSError:
                continue
    assert os.statvfs(folder).f_bavail == 0


class ShareMember:
    def __init__(self, client: WireClient, topic: str, topic_id: bytes) -> None:
        self.client, self.topic_id, self.epoch = client, topic_id, 0
        resource = AlterConfigsResource(32, "shares", [AlterableConfig("share.auto.offset.reset", 0, "earliest")])
        client.call(IncrementalAlterConfigsRequest([resource]), 1, IncrementalAlterConfigsResponse)
        joined = client.call(
            ShareGroupHeartbeatRequest("shares", "m", 0, None, [topic]), 1, ShareGroupHeartbeatResponse
        )
        assert joined.error_code == NONE
        self.offsets: list[int] = []
        until(self._acquire)

    def _acquire(self) -> bool:
        topics = [share_fetch.FetchTopic(self.topic_id, [share_fetch.FetchPartition(0)])]
        request = ShareFetchRequest("shares", "m", self.epoch, 500, 1, 1 << 20, 500, 500, topics=topics)
        answer = self.client.call(request, 2, ShareFetchResponse)
        assert answer.error_code == NONE
        self.epoch += 1
        for part in (part for topic in answer.responses for part in topic.partitions):
            for rows in part.acquired_records:
                self.offsets += range(rows.first_offset, rows.last_offset + 1)
        return bool(self.offsets)

    def acknowledge(self) -> ErrorCode:
        offset = self.offsets.pop(0)
        part = share_acknowledge.AcknowledgePartition(0, [share_acknowledge.AcknowledgementBatch(offset, offset, [1])])
        topics = [share_acknowledge.AcknowledgeTopic(self.topic_id, [part])]
        answer = self.client.call(
            ShareAcknowledgeRequest("shares", "m", self.epoch, False, topics), 2, ShareAcknowledgeResponse
        )
        self.epoch += 1
        return ErrorCode(answer.error_code or answer.responses[0].partitions[0].error_code)


def created(client: WireClient, name: str) -> int:
    return client.call(CreateTopicsRequest([CreatableTopic(name, 1, 1)]), 7, CreateTopicsResponse).topics[0].error_code


def deleted(client: WireClient, name: str) -> int:
    request = DeleteTopicsRequest([DeleteTopicState(name)])
    return client.call(request, 6, DeleteTopicsResponse).responses[0].error_code


def deleted_before(client: WireClient, topic: str, offset: int) -> int:
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])], 1000)
    return client.call(request, 2, DeleteRecordsResponse).topics[0].partitions[0].error_code


def keep_bytes(client: WireClient, topic: str, size: int) -> None:
    resource = AlterConfigsResource(2, topic, [AlterableConfig("retention.bytes", 0, str(size))])
    answer = client.call(IncrementalAlterConfigsRequest([resource]), 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == NONE


def test_a_disk_that_the_broker_has_filled(disk: Path, broker: Broker) -> None:
    """Records are refused first; later work continues without touching the reserve."""
    with WireClient(broker.address) as client:
        topic_id = create_topic(client, "t", configs=SMALL_SEGMENTS)
        until((disk / "reserve").exists)
        sent = fill(client, "t")
        assert sent > 100
        assert created(client, "new") == STORAGE_ERROR
        member = ShareMember(client, "t", topic_id)
        offsets = OffsetsClient(client, {"t": topic_id})
        for offset in range(3):
            assert member.acknowledge() == NONE
            offsets.committed({("t", 0): offset}, group="consumers")
        assert (disk / "reserve").stat().st_size > 1 << 20
        assert fetch(client, fetch_request("t", sent - 1)).high_watermark == sent
        assert deleted_before(client, "t", sent // 2) == NONE
        until(lambda: produce(client, "t", batch(RECORD)).error_code == NONE)
        assert broker.log.count("records of clients and new topics are refused") == 1


@pytest.mark.parametrize("ends", ["stopped", "killed"])
@pytest.mark.parametrize("frees", ["DeleteRecords", "DeleteTopics", "retention"])
def test_a_disk_without_a_byte_left(disk: Path, broker: Broker, frees: str, ends: str) -> None:
    """Retention, DeleteRecords and DeleteTopics once failed with 0 bytes left."""
    with WireClient(broker.address) as client:
        topic_id = create_topic(client, "t", configs=SMALL_SEGMENTS)
        create_topic(client, "other", configs=SMALL_SEGMENTS)
        assert produce(client, "other", batch(b"kept")).error_code == NONE
        until((disk / "reserve").exists)
        sent = 20
        for _ in range(sent):
            assert produce(client, "t", batch(RECORD)).error_code == NONE
        member = ShareMember(client, "t", topic_id)
        offsets = OffsetsClient(client, {"t": topic_id})
        offsets.committed({("t", 0): 1}, group="consumers")
        sent += fill(client, "t")
        hog_the_rest(disk)
        assert member.acknowledge() == NONE
        offsets.committed({("t", 0): 7}, group="consumers")
        assert produce(client, "t", batch(RECORD)).error_code == STORAGE_ERROR
    broker.kill() if ends == "killed" else broker.stop()
    broker.start()
    with WireClient(broker.address) as client:
        offsets = OffsetsClient(client, {"t": topic_id})
        assert offsets.fetch([("t", 0)], group="consumers")[1]["t", 0].offset == 7
        assert fetch(client, fetch_request("t", sent - 1)).high_watermark == sent
        if frees == "DeleteRecords":
            assert deleted_before(client, "t", sent - 5) == NONE
        elif frees == "DeleteTopics":
            assert deleted(client, "t") == NONE
        else:
            keep_bytes(client, "t", 1 << 20)
        until(lambda: produce(client, "other", batch(RECORD)).error_code == NONE)
        assert fetch(client, fetch_request("other", 0)).high_watermark == 2
    broker.stop()
