"""A share-group member that acknowledges each record in a request of its own, with alternating types.

The hardest load for the share state's log: every acknowledgement is a record of it, and the alternating states never
form a range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from devtools.clients.wire import RequestsInFlight
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from shareq.protocol.share import AcknowledgeType

R = TypeVar("R", bound=Message)

ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
TOGETHER: Final = 10  # requests that arrive in one piece
IN_TURN: Final = (ACCEPT, RELEASE, REJECT)
MEMBER: Final = "storm"


class Pipe(Protocol):
    """A connection on which several requests may be in flight."""

    requests: RequestsInFlight

    def send(self, request: Message, version: int) -> None: ...

    def send_raw(self, data: bytes) -> None: ...

    def receive(self, response_class: type[R]) -> R: ...


class AckStorm:
    """A consumer of partition 0 of one topic.

    `settled`: accepted or rejected offsets, which must not be delivered again.
    """

    def __init__(self, pipe: Pipe, topic: str, topic_id: bytes, group: str, *, in_flight: int = 100) -> None:
        self._pipe = pipe
        self._topic = topic
        self._topic_id = topic_id
        self._group = group
        self._in_flight = in_flight
        self._session_epoch = 0
        self._member_epoch = 0
        self.acks = 0
        self.settled: set[int] = set()
        self.heartbeat(join=True)

    def heartbeat(self, *, join: bool = False) -> None:
        """Send a heartbeat, as every member must every few seconds."""
        epoch = 0 if join else self._member_epoch
        topics = [self._topic] if join else None
        self._pipe.send(ShareGroupHeartbeatRequest(self._group, MEMBER, epoch, None, topics), 1)
        answer = self._pipe.receive(ShareGroupHeartbeatResponse)
        assert answer.error_code == 0, answer
        self._member_epoch = answer.member_epoch

    def run(self, acks: int, after_each_round: Callable[[], None] = lambda: None) -> None:
        """Acknowledge at least this many times more. A released record is accepted when it comes back."""
        target = self.acks + acks
        while self.acks < target:
            deliveries = self._fetch()
            for start in range(0, len(deliveries), self._in_flight):
                self._acknowledge(deliveries[start : start + self._in_flight])
                after_each_round()

    def _fetch(self) -> list[tuple[int, int]]:
        """Return acquired offsets with their delivery counts, at least one."""
        for _ in range(5):
            request = ShareFetchRequest(
                self._group,
                MEMBER,
                self._session_epoch,
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=1 << 20,
                max_records=2_000,
                batch_size=2_000,
                topics=[] if self._session_epoch else [FetchTopic(self._topic_id, [FetchPartition(0, [])])],
            )
            self._pipe.send(request, 2)
            answer = self._pipe.receive(ShareFetchResponse)
            assert answer.error_code == 0, answer
            self._session_epoch += 1
            found = [
                (offset, rows.delivery_count)
                for topic in answer.responses
                for partition in topic.partitions
                for rows in partition.acquired_records
                for offset in range(rows.first_offset, rows.last_offset + 1)
            ]
            if found:
                assert self.settled.isdisjoint(offset for offset, _ in found), "a settled record came back"
                return found
        raise AssertionError(f"nothing comes after {self.acks} acknowledgements")

    def _acknowledge(self, deliveries: list[tuple[int, int]]) -> None:
        frames: list[bytes] = []
        for offset, delivery_count in deliveries:
            kind = ACCEPT if delivery_count > 1 else IN_TURN[offset % 3]
            batch = AcknowledgementBatch(offset, offset, [kind])
            topics = [AcknowledgeTopic(self._topic_id, [AcknowledgePartition(0, [batch])])]
            request = ShareAcknowledgeRequest(self._group, MEMBER, self._session_epoch, False, topics)
            frames.append(self._pipe.requests.frame_of(request, 2))
            self._session_epoch += 1
            if kind != RELEASE:
                self.settled.add(offset)
            if len(frames) == TOGETHER or offset == deliveries[-1][0]:
                self._pipe.send_raw(b"".join(frames))
                frames.clear()
        for _ in deliveries:
            answer = self._pipe.receive(ShareAcknowledgeResponse)
            assert answer.error_code == 0, answer
            assert all(row.error_code == 0 for topic in answer.responses for row in topic.partitions), answer
        self.acks += len(deliveries)
