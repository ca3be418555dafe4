"""Acknowledgements of share groups in transactions over frames (KIP-1289's draft)."""

from __future__ import annotations

import pytest

from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Transactor, Versions
from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.metadata.features import SHARE_TRANSACTIONS
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.txn_share_acknowledge import (
    AcknowledgementBatch,
    TxnShareAcknowledgePartition,
    TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
    TxnShareAcknowledgeTopic,
)
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from shareq.protocol.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from shareq.protocol.names import SHARE_GROUP_STATE
from tests.support.clients.share_client import ACCEPT, REJECT, RELEASE, Ack, Place, ShareClient, append, from_the_start

NONE, GONE = ErrorCode.NONE, ErrorCode.INVALID_RECORD_STATE
ONE_SHARD = {"share.coordinator.state.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
LOCK_MS = 30_000


class World:
    """A broker with ten records in topic `in`, a topic `out`, and the feature on, unless said otherwise."""

    def __init__(self, properties: dict[str, str] | None = None, *, on: bool = True) -> None:
        self.world = BrokerWorld({**ONE_SHARD, **(properties or {})})
        self.place: Place = (self.world.create_topic("in").topic_id, 0)
        self.world.create_topic("out")
        from_the_start(self.world)
        append(self.world, "in", 1, batches=10)
        if on:
            self.switch(1)

    def switch(self, level: int) -> None:
        kind = 1 if level else 2
        request = UpdateFeaturesRequest(1_000, [FeatureUpdateKey(SHARE_TRANSACTIONS, level, upgrade_type=kind)])
        assert self.world.connect().call(request, 2, UpdateFeaturesResponse).error_code == NONE

    def member(self, name: str = "m") -> ShareClient:
        member = ShareClient(self.world, name)
        member.join("in")
        return member

    def producer(self, versions: Versions = JAVA_TV2, *, timeout_ms: int = 60_000, name: str = "t") -> Transactor:
        producer = Transactor(self.world.connect(), versions, name)
        assert producer.init(timeout_ms=timeout_ms) is NONE
        return producer

    def states(self) -> str:
        """Return the states in flight, such as `0-4 TX_PENDING(1)`."""
        leader = self.world.services.share.partitions.get_or_load(_key(self.place), "in")
        self.world.clock.run_until_idle()
        return ", ".join(
            f"{row.first_offset}-{row.last_offset} {row.state.name}({row.delivery_count})"
            for row in leader.core.snapshot()
        )

    def pass_by(self, ms: int) -> None:
        """Let time pass, step by step."""
        until = self.world.clock.now_ms() + ms
        while (due := self.world.clock.next_timer_ms()) is not None and due <= until:
            self.world.clock.advance(max(due - self.world.clock.now_ms(), 0))
        self.world.clock.advance(until - self.world.clock.now_ms())


def _key(place: Place) -> SharePartitionKey:
    return SharePartitionKey("g", *place)


def request_of(producer: Transactor, member: ShareClient, place: Place, *acks: Ack) -> TxnShareAcknowledgeRequest:
    batches = [AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
    return TxnShareAcknowledgeRequest(
        producer.transactional_id,
        member.group,
        producer.producer_id,
        producer.epoch,
        member.member_id,
        member.member_epoch,
        [TxnShareAcknowledgeTopic(place[0], [TxnShareAcknowledgePartition(place[1], batches)])],
    )


def stage(producer: Transactor, member: ShareClient, place: Place, *acks: Ack) -> ErrorCode:
    return ask(producer, request_of(producer, member, place, *acks))


def ask(producer: Transactor, request: TxnShareAcknowledgeRequest) -> ErrorCode:
    answer = producer.client.call(request, 0, TxnShareAcknowledgeResponse)
    errors = [row.error_code for topic in answer.topics for row in topic.partitions]
    return ErrorCode(answer.error_code or next(iter(errors), 0))


# -- off


def _versions(world: World, software: str, version: int = 4) -> ApiVersionsResponse:
    return world.world.connect().call(ApiVersionsRequest(software, "1"), version, ApiVersionsResponse)


def test_while_off_no_answer_shows_it_and_the_request_is_an_unknown_one() -> None:
    world = World(on=False)
    for software in ("apache-kafka-java", "librdkafka", "shareq"):
        answer = _versions(world, software)
        assert ApiKey.TXN_SHARE_ACKNOWLEDGE not in {row.api_key for row in answer.api_keys}
        named = {feature.name for feature in answer.supported_features}
        assert (SHARE_TRANSACTIONS in named) is (software == "shareq")
        assert SHARE_TRANSACTIONS not in {feature.name for feature in answer.finalized_features}
    producer, member = world.producer(), world.member()
    assert member.acquire(world.place) == [(0, 9, 1)]
    client = world.world.connect()
    client.send(request_of(producer, member, world.place, (0, 0, ACCEPT)), 0)
    assert client.closed


def test_while_on_others_see_the_feature_and_our_clients_the_request() -> None:
    world = World()
    others, ours = _versions(world, "librdkafka"), _versions(world, "shareq")
    assert {feature.name: feature.max_version_level for feature in others.finalized_features}[SHARE_TRANSACTIONS] == 1
    assert ApiKey.TXN_SHARE_ACKNOWLEDGE not in {row.api_key for row in others.api_keys}
    assert ApiKey.TXN_SHARE_ACKNOWLEDGE in {row.api_key for row in ours.api_keys}


def test_what_is_staged_when_it_is_switched_off_still_ends() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    world.switch(0)
    assert stage(producer, member, world.place, (5, 5, ACCEPT)) is ErrorCode.UNSUPPORTED_VERSION
    assert producer.end(commit=True) is NONE
    assert world.states() == "5-9 ACQUIRED(1)"


# -- the whole way


@pytest.mark.parametrize("versions", [LIBRDKAFKA, JAVA_TV1, JAVA_TV2], ids=["librdkafka", "java-tv1", "java-tv2"])
def test_a_commit_makes_it_final(versions: Versions) -> None:
    world = World()
    producer, member, other = world.producer(versions), world.member(), world.member("other")
    assert member.acquire(world.place) == [(0, 9, 1)]
    assert producer.write("out", b"x") is NONE
    assert stage(producer, member, world.place, (0, 4, ACCEPT), (5, 5, REJECT), (6, 6, RELEASE)) is NONE
    assert world.states() == "0-4 TX_PENDING(1), 5-5 TX_PENDING(1), 6-6 TX_PENDING(1), 7-9 ACQUIRED(1)"
    assert other.acquire(world.place) == []
    assert producer.end(commit=True) is NONE
    assert world.states() == "6-6 AVAILABLE(1), 7-9 ACQUIRED(1)"
    assert other.acquire(world.place) == [(6, 6, 2)]
    assert producer.write("out", b"y") is NONE, "the next transaction"
    assert stage(producer, other, world.place, (6, 6, ACCEPT)) is NONE
    assert producer.end(commit=True) is NONE
    assert world.states() == "7-9 ACQUIRED(1)"


def test_an_abort_gives_it_back_and_the_delivery_counts() -> None:
    world = World({"group.share.delivery.count.limit": "2"})
    producer, member = world.producer(), world.member()
    for count in (1, 2):
        assert member.acquire(world.place) == [(0, 9, count)]
        assert stage(producer, member, world.place, (0, 9, ACCEPT)) is NONE
        assert producer.end(commit=False) is NONE
    assert member.acquire(world.place) == []
    assert world.states() == "", "given up at the limit"


def test_neither_the_lock_nor_the_session_ends_it() -> None:
    world = World()
    producer, member, other = world.producer(timeout_ms=600_000), world.member(), world.member("other")
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    assert member.acknowledge(world.place, (0, 0, ACCEPT)) is GONE
    assert stage(producer, member, world.place, (4, 5, ACCEPT)) is GONE, "all or nothing"
    member.leave()
    member.connection.disconnect()
    world.pass_by(LOCK_MS + 1_000)
    assert world.states().startswith("0-4 TX_PENDING(1), 5-9 AVAILABLE(1)")
    assert other.acquire(world.place) == [(5, 9, 2)]
    assert producer.end(commit=True) is NONE
    assert world.states() == "5-9 ACQUIRED(2)"


def test_what_another_has_finished_is_refused() -> None:
    """A member that has slept through a restart may not commit results of records that others have finished since."""
    world = World()
    producer, other_producer, member = world.producer(), world.producer(name="u"), world.member()
    member.acquire(world.place)
    world.pass_by(LOCK_MS + 1_000)
    member.heartbeat()
    other = world.member("other")
    assert other.acquire(world.place) == [(0, 9, 2)]
    assert stage(other_producer, other, world.place, (0, 9, ACCEPT)) is NONE
    assert other_producer.end(commit=True) is NONE
    assert world.states() == ""
    for acks in ([(0, 9, ACCEPT)], [(0, 4, ACCEPT)], [(9, 9, REJECT)]):
        assert stage(producer, member, world.place, *acks) is GONE


# -- those who may


def test_the_member_must_be_in_the_group_with_its_epoch() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    request = request_of(producer, member, world.place, (0, 0, ACCEPT))
    request.member_epoch += 1
    assert ask(producer, request) is ErrorCode.STALE_MEMBER_EPOCH
    request.member_epoch -= 3
    assert ask(producer, request) is ErrorCode.STALE_MEMBER_EPOCH
    request.member_id = "other"
    assert ask(producer, request) is ErrorCode.UNKNOWN_MEMBER_ID
    request.group_id = "h"
    assert ask(producer, request) is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.states() == "0-9 ACQUIRED(1)"


def test_an_older_producer_is_fenced() -> None:
    world = World()
    old, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(old, member, world.place, (0, 4, ACCEPT)) is NONE
    new = Transactor(world.world.connect())
    assert new.init() is ErrorCode.CONCURRENT_TRANSACTIONS, "the old transaction is aborted first"
    assert new.init() is NONE
    assert world.states() == "0-4 AVAILABLE(1), 5-9 ACQUIRED(1)", "its transaction was aborted"
    assert stage(old, member, world.place, (5, 5, ACCEPT)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert stage(new, member, world.place, (5, 5, ACCEPT)) is NONE
    old.producer_id += 7
    assert stage(old, member, world.place, (6, 6, ACCEPT)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("acks", [[(0, 0, 0)], [(0, 0, 4)], [(3, 3, ACCEPT), (1, 1, ACCEPT)], []])
def test_what_cannot_be_staged(acks: list[Ack]) -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, *acks) is ErrorCode.INVALID_REQUEST
    assert world.states() == "0-9 ACQUIRED(1)"


def test_partitions_have_errors_of_their_own() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    request = request_of(producer, member, world.place, (0, 4, ACCEPT))
    batches = [AcknowledgementBatch(0, 0, [1])]
    request.topics += [
        TxnShareAcknowledgeTopic(world.place[0], [TxnShareAcknowledgePartition(1, batches)]),
        TxnShareAcknowledgeTopic(bytes(15) + b"\7", [TxnShareAcknowledgePartition(0, batches)]),
    ]
    answer = producer.client.call(request, 0, TxnShareAcknowledgeResponse)
    found = {
        (topic.topic_id, row.partition_index): row.error_code for topic in answer.topics for row in topic.partitions
    }
    assert found == {
        world.place: NONE,
        (world.place[0], 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (bytes(15) + b"\7", 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }


# -- time, crashes, deletions


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    world = World({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"})
    producer, member = world.producer(timeout_ms=5_000), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    world.pass_by(7_000)
    assert world.states().startswith("0-4 AVAILABLE(1)")
    assert producer.end(commit=True) is not NONE
    assert world.states().startswith("0-4 AVAILABLE(1)")


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("how", ["stop", CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_restart_keeps_it_until_its_end(how: str | CrashModel, commit: bool) -> None:
    world = World({"log.flush.interval.messages": "1"})
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    if isinstance(how, CrashModel):
        world.world.crash(how)
    else:
        world.world.restart()
    producer.client = world.world.connect()
    other = world.member("other")
    assert other.acquire(world.place) == [(5, 9, 1)]
    assert world.states() == "0-4 TX_PENDING(1), 5-9 ACQUIRED(1)"
    assert producer.end(commit=commit) is NONE
    world.pass_by(3_000)
    assert world.states() == ("5-9 ACQUIRED(1)" if commit else "0-4 AVAILABLE(1), 5-9 ACQUIRED(1)")


def test_it_ends_even_if_no_leader_has_it_in_memory() -> None:
    world = World({"log.flush.interval.messages": "1"})
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 9, ACCEPT)) is NONE
    world.world.crash()
    producer.client = world.world.connect()
    assert producer.end(commit=True) is NONE
    world.pass_by(3_000)
    assert not world.world.services.share_states.has_staged
    assert world.member("other").acquire(world.place) == []


def test_with_its_topic_it_is_gone() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    request = DeleteTopicsRequest([DeleteTopicState("in")], timeout_ms=1_000)
    assert world.world.connect().call(request, 6, DeleteTopicsResponse).responses[0].error_code == NONE
    assert producer.end(commit=True) is NONE
    assert not world.world.services.share_states.has_staged


def test_an_administrator_ends_what_no_coordinator_knows() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(SHARE_GROUP_STATE, [0])],
        coordinator_epoch=0,
    )
    answer = world.world.connect().call(WriteTxnMarkersRequest([marker]), 1, WriteTxnMarkersResponse)
    assert answer.markers[0].topics[0].partitions[0].error_code == NONE
    assert world.states() == "0-4 AVAILABLE(1), 5-9 ACQUIRED(1)"


def test_operators_see_it_as_acquired_by_nobody() -> None:
    world = World()
    producer, member = world.producer(), world.member()
    member.acquire(world.place)
    assert stage(producer, member, world.place, (0, 4, ACCEPT)) is NONE
    leader = world.world.services.share.partitions.get_or_load(_key(world.place), "in")
    ranges = leader.core.list_ranges(0, 100).ranges
    assert [(each.first_offset, each.last_offset, each.state, each.owner) for each in ranges] == [
        (0, 4, "acquired", ""),
        (5, 9, "acquired", "m"),
    ]
