"""A cluster of scripted brokers with share sessions that return the records a test puts there."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

from shareq.broker.share.core.sessions import ListedPartition, ShareSessions
from shareq.client.config import ClientConfig
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.record_codec import RecordData
from shareq.protocol.share import FINAL_EPOCH
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker

TOPIC, TOPIC_ID = "t", b"t" * 16


@dataclass(slots=True)
class Node:
    """A broker.

    `ready` are offsets (first, last) by partition, returned whole; each fetch error is returned once. `records` makes
    the bytes of such offsets; `lock_ms` is the lock duration.
    """

    broker: ScriptedBroker
    sessions: ShareSessions = field(default_factory=lambda: ShareSessions(10))
    ready: dict[int, deque[tuple[int, int]]] = field(default_factory=dict)
    fetch_errors: dict[int, ErrorCode] = field(default_factory=dict)
    ack_errors: dict[int, ErrorCode] = field(default_factory=dict)
    session_error: ErrorCode = ErrorCode.NONE
    hangs_up: bool = False
    records: Callable[[list[tuple[int, int]]], bytes] = lambda _: b"records"
    lock_ms: int = 30_000
    fetches: list[ShareFetchRequest] = field(default_factory=list)
    acknowledgements: list[ShareAcknowledgeRequest] = field(default_factory=list)
    heartbeats: list[ShareGroupHeartbeatRequest] = field(default_factory=list)
    waits: threading.Event = field(default_factory=threading.Event)
    """An event that is set while a fetch without records waits."""


class ShareCluster:
    """Nodes 1 to `nodes` and one topic; node n + 1 leads partition n until a test moves it."""

    def __init__(self, nodes: int) -> None:
        self.nodes = {number: Node(ScriptedBroker()) for number in range(1, nodes + 1)}
        self.leaders = dict(enumerate(self.nodes))
        self.epoch = 0
        self.coordinator = 1
        self.heartbeat_errors: deque[ErrorCode] = deque()
        self.assigned: list[int] = list(self.leaders)
        self.member_epoch = 2
        for node in self.nodes.values():
            node.broker.scripts = {
                ApiKey.METADATA: self._metadata,
                ApiKey.FIND_COORDINATOR: self._find_coordinator,
                ApiKey.SHARE_GROUP_HEARTBEAT: partial(self._heartbeat, node),
                ApiKey.SHARE_FETCH: partial(self._fetch, node),
                ApiKey.SHARE_ACKNOWLEDGE: partial(self._acknowledge, node),
            }
            node.ready = {partition: deque() for partition in self.leaders}

    def config(self, **properties: str) -> ClientConfig:
        """Return a client's configuration; underscores for dots in names."""
        servers = ",".join(node.broker.bootstrap for node in self.nodes.values())
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return ClientConfig.from_properties({"bootstrap.servers": servers, "retry.backoff.ms": "10", **given})

    def move(self, partition: int, node: int) -> None:
        """Give the partition another leader: Metadata and the old leader know it from now on."""
        self.nodes[self.leaders[partition]].fetch_errors[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.leaders[partition] = node
        self.epoch += 1

    def hang_up(self, node: int) -> None:
        self.nodes[node].sessions.clear()
        self.nodes[node].broker.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            node.broker.close()

    # -- scripts

    def _metadata(self, request: Message) -> Message:
        assert isinstance(request, MetadataRequest)
        rows = [MetadataResponseBroker(n, node.broker.host, node.broker.port) for n, node in self.nodes.items()]
        partitions = [
            MetadataResponsePartition(0, partition, leader, self.epoch) for partition, leader in self.leaders.items()
        ]
        topics = [MetadataResponseTopic(0, TOPIC, TOPIC_ID, partitions=partitions)] if request.topics else []
        return MetadataResponse(brokers=rows, topics=topics)

    def _find_coordinator(self, request: Message) -> Message:
        assert isinstance(request, FindCoordinatorRequest)
        broker = self.nodes[self.coordinator].broker
        rows = [Coordinator(key, self.coordinator, broker.host, broker.port) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=rows)

    def _heartbeat(self, node: Node, request: Message) -> Message:
        assert isinstance(request, ShareGroupHeartbeatRequest)
        node.heartbeats.append(request)
        if self.nodes[self.coordinator] is not node:
            return ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
        if self.heartbeat_errors:
            return ShareGroupHeartbeatResponse(error_code=self.heartbeat_errors.popleft(), error_message="as scripted")
        assignment = Assignment([TopicPartitions(TOPIC_ID, self.assigned)])
        epoch = -1 if request.member_epoch < 0 else self.member_epoch
        return ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=epoch, heartbeat_interval_ms=5000, assignment=assignment
        )

    def _fetch(self, node: Node, request: Message) -> Message:
        assert isinstance(request, ShareFetchRequest)
        node.fetches.append(request)
        if node.hangs_up:
            node.hangs_up = False
            node.sessions.clear()
            raise HangUp
        if (error := self._session_error(node)) is not ErrorCode.NONE:
            return ShareFetchResponse(error_code=error)
        listed = [
            ListedPartition(topic.topic_id, one.partition_index, TOPIC)
            for topic in request.topics
            for one in topic.partitions
        ]
        forgotten = [(topic.topic_id, one) for topic in request.forgotten_topics_data for one in topic.partitions]
        context = node.sessions.open_or_update(
            request.group_id or "",
            request.member_id or "",
            request.share_session_epoch,
            listed,
            forgotten,
            has_acks=False,
            connection_id=0,
        )
        if isinstance(context, ErrorCode):
            return ShareFetchResponse(error_code=context)
        rows = [row for one in context.partitions if (row := self._row(node, one.partition)) is not None]
        if not rows:
            node.waits.set()
            threading.Event().wait(request.max_wait_ms / 1000)
        topics = [share_fetch.ShareFetchableTopicResponse(TOPIC_ID, rows)] if rows else []
        return ShareFetchResponse(acquisition_lock_timeout_ms=node.lock_ms, responses=topics)

    def _row(self, node: Node, partition: int) -> share_fetch.PartitionData | None:
        if (error := node.fetch_errors.pop(partition, None)) is not None:
            return share_fetch.PartitionData(partition, error, records=b"")
        if not node.ready[partition]:
            return None
        ready = list(node.ready[partition])
        ranges = [share_fetch.AcquiredRecords(first, last, 1) for first, last in ready]
        node.ready[partition].clear()
        return share_fetch.PartitionData(partition, records=node.records(ready), acquired_records=ranges)

    def _acknowledge(self, node: Node, request: Message) -> Message:
        assert isinstance(request, ShareAcknowledgeRequest)
        node.acknowledgements.append(request)
        if (error := self._session_error(node)) is not ErrorCode.NONE:
            return ShareAcknowledgeResponse(error_code=error)
        session = node.sessions.update(request.group_id or "", request.member_id or "", request.share_session_epoch)
        if isinstance(session, ErrorCode):
            return ShareAcknowledgeResponse(error_code=session)
        if request.share_session_epoch == FINAL_EPOCH:
            node.sessions.close(request.group_id or "", request.member_id or "")
        rows = [
            share_acknowledge.PartitionData(one.partition_index, node.ack_errors.get(one.partition_index, 0))
            for topic in request.topics
            for one in topic.partitions
        ]
        topics = [share_acknowledge.ShareAcknowledgeTopicResponse(TOPIC_ID, rows)] if rows else []
        return ShareAcknowledgeResponse(responses=topics)

    def _session_error(self, node: Node) -> ErrorCode:
        error, node.session_error = node.session_error, ErrorCode.NONE
        return error


def topic_partition(partition: int) -> TopicIdPartition:
    return TOPIC_ID, partition


def batches_of_offsets(ready: list[tuple[int, int]]) -> bytes:
    return b"".join(
        bytes(
            build_batch(
                [RecordData(None, b"%d" % at) for at in range(first, last + 1)], timestamp_ms=5, base_offset=first
            )
        )
        for first, last in ready
    )


def refuse(node: Node, offset: int) -> None:
    """Answer acknowledgements that include the offset with INVALID_RECORD_STATE from now on."""
    plain = node.broker.scripts[ApiKey.SHARE_ACKNOWLEDGE]

    def refusing(request: Any) -> Any:
        answer: Any = plain(request)
        for topic in request.topics:
            for partition in topic.partitions:
                if any(one.first_offset <= offset <= one.last_offset for one in partition.acknowledgement_batches):
                    answer.responses[0].partitions[0].error_code = ErrorCode.INVALID_RECORD_STATE
        return answer

    node.broker.scripts[ApiKey.SHARE_ACKNOWLEDGE] = refusing
