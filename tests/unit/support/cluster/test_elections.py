"""Leader changes in the simulated cluster: kept records, lost records, and when brokers learn of them."""

from __future__ import annotations

from devtools.clients.requests import TIMESTAMP_MS, batch, fetch_request, produce_request
from shareq.cluster.link.ports import Failure, LinkFailure, Purpose
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest, FetchResponse, PartitionData
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, batch_headers, build_batch
from tests.support.cluster.coordinators import CoordinatorKind, slot_of
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld


def batch_of(value: bytes, *, producer: tuple[int, int] | None = None, sequence: int = -1, key: bytes = b"k") -> bytes:
    producer_id, epoch = producer or (-1, -1)
    return bytes(
        build_batch(
            [RecordData(key, value)],
            timestamp_ms=TIMESTAMP_MS,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
    )


class Orders:
    """A topic of one partition on brokers 1 to 3, and a link to them."""

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self.world = ClusterWorld(settings)
        self.cluster = self.world.cluster
        self.topic_id = self.cluster.create_topic("orders", 1, 3).topic_id

    @property
    def leader(self) -> int:
        return self.cluster.leader("orders")

    @property
    def followers(self) -> list[int]:
        return [each for each in self.cluster.brokers if each != self.leader]

    def produce(self, records: bytes, to: int | None = None, acks: int = -1) -> PartitionProduceResponse:
        request = produce_request(records, topic="orders", topic_id=self.topic_id, acks=acks)
        return produced(self.world.ask(self.leader if to is None else to, request))

    def fetch(self, offset: int = 0, to: int | None = None) -> PartitionData:
        request = fetch_request("orders", offset, topic_id=self.topic_id)
        return fetched(self.world.ask(self.leader if to is None else to, request, purpose=Purpose.BEHIND))

    def offsets(self) -> list[int]:
        return [header.base_offset for _, header in batch_headers(bytes(self.fetch().records or b""))]

    def end_of(self, epoch: int) -> tuple[int, int]:
        rows = [OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, -1, epoch)])]
        answer = self.world.ask(self.leader, OffsetForLeaderEpochRequest(-1, rows))
        assert isinstance(answer, OffsetForLeaderEpochResponse)
        row = answer.topics[0].partitions[0]
        return row.leader_epoch, row.end_offset


def produced(answer: Message | LinkFailure) -> PartitionProduceResponse:
    assert isinstance(answer, ProduceResponse), answer
    return answer.responses[0].partition_responses[0]


def fetched(answer: Message | LinkFailure) -> PartitionData:
    assert isinstance(answer, FetchResponse), answer
    return answer.responses[0].partitions[0]


def test_a_clean_election_keeps_everything() -> None:
    orders = Orders()
    orders.produce(batch(b"a"))
    old, new = orders.leader, orders.followers[0]
    orders.cluster.elect("orders", new)
    refused = orders.produce(batch(b"b"), to=old)
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused.current_leader is not None
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (new, 1)
    assert orders.produce(batch(b"b")).base_offset == 1
    assert orders.offsets() == [0, 1]


def test_what_was_not_replicated_may_be_kept_or_lost_and_its_producer_cannot_know() -> None:
    """A waiting request whose broker no longer leads is answered NOT_LEADER_OR_FOLLOWER (DelayedProduce)."""
    for keep_to, end in ((None, 2), (1, 1)):
        orders = Orders()
        orders.produce(batch(b"a"))
        orders.cluster.hold_replication("orders")
        request = produce_request(batch(b"b"), topic="orders", topic_id=orders.topic_id, acks=-1)
        pending = orders.world.link.send(orders.leader, request)
        orders.world.clock.advance(1_000)
        assert not pending.done
        assert orders.fetch().high_watermark == 1
        orders.cluster.elect("orders", orders.followers[0], keep_to=keep_to)
        assert produced(orders.world.wait(pending)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        orders.cluster.release_replication("orders")
        assert orders.fetch().high_watermark == end


def test_a_leader_that_is_elected_again_goes_on_with_what_waits() -> None:
    orders = Orders()
    orders.cluster.hold_replication("orders")
    request = produce_request(batch(b"a"), topic="orders", topic_id=orders.topic_id, acks=-1)
    pending = orders.world.link.send(orders.leader, request)
    orders.world.clock.run_until_idle()
    orders.cluster.elect("orders", orders.leader)
    assert not pending.done
    orders.cluster.release_replication("orders")
    assert produced(orders.world.wait(pending)).base_offset == 0


def test_acks_1_is_answered_before_it_is_replicated() -> None:
    orders = Orders()
    orders.cluster.hold_replication("orders")
    assert orders.produce(batch(b"a"), acks=1).base_offset == 0
    assert orders.offsets() == []
    late = produce_request(batch(b"b"), topic="orders", topic_id=orders.topic_id, acks=-1)
    late.timeout_ms = 500
    assert produced(orders.world.ask(orders.leader, late)).error_code == ErrorCode.REQUEST_TIMED_OUT
    orders.cluster.release_replication("orders")
    assert orders.offsets() == [0, 1]


def test_replication_takes_its_time() -> None:
    orders = Orders(ClusterSettings(replication_ms=40))
    before = orders.world.clock.now_ms()
    orders.produce(batch(b"a"))
    assert orders.world.clock.now_ms() == before + 40


def test_an_unclean_election_loses_what_was_confirmed_and_epochs_show_it() -> None:
    """A reader that asks for the end of its epoch learns that it is ahead of the log (KIP-320)."""
    orders = Orders()
    for value in (b"a", b"b", b"c"):
        orders.produce(batch(value))
    assert orders.end_of(0) == (0, 3)
    orders.cluster.elect("orders", orders.followers[0], keep_to=1)
    assert orders.end_of(0) == (0, 1)
    assert orders.produce(batch(b"d")).base_offset == 1
    assert orders.end_of(1) == (1, 2)
    assert orders.end_of(0) == (0, 1)
    assert orders.fetch(3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    ahead = fetch_request("orders", 2, topic_id=orders.topic_id)
    ahead.topics[0].partitions[0].last_fetched_epoch = 0
    diverging = fetched(orders.world.ask(orders.leader, ahead)).diverging_epoch
    assert diverging is not None
    assert (diverging.epoch, diverging.end_offset) == (0, 1)


def test_a_truncation_takes_producers_back_to_what_is_left() -> None:
    orders = Orders()
    old, new = (7, 0), (7, 1)
    for sequence in range(3):
        orders.produce(batch_of(b"x", producer=old, sequence=sequence))
    orders.produce(batch_of(b"take-over", producer=new, sequence=0))
    orders.produce(batch_of(b"other", producer=(8, 0), sequence=4))
    fenced = orders.produce(batch_of(b"x", producer=old, sequence=3))
    assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    orders.cluster.elect("orders", orders.followers[0], keep_to=2)
    assert orders.produce(batch_of(b"x", producer=old, sequence=1)).base_offset == 1
    assert orders.produce(batch_of(b"x", producer=old, sequence=2)).base_offset == 2
    assert orders.produce(batch_of(b"other", producer=(8, 0), sequence=9)).base_offset == 3


def test_a_leader_that_has_not_heard_confirms_nothing() -> None:
    """Followers copy from the new leader, so the old leader's high watermark stays."""
    orders = Orders()
    orders.produce(batch(b"a"))
    old, new = orders.leader, orders.followers[0]
    orders.cluster.hold_news(old)
    orders.cluster.elect("orders", new)
    pending = orders.world.link.send(
        old, produce_request(batch(b"lost"), topic="orders", topic_id=orders.topic_id, acks=-1)
    )
    orders.world.clock.advance(1_000)
    assert not pending.done
    assert orders.fetch(to=old).high_watermark == 1
    assert orders.produce(batch(b"b"), to=new).base_offset == 1
    orders.cluster.release_news(old)
    assert produced(orders.world.wait(pending)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert orders.offsets() == [0, 1]


def test_a_leader_that_has_not_heard_and_leads_again_does_not_confirm_what_it_took_in_vain() -> None:
    orders = Orders()
    old, new = orders.leader, orders.followers[0]
    orders.cluster.hold_news(old)
    orders.cluster.elect("orders", new)
    request = produce_request(batch(b"lost"), topic="orders", topic_id=orders.topic_id, acks=-1)
    pending = orders.world.link.send(old, request)
    orders.world.clock.advance(1_000)
    assert orders.produce(batch(b"b"), to=new).base_offset == 0
    orders.cluster.elect("orders", old)
    orders.cluster.release_news(old)
    assert produced(orders.world.wait(pending)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert orders.offsets() == [0]


def test_a_leader_that_has_not_heard_loses_what_it_confirms_with_acks_1() -> None:
    orders = Orders()
    old = orders.leader
    orders.cluster.hold_news(old)
    orders.cluster.elect("orders", orders.followers[0])
    assert orders.produce(batch(b"lost"), to=old, acks=1).base_offset == 0
    orders.cluster.release_news(old)
    assert orders.offsets() == []


def test_a_dead_leader_is_replaced_after_its_session_and_comes_back_as_a_follower() -> None:
    orders = Orders()
    orders.produce(batch(b"a"))
    old = orders.leader
    orders.cluster.kill(old)
    session_ms = orders.cluster.settings.broker_session_timeout_ms
    orders.world.clock.advance(session_ms - 1)
    assert orders.leader == old
    orders.world.clock.advance(1)
    assert orders.leader != old
    assert orders.produce(batch(b"b")).base_offset == 1
    orders.cluster.start(old)
    assert orders.cluster.topic("orders").partitions[0].isr[-1] == old
    assert orders.produce(batch(b"c"), to=old).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_dead_follower_holds_acks_all_up_until_it_is_out_of_the_isr() -> None:
    orders = Orders()
    orders.cluster.kill(orders.followers[0])
    before = orders.world.clock.now_ms()
    assert orders.produce(batch(b"a")).base_offset == 0
    assert orders.world.clock.now_ms() == before + orders.cluster.settings.broker_session_timeout_ms


def test_with_too_few_in_sync_nothing_is_confirmed() -> None:
    orders = Orders()
    orders.cluster.controller.set_configs("orders", {"min.insync.replicas": "2"})
    leader = orders.leader
    for follower in orders.followers:
        orders.cluster.kill(follower)
    orders.world.clock.advance(orders.cluster.settings.broker_session_timeout_ms)
    assert orders.leader == leader
    assert orders.produce(batch(b"a")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_without_replicas_that_live_there_is_no_leader() -> None:
    world = ClusterWorld()
    world.cluster.create_topic("alone")
    only = world.cluster.leader("alone")
    world.cluster.kill(only)
    world.clock.advance(world.cluster.settings.broker_session_timeout_ms)
    answer = world.ask(
        next(each for each in (1, 2, 3) if each != only), MetadataRequest([MetadataRequestTopic(name="alone")])
    )
    assert isinstance(answer, MetadataResponse)
    partition = answer.topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert [each.node_id for each in answer.brokers] == [each for each in (1, 2, 3) if each != only]
    world.cluster.start(only)
    assert world.cluster.leader("alone") == only


def test_a_paused_leader_handles_what_lies_in_its_sockets_by_what_it_knew() -> None:
    """A resumed zombie handles the requests before it learns of the metadata change."""
    orders = Orders()
    orders.produce(batch(b"a"))
    old = orders.leader
    orders.cluster.pause(old)
    request = produce_request(batch(b"zombie"), topic="orders", topic_id=orders.topic_id, acks=-1)
    pending = orders.world.link.send(old, request, timeout_ms=60_000)
    orders.world.clock.advance(orders.cluster.settings.broker_session_timeout_ms)
    assert orders.leader != old
    assert orders.produce(batch(b"b")).base_offset == 1
    orders.cluster.resume(old)
    assert produced(orders.world.wait(pending)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert orders.offsets() == [0, 1]


def test_a_waiting_fetch_hears_of_an_election() -> None:
    orders = Orders()
    poll = fetch_request("orders", topic_id=orders.topic_id, max_wait_ms=30_000)
    pending = orders.world.link.send(orders.leader, poll)
    orders.world.clock.run_until_idle()
    orders.cluster.elect("orders", orders.followers[0])
    assert fetched(orders.world.wait(pending)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_some_brokers_hear_of_topics_late() -> None:
    world = ClusterWorld()
    world.cluster.hold_news(2)
    topic_id = world.cluster.create_topic("late", 1, 3).topic_id
    by_name = MetadataRequest([MetadataRequestTopic(name="late")], allow_auto_topic_creation=False)
    by_id = MetadataRequest([MetadataRequestTopic(topic_id, None)])
    for request, error in ((by_name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (by_id, ErrorCode.UNKNOWN_TOPIC_ID)):
        for broker, expected in ((1, ErrorCode.NONE), (2, error)):
            answer = world.ask(broker, request)
            assert isinstance(answer, MetadataResponse)
            assert answer.topics[0].error_code == expected
    everything = world.ask(2, MetadataRequest(None))
    assert isinstance(everything, MetadataResponse)
    assert everything.topics == []
    world.cluster.release_news(2)
    answer = world.ask(2, by_id)
    assert isinstance(answer, MetadataResponse)
    assert answer.topics[0].name == "late"


def test_sessions_of_fetches_end_with_their_broker() -> None:
    orders = Orders()
    leader = orders.leader
    opening = fetch_request("orders", topic_id=orders.topic_id)
    opening.session_epoch = 0
    answer = orders.world.ask(leader, opening)
    assert isinstance(answer, FetchResponse)
    orders.cluster.kill(leader)
    orders.cluster.start(leader)
    again = FetchRequest(session_id=answer.session_id, session_epoch=1)
    lost = orders.world.ask(leader, again)
    if isinstance(lost, LinkFailure):  # the reset of the old connection comes first
        assert lost.failure in (Failure.LOST, Failure.NOT_SENT)
        lost = orders.world.ask(leader, again)
    assert isinstance(lost, FetchResponse)
    assert lost.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def _coordinator(world: ClusterWorld, kind: CoordinatorKind, key: str) -> int:
    for _ in range(20):
        for broker in world.cluster.brokers:
            if world.cluster.is_running(broker):
                answer = world.ask(broker, FindCoordinatorRequest("", kind.value, [key]))
                assert isinstance(answer, FindCoordinatorResponse)
                if not answer.coordinators[0].error_code:
                    return answer.coordinators[0].node_id
        world.clock.advance(50)
    raise AssertionError("no coordinator")


def test_a_group_goes_on_under_another_coordinator_once_it_was_stable() -> None:
    world = ClusterWorld()
    owner = _coordinator(world, CoordinatorKind.GROUP, "nodes")
    protocols = [JoinGroupRequestProtocol("slots", b"")]
    joined = world.ask(owner, JoinGroupRequest("nodes", 10_000, 2_000, "", None, "shareq", protocols), max_version=3)
    assert isinstance(joined, JoinGroupResponse)
    member = joined.member_id
    rows = [SyncGroupRequestAssignment(member, b"all")]
    synced = world.ask(owner, SyncGroupRequest("nodes", 1, member, assignments=rows))
    assert isinstance(synced, SyncGroupResponse)
    assert synced.error_code == ErrorCode.NONE
    world.cluster.kill(owner)
    world.clock.advance(world.cluster.settings.broker_session_timeout_ms)
    heir = _coordinator(world, CoordinatorKind.GROUP, "nodes")
    assert heir != owner
    beat = world.ask(heir, HeartbeatRequest("nodes", 1, member))
    assert isinstance(beat, HeartbeatResponse)
    assert beat.error_code == ErrorCode.NONE
    world.cluster.start(owner)
    elsewhere = world.ask(owner, HeartbeatRequest("nodes", 1, member))
    assert isinstance(elsewhere, HeartbeatResponse)
    assert elsewhere.error_code == ErrorCode.NOT_COORDINATOR


def test_members_that_wait_hear_that_another_coordinates() -> None:
    world = ClusterWorld(ClusterSettings(initial_rebalance_delay_ms=60_000))
    owner = _coordinator(world, CoordinatorKind.GROUP, "nodes")
    protocols = [JoinGroupRequestProtocol("slots", b"")]
    pending = world.link.send(
        owner, JoinGroupRequest("nodes", 10_000, 2_000, "", None, "shareq", protocols), max_version=3
    )
    world.clock.run_until_idle()
    other = next(each for each in world.cluster.brokers if each != owner)
    world.cluster.elect("__consumer_offsets", other, slot_of("nodes"))
    answer = world.wait(pending)
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR


def test_a_broker_that_was_paused_ends_no_rebalance_where_another_coordinates_meanwhile() -> None:
    world = ClusterWorld(ClusterSettings(initial_rebalance_delay_ms=5_000))
    owner = _coordinator(world, CoordinatorKind.GROUP, "nodes")
    protocols = [JoinGroupRequestProtocol("slots", b"")]
    pending = world.link.send(
        owner, JoinGroupRequest("nodes", 10_000, 2_000, "", None, "shareq", protocols), max_version=3
    )
    world.clock.run_until_idle()
    world.cluster.pause(owner)
    world.clock.advance(world.cluster.settings.broker_session_timeout_ms)
    assert world.cluster.leader("__consumer_offsets", slot_of("nodes")) != owner
    world.cluster.resume(owner)
    answer = world.wait(pending)
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR


def test_transactional_ids_go_on_under_another_coordinator() -> None:
    world = ClusterWorld()
    owner = _coordinator(world, CoordinatorKind.TRANSACTION, "slot-1")
    request = InitProducerIdRequest("slot-1", 60_000)
    first = world.ask(owner, request)
    world.cluster.kill(owner)
    world.clock.advance(world.cluster.settings.broker_session_timeout_ms)
    second = world.ask(_coordinator(world, CoordinatorKind.TRANSACTION, "slot-1"), request)
    assert isinstance(first, InitProducerIdResponse)
    assert isinstance(second, InitProducerIdResponse)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, first.producer_epoch + 1)


def test_the_cleaner_keeps_last_values_at_their_offsets_and_what_producers_wrote_last() -> None:
    """A producer's last batch stays without its records, so that its sequence is known (Cleaner.discardBatch)."""
    orders = Orders()
    producer = (7, 0)
    for sequence, key in enumerate((b"a", b"b", b"a")):
        orders.produce(batch_of(b"%d" % sequence, producer=producer, sequence=sequence, key=key))
    orders.produce(batch_of(b"newer", key=b"a"))
    orders.cluster.compact("orders")
    assert orders.offsets() == [1, 2, 3]
    headers = [header for _, header in batch_headers(bytes(orders.fetch().records or b""))]
    assert [header.records_count for header in headers] == [1, 0, 1]
    assert orders.produce(batch_of(b"2", producer=producer, sequence=2, key=b"a")).base_offset == 2
    assert orders.produce(batch_of(b"3", producer=producer, sequence=3, key=b"a")).base_offset == 4
