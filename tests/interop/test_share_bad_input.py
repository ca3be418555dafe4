"""The answers of share RPCs to requests that no well-behaved client sends, as Apache Kafka gives them.

Run with `--broker=apache` to check the expectations themselves.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

import pytest

from devtools.clients.admin import read_from_start
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import (
    ACCEPT,
    BATCH_OPTIMIZED,
    GAP,
    RECORD_LIMIT,
    REJECT,
    RELEASE,
    RENEW,
    Ack,
    Acquired,
    Member,
    ack_errors,
    append,
    begin_at,
    joined,
)

UNKNOWN_ID = bytes(range(16))
NONE = ErrorCode.NONE


@dataclass(slots=True)
class Queue:
    """A topic of two partitions; partition 0 has the batches 0-9, 10-19 and 20-29, partition 1 has 0-9."""

    stack: ExitStack
    address: tuple[str, int]
    topic: str
    group: str
    topic_id: bytes = b""

    def connect(self) -> WireClient:
        return self.stack.enter_context(WireClient(self.address))

    def member(self, member_id: str) -> Member:
        return Member(self.connect(), self.group, member_id, self.topic_id)

    def busy_member(self) -> Member:
        """Return a member that has acquired all of partition 0; the session's next epoch is set."""
        member = self.member("busy")
        member.join([self.topic])
        assert member.take(30, mode=BATCH_OPTIMIZED) == [Acquired(0, 29, 1)]
        return member


@pytest.fixture
def queue(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Queue]:
    with ExitStack() as stack:
        queue = Queue(stack, ("127.0.0.1", broker.port), unique("topic"), unique("group"))
        read_from_start(broker.bootstrap, queue.group)
        client = queue.connect()
        queue.topic_id = create_topic(client, queue.topic, partitions=2)
        for partition in (0, 0, 0, 1):
            append(client, queue.topic, 10, partition=partition)
        if broker.serves(ApiKey.ALTER_SHARE_GROUP_OFFSETS):
            # Apache Kafka may resolve share.auto.offset.reset before it has applied a group config that it confirmed.
            begin_at(client, queue.group, queue.topic, [0, 0])
        yield queue


BAD_ACKS: dict[str, tuple[list[Ack], ErrorCode]] = {
    "overlapping": ([(0, 5, ACCEPT), (3, 9, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "descending": ([(5, 9, ACCEPT), (0, 4, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "sharing one offset": ([(0, 5, ACCEPT), (5, 9, ACCEPT)], ErrorCode.INVALID_RECORD_STATE),
    "first behind last": ([(5, 4, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "no type": ([(0, 9, [])], ErrorCode.INVALID_REQUEST),
    "too few types": ([(0, 9, [ACCEPT, ACCEPT])], ErrorCode.INVALID_REQUEST),
    "too many types": ([(0, 1, [ACCEPT] * 3)], ErrorCode.INVALID_REQUEST),
    "type 5": ([(0, 9, 5)], ErrorCode.INVALID_REQUEST),
    "type -1": ([(0, 9, -1)], ErrorCode.INVALID_REQUEST),
    "a renewal that is not announced": ([(0, 9, RENEW)], ErrorCode.INVALID_REQUEST),
    "never fetched": ([(30, 39, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "half never fetched": ([(20, 39, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "good, then never fetched": ([(0, 9, ACCEPT), (100, 109, ACCEPT)], ErrorCode.INVALID_REQUEST),
    "far away": ([(1 << 62, 1 << 62, ACCEPT)], ErrorCode.INVALID_REQUEST),
}


@pytest.mark.parametrize("piggybacked", [False, True], ids=["ShareAcknowledge", "ShareFetch"])
@pytest.mark.parametrize("case", BAD_ACKS)
def test_bad_acknowledgement_batches(queue: Queue, case: str, piggybacked: bool) -> None:
    """The partition has the error, none of its batches applies, and the session stays."""
    member = queue.busy_member()
    acks, expected = BAD_ACKS[case]
    answer = member.fetch(acks=acks, max_wait_ms=0) if piggybacked else member.acknowledge(*acks)
    assert answer.error_code == NONE
    assert ack_errors(answer) == [expected]
    member.acknowledged((0, 29, ACCEPT))  # nothing was taken away from it


def test_bad_partition_does_not_spoil_the_others(queue: Queue) -> None:
    member = queue.member("m")
    member.join([queue.topic])
    loaded: set[int] = set()
    while loaded != {0, 1}:
        answer = member.fetch(partitions=[0, 1], mode=BATCH_OPTIMIZED, max_wait_ms=200)
        loaded |= {
            one.partition_index for topic in answer.responses for one in topic.partitions if one.acquired_records
        }
    batches = {
        0: [share_acknowledge.AcknowledgementBatch(7, 3, [ACCEPT])],
        1: [share_acknowledge.AcknowledgementBatch(500, 501, [ACCEPT])],
        9: [share_acknowledge.AcknowledgementBatch(0, 0, [ACCEPT])],
    }
    topics = [
        share_acknowledge.AcknowledgeTopic(
            queue.topic_id, [share_acknowledge.AcknowledgePartition(index, acks) for index, acks in batches.items()]
        ),
        share_acknowledge.AcknowledgeTopic(UNKNOWN_ID, [share_acknowledge.AcknowledgePartition(0, batches[9])]),
    ]
    done = member.send_acknowledge(ShareAcknowledgeRequest(queue.group, "m", member.epoch, False, topics))
    errors = {
        (topic.topic_id, one.partition_index): one.error_code for topic in done.responses for one in topic.partitions
    }
    assert done.error_code == NONE
    assert errors == {
        (queue.topic_id, 0): ErrorCode.INVALID_REQUEST,
        (queue.topic_id, 1): ErrorCode.INVALID_REQUEST,
        (queue.topic_id, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (UNKNOWN_ID, 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }


@pytest.mark.parametrize(
    ("batches", "answered"),
    [
        ({0: [], 1: []}, {}),
        ({0: [(5, 4)], 1: []}, {0: ErrorCode.INVALID_REQUEST}),
        ({7: [(0, 4)], 1: []}, {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}),
        ({7: []}, {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}),
        ({0: [(0, 4)], 1: []}, {0: NONE, 1: NONE}),
    ],
)
def test_partitions_that_are_merely_listed(
    queue: Queue, batches: dict[int, list[tuple[int, int]]], answered: dict[int, ErrorCode]
) -> None:
    """Listed partitions are answered together with the acknowledged ones, if one of the request's batches is valid."""
    member = queue.busy_member()
    rpc = share_acknowledge
    parts = [
        rpc.AcknowledgePartition(index, [rpc.AcknowledgementBatch(*each, [ACCEPT]) for each in ranges])
        for index, ranges in batches.items()
    ]
    topics = [rpc.AcknowledgeTopic(queue.topic_id, parts)]
    answer = member.send_acknowledge(ShareAcknowledgeRequest(queue.group, "busy", member.epoch, False, topics))
    assert answer.error_code == NONE
    assert {row.partition_index: row.error_code for topic in answer.responses for row in topic.partitions} == answered


@pytest.mark.parametrize("kind", [GAP, ACCEPT, RELEASE, REJECT])
def test_records_of_another_member_cannot_be_acknowledged(queue: Queue, kind: int) -> None:
    owner, thief = queue.busy_member(), queue.member("thief")
    thief.fetch(max_wait_ms=0)
    assert ack_errors(thief.acknowledge((0, 9, kind))) == [ErrorCode.INVALID_RECORD_STATE]
    owner.acknowledged((0, 29, ACCEPT))


def test_available_records_cannot_be_acknowledged(queue: Queue) -> None:
    member = queue.busy_member()
    member.acknowledged((10, 19, RELEASE))
    assert ack_errors(member.acknowledge((10, 19, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]


def test_acknowledging_twice(queue: Queue) -> None:
    """A repeated acknowledgement is accepted below the start offset, and refused at or above it."""
    member = queue.busy_member()
    member.acknowledged((10, 19, ACCEPT))
    assert ack_errors(member.acknowledge((10, 19, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]
    member.acknowledged((0, 9, ACCEPT))
    assert ack_errors(member.acknowledge((0, 19, ACCEPT))) == [NONE]


def test_acknowledging_before_anything_was_fetched(queue: Queue) -> None:
    """A session without partitions is accepted, although the share partition is not loaded."""
    member = queue.member("m")
    member.join([queue.topic])
    empty = ShareFetchRequest(queue.group, "m", 0, 0, 0, 1 << 20, 10, 10, 0, False, [], [])
    assert member.send_fetch(empty).error_code == NONE
    assert ack_errors(member.acknowledge((0, 9, ACCEPT))) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("version", [1, 2])
def test_renewal_needs_version_2_and_its_flag(queue: Queue, version: int) -> None:
    member = queue.busy_member()
    answer = member.acknowledge((0, 29, RENEW), is_renew_ack=version == 2, version=version)
    assert ack_errors(answer) == [NONE if version == 2 else ErrorCode.INVALID_REQUEST]
    member.acknowledged((0, 29, ACCEPT))


RENEWING_FETCHES: dict[str, tuple[int, int, int, int]] = {  # MaxWaitMs, MinBytes, MaxBytes, MaxRecords
    "MaxWaitMs": (1, 0, 0, 0),
    "MinBytes": (0, 1, 0, 0),
    "MaxBytes": (0, 0, 1, 0),
    "MaxRecords": (0, 0, 0, 1),
}


@pytest.mark.parametrize("case", RENEWING_FETCHES)
def test_renewing_fetch_asks_for_nothing(queue: Queue, case: str) -> None:
    """A renewing fetch with other fields is refused before the session changes, so the session's epoch stays."""
    member = queue.busy_member()
    wait, least, most, records = RENEWING_FETCHES[case]
    topics = [
        share_fetch.FetchTopic(
            queue.topic_id, [share_fetch.FetchPartition(0, [share_fetch.AcknowledgementBatch(0, 29, [RENEW])])]
        )
    ]
    refused = ShareFetchRequest(queue.group, "busy", member.epoch, wait, least, most, records, 10, 0, True, topics, [])
    assert member.send_fetch(refused).error_code == ErrorCode.INVALID_REQUEST
    assert ack_errors(member.fetch(acks=[(0, 29, RENEW)], is_renew_ack=True)) == [NONE]
    member.acknowledged((0, 29, ACCEPT))


def test_session_epochs_out_of_order(queue: Queue) -> None:
    """A refused epoch leaves the session as it is. Both RPCs advance the same epoch."""
    member = queue.busy_member()
    member.acknowledged((29, 29, ACCEPT))
    due = member.epoch
    for wrong in (due + 1, due - 1, 2**31 - 1, -2):
        member.epoch = wrong
        assert member.fetch(max_wait_ms=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert member.acknowledge((0, 0, ACCEPT)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    member.epoch = 0
    assert member.acknowledge((0, 0, ACCEPT)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    member.epoch = due
    member.acknowledged((0, 9, ACCEPT))
    assert member.fetch(acks=[(10, 19, ACCEPT)], max_wait_ms=0).error_code == NONE
    assert member.epoch == due + 2


@pytest.mark.parametrize("epoch", [1, 7, -1])
def test_no_session(queue: Queue, epoch: int) -> None:
    member = queue.member("nobody")
    member.epoch = epoch
    assert member.fetch(max_wait_ms=0).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.acknowledge((0, 0, ACCEPT)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_opening_a_session_with_acknowledgements(queue: Queue) -> None:
    member = queue.busy_member()
    due, member.epoch = member.epoch, 0
    assert member.fetch(acks=[(0, 9, ACCEPT)], max_wait_ms=0).error_code == ErrorCode.INVALID_REQUEST
    member.epoch = due
    member.acknowledged((0, 29, ACCEPT))


def test_reopening_keeps_the_records(queue: Queue) -> None:
    """Epoch 0 ends the session but not its locks: the member still owns its records."""
    member = queue.busy_member()
    member.epoch = 0
    assert member.fetch(max_wait_ms=0).error_code == NONE
    assert member.acquired == []
    member.acknowledged((0, 29, ACCEPT))


def test_closing_releases_and_is_final(queue: Queue) -> None:
    member = queue.busy_member()
    member.epoch = -1
    assert ack_errors(member.acknowledge((0, 9, ACCEPT))) == [NONE]
    assert member.acknowledge((10, 19, ACCEPT)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    other = queue.member("other")
    assert other.take(mode=BATCH_OPTIMIZED) == [Acquired(10, 29, 2)]


@pytest.mark.crash
@pytest.mark.parametrize("kill", [False, True], ids=["clean restart", "kill -9"])
def test_session_after_a_restart(broker: BrokerUnderTest, queue: Queue, kill: bool) -> None:
    """The old epoch gets SHARE_SESSION_NOT_FOUND; epoch 0 opens a new session, as every client does."""
    old = queue.busy_member()
    broker.restart(kill=kill)
    member = queue.member("busy")
    member.epoch = old.epoch
    assert member.acknowledge((0, 9, ACCEPT)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.fetch(max_wait_ms=0).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    member.epoch = 0
    # A first delivery's count is not persisted. But a broker that stops in good order may release what its connections
    # held, which is: shareq does, Apache Kafka 4.3.1 does not.
    counts = {1} if kill else {1, 2}
    assert {one.delivery_count for one in member.take(mode=BATCH_OPTIMIZED)} <= counts
    member.acknowledged((0, 29, ACCEPT))


@pytest.mark.parametrize("member_id", [None, "", "x" * 37, "ä" * 37], ids=["null", "empty", "37", "37 umlauts"])
def test_bad_member_ids(queue: Queue, member_id: str | None) -> None:
    client = queue.connect()
    fetch = ShareFetchRequest(queue.group, member_id, 0, 0, 0, 1 << 20, 10, 10, 0, False, [], [])
    member = Member(client, queue.group, "unused", queue.topic_id)
    assert member.send_fetch(fetch).error_code == ErrorCode.INVALID_REQUEST
    acknowledge = ShareAcknowledgeRequest(queue.group, member_id, 1, False, [])
    assert member.send_acknowledge(acknowledge).error_code == ErrorCode.INVALID_REQUEST
    if member_id is not None:
        member.member_id = member_id
        assert member.heartbeat([queue.topic]).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("member_id", ["x" * 36, "ä" * 36, " a b ", "not a uuid"])
def test_unusual_member_ids_that_are_fine(queue: Queue, member_id: str) -> None:
    member = queue.member(member_id)
    member.join([queue.topic])
    assert member.take(mode=BATCH_OPTIMIZED) == [Acquired(0, 29, 1)]


def test_null_group_id(queue: Queue) -> None:
    member = queue.member("m")
    fetch = ShareFetchRequest(None, "m", 0, 0, 0, 1 << 20, 10, 10, 0, False, [], [])
    assert member.send_fetch(fetch).error_code == ErrorCode.INVALID_REQUEST
    assert member.send_acknowledge(ShareAcknowledgeRequest(None, "m", 1, False, [])).error_code == 42


Heartbeat = tuple[str | None, str, int, str | None, list[str] | None]
BAD_HEARTBEATS: dict[str, tuple[Heartbeat, ErrorCode]] = {  # group (None: the test's), member, epoch, rack, topics
    "join without topics": ((None, "new", 0, None, None), ErrorCode.INVALID_REQUEST),
    "join with no topic": ((None, "new", 0, None, []), ErrorCode.INVALID_REQUEST),
    "epoch -2": ((None, "busy", -2, None, None), ErrorCode.INVALID_REQUEST),
    "blank rack": ((None, "new", 0, " ", ["t"]), ErrorCode.INVALID_REQUEST),
    "blank member": ((None, "  ", 0, None, ["t"]), ErrorCode.INVALID_REQUEST),
    "blank group": ((" ", "m", 0, None, ["t"]), ErrorCode.INVALID_REQUEST),
    "empty group": (("", "m", 0, None, ["t"]), ErrorCode.INVALID_REQUEST),
    "unknown group": (("no-such-group", "m", 3, None, None), ErrorCode.GROUP_ID_NOT_FOUND),
    "unknown group, leaving": (("no-such-group", "m", -1, None, None), ErrorCode.GROUP_ID_NOT_FOUND),
    "unknown member": ((None, "stranger", 3, None, None), ErrorCode.UNKNOWN_MEMBER_ID),
    "unknown member, leaving": ((None, "stranger", -1, None, None), ErrorCode.UNKNOWN_MEMBER_ID),
    "epoch of the future": ((None, "busy", 99, None, None), ErrorCode.FENCED_MEMBER_EPOCH),
}


@pytest.mark.parametrize("case", BAD_HEARTBEATS)
def test_bad_heartbeats(queue: Queue, case: str) -> None:
    member = queue.busy_member()
    (group, member_id, epoch, rack, topics), expected = BAD_HEARTBEATS[case]
    request = ShareGroupHeartbeatRequest(queue.group if group is None else group, member_id, epoch, rack, topics)
    answer = member.client.call(request, 1, ShareGroupHeartbeatResponse)
    assert ErrorCode(answer.error_code) is expected
    assert member.heartbeat().error_code == NONE


NUMBERS: dict[str, tuple[dict[str, int], list[Acquired]]] = {
    "MaxRecords -1": ({"max_records": -1}, []),
    "MaxRecords 0": ({"max_records": 0}, []),
    "BatchSize -1": ({"batch_size": -1}, [Acquired(0, 29, 1)]),
    "BatchSize 0": ({"batch_size": 0}, [Acquired(0, 29, 1)]),
    "MaxWaitMs -1": ({"max_wait_ms": -1}, [Acquired(0, 29, 1)]),
    "MinBytes -1": ({"min_bytes": -1}, [Acquired(0, 29, 1)]),
    "MaxBytes -1": ({"max_bytes": -1}, []),
    "MaxBytes 1": ({"max_bytes": 1}, [Acquired(0, 9, 1)]),
    "everything huge": (
        {"max_records": 2**31 - 1, "batch_size": 2**31 - 1, "min_bytes": 1, "max_bytes": 2**31 - 1},
        [Acquired(0, 29, 1)],
    ),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_at_their_limits(queue: Queue, case: str) -> None:
    member = queue.member("m")
    member.join([queue.topic])
    numbers, expected = NUMBERS[case]
    values = {
        "max_wait_ms": 100,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 100,
        "batch_size": 100,
        **numbers,
    }
    request = ShareFetchRequest(
        queue.group,
        "m",
        0,
        values["max_wait_ms"],
        values["min_bytes"],
        values["max_bytes"],
        values["max_records"],
        values["batch_size"],
        topics=[share_fetch.FetchTopic(queue.topic_id, [share_fetch.FetchPartition(0)])],
    )
    # The first ones may find the share partition still loading; those that do not wait are answered meanwhile.
    deadline = time.monotonic() + 10
    for request.share_session_epoch in count():
        assert member.send_fetch(request).error_code == NONE
        if member.acquired or (time.monotonic() > deadline if expected else request.share_session_epoch == 9):
            break
    # Not how the ranges are cut: without a batch size, Apache Kafka 4.3.1 sends an empty one, 0 to -1, first.
    assert joined(one for one in member.acquired if one.first <= one.last) == expected


def test_unknown_acquire_mode(queue: Queue) -> None:
    """The whole request fails, after the session epoch has advanced."""
    member = queue.busy_member()
    due = member.epoch
    assert member.fetch(mode=7, max_wait_ms=0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    member.epoch = due + 1
    assert member.fetch(mode=RECORD_LIMIT, max_wait_ms=0).error_code == NONE


def test_same_topic_twice_in_one_request(queue: Queue) -> None:
    """The parts are combined into one list: librdkafka groups only neighbouring partitions of a topic."""
    member = queue.busy_member()
    accept = [share_fetch.AcknowledgementBatch(0, 29, [ACCEPT])]
    topics = [
        share_fetch.FetchTopic(queue.topic_id, [share_fetch.FetchPartition(1)]),
        share_fetch.FetchTopic(queue.topic_id, [share_fetch.FetchPartition(0)]),
        share_fetch.FetchTopic(queue.topic_id, [share_fetch.FetchPartition(0, accept)]),
    ]
    taken: list[Acquired] = []
    request = ShareFetchRequest(queue.group, "busy", member.epoch, 500, 1, 1 << 20, 100, 100, 0, False, topics, [])
    answer = member.send_fetch(request)
    assert answer.error_code == NONE
    assert {topic.topic_id for topic in answer.responses} == {queue.topic_id}
    errors = {
        p.partition_index: (p.error_code, p.acknowledge_error_code) for t in answer.responses for p in t.partitions
    }
    assert errors[0] == (NONE, NONE)
    taken += member.acquired
    while not taken:
        member.fetch(partitions=[1], mode=BATCH_OPTIMIZED)
        taken += member.acquired
    assert taken == [Acquired(0, 9, 1)]
    assert ack_errors(member.acknowledge((0, 29, ACCEPT))) == [NONE]  # below the start offset: the first one counted


def fetch_errors(answer: ShareFetchResponse) -> dict[tuple[bytes, int], int]:
    assert answer.error_code == NONE, answer
    return {
        (topic.topic_id, one.partition_index): one.error_code for topic in answer.responses for one in topic.partitions
    }


def test_unknown_partition_in_a_fetch(queue: Queue) -> None:
    member = queue.busy_member()
    for _ in range(2):
        errors = fetch_errors(member.fetch(partitions=[0, 17], max_wait_ms=0))
        assert errors[(queue.topic_id, 17)] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert errors.get((queue.topic_id, 0), NONE) == NONE
    assert fetch_errors(member.fetch(forgotten=[17], max_wait_ms=0)) == {}


def test_unknown_topic_in_a_fetch(queue: Queue, broker: BrokerUnderTest) -> None:
    """KIP-932: UNKNOWN_TOPIC_ID for the partition. Apache Kafka 4.3.1 kept failing the whole request."""
    member = queue.busy_member()
    topics = [share_fetch.FetchTopic(UNKNOWN_ID, [share_fetch.FetchPartition(0)])]
    request = ShareFetchRequest(queue.group, "busy", member.epoch, 100, 1, 1 << 20, 9, 9, 0, False, topics, [])
    answer = member.send_fetch(request)
    if broker.kind == "apache" and KAFKA_VERSION < "4.4":
        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        return
    assert fetch_errors(answer)[(UNKNOWN_ID, 0)] == ErrorCode.UNKNOWN_TOPIC_ID
    member.acknowledged((0, 29, ACCEPT))


FRAMES: dict[str, bytes] = {
    "ShareFetch version 0": struct.pack(">ihhih", 10, 78, 0, 1, -1),
    "ShareFetch version 99": struct.pack(">ihhihb", 11, 78, 99, 1, -1, 0),
    "unknown key": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "ShareFetch that ends early": struct.pack(">ihhihb", 11, 78, 1, 1, -1, 0) + b"",
    "ShareFetch with two billion topics": struct.pack(">ihhihb", 46, 78, 1, 1, -1, 0)
    + b"\x02g\x02m"
    + struct.pack(">6i", 0, 0, 0, 1, 1, 1)
    + b"\xff\xff\xff\xff\x07\x00\x00",
    "negative size": struct.pack(">i", -1),
    "two gigabytes announced": struct.pack(">i", 2**31 - 1),
}


@pytest.mark.parametrize("case", FRAMES)
def test_malformed_frames_close_the_connection(queue: Queue, case: str) -> None:
    bystander = queue.busy_member()
    with WireClient(queue.address) as client:
        client.send_raw(FRAMES[case])
        assert client.is_closed()
    bystander.acknowledged((0, 29, ACCEPT))
