"""ShareFetch and ShareAcknowledge over frames: the effect of each field, and each error (KIP-932)."""

from __future__ import annotations

import errno
import logging

import pytest

from devtools.clients.requests import batch, produce_request
from devtools.clients.state_rpcs import StateCaller
from devtools.in_memory.mock_transport import DATA, BrokerWorld
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.names import SHARE_GROUP_STATE
from tests.interop.support.share_wire import begin_at
from tests.support.clients.share_client import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ShareClient,
    acquired_of,
    append,
    configure,
    fetch_errors,
    from_the_start,
)

NONE = ErrorCode.NONE
BATCH_OPTIMIZED = 0


class Queue:
    """Topic t with `batches` batches of ten records in each of two partitions; member "m" may begin at the start."""

    def __init__(self, batches: int = 1, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        topic_id = self.world.create_topic("t", 2).topic_id
        self.place, self.other = (topic_id, 0), (topic_id, 1)
        begin_at(self.world.connect(), "g", "t", [0, 0])
        for partition in (0, 1):
            append(self.world, "t", 10, partition=partition, batches=batches)
        self.member = ShareClient(self.world)
        self.member.join("t")

    def holding(self) -> ShareClient:
        acquired = self.member.acquire(self.place)
        assert (acquired[0][0], acquired[-1][2]) == (0, 1)
        return self.member

    def open(self, member_id: str = "m") -> ShareClient:
        """Return a member with a share session for the first partition, which has fetched nothing yet."""
        member = self.member if member_id == "m" else ShareClient(self.world, member_id)
        assert member.fetch(self.place, max_records=0).error_code == NONE
        return member

    def fetch_request(self, epoch: int) -> ShareFetchRequest:
        topics = [share_fetch.FetchTopic(self.place[0], [share_fetch.FetchPartition(0)])]
        return ShareFetchRequest("g", "m", epoch, 0, 1, 1 << 20, 100, 100, topics=topics)


@pytest.fixture
def queue() -> Queue:
    return Queue()


def only(answer: ShareFetchResponse) -> PartitionData:
    assert answer.error_code == NONE
    (topic,) = answer.responses
    (partition,) = topic.partitions
    return partition


# -- how much, and how long


def test_one_batch_comes_however_little_was_asked_for() -> None:
    """KIP-74: at least one batch is returned, whatever MaxBytes is."""
    member = Queue(batches=3).open()
    assert acquired_of(member.fetch(max_bytes=1, mode=BATCH_OPTIMIZED)) == [(0, 9, 1)]
    assert acquired_of(member.fetch(max_bytes=0, mode=BATCH_OPTIMIZED)) == []
    assert acquired_of(member.fetch(mode=BATCH_OPTIMIZED)) == [(10, 29, 1)]


def test_min_bytes_are_waited_for_until_the_time_is_up(queue: Queue) -> None:
    member = queue.open()
    member.send_fetch(min_bytes=1_000, max_wait_ms=500)
    queue.world.clock.advance(499)
    assert not member.connection.frames
    queue.world.clock.advance(1)
    assert acquired_of(member.fetch_answer()) == [(0, 9, 1)]
    member.send_fetch(min_bytes=1_000, max_wait_ms=500)
    append(queue.world, "t", 10)
    queue.world.clock.run_until_idle()
    assert not member.connection.frames
    append(queue.world, "t", 200)
    assert acquired_of(member.fetch_answer()) == [(10, 219, 1)]


def test_a_fetch_of_no_records_only_acknowledges(queue: Queue) -> None:
    member = queue.holding()
    answer = member.fetch(acks={queue.place: [(0, 4, ACCEPT)]}, max_records=0, max_wait_ms=60_000)
    part = only(answer)
    assert (part.error_code, part.acknowledge_error_code, bytes(part.records or b"")) == (NONE, NONE, b"")
    assert member.fetch(forgotten=[queue.place]).responses == []


@pytest.mark.parametrize("version", [1, 2])
def test_the_lock_duration_is_the_groups_and_is_reported(version: int) -> None:
    """Answers have the lock duration, except in version 1 of ShareAcknowledge; no request can set it."""
    queue = Queue(group_share_record_lock_duration_ms="20000")
    client = queue.member.connection
    assert client.call(queue.fetch_request(0), version, ShareFetchResponse).acquisition_lock_timeout_ms == 20_000
    configure(queue.world, share_record_lock_duration_ms="15000")
    append(queue.world, "t", 10)
    answer = client.call(queue.fetch_request(1), version, ShareFetchResponse)
    assert (answer.acquisition_lock_timeout_ms, acquired_of(answer)) == (15_000, [(10, 19, 1)])
    acknowledged = client.call(ShareAcknowledgeRequest("g", "m", 2, False, []), version, ShareAcknowledgeResponse)
    assert acknowledged.acquisition_lock_timeout_ms == (15_000 if version == 2 else 0)
    refused = client.call(queue.fetch_request(7), version, ShareFetchResponse)
    assert (refused.error_code, refused.acquisition_lock_timeout_ms) == (ErrorCode.INVALID_SHARE_SESSION_EPOCH, 0)
    other = queue.open("other")
    queue.world.clock.advance(14_999)
    assert acquired_of(other.fetch()) == []
    queue.world.clock.advance(1)
    assert acquired_of(other.fetch()) == [(10, 19, 2)]
    queue.world.clock.advance(5_000)
    assert acquired_of(other.fetch()) == [(0, 9, 2)], "a lock keeps the duration it was acquired with"


# -- errors of one partition


def test_fetching_and_acknowledging_have_errors_of_their_own(queue: Queue) -> None:
    """One partition has both; as in Apache Kafka 4.3.1 only the acknowledgement's error has a message."""
    member = queue.holding()
    append(queue.world, "t", 5)
    other = queue.open("other")
    part = only(other.fetch(acks={queue.place: [(0, 9, ACCEPT)]}))
    assert (part.error_code, part.error_message) == (NONE, None)
    assert part.acknowledge_error_code == ErrorCode.INVALID_RECORD_STATE
    assert part.acknowledge_error_message
    assert [(one.first_offset, one.last_offset) for one in part.acquired_records] == [(10, 14)]
    assert part.records
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (0, 0)
    queue.world.fs.fail_reads = True
    append(queue.world, "t", 5)
    part = only(member.fetch(acks={queue.place: [(0, 9, ACCEPT)]}))
    assert (part.error_code, part.error_message) == (ErrorCode.KAFKA_STORAGE_ERROR, None)
    assert (part.acknowledge_error_code, part.acknowledge_error_message) == (NONE, None)


def test_what_cannot_be_read_is_reported_and_given_out_later(queue: Queue) -> None:
    member = queue.open()
    queue.world.fs.fail_reads = True
    assert fetch_errors(member.fetch()) == {queue.place: ErrorCode.KAFKA_STORAGE_ERROR}
    queue.world.fs.fail_reads = False
    assert acquired_of(member.fetch()) == [(0, 9, 1)]


def test_a_log_that_is_offline_after_a_failed_sync() -> None:
    """No record is delivered, but acknowledgements are accepted: their state is in another log."""
    queue = Queue(log_flush_interval_messages="1")
    member = queue.holding()
    failing_disk(queue.world, "sync", "/t-0/")
    refused = queue.world.connect().call(produce_request(batch(b"v"), topic="t"), 9, ProduceResponse)
    assert refused.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    queue.world.fs.fail = None
    part = only(member.fetch(acks={queue.place: [(0, 4, ACCEPT)]}))
    assert (part.error_code, part.acknowledge_error_code) == (ErrorCode.KAFKA_STORAGE_ERROR, NONE)
    assert part.acquired_records == []
    assert member.acknowledge(queue.place, (5, 9, ACCEPT)) == NONE
    assert acquired_of(member.fetch(queue.other)) == [(0, 9, 1)], "of the other partition"


@pytest.mark.parametrize("kind", ["write", "sync"])
def test_acknowledgements_whose_state_cannot_be_written(kind: str) -> None:
    """The error is COORDINATOR_NOT_AVAILABLE, and the member keeps its records.

    Apache Kafka 4.3.1's coordinator answers so for KAFKA_STORAGE_ERROR.
    """
    queue = Queue(log_flush_interval_messages="1")
    member = queue.holding()
    failing_disk(queue.world, kind, SHARE_GROUP_STATE)
    assert member.acknowledge(queue.place, (0, 4, ACCEPT)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    part = only(member.fetch(acks={queue.place: [(5, 9, ACCEPT)]}))
    assert (part.error_code, part.acknowledge_error_code) == (NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert part.acquired_records == []
    queue.world.fs.fail = None
    if kind == "sync":  # what such a log has in its files is known after a start alone
        assert member.acknowledge(queue.place, (0, 9, ACCEPT)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        queue.world.restart()
        member.reconnect()
        assert member.acquire(queue.place) == [(0, 9, 1)]
    assert member.acknowledge(queue.place, (0, 9, ACCEPT)) == NONE
    queue.world.restart()
    member.reconnect()
    assert member.acquire(queue.other) == [(0, 9, 1)]
    assert acquired_of(member.fetch(queue.place)) == []


def failing_disk(world: BrokerWorld, kind: str, where: str) -> None:
    world.fs.fail = lambda done, path: OSError(errno.EIO, "no") if done == kind and where in path else None


def test_a_damaged_batch_is_reported_and_never_given_out(queue: Queue) -> None:
    """One bit of a record on disk is flipped."""
    member = queue.open()
    member.fetch(queue.other, max_records=0)
    queue.world.fs.content(f"{DATA}/t-0/00000000000000000000.log")[-1] ^= 1
    answer = member.fetch()
    assert fetch_errors(answer) == {queue.place: ErrorCode.CORRUPT_MESSAGE}
    assert acquired_of(answer) == [(0, 9, 1)], "of the other partition"
    assert fetch_errors(member.fetch()) == {queue.place: ErrorCode.CORRUPT_MESSAGE}


def test_a_share_partition_that_nobody_initialised(world: BrokerWorld) -> None:
    """A fetch before any assignment is answered with an error after its wait; it may be repeated."""
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    append(world, "t", 10)
    early = ShareClient(world, "early")
    ShareClient(world).join("u")  # creates the coordinators' topics
    early.send_fetch(place, max_wait_ms=300)
    world.clock.advance(299)
    assert not early.connection.frames
    world.clock.advance(1)
    assert fetch_errors(early.fetch_answer()) == {place: ErrorCode.UNKNOWN_SERVER_ERROR}
    ShareClient(world).join("t")
    assert early.acquire() == [(0, 9, 1)]


def test_a_topic_that_is_deleted_while_records_are_held(queue: Queue) -> None:
    member = queue.holding()
    queue.world.folder.metadata.delete_topics(["t"])
    assert member.acknowledge(queue.place, (0, 9, ACCEPT)) is ErrorCode.UNKNOWN_TOPIC_ID
    assert fetch_errors(member.fetch()) == {queue.place: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_our_own_fault_costs_the_request_and_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, queue: Queue
) -> None:
    member = queue.holding()

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(SharePartitionManager, "acknowledge", broken)
        assert member.acknowledge(queue.place, (0, 9, ACCEPT)) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    member.session_epoch += 1
    assert member.acknowledge(queue.place, (0, 9, ACCEPT)) is NONE


def fenced(fence: str) -> tuple[Queue, ShareAcknowledgeRequest]:
    """Return a member's acknowledgement whose share coordinator knows of another leader."""
    queue = Queue()
    member = queue.holding()
    if fence == "leader epoch":
        assert StateCaller(queue.world.connect(), "g", queue.place[0]).read(leader_epoch=7).error == NONE
    else:  # by way of a broker whose handler knows nothing of the leader here
        answer = queue.world.services.share_states.initialize(SharePartitionKey("g", *queue.place), 1_000, 0)
        queue.world.clock.run_until_idle()
        assert answer.value.code is NONE
    acks = [share_acknowledge.AcknowledgementBatch(0, 4, [ACCEPT])]
    topics = [share_acknowledge.AcknowledgeTopic(queue.place[0], [share_acknowledge.AcknowledgePartition(0, acks)])]
    return queue, ShareAcknowledgeRequest("g", "m", member.session_epoch, False, topics)


@pytest.mark.parametrize("fence", ["leader epoch", "state epoch"])
def test_an_acknowledgement_by_a_fenced_leader_names_who_leads(fence: str) -> None:
    queue, request = fenced(fence)
    answer = queue.member.connection.call(request, 2, ShareAcknowledgeResponse)
    (part,) = answer.responses[0].partitions
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (1, 0)
    assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [(1, "127.0.0.1", 9092)]
    request.share_session_epoch += 1
    again = queue.member.connection.call(request, 2, ShareAcknowledgeResponse).responses[0].partitions[0]
    assert again.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "it was dropped at once"


@pytest.mark.parametrize("fence", ["leader epoch", "state epoch"])
def test_within_a_fetch_it_does_not(fence: str) -> None:
    """The leader is named only with the fetch's own error; otherwise it is 0 in epoch 0."""
    queue, _ = fenced(fence)
    part = only(queue.member.fetch(acks={queue.place: [(0, 4, ACCEPT)]}, max_records=0))
    assert (part.error_code, part.acknowledge_error_code) == (NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (0, 0)


LISTED: list[tuple[dict[int, list[tuple[int, int]]], dict[int, ErrorCode]]] = [
    ({0: [(5, 4)], 1: []}, {0: ErrorCode.INVALID_REQUEST}),
    ({7: [(0, 4)], 1: []}, {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}),
    ({0: [(0, 4)], 1: []}, {0: NONE, 1: NONE}),
    ({0: [(50, 54)], 1: []}, {0: ErrorCode.INVALID_REQUEST, 1: NONE}),
]


@pytest.mark.parametrize(
    ("batches", "answered"), [*LISTED, ({0: [], 1: []}, {}), ({7: []}, {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})]
)
def test_partitions_that_are_merely_listed(
    batches: dict[int, list[tuple[int, int]]], answered: dict[int, ErrorCode], queue: Queue
) -> None:
    """Listed partitions are answered together with the acknowledged ones, if one of the request's batches is valid."""
    member = queue.holding()
    rpc = share_acknowledge
    parts = [
        rpc.AcknowledgePartition(index, [rpc.AcknowledgementBatch(*each, [ACCEPT]) for each in ranges])
        for index, ranges in batches.items()
    ]
    wanted = [rpc.AcknowledgeTopic(queue.place[0], parts)]
    request = ShareAcknowledgeRequest("g", "m", member.session_epoch, False, wanted)
    answer = member.connection.call(request, 2, ShareAcknowledgeResponse)
    assert {row.partition_index: row.error_code for topic in answer.responses for row in topic.partitions} == answered


@pytest.mark.parametrize(("batches", "answered"), LISTED)
def test_partitions_that_are_merely_listed_in_a_fetch(
    batches: dict[int, list[tuple[int, int]]], answered: dict[int, ErrorCode], queue: Queue
) -> None:
    member = queue.holding()
    acks = {(queue.place[0], index): [(*each, ACCEPT) for each in ranges] for index, ranges in batches.items()}
    answer = member.fetch(acks=acks, epoch=-1)  # the last request of a session fetches nothing
    rows = [row for topic in answer.responses for row in topic.partitions]
    assert {row.partition_index: row.acknowledge_error_code for row in rows} == answered


# -- acknowledge types


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", [GAP, ACCEPT, RELEASE, REJECT])
def test_each_type_of_acknowledgement_and_what_is_stored(version: int, kind: int, queue: Queue) -> None:
    """An accepted, rejected or gap record is never delivered again; a released one is."""
    member = queue.holding()
    batches = [share_acknowledge.AcknowledgementBatch(0, 4, [kind])]
    topics = [share_acknowledge.AcknowledgeTopic(queue.place[0], [share_acknowledge.AcknowledgePartition(0, batches)])]
    request = ShareAcknowledgeRequest("g", "m", member.session_epoch, False, topics)
    (topic,) = member.connection.call(request, version, ShareAcknowledgeResponse).responses
    assert [(one.partition_index, one.error_code, one.error_message) for one in topic.partitions] == [(0, NONE, None)]
    other = queue.open("other")
    assert acquired_of(other.fetch()) == ([(0, 4, 2)] if kind == RELEASE else [])
    queue.world.clock.advance(30_000)
    again = [(0, 4, 3), (5, 9, 2)] if kind == RELEASE else [(5, 9, 2)]
    assert acquired_of(other.fetch()) == again


def test_one_type_for_each_offset(queue: Queue) -> None:
    member = queue.holding()
    kinds: list[int] = [ACCEPT, RELEASE, REJECT, GAP, RELEASE, ACCEPT, ACCEPT, ACCEPT, ACCEPT, ACCEPT]
    batches = [share_acknowledge.AcknowledgementBatch(0, 9, kinds)]
    topics = [share_acknowledge.AcknowledgeTopic(queue.place[0], [share_acknowledge.AcknowledgePartition(0, batches)])]
    request = ShareAcknowledgeRequest("g", "m", member.session_epoch, False, topics)
    answer = member.connection.call(request, 2, ShareAcknowledgeResponse)
    assert answer.responses[0].partitions[0].error_code == NONE
    other = queue.open("other")
    assert acquired_of(other.fetch()) == [(1, 1, 2), (4, 4, 2)]


def test_a_release_at_the_delivery_limit_gives_the_record_up() -> None:
    queue = Queue(group_share_delivery_count_limit="2")
    member = queue.holding()
    assert member.acknowledge(queue.place, (0, 9, RELEASE)) is NONE
    assert acquired_of(member.fetch()) == [(0, 9, 2)]
    assert member.acknowledge(queue.place, (0, 9, RELEASE)) is NONE
    append(queue.world, "t", 1)
    assert acquired_of(member.fetch()) == [(10, 10, 1)]


@pytest.mark.parametrize("piggybacked", [False, True])
def test_renewing_prolongs_and_stores_nothing(piggybacked: bool, queue: Queue) -> None:
    member = queue.holding()
    queue.world.clock.advance(29_000)
    log = queue.world.folder.logs
    written = sum(log.get("__share_group_state", number).log_end_offset for number in range(50))
    if piggybacked:
        batches = [share_fetch.AcknowledgementBatch(0, 9, [RENEW])]
        topics = [share_fetch.FetchTopic(queue.place[0], [share_fetch.FetchPartition(0, batches)])]
        epoch = member.session_epoch
        fetch = ShareFetchRequest("g", "m", epoch, 0, 0, 0, 0, 0, is_renew_ack=True, topics=topics)
        part = only(member.connection.call(fetch, 2, ShareFetchResponse))
        assert (part.acknowledge_error_code, part.acquired_records) == (NONE, [])
    else:
        rows = [share_acknowledge.AcknowledgePartition(0, [share_acknowledge.AcknowledgementBatch(0, 9, [RENEW])])]
        wanted = [share_acknowledge.AcknowledgeTopic(queue.place[0], rows)]
        request = ShareAcknowledgeRequest("g", "m", member.session_epoch, True, wanted)
        answer = member.connection.call(request, 2, ShareAcknowledgeResponse)
        assert answer.responses[0].partitions[0].error_code == NONE
    member.session_epoch += 1
    queue.world.clock.advance(29_999)
    assert written == sum(log.get("__share_group_state", number).log_end_offset for number in range(50))
    assert member.acknowledge(queue.place, (0, 9, ACCEPT)) is NONE


@pytest.mark.parametrize("field", ["max_wait_ms", "min_bytes", "max_bytes", "max_records"])
def test_a_renewal_that_asks_for_records_is_refused_before_its_session_is_touched(field: str, queue: Queue) -> None:
    """KIP-1222: all four fields must be zero in a renewing ShareFetch."""
    member = queue.holding()
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, field: 1}
    batches = [share_fetch.AcknowledgementBatch(0, 9, [RENEW])]
    topics = [share_fetch.FetchTopic(queue.place[0], [share_fetch.FetchPartition(0, batches)])]

    def renew(limits: dict[str, int]) -> ShareFetchResponse:
        request = ShareFetchRequest("g", "m", member.session_epoch, is_renew_ack=True, topics=topics, **limits)  # type: ignore[arg-type]
        return member.connection.call(request, 2, ShareFetchResponse)

    assert renew(limits).error_code == ErrorCode.INVALID_REQUEST
    assert only(renew({**limits, field: 0})).acknowledge_error_code == NONE, "with the same epoch"


# -- the session and the connection


def test_who_is_no_member_may_fetch_and_acknowledge(queue: Queue) -> None:
    """Neither membership nor assignment is checked; the member id is any text."""
    stranger = ShareClient(queue.world, "not a uuid")
    assert stranger.acquire(queue.place) == [(0, 9, 1)]
    assert stranger.acknowledge(queue.place, (0, 9, ACCEPT)) is NONE


def test_forgetting_a_partition_keeps_its_locks_even_when_the_session_ends(queue: Queue) -> None:
    """Only records of partitions in the session are released; other locks expire."""
    member = queue.holding()
    member.fetch(queue.other)
    member.fetch(forgotten=[queue.place])
    other = queue.open("other")
    other.fetch(queue.other, max_records=0)
    assert acquired_of(other.fetch()) == []
    member.fetch(epoch=-1)
    assert acquired_of(other.fetch()) == [(0, 9, 2)], "of the other partition"
    queue.world.clock.advance(30_000)
    append(queue.world, "t", 1, partition=1)
    assert sorted(acquired_of(other.fetch())) == [(0, 9, 2), (0, 9, 3), (10, 10, 1)]


def test_acknowledging_a_partition_that_left_the_assignment() -> None:
    """A partition that one request lists and forgets is answered, but not fetched."""
    queue = Queue(batches=2)
    member = queue.open()
    assert acquired_of(member.fetch(max_records=10)) == [(0, 9, 1)]
    answer = member.fetch(acks={queue.place: [(0, 9, ACCEPT)]}, forgotten=[queue.place])
    part = only(answer)
    assert (part.acknowledge_error_code, bytes(part.records or b""), part.acquired_records) == (NONE, b"", [])
    assert member.fetch().responses == []


# -- the log under the share partition


def test_records_that_retention_took_are_passed_over_without_a_word() -> None:
    """OFFSET_OUT_OF_RANGE is never returned; acknowledgements below the new start have no effect."""
    queue = Queue(batches=3)
    member = queue.open()
    assert acquired_of(member.fetch(max_records=10)) == [(0, 9, 1)]
    logs = queue.world.folder.logs
    log = logs.get("t", 0)
    assert logs.truncate_prefixes({log: 20}) == {log: NONE}
    answer = member.fetch()
    assert fetch_errors(answer) == {}
    assert acquired_of(answer) == [(20, 29, 1)]
    assert member.acknowledge(queue.place, (0, 9, ACCEPT)) is NONE
    assert member.acknowledge(queue.place, (20, 29, ACCEPT)) is NONE
    assert acquired_of(member.fetch()) == []
    append(queue.world, "t", 1)
    assert acquired_of(member.fetch()) == [(30, 30, 1)]
