"""The wait of a new group for its first record, without a client library's own delays."""

from __future__ import annotations

import time
import uuid

from bench.client.wire import Wire
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse


def run(address: str, broker_pid: int, topic: str, group: str) -> dict[str, float]:
    """Measure milliseconds from the first heartbeat to acquired records, with heartbeats at the broker's interval."""
    del broker_pid
    wire = Wire(address)
    member_id = str(uuid.uuid4())
    heartbeat = ShareGroupHeartbeatRequest(group, member_id, 0, None, [topic])
    started = time.perf_counter()
    while True:
        answer = wire.call(heartbeat, 1, ShareGroupHeartbeatResponse)
        assert answer.error_code == 0, f"heartbeat answered error {answer.error_code}: {answer.error_message}"
        if answer.assignment is not None and answer.assignment.topic_partitions:
            break
        heartbeat.member_epoch, heartbeat.subscribed_topic_names = answer.member_epoch, None
        time.sleep(answer.heartbeat_interval_ms / 1000)
    assigned = [
        FetchTopic(entry.topic_id, [FetchPartition(partition) for partition in entry.partitions])
        for entry in answer.assignment.topic_partitions
    ]
    fetch = ShareFetchRequest(group, member_id, 0, 500, 1, 1_000_000, 500, 500, topics=assigned)
    while not _acquired(wire.call(fetch, 1, ShareFetchResponse)):
        fetch.share_session_epoch += 1
        fetch.topics = []  # as before
    elapsed = time.perf_counter() - started
    wire.close()
    return {"wire_ms": elapsed * 1000}


def _acquired(answer: ShareFetchResponse) -> bool:
    assert answer.error_code == 0, f"share fetch answered error {answer.error_code}: {answer.error_message}"
    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    failed = [partition.error_code for partition in partitions if partition.error_code]
    assert not failed, f"share fetch answered partition errors {failed}"
    return any(partition.acquired_records for partition in partitions)
