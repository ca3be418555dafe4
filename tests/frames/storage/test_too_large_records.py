"""Operations whose records would be too large for a coordinator's log to load: only they are refused.

`tests/interop/test_too_large_records.py` has Apache Kafka's answers.
"""

from __future__ import annotations

import logging

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.transactor import JAVA_TV1, Transactor
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.support.clients.classic_client import INITIAL_DELAY_MS, ClassicClient, describe, form
from tests.support.clients.share_client import ShareClient

NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR
ONE_SHARD = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
SMALL = ONE_SHARD | {"message.max.bytes": "4000", "transaction.state.log.num.partitions": "1"}


class Shard:
    """One partition of `__consumer_offsets` with groups of each kind, whose members must not be affected."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.world = BrokerWorld(properties)
        self.ids = {"t": self.world.create_topic("t").topic_id}
        self.classic = [ClassicClient(self.world, instance=f"i{n}") for n in range(2)]
        form(self.classic)
        self.share = ShareClient(self.world, group="shares")
        self.share.join("t")
        self.epoch = self.share.member_epoch
        self.consumer = self.world.connect()
        self.consumer_epoch = consumer_heartbeat(self.consumer, "consumers", "m", 0, ["t"]).member_epoch
        self.partition = self.world.services.groups.coordinator.partitions.get(0)
        self.state = self.partition.shard

    def check_undisturbed(self) -> None:
        assert [member.heartbeat() for member in self.classic] == [NONE, NONE]
        assert describe(self.world).group_state == "Stable"
        assert self.share.heartbeat().error_code == NONE
        assert self.share.member_epoch == self.epoch
        answer = consumer_heartbeat(self.consumer, "consumers", "m", self.consumer_epoch)
        assert (answer.error_code, answer.member_epoch) == (NONE, self.consumer_epoch)
        assert self.partition.shard is self.state

    def check_start(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            self.world.restart()
        for member in self.classic:
            member.reconnect()
        self.share.reconnect()
        self.consumer = self.world.connect()
        self.partition = self.world.services.groups.coordinator.partitions.get(0)
        self.state = self.partition.shard
        self.check_undisturbed()
        assert not caplog.records


def consumer_heartbeat(
    connection: MockConnection, group: str, member: str, epoch: int, topics: list[str] | None = None
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms, request.topic_partitions = 60_000, []
    request.subscribed_topic_names = topics
    return connection.call(request, 1, ConsumerGroupHeartbeatResponse)


# -- what was measured: answered 0, and no later start


def test_a_join_with_68_mb_of_metadata(caplog: pytest.LogCaptureFixture) -> None:
    shard = Shard(ONE_SHARD)
    for group, megabytes in (("g", 68), ("alone", 68), ("g", 2), ("alone", 2)):
        comer = ClassicClient(shard.world, group)
        comer.send_join()
        assert comer.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
        comer.send_join(protocols={"range": bytes(megabytes * 1024 * 1024)})
        assert comer.joined().error_code == TOO_LARGE
        shard.check_undisturbed()
    shard.check_start(caplog)


@pytest.mark.parametrize("kind", ["share", "consumer"])
def test_a_heartbeat_with_340_000_topic_names(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    shard = Shard(ONE_SHARD)
    names = [f"a-topic-whose-name-is-rather-long-{n:06}" for n in range(340_000)]
    for group in (f"{kind}s", "another"):
        if kind == "share":
            error = ShareClient(shard.world, "comer", group=group).heartbeat(*names, epoch=0).error_code
        else:
            error = consumer_heartbeat(shard.world.connect(), group, "comer", 0, names).error_code
        assert error == TOO_LARGE
        shard.check_undisturbed()
    shard.check_start(caplog)


# -- each RPC, with a smaller max.message.bytes


def test_a_member_that_the_group_has_no_room_for_stays_out(caplog: pytest.LogCaptureFixture) -> None:
    """Apache Kafka accepts the member, cannot write the group, and rebalances for ever."""
    shard = Shard(SMALL)
    comer = ClassicClient(shard.world)
    comer.send_join(protocols={"range": bytes(3_900), "other": b""})
    comer.joined()
    comer.send_join(protocols={"range": bytes(3_900), "other": b""})
    assert comer.joined().error_code == TOO_LARGE
    shard.check_undisturbed()
    static = ClassicClient(shard.world, instance="i0")
    static.send_join(protocols={"range": bytes(3_900)})
    assert static.joined().error_code == TOO_LARGE
    shard.check_undisturbed()
    shard.check_start(caplog)


def test_a_member_that_sends_too_much_again_is_what_it_was() -> None:
    shard = Shard(SMALL)
    member = shard.classic[1]
    member.send_join(protocols={"range": bytes(3_900)})
    assert member.joined().error_code == TOO_LARGE
    shard.check_undisturbed()


def test_an_assignment_that_is_too_large_is_the_leaders_own_fault() -> None:
    world = BrokerWorld(SMALL)
    members = [ClassicClient(world) for _ in range(3)]
    for member in members:
        member.begin()
    world.clock.advance(2 * INITIAL_DELAY_MS)
    for member in members:
        assert member.joined().error_code == NONE
    leader = next(member for member in members if member.member_id == member.leader)
    others = [member for member in members if member is not leader]
    for other in others:
        other.send_sync()
    assert leader.sync({other.member_id: bytes(2_000) for other in others}).error_code == TOO_LARGE
    assert all(other.waits for other in others)
    assert leader.sync({other.member_id: b"yours" for other in others}).error_code == NONE
    assert [other.synced().assignment for other in others] == [b"yours", b"yours"]
    assert [member.heartbeat() for member in members] == [NONE] * 3


def test_a_leader_that_brings_nothing_smaller_is_given_up() -> None:
    world = BrokerWorld(SMALL)
    members = [ClassicClient(world), ClassicClient(world)]
    for member in members:
        member.begin(rebalance_ms=20_000, session_ms=60_000)
    world.clock.advance(2 * INITIAL_DELAY_MS)
    for member in members:
        member.joined()
    leader, other = sorted(members, key=lambda member: member.member_id != member.leader)
    other.send_sync()
    assert leader.sync({other.member_id: bytes(4_000)}).error_code == TOO_LARGE
    world.clock.advance(20_000)
    assert other.synced().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    other.send_join()
    assert other.joined().error_code == NONE
    assert other.leader == other.member_id


def test_heartbeats_of_the_new_protocols() -> None:
    shard = Shard(SMALL)
    many = [f"topic-{n:04}" for n in range(500)]
    assert ShareClient(shard.world, "m2", group="shares").heartbeat(*many, epoch=0).error_code == TOO_LARGE
    assert shard.share.heartbeat(*many).error_code == TOO_LARGE
    assert consumer_heartbeat(shard.consumer, "consumers", "m2", 0, many).error_code == TOO_LARGE
    assert consumer_heartbeat(shard.consumer, "consumers", "m", shard.consumer_epoch, many).error_code == TOO_LARGE
    shard.check_undisturbed()


def test_a_refused_heartbeat_does_not_hide_that_topics_have_changed() -> None:
    shard = Shard(SMALL)
    assert shard.share.heartbeat("t", "u").error_code == NONE
    shard.world.clock.advance(1_000)
    shard.share.heartbeat()
    shard.world.create_topic("u")
    assert shard.share.heartbeat("t", "u", *[f"topic-{n:04}" for n in range(500)]).error_code == TOO_LARGE
    shard.world.clock.advance(1_000)
    answer = shard.share.heartbeat()
    assert answer.assignment is not None
    assert len(answer.assignment.topic_partitions) == 2


def test_a_classic_group_does_not_become_a_consumer_group_by_a_refused_heartbeat() -> None:
    world = BrokerWorld(SMALL)
    member = ClassicClient(world)
    form([member])
    many = [f"topic-{n:04}" for n in range(500)]
    assert consumer_heartbeat(world.connect(), "g", "m", 0, many).error_code != NONE
    assert member.heartbeat() == NONE
    assert describe(world).group_state == "Stable"


def test_offset_commits(caplog: pytest.LogCaptureFixture) -> None:
    shard = Shard(SMALL | {"num.partitions": "1"})
    ids = shard.ids | {"wide": shard.world.create_topic("wide", 100).topic_id}
    client = OffsetsClient(shard.world.connect(), ids)
    offsets = {("wide", n): n for n in range(100)}
    assert client.commit(offsets, group="o") == dict.fromkeys(offsets, TOO_LARGE)
    assert client.all("o") == {}
    few = dict(list(offsets.items())[:20])
    client.committed(few, group="o")
    assert client.all("o") == few
    producer = Transactor(shard.world.connect(), JAVA_TV1)
    assert producer.init() == NONE
    assert producer.add_offsets("o") == NONE
    assert producer.commit_offsets("o", offsets) == [TOO_LARGE] * 100
    assert producer.commit_offsets("o", {("wide", 50): 7}) == [NONE]
    assert producer.commit() == NONE
    assert client.all("o") == few | {("wide", 50): 7}
    shard.check_undisturbed()
    shard.check_start(caplog)


def test_a_transaction_that_could_not_be_ended_does_not_grow_so_far() -> None:
    """There has to be room for the record of the transaction's end, which is larger than that of its partitions."""
    world = BrokerWorld(SMALL)
    world.create_topic("a-topic-with-a-name", 2_000)
    producer = Transactor(world.connect(), JAVA_TV1)
    assert producer.init() == NONE
    taken = 0
    while (error := producer.add("a-topic-with-a-name", taken)[0]) is NONE:
        taken += 1
    assert error is TOO_LARGE
    assert 900 < taken < 2_000
    partition = world.folder.transactions.coordinator.partitions.get(0)
    before = partition.shard
    assert producer.commit() == NONE
    assert producer.init() == NONE
    assert partition.shard is before
    world.restart()
    assert Transactor(world.connect(), JAVA_TV1).init() == NONE


# -- what the broker itself decides has to be written, however much it is


def test_members_that_fall_silent_together_are_all_taken_out() -> None:
    shard = Shard(SMALL | {"group.share.max.size": "200"})
    for n in range(60):
        ShareClient(shard.world, f"share-{n}", group="shares").join("t")
        assert consumer_heartbeat(shard.consumer, "consumers", f"consumer-{n}", 0, ["t"]).error_code in (
            NONE,
            TOO_LARGE,
        )
    shard.world.clock.advance(46_000)
    state = shard.partition.shard
    assert state is shard.state
    shares, consumers = state.share.group("shares"), state.consumer.group("consumers")
    assert shares is not None
    assert consumers is not None
    assert (len(shares.members), len(consumers.members)) == (0, 0)


def test_a_group_with_more_offsets_than_a_batch_has_room_for_is_deleted_and_expires() -> None:
    world = BrokerWorld(SMALL | {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "60000"})
    client = OffsetsClient(world.connect(), {"wide": world.create_topic("wide", 400).topic_id})
    for group in ("g", "h"):
        for first in range(0, 400, 20):
            client.committed({("wide", n): n for n in range(first, first + 20)}, group=group)
    shard = world.services.groups.coordinator.partitions.get(0).shard
    partition = world.services.groups.coordinator.partitions.get(0)
    deleted = partition.schedule(lambda: shard.delete_group("g"), lambda error: pytest.fail(error.name))
    world.clock.run_until_idle()
    assert deleted.value.code is NONE
    assert client.all("g") == {}
    world.clock.advance(130_000)
    assert client.all("h") == {}
    assert partition.shard is shard
