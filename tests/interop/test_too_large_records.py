"""Requests whose records do not fit into a coordinator's log, as Apache Kafka 4.3.1 answers them.

`message.max.bytes` is small here, so that they need not be large. One difference is in ADR 6: Apache Kafka accepts a
member of a classic group and then cannot write the group; we refuse the member at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count

import pytest

from devtools.clients.offsets_client import OffsetsClient, Row
from devtools.clients.transactor import JAVA_TV1, Transactor
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import NOT_READY, create_known_topic, eventually
from tests.support.kafka.group_requests import consumer_heartbeat, join_request

BROKER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "message.max.bytes": "4000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
pytestmark = pytest.mark.interop
NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR
GROUP, TRANSACTION = 0, 1
MANY = [f"topic-{n:04}" for n in range(500)]


class Member:
    def __init__(self, client: WireClient, group: str) -> None:
        self.client, self.group = client, group
        self.member_id, self.generation = "", -1

    def join(self, metadata: bytes = b"") -> ErrorCode:
        for _ in range(2):
            request = join_request(self.group, self.member_id, {"range": metadata}, rebalance_ms=20_000)
            response = self.client.call(request, 9, JoinGroupResponse)
            if response.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
            self.member_id = response.member_id
        self.generation = response.generation_id
        return ErrorCode(response.error_code)

    def sync(self, assignments: Mapping[str, bytes]) -> ErrorCode:
        rows = [SyncGroupRequestAssignment(member, data) for member, data in assignments.items()]
        request = SyncGroupRequest(self.group, self.generation, self.member_id, None, "consumer", "range", rows)
        return ErrorCode(self.client.call(request, 5, SyncGroupResponse).error_code)

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(self.group, self.generation, self.member_id, None)
        return ErrorCode(self.client.call(request, 4, HeartbeatResponse).error_code)


@dataclass(slots=True)
class Shard:
    """The one partition of the groups' topic, with a stable group that must not change."""

    stack: ExitStack
    address: tuple[str, int]
    prefix: str
    names: Iterator[int] = field(default_factory=count)

    def unique(self, what: str) -> str:
        return f"{what}-{self.prefix}-{next(self.names)}"

    def connect(self) -> WireClient:
        return self.stack.enter_context(WireClient(self.address))

    def member(self) -> Member:
        return Member(self.connect(), self.unique("group"))

    def wait_for(self, key_type: int) -> None:
        client = self.connect()

        def found() -> bool | None:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["probe"])
            answer = client.call(request, 4, FindCoordinatorResponse)
            return True if answer.coordinators[0].error_code == NONE else None

        eventually(found)
        if key_type == TRANSACTION:
            probe = Transactor(client, JAVA_TV1, self.unique("probe"))
            eventually(lambda: True if probe.init() is NONE else None)
        else:
            member = Member(client, "probe")
            eventually(lambda: None if member.heartbeat() in NOT_READY else True)


@pytest.fixture
def shard(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Shard]:
    with ExitStack() as stack:
        shard = Shard(stack, ("127.0.0.1", broker.port), unique("too-large"))
        shard.wait_for(GROUP)
        neighbour = shard.member()
        assert neighbour.join(b"meta") is NONE
        assert neighbour.sync({neighbour.member_id: b"all"}) is NONE
        yield shard
        assert neighbour.heartbeat() is NONE


def test_a_member_of_a_classic_group(shard: Shard) -> None:
    member = shard.member()
    error = member.join(bytes(5_000))
    if error is NONE:  # Apache Kafka
        error = member.sync({member.member_id: b"all"})
    assert error is TOO_LARGE


def test_an_assignment_of_a_classic_group(shard: Shard) -> None:
    member = shard.member()
    assert member.join(b"meta") is NONE
    assert member.sync({member.member_id: bytes(5_000)}) is TOO_LARGE


def test_a_heartbeat_of_a_consumer_group(shard: Shard) -> None:
    request = consumer_heartbeat(shard.unique("group"), topics=MANY)
    answer = shard.connect().call(request, 1, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == TOO_LARGE


def test_a_heartbeat_of_a_share_group(shard: Shard) -> None:
    client, group = shard.connect(), shard.unique("group")
    first = ShareGroupHeartbeatRequest(group, "member", 0, None, MANY[:1])
    eventually(lambda: None if client.call(first, 1, ShareGroupHeartbeatResponse).error_code in NOT_READY else True)
    answer = client.call(ShareGroupHeartbeatRequest(group, "other", 0, None, MANY), 1, ShareGroupHeartbeatResponse)
    assert answer.error_code == TOO_LARGE


def test_committed_offsets(shard: Shard) -> None:
    client, topic, group = shard.connect(), shard.unique("topic"), shard.unique("group")
    offsets = OffsetsClient(client, {topic: create_known_topic(client, topic, 20)})
    rows: dict[tuple[str, int], int | Row] = {(topic, n): Row(n, metadata="x" * 300) for n in range(20)}
    assert offsets.commit(rows, group=group) == dict.fromkeys(rows, TOO_LARGE)
    assert offsets.all(group) == {}
    offsets.committed({(topic, 0): 7}, group=group)


def test_committed_offsets_of_a_transaction(shard: Shard) -> None:
    shard.wait_for(TRANSACTION)
    client, topic, group = shard.connect(), shard.unique("topic"), shard.unique("group")
    ids = {topic: create_known_topic(client, topic, 100)}
    producer = Transactor(client, JAVA_TV1, shard.unique("transaction"))
    assert producer.init() is NONE
    assert producer.add_offsets(group) is NONE
    rows = {(topic, n): n for n in range(100)}
    assert producer.commit_offsets(group, rows) == [TOO_LARGE] * 100
    assert producer.commit_offsets(group, {(topic, 0): 7}) == [NONE]
    assert producer.commit() is NONE
    offsets = OffsetsClient(client, ids)
    assert eventually(lambda: offsets.all(group) or None) == {(topic, 0): 7}


def test_partitions_of_a_transaction(shard: Shard) -> None:
    shard.wait_for(TRANSACTION)
    client = shard.connect()
    topics = [shard.unique("topic").ljust(240, "-") for _ in range(20)]
    for topic in topics:
        create_known_topic(client, topic)
    producer = Transactor(client, JAVA_TV1, shard.unique("transaction"))
    assert producer.init() is NONE
    errors = [producer.add(topic, 0)[0] for topic in topics]
    assert TOO_LARGE in errors, errors
    taken = errors.index(TOO_LARGE)
    assert errors == [NONE] * taken + [TOO_LARGE] * (20 - taken)
    assert 10 < taken < 18
    assert producer.commit() is NONE
