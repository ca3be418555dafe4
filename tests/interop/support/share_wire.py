from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import Caller
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

T = TypeVar("T")

# An independent judge: its numbers are KIP-932's, not the product's.
GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1

Ack = tuple[int, int, int | Sequence[int]]
"""The first and the last offset, both included, and one type for all offsets or one for each."""
NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH,
}
"""The errors that a broker may answer for a moment after its start."""


class Acquired(NamedTuple):
    """A range of offsets (both inclusive) that one member has acquired."""

    first: int
    last: int
    delivery_count: int


class StateBatch(NamedTuple):
    """A batch of persisted state; both offsets inclusive."""

    first: int
    last: int
    state: int
    delivery_count: int


def eventually(attempt: Callable[[], T | None], timeout_s: float = 30, pause_s: float = 0.05) -> T:
    """Return the first result that is not None; AssertionError after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        result = attempt()
        if result is not None:
            return result
        assert time.monotonic() < deadline, f"nothing within {timeout_s} s"
        time.sleep(pause_s)


def create_known_topic(client: Caller, name: str, partitions: int = 1) -> bytes:
    """Create a topic, wait until the broker knows it, and return its id.

    A broker that is not the controller learns of it later.
    """
    topic_id = create_topic(client, name, partitions)
    request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    eventually(lambda: client.call(request, 12, MetadataResponse).topics[0].error_code == ErrorCode.NONE or None)
    return topic_id


@dataclass(slots=True)
class Member:
    """One member of a share group, with its connection's share session.

    `epoch` is the session epoch of the next request; a test may change it.
    """

    client: Caller
    group: str
    member_id: str
    topic_id: bytes
    epoch: int = 0
    member_epoch: int = 0
    acquired: list[Acquired] = field(default_factory=list)
    """The ranges of the last fetch."""

    def join(self, topics: list[str]) -> None:
        def attempt() -> bool | None:
            find_group(self.client, self.group)
            answer = self.heartbeat(topics)
            if answer.error_code in NOT_READY:
                return None
            assert answer.error_code == ErrorCode.NONE, answer
            return True if answer.assignment is not None and answer.assignment.topic_partitions else None

        eventually(attempt)

    def heartbeat(self, topics: list[str] | None = None) -> ShareGroupHeartbeatResponse:
        """Send one heartbeat with the last member epoch; with `topics` a full one."""
        request = ShareGroupHeartbeatRequest(self.group, self.member_id, self.member_epoch, None, topics)
        answer = self.client.call(request, 1, ShareGroupHeartbeatResponse)
        if answer.error_code == ErrorCode.NONE:
            self.member_epoch = answer.member_epoch
        return answer

    def open(self) -> None:
        """Open a share session at the end of what is available: nothing is acquired."""
        eventually(lambda: self.fetch(max_wait_ms=100).error_code == ErrorCode.NONE or None)
        assert self.acquired == []

    def fetch(
        self,
        max_records: int = 500,
        *,
        acks: Iterable[Ack] = (),
        mode: int = RECORD_LIMIT,
        batch_size: int | None = None,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        partitions: Sequence[int] = (0,),
        forgotten: Sequence[int] = (),
        is_renew_ack: bool = False,
        version: int = 2,
    ) -> ShareFetchResponse:
        """Send one ShareFetch for `partitions`; `acks` are for the first. A renewal asks for no records."""
        batches = [share_fetch.AcknowledgementBatch(first, last, _types(kind)) for first, last, kind in acks]
        listed = [
            share_fetch.FetchPartition(partition, batches if partition == partitions[0] else [])
            for partition in partitions
        ]
        request = ShareFetchRequest(
            self.group,
            self.member_id,
            self.epoch,
            0 if is_renew_ack else max_wait_ms,
            0 if is_renew_ack else min_bytes,
            0 if is_renew_ack else max_bytes,
            0 if is_renew_ack else max_records,
            max_records if batch_size is None else batch_size,
            mode,
            is_renew_ack,
            [share_fetch.FetchTopic(self.topic_id, listed)],
            [share_fetch.ForgottenTopic(self.topic_id, list(forgotten))] if forgotten else [],
        )
        return self.send_fetch(request, version)

    def send_fetch(self, request: ShareFetchRequest, version: int = 2) -> ShareFetchResponse:
        """Send the request, keep what was acquired, and advance the session epoch if it was accepted."""
        answer = self.client.call(request, version, ShareFetchResponse)
        self._count_on(answer.error_code)
        self.acquired = [
            Acquired(acquired.first_offset, acquired.last_offset, acquired.delivery_count)
            for topic in answer.responses
            for partition in topic.partitions
            for acquired in partition.acquired_records
        ]
        return answer

    def take(self, max_records: int = 500, *, mode: int = RECORD_LIMIT, timeout_s: float = 20) -> list[Acquired]:
        """Fetch until records are acquired; return ranges, joined by delivery count."""

        def attempt() -> list[Acquired] | None:
            answer = self.fetch(max_records, mode=mode)
            if answer.error_code in {ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}:
                self.epoch = 0
                return None
            assert answer.error_code == ErrorCode.NONE, answer
            errors = {partition.error_code for topic in answer.responses for partition in topic.partitions}
            assert errors <= {ErrorCode.NONE} | NOT_READY, answer
            return joined(self.acquired) or None

        return eventually(attempt, timeout_s)

    def acknowledge(
        self, *acks: Ack, partition: int = 0, is_renew_ack: bool = False, version: int = 2
    ) -> ShareAcknowledgeResponse:
        batches = [share_acknowledge.AcknowledgementBatch(first, last, _types(kind)) for first, last, kind in acks]
        partitions = [share_acknowledge.AcknowledgePartition(partition, batches)]
        topics = [share_acknowledge.AcknowledgeTopic(self.topic_id, partitions)]
        return self.send_acknowledge(
            ShareAcknowledgeRequest(self.group, self.member_id, self.epoch, is_renew_ack, topics), version
        )

    def send_acknowledge(self, request: ShareAcknowledgeRequest, version: int = 2) -> ShareAcknowledgeResponse:
        answer = self.client.call(request, version, ShareAcknowledgeResponse)
        self._count_on(answer.error_code)
        return answer

    def acknowledged(self, *acks: Ack, is_renew_ack: bool = False) -> None:
        """Acknowledge, which must succeed."""
        answer = self.acknowledge(*acks, is_renew_ack=is_renew_ack)
        assert ack_errors(answer) == [ErrorCode.NONE], answer

    def _count_on(self, error_code: int) -> None:
        if error_code == ErrorCode.NONE and self.epoch >= 0:
            self.epoch += 1


def begin_at(client: Caller, group: str, topic: str, start_offsets: Sequence[int]) -> None:
    partitions = [AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in enumerate(start_offsets)]
    request = AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, partitions)])

    def attempt() -> bool | None:
        find_group(client, group)
        answer = client.call(request, 0, AlterShareGroupOffsetsResponse)
        errors = {answer.error_code} | {one.error_code for topic in answer.responses for one in topic.partitions}
        if errors & NOT_READY:
            return None
        assert errors == {ErrorCode.NONE}, answer
        return True

    eventually(attempt)


def find_group(client: Caller, key: str, *, share: bool = False) -> None:
    """Ask for a coordinator, which makes the broker create its state topic.

    `key` is a group, or with `share` a share partition: `group:topic id:partition`.
    """
    request = FindCoordinatorRequest(key_type=2 if share else 0, coordinator_keys=[key])
    client.call(request, 6 if share else 4, FindCoordinatorResponse)


def append(client: Caller, topic: str, records: int, *, partition: int = 0) -> None:
    def attempt() -> bool | None:
        answer = produce(client, topic, batch(*[b"value"] * records), partition=partition)
        if answer.error_code in NOT_READY:
            return None
        assert answer.error_code == ErrorCode.NONE, answer
        return True

    eventually(attempt)


def _types(kind: int | Sequence[int]) -> list[int]:
    return [kind] if isinstance(kind, int) else list(kind)


def ack_errors(answer: ShareFetchResponse | ShareAcknowledgeResponse) -> list[ErrorCode]:
    """Return the top-level error alone, or the partitions' acknowledgement errors."""
    if answer.error_code:
        return [ErrorCode(answer.error_code)]
    if isinstance(answer, ShareFetchResponse):
        return [ErrorCode(p.acknowledge_error_code) for topic in answer.responses for p in topic.partitions]
    return [ErrorCode(p.error_code) for topic in answer.responses for p in topic.partitions]


def joined(acquired: Iterable[Acquired]) -> list[Acquired]:
    """Join neighbouring ranges of one delivery count: the broker may split them anywhere."""
    result: list[Acquired] = []
    for one in sorted(acquired):
        if result and result[-1].last + 1 == one.first and result[-1].delivery_count == one.delivery_count:
            result[-1] = Acquired(result[-1].first, one.last, one.delivery_count)
        else:
            result.append(one)
    return result


def read_state(client: Caller, group: str, topic_id: bytes, partition: int = 0) -> tuple[int, list[StateBatch]]:
    """Return start offset and state batches as stored, waiting for a coordinator that is still loading.

    The read has the lowest leader epoch that the coordinator accepts, which a restart of Apache Kafka raises; a higher
    epoch would fence the leader itself.
    """
    epoch = 0

    def attempt() -> PartitionResult | None:
        nonlocal epoch
        request = ReadShareGroupStateRequest(group, [ReadStateData(topic_id, [PartitionData(partition, epoch)])])
        result = client.call(request, 0, ReadShareGroupStateResponse).results[0].partitions[0]
        epoch += result.error_code == ErrorCode.FENCED_LEADER_EPOCH
        return None if result.error_code in NOT_READY else result

    result = eventually(attempt)
    assert result.error_code == ErrorCode.NONE, result
    return result.start_offset, [
        StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
        for one in result.state_batches
    ]


def normalised(start: int, batches: Iterable[StateBatch]) -> tuple[int, list[StateBatch]]:
    """Remove what is below the start, move the start over finished batches, join equal neighbours.

    Two states with the same normal form deliver the same records, whatever history they keep.
    """
    kept: list[StateBatch] = []
    for one in sorted(batches):
        if one.last < start:
            continue
        one = one._replace(first=max(one.first, start))
        if one.first == start and one.state in {ACKNOWLEDGED, ARCHIVED} and not kept:
            start = one.last + 1
        elif kept and kept[-1].last + 1 == one.first and kept[-1][2:] == one[2:]:
            kept[-1] = kept[-1]._replace(last=one.last)
        else:
            kept.append(one)
    return start, kept


def described_lag(client: Caller, group: str, topic: str, partition: int = 0) -> int:
    """Return the lag from DescribeShareGroupOffsets in records; -1 if not known yet."""
    wanted = DescribeShareGroupOffsetsRequestTopic(topic, [partition])
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, [wanted])])
    answer = client.call(request, 1, DescribeShareGroupOffsetsResponse).groups[0]
    assert answer.error_code == ErrorCode.NONE, answer
    result = answer.topics[0].partitions[0]
    assert result.error_code == ErrorCode.NONE, result
    return result.lag
