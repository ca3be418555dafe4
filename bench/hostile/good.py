"""A well-behaved client: it produces a record, fetches it, acquires it in a share group and acknowledges it."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from bench.proc import busy_ns
from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import AcknowledgeType

CLIENT_ID: Final = "good"
TOPIC: Final = "good"
GROUP: Final = "good"
MEMBER: Final = "good"
PAUSE_S: Final = 0.005
HEARTBEAT_S: Final = 2.0


class Waited(NamedTuple):
    """One request: the time to its answer, and the broker's work for all clients in that time, in ms.

    The second is the wait that the broker caused, even on a machine busy with other programs; waits for a disk are only
    in the first.
    """

    elapsed_ms: float
    worked_ms: float


class GoodClient:
    """One connection, three requests a cycle: Produce, Fetch, ShareFetch with the last acknowledgement."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._wire = WireClient(address, client_id=CLIENT_ID, timeout_s=120)
        self._topic_id = create_topic(self._wire, TOPIC)
        self._session_epoch = 0
        self._member_epoch = 0
        self._beat_at = 0.0
        self._offset = 0
        self._got: list[AcknowledgementBatch] = []
        self._from_the_start()

    def run(self, seconds: float, broker_pid: int) -> list[Waited]:
        """Send requests for so many seconds. Return what each request waited for, in order."""
        waited: list[Waited] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for act in (self._produce, self._fetch, self._share_fetch):
                worked, began = busy_ns(broker_pid), time.perf_counter_ns()
                act()
                ended = time.perf_counter_ns()
                waited.append(Waited((ended - began) / 1e6, (busy_ns(broker_pid) - worked) / 1e6))
            if time.monotonic() > self._beat_at:
                self._heartbeat()
            time.sleep(PAUSE_S)
        return waited

    def close(self) -> None:
        self._wire.close()

    def _from_the_start(self) -> None:
        """Make the group begin with the first record."""
        self._heartbeat()
        partition = AlterShareGroupOffsetsRequestPartition(0, 0)
        topic = AlterShareGroupOffsetsRequestTopic(TOPIC, [partition])
        self._beat(-1)
        self._member_epoch = 0
        answer = self._wire.call(AlterShareGroupOffsetsRequest(GROUP, [topic]), 0, AlterShareGroupOffsetsResponse)
        assert answer.error_code == 0, answer
        self._heartbeat()

    def _heartbeat(self) -> None:
        self._member_epoch = self._beat(self._member_epoch)
        self._beat_at = time.monotonic() + HEARTBEAT_S

    def _beat(self, epoch: int) -> int:
        topics = [TOPIC] if epoch == 0 else None
        answer = self._wire.call(
            ShareGroupHeartbeatRequest(GROUP, MEMBER, epoch, None, topics), 1, ShareGroupHeartbeatResponse
        )
        assert answer.error_code == 0, answer
        return answer.member_epoch

    def _produce(self) -> None:
        self._offset = produce(self._wire, TOPIC, batch(b"x" * 100), acks=-1).base_offset

    def _fetch(self) -> None:
        assert fetch(self._wire, fetch_request(TOPIC, self._offset)).records

    def _share_fetch(self) -> None:
        topics = []
        if self._got or not self._session_epoch:
            topics = [FetchTopic(self._topic_id, [FetchPartition(0, self._got)])]
        request = ShareFetchRequest(
            GROUP, MEMBER, self._session_epoch, 1000, 1, 1 << 20, 500, batch_size=500, topics=topics
        )
        answer = self._wire.call(request, 2, ShareFetchResponse)
        assert answer.error_code == 0, answer
        self._session_epoch += 1
        self._got = [
            AcknowledgementBatch(rows.first_offset, rows.last_offset, [AcknowledgeType.ACCEPT])
            for topic in answer.responses
            for partition in topic.partitions
            for rows in partition.acquired_records
        ]
