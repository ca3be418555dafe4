"""A member of a share group over frames: heartbeats, its share session, acknowledgements; and group descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict, Unpack

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import AcknowledgeType

GAP: Final = AcknowledgeType.GAP
ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
RENEW: Final = AcknowledgeType.RENEW

Place = tuple[bytes, int]
"""Topic id and partition."""
Ack = tuple[int, int, int]
"""First and last offset, both included, and the type of all."""
Acquired = tuple[int, int, int]
"""First and last offset, both included, and the delivery count."""


class FetchOptions(TypedDict, total=False):
    """The options of a ShareFetch besides its partitions. Defaults: the session's epoch, no waiting, record_limit."""

    acks: Mapping[Place, Sequence[Ack]]
    forgotten: Iterable[Place]
    epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    mode: int


class ShareClient:
    """One member of group `group`, on a connection of its own.

    The next request carries `member_epoch` and `session_epoch`. Answers update them; a test may set them.
    """

    def __init__(self, world: BrokerWorld, member_id: str = "m", group: str = "g", *, client_id: str = "mock") -> None:
        self.world = world
        self.member_id = member_id
        self.group = group
        self._client_id = client_id
        self.member_epoch = 0
        self.reconnect()

    def reconnect(self) -> None:
        """Open a new connection, as after a restart; the old one's share session is forgotten."""
        self.connection: MockConnection = self.world.connect(client_id=self._client_id)
        self.session_epoch = 0

    # -- membership

    def heartbeat(self, *topics: str, epoch: int | None = None, rack: str | None = None) -> ShareGroupHeartbeatResponse:
        """Send one heartbeat; with `topics` a full one."""
        self.connection.send(self.heartbeat_request(*topics, epoch=epoch, rack=rack), 1)
        return self.heartbeat_answer()

    def heartbeat_request(
        self, *topics: str, epoch: int | None = None, rack: str | None = None
    ) -> ShareGroupHeartbeatRequest:
        sent = self.member_epoch if epoch is None else epoch
        return ShareGroupHeartbeatRequest(self.group, self.member_id, sent, rack, list(topics) or None)

    def heartbeat_answer(self) -> ShareGroupHeartbeatResponse:
        answer = self.connection.receive(ShareGroupHeartbeatResponse)
        if answer.error_code == ErrorCode.NONE:
            self.member_epoch = max(0, answer.member_epoch)
        return answer

    def join(self, *topics: str) -> dict[str, list[int]]:
        answer = self.heartbeat(*topics, epoch=0)
        assert answer.error_code == ErrorCode.NONE, answer
        assigned = self.assigned(answer)
        assert assigned is not None
        return assigned

    def leave(self) -> ShareGroupHeartbeatResponse:
        return self.heartbeat(epoch=-1)

    def assigned(self, answer: ShareGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """Return the answer's partitions by topic name, or None if it has none."""
        if answer.assignment is None:
            return None
        names = {topic.topic_id: topic.name for topic in self.world.services.metadata.topics()}
        return {names[topic.topic_id]: topic.partitions for topic in answer.assignment.topic_partitions}

    # -- records

    def fetch(self, *places: Place, **options: Unpack[FetchOptions]) -> ShareFetchResponse:
        self.send_fetch(*places, **options)
        return self.fetch_answer()

    def send_fetch(self, *places: Place, **options: Unpack[FetchOptions]) -> None:
        """Send a ShareFetch for the session's partitions, adding `places` and those of the acknowledgements."""
        acks = options.get("acks", {})
        listed = [
            share_fetch.FetchTopic(
                topic_id, [share_fetch.FetchPartition(partition, _batches(acks, (topic_id, partition)))]
            )
            for topic_id, partition in dict.fromkeys((*places, *acks))
        ]
        records = options.get("max_records", 500)
        request = ShareFetchRequest(
            self.group,
            self.member_id,
            options.get("epoch", self.session_epoch),
            options.get("max_wait_ms", 0),
            options.get("min_bytes", 1),
            options.get("max_bytes", 1 << 20),
            records,
            records,
            share_acquire_mode=options.get("mode", 1),
            topics=listed,
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(topic_id, [partition])
                for topic_id, partition in options.get("forgotten", ())
            ],
        )
        self.connection.send(request, 2)

    def fetch_answer(self) -> ShareFetchResponse:
        answer = self.connection.receive(ShareFetchResponse)
        self._count_on(answer.error_code)
        return answer

    def acquire(self, *places: Place, max_records: int = 500) -> list[Acquired]:
        """Fetch without errors and return the acquired ranges.

        The first fetch of a share partition persists its start offset, so the records may need a second one.
        """
        for _ in range(2):
            answer = self.fetch(*places, max_records=max_records)
            assert answer.error_code == ErrorCode.NONE, answer
            assert not fetch_errors(answer), answer
            if acquired := acquired_of(answer):
                return acquired
        return []

    def acknowledge(self, place: Place, *acks: Ack, epoch: int | None = None) -> ErrorCode:
        """Send one ShareAcknowledge and return its error, or that of the partition."""
        self.send_acknowledge(place, *acks, epoch=epoch)
        return self.acknowledge_answer()

    def send_acknowledge(self, place: Place, *acks: Ack, epoch: int | None = None) -> None:
        batches = [share_acknowledge.AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
        topics = [
            share_acknowledge.AcknowledgeTopic(place[0], [share_acknowledge.AcknowledgePartition(place[1], batches)])
        ]
        sent = self.session_epoch if epoch is None else epoch
        self.connection.send(ShareAcknowledgeRequest(self.group, self.member_id, sent, False, topics), 2)

    def acknowledge_answer(self) -> ErrorCode:
        answer = self.connection.receive(ShareAcknowledgeResponse)
        self._count_on(answer.error_code)
        errors = [one.error_code for topic in answer.responses for one in topic.partitions]
        return ErrorCode(answer.error_code or next(iter(errors), 0))

    def _count_on(self, error_code: int) -> None:
        if error_code == ErrorCode.NONE:
            self.session_epoch += 1

    # -- looking

    def describe(self) -> DescribedGroup:
        answer = self.connection.call(ShareGroupDescribeRequest([self.group]), 1, ShareGroupDescribeResponse)
        return answer.groups[0]


def _batches(acks: Mapping[Place, Sequence[Ack]], place: Place) -> list[share_fetch.AcknowledgementBatch]:
    return [share_fetch.AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks.get(place, ())]


def acquired_of(answer: ShareFetchResponse) -> list[Acquired]:
    return [
        (one.first_offset, one.last_offset, one.delivery_count)
        for topic in answer.responses
        for partition in topic.partitions
        for one in partition.acquired_records
    ]


def fetch_errors(answer: ShareFetchResponse) -> dict[Place, ErrorCode]:
    return {
        (topic.topic_id, partition.partition_index): ErrorCode(partition.error_code)
        for topic in answer.responses
        for partition in topic.partitions
        if partition.error_code
    }


def append(world: BrokerWorld, topic: str, records: int, *, partition: int = 0, batches: int = 1) -> None:
    client = world.connect()
    for _ in range(batches):
        request = produce_request(batch(*[b"v"] * records), topic=topic, partition=partition)
        answer = client.call(request, 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def from_the_start(world: BrokerWorld, group: str = "g") -> None:
    configure(world, group, share_auto_offset_reset="earliest")


def configure(world: BrokerWorld, group: str = "g", **properties: str) -> None:
    name = ResourceName("group", group)
    changes = [PutConfig(name, key.replace("_", "."), value) for key, value in properties.items()]
    world.services.metadata.alter_configs(changes)
