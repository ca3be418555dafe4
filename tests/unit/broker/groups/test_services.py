"""Classic and consumer groups and their coordinator on fakes: routing, waiting, failures, metadata changes."""

from __future__ import annotations

import gc
import weakref
from base64 import urlsafe_b64decode
from uuid import UUID

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.coordinator import group_coordinator_settings, group_log_settings
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.group.classic.turn import ClassicGroupSettings
from shareq.coordinator.group.groups import GroupKind
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.group_offsets import OffsetSettings
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.share.groups import ShareGroupLimits
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.heartbeat import HeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.compression import Compression
from tests.support.coroutines import begun
from tests.support.fakes.group_rig import CLIENT, OFFSETS, STATES, GroupRig, heartbeat
from tests.support.fakes.host import ELSEWHERE

NONE = ErrorCode.NONE
LOST = ErrorCode.NOT_COORDINATOR
LOG_FAILED = "The coordinator's log could not be written."


def joining(member: str = "", group: str = "g") -> JoinGroupRequest:
    return JoinGroupRequest(group, 30_000, 60_000, member, None, "consumer", [JoinGroupRequestProtocol("range", b"r")])


def join(rig: GroupRig, member: str = "", version: int = 3, group: str = "g") -> Pending[JoinGroupResponse]:
    return begun(rig.ports.env, rig.service.classic.join(joining(member, group), version, CLIENT))


def formed(rig: GroupRig) -> str:
    """Create group g with one member that has its assignment; return its id."""
    pending = join(rig)
    rig.ports.clock.advance(3_000)
    rig.ports.logs.flush()
    member = pending.value.member_id
    synced = rig.service.classic.sync(
        SyncGroupRequest("g", 1, member, assignments=[SyncGroupRequestAssignment(member, b"a")])
    )
    assert rig.ports.answer(synced).assignment == b"a"
    return member


# -- classic groups


def test_joining_makes_the_topic_and_waits_for_the_rebalance(rig: GroupRig) -> None:
    pending = join(rig)
    assert rig.ports.topics.created[-1] == OFFSETS
    rig.ports.clock.advance(2_999)
    rig.ports.logs.flush()
    assert not pending.done
    rig.ports.clock.advance(1)
    answer = pending.value
    assert (answer.error_code, answer.generation_id, answer.leader) == (NONE, 1, answer.member_id)
    assert UUID(answer.member_id.removeprefix("client-")).version == 4


def test_a_member_with_an_id_keeps_it_and_a_new_one_costs_no_randomness_twice(rig: GroupRig) -> None:
    member = formed(rig)
    again = join(rig, member)
    rig.ports.clock.advance(60_000)
    rig.ports.logs.flush()
    assert (again.value.error_code, again.value.member_id, again.value.generation_id) == (NONE, member, 2)
    required = join(rig, version=4).value
    assert (required.error_code, bool(required.member_id)) == (ErrorCode.MEMBER_ID_REQUIRED, True)


def test_joining_without_a_topic_that_can_be_made(rig: GroupRig) -> None:
    rig.ports.impossible_topics()
    answer = join(rig, "m").value
    assert (answer.error_code, answer.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "m")


def test_who_waits_is_refused_with_its_id_when_the_broker_stops() -> None:
    rig = GroupRig(OFFSETS)
    member = rig.ports.answer(join(rig, version=4)).member_id
    known, new = join(rig, member, version=4), join(rig)
    rig.service.stop_waiting()
    assert (known.value.error_code, known.value.member_id) == (LOST, member)
    assert (new.value.error_code, new.value.member_id) == (LOST, "")


def test_a_rebalance_that_is_lost_is_reported() -> None:
    rig = GroupRig(OFFSETS)
    pending = join(rig)
    rig.ports.clock.advance(3_000)
    rig.ports.logs.lose_all()
    assert pending.value.error_code == LOST


def test_a_sync_waits_for_the_leader() -> None:
    rig = GroupRig(OFFSETS)
    pendings = [join(rig), join(rig)]
    rig.ports.clock.advance(6_000)
    rig.ports.logs.flush()
    leader, follower = sorted((each.value for each in pendings), key=lambda each: each.leader != each.member_id)
    waiting = rig.service.classic.sync(SyncGroupRequest("g", 1, follower.member_id))
    rig.ports.logs.flush()
    assert not waiting.done
    assignments = [SyncGroupRequestAssignment(follower.member_id, b"f")]
    rig.service.classic.sync(SyncGroupRequest("g", 1, leader.member_id, assignments=assignments))
    rig.ports.logs.flush()
    assert waiting.value.assignment == b"f"
    again = rig.service.classic.sync(SyncGroupRequest("g", 7, follower.member_id))
    assert again.value.error_code == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(("group", "error"), [("g", ErrorCode.UNKNOWN_MEMBER_ID), ("", ErrorCode.INVALID_GROUP_ID)])
def test_without_the_topic_there_are_no_members(group: str, error: ErrorCode, rig: GroupRig) -> None:
    classic = rig.service.classic
    assert classic.sync(SyncGroupRequest(group, 1, "m")).value.error_code == error
    assert classic.heartbeat(HeartbeatRequest(group, 1, "m")).value.error_code == error
    left = classic.leave(LeaveGroupRequest(group, members=[MemberIdentity("m", "i"), MemberIdentity("n")])).value
    if group:
        assert left.error_code == NONE
        assert [(each.member_id, each.group_instance_id, each.error_code) for each in left.members] == [
            ("m", "i", error),
            ("n", None, error),
        ]
    else:
        assert (left.error_code, left.members) == (error, [])


def test_members_are_heard_of_and_leave() -> None:
    rig = GroupRig(OFFSETS)
    member = formed(rig)
    classic = rig.service.classic
    assert classic.heartbeat(HeartbeatRequest("g", 1, member)).value.error_code == NONE
    assert classic.heartbeat(HeartbeatRequest("g", 1, "other")).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    rig.ports.clock.advance(20_000)
    assert classic.heartbeat(HeartbeatRequest("g", 1, member)).value.error_code == NONE
    rig.ports.clock.advance(29_999)
    assert classic.heartbeat(HeartbeatRequest("g", 1, member)).value.error_code == NONE
    left = classic.leave(LeaveGroupRequest("g", members=[MemberIdentity(member)]))
    assert rig.ports.answer(left).members[0].error_code == NONE
    assert classic.heartbeat(HeartbeatRequest("g", 1, member)).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_those_a_member_leaves_behind_have_their_rebalance_time_from_then_on() -> None:
    """The rebalance ends after the largest rebalance timeout, as in Apache Kafka: 60 seconds here."""
    rig = GroupRig(OFFSETS)
    pendings = [join(rig), join(rig), join(rig)]
    rig.ports.clock.advance(6_000)
    rig.ports.logs.flush()
    stays, leaves, silent = (each.value.member_id for each in pendings)
    rig.ports.clock.advance(10_000)
    rig.service.classic.leave(LeaveGroupRequest("g", members=[MemberIdentity(leaves)]))
    rig.ports.logs.flush()
    rejoined = join(rig, stays)
    for _ in range(3):  # it sends heartbeats, but does not join again
        rig.ports.clock.advance(19_999)
        rig.service.classic.heartbeat(HeartbeatRequest("g", 1, silent))
        rig.ports.logs.flush()
    assert not rejoined.done
    rig.ports.clock.advance(3)
    rig.ports.logs.flush()
    assert (rejoined.value.error_code, rejoined.value.generation_id) == (NONE, 2)


def test_classic_requests_that_see_what_is_lost_are_refused() -> None:
    rig = GroupRig(OFFSETS)
    member = formed(rig)
    classic = rig.service.classic
    left = classic.leave(LeaveGroupRequest("g", members=[MemberIdentity(member)]))
    beaten = classic.heartbeat(HeartbeatRequest("g", 1, member))
    synced = classic.sync(SyncGroupRequest("g", 1, member))
    described = classic.describe("g", 6)
    assert [left.done, beaten.done, synced.done] == [False] * 3
    rig.ports.logs.lose_all()
    assert [left.value.error_code, beaten.value.error_code, synced.value.error_code] == [LOST] * 3
    assert (described.value.group_id, described.value.error_code) == ("g", LOST)


@pytest.mark.parametrize("there", [(), (OFFSETS,)])
@pytest.mark.parametrize(("version", "error"), [(5, NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_groups_that_do_not_exist_are_dead(there: tuple[str, ...], version: int, error: ErrorCode) -> None:
    rig = GroupRig(*there)
    described = rig.service.classic.describe("g", version).value
    assert (described.group_id, described.group_state, described.error_code) == ("g", "Dead", error)


def test_groups_are_described() -> None:
    rig = GroupRig(OFFSETS)
    member = formed(rig)
    described = rig.service.classic.describe("g", 6).value
    assert (described.group_state, [each.member_id for each in described.members]) == ("Stable", [member])


# -- consumer groups


def beat(
    rig: GroupRig, member: str, epoch: int, *topics: str, version: int = 1, group: str = "c", hidden: str = ""
) -> Pending[ConsumerGroupHeartbeatResponse]:
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms, request.topic_partitions = 60_000, []
    request.subscribed_topic_names = list(topics) or None
    return begun(rig.ports.env, rig.service.consumer.heartbeat(request, version, CLIENT, lambda topic: topic != hidden))


def test_a_consumer_that_joins_makes_the_topic_and_is_assigned_its_partitions(rig: GroupRig) -> None:
    answer = rig.ports.answer(beat(rig, "m", 0, "t"))
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (NONE, "m", 2)
    assert rig.ports.topics.created[-1] == OFFSETS
    assert answer.assignment is not None
    assert [(each.topic_id, each.partitions) for each in answer.assignment.topic_partitions] == [
        (rig.id_of("t"), [0, 1])
    ]


def test_version_0_has_its_member_id_made_here_and_only_when_it_joins_without_one() -> None:
    rig = GroupRig(OFFSETS)
    made = rig.ports.answer(beat(rig, "", 0, "t", version=0)).member_id
    assert made is not None
    raw = urlsafe_b64decode(made + "==")
    assert (len(made), len(raw), UUID(bytes=raw).version) == (22, 16, 4)
    assert rig.ports.answer(beat(rig, "own", 0, "t", version=0)).member_id == "own"
    assert beat(rig, "", 1, version=0).value.error_code == ErrorCode.INVALID_REQUEST
    assert beat(rig, "", 0, "t", version=1).value.error_code == ErrorCode.INVALID_REQUEST


def test_consumers_without_a_topic_that_can_be_made(rig: GroupRig) -> None:
    rig.ports.impossible_topics()
    answer = beat(rig, "m", 0, "t").value
    assert (answer.error_code, bool(answer.error_message)) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, True)


def test_a_consumers_heartbeat_that_is_lost() -> None:
    rig = GroupRig(OFFSETS)
    pending = beat(rig, "m", 0, "t")
    described = rig.service.consumer.describe("c")
    rig.ports.logs.lose_all()
    assert (pending.value.error_code, pending.value.error_message) == (LOST, LOG_FAILED)
    assert (described.value.error_code, described.value.error_message) == (LOST, LOG_FAILED)
    assert described.value.group_id == "c"


def test_a_consumers_session_ends_in_its_time() -> None:
    rig = GroupRig(OFFSETS)
    rig.ports.answer(beat(rig, "m", 0, "t"))
    rig.ports.clock.advance(44_999)
    assert beat(rig, "m", 2).value.error_code == NONE
    rig.ports.clock.advance(45_000)
    rig.ports.logs.flush()
    assert beat(rig, "m", 2).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_consumer_groups_are_described(rig: GroupRig) -> None:
    describe = rig.service.consumer.describe
    empty, absent = describe("").value, describe("c").value
    assert (empty.group_id, absent.group_id) == ("", "c")
    assert (empty.error_code, empty.error_message) == (ErrorCode.INVALID_GROUP_ID, "The group id is empty.")
    assert (absent.error_code, absent.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group c not found.")
    rig.ports.answer(beat(rig, "m", 0, "t"))
    there = describe("c").value
    assert (there.error_code, there.group_id, [each.member_id for each in there.members]) == (NONE, "c", ["m"])
    assert describe("d").value.error_code == ErrorCode.GROUP_ID_NOT_FOUND


# -- the coordinator of all kinds


def test_each_group_is_in_its_partition() -> None:
    rig = GroupRig(OFFSETS)
    groups = [f"g{number}" for number in range(12)]
    for group in groups:
        rig.ports.answer(beat(rig, "m", 0, "t", group=group))
    for number in (0, 1):
        shard = rig.service.coordinator.partitions.get(number).shard
        listed = {each.group_id for each in shard.list_groups().response}
        assert listed == {group for group in groups if group_partition_for(group, 2) == number}
        assert listed
    assert rig.shard("g0").group_kind("g0") is GroupKind.CONSUMER


def test_a_request_that_is_larger_than_its_records_may_be(rig: GroupRig) -> None:
    assert not rig.service.coordinator.has_no_room_for(1 << 40)
    rig.ports.topics.add(OFFSETS, 2)
    rig.ports.logs.get(OFFSETS, 0).settings = LogSettings(max_message_bytes=1_000)
    room = rig.service.coordinator.has_no_room_for
    assert [room(1_000 + 262_144), room(1_001 + 262_144)] == [False, True]
    assert [room(3_000 + 262_144, times=3), room(3_001 + 262_144, times=3)] == [False, True]


def test_share_groups_of_all_partitions_count_together() -> None:
    rig = GroupRig(OFFSETS, STATES)
    rig.ports.config = BrokerConfig.load({**rig.ports.config.originals, "group.share.max.groups": "1"})
    rig.service = rig.make()
    first = "g0"
    other = next(f"g{n}" for n in range(9) if group_partition_for(f"g{n}", 2) != group_partition_for(first, 2))
    rig.join(group=first)
    refused = rig.beat(heartbeat("m", 0, "t", group=other)).value
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_start_loads_the_groups(rig: GroupRig) -> None:
    rig.join()
    again = rig.make()
    again.recover()
    rig.ports.logs.flush()
    assert [len(list(again.coordinator.partitions))] == [1]
    group = next(iter(again.coordinator.partitions)).shard.share.group("g")
    assert group is not None
    assert set(group.initialized) == {rig.id_of("t")}


def committed(rig: GroupRig, topic: str, *, topic_id: bytes) -> None:
    """Commit an offset of group o; with a zero id, as an earlier release stored it."""
    row = OffsetCommitRequestPartition(0, 5)
    request = OffsetCommitRequest(group_id="o", topics=[OffsetCommitRequestTopic(topic, topic_id, [row])])
    prepared = PreparedCommit(GROUP_SERDE, 4_096, 1 << 20)
    prepared.add(request, rig.ports.clock.wall_ms())
    pending = rig.service.coordinator.schedule(
        "o",
        lambda shard: shard.offsets.commit(request, 9, rig.ports.clock.now_ms(), prepared),
        lambda error: error,
    )
    assert rig.ports.answer(pending) is ErrorCode.NONE


def offsets_of(rig: GroupRig) -> set[str]:
    asked = OffsetFetchRequestGroup("o", topics=None)
    answer = rig.fetch_begun(asked, 9).value
    return {topic.name for topic in answer.topics}


def test_offsets_go_with_their_topics_also_those_without_an_id() -> None:
    rig = GroupRig(OFFSETS, STATES)
    ids = {name: rig.id_of(name) for name in "tu"}
    committed(rig, "t", topic_id=ids["t"])
    committed(rig, "u", topic_id=ZERO_UUID)
    rig.ports.topics.add("v")
    committed(rig, "v", topic_id=ZERO_UUID)
    rig.service.topics_deleted([rig.ports.topics.delete("t")])
    rig.ports.logs.flush()
    assert offsets_of(rig) == {"u", "v"}
    rig.ports.topics.delete("u")
    rig.service = rig.make()
    rig.service.recover()
    rig.ports.logs.flush()
    assert offsets_of(rig) == {"v"}


def test_news_of_topics_reach_all_partitions() -> None:
    rig = GroupRig(OFFSETS, STATES)
    rig.join()
    rig.service.topics_deleted([rig.ports.topics.delete("t")])
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert group.initialized == {}
    again = rig.ports.topics.add("t", 1)
    rig.service.topics_changed([again])
    pending = rig.beat(heartbeat("m", 2))
    rig.ports.logs.flush()
    assert pending.value.assignment is not None


def test_without_the_states_topic_no_state_is_left(rig: GroupRig) -> None:
    rig.join()
    rig.service.topics_deleted([rig.ports.topics.delete(STATES)])
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert group.initialized == {}


def test_without_the_groups_own_topic_no_group_is_left(rig: GroupRig) -> None:
    rig.join()
    pending = rig.beat(heartbeat("m2", 0, "t"))
    rig.service.topics_deleted([rig.ports.topics.delete(OFFSETS)])
    assert pending.value.error_code == LOST
    assert list(rig.service.coordinator.partitions) == []


def test_a_start_finishes_the_deletions_that_a_crash_cut_off(rig: GroupRig) -> None:
    rig.join("m", "t", "u")
    rig.ports.topics.delete("u")
    again = rig.service = rig.make()
    again.recover()
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert set(group.initialized) == {rig.id_of("t")}
    rig.ports.topics.delete(STATES)
    rig.service = rig.make()
    rig.service.recover()
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert group.initialized == {}


def test_a_start_that_cannot_believe_what_is_missing_forgets_nothing() -> None:
    rig = GroupRig(OFFSETS, STATES)
    rig.join("m", "t", "u")
    ids = {name: rig.id_of(name) for name in "tu"}
    for name in "tu":
        committed(rig, name, topic_id=ids[name])
    written = [log.log_end_offset for log in map(rig.ports.logs.get, (OFFSETS,) * 2, range(2))]
    rig.ports.topics.delete("u")
    rig.ports.topics.delete(STATES)
    rig.ports.topics.lag_behind("t", 1)
    rig.ports.host = rig.ports.host._replace(believes_absence=False)
    rig.service = rig.make()
    rig.service.recover()
    rig.ports.logs.flush()
    group = rig.shard().share.group("g")
    assert group is not None
    assert {each: topic.partitions for each, topic in group.initialized.items()} == {ids["t"]: {0, 1}, ids["u"]: {0}}
    assert offsets_of(rig) == {"t", "u"}
    assert [rig.ports.logs.get(OFFSETS, number).log_end_offset for number in range(2)] == written


def test_groups_may_have_other_routes(rig: GroupRig) -> None:
    rig.ports.host = rig.ports.host._replace(
        routes=AS_APACHE_KAFKA._replace(group=lambda name, count: len(name) % count)
    )
    rig.service = rig.make()
    for group_id in ("a", "aa", "b"):
        rig.join(group=group_id)
    assert [each.shard.share.count() for each in map(rig.service.coordinator.partitions.get, range(2))] == [1, 2]


def test_a_partition_that_moves_is_given_up(rig: GroupRig) -> None:
    rig.join()
    at = group_partition_for("g", 2)
    rig.ports.leaders.move(OFFSETS, at, ELSEWHERE)
    rig.service.leader_moved("t", at)
    assert len(list(rig.service.coordinator.partitions)) == 1
    rig.service.leader_moved(OFFSETS, at)
    answer = rig.beat(heartbeat("m", 2)).value
    assert (answer.error_code, answer.error_message) == (LOST, LOG_FAILED)


def test_close_stops_the_timers(rig: GroupRig) -> None:
    rig.join()
    rig.service.close()
    rig.ports.clock.advance(1_000_000)
    assert rig.ports.logs.flush() == 0


# -- settings


def test_settings_are_those_of_the_configuration() -> None:
    config = BrokerConfig.load(
        {
            "group.share.max.size": "7",
            "group.share.max.groups": "8",
            "group.share.initialize.retry.interval.ms": "9000",
            "offsets.commit.timeout.ms": "4000",
            "group.min.session.timeout.ms": "10",
            "group.max.session.timeout.ms": "20000",
            "group.initial.rebalance.delay.ms": "12",
            "group.max.size": "13",
            "offset.metadata.max.bytes": "14",
            "offsets.retention.minutes": "15",
            "offsets.retention.check.interval.ms": "16",
            "group.consumer.max.size": "17",
            "group.consumer.assignors": "range",
            "group.consumer.regex.refresh.interval.ms": "12345",
            "group.consumer.migration.policy": "UPGRADE",
            "offsets.topic.compression.codec": "1",
        }
    )
    settings = group_coordinator_settings(config)
    assert settings.share == ShareGroupLimits(7, 8, 9_000)
    assert settings.classic == ClassicGroupSettings(10, 20_000, 12, 13)
    assert settings.offsets == OffsetSettings(14, 15 * 60_000, 16)
    assert (settings.consumer.max_size, settings.consumer.migration_policy.value) == (17, "upgrade")
    assert [str(each) for each in settings.consumer.assignors] == ["range"]
    assert settings.consumer.regex_refresh_interval_ms == 12_345
    assert group_log_settings(config) == CoordinatorLogSettings(Compression.GZIP)
    patient = BrokerConfig.load(
        {"group.share.initialize.retry.interval.ms": "2000", "offsets.commit.timeout.ms": "4000"}
    )
    assert group_coordinator_settings(patient).share.initialize_retry_interval_ms == 4_000


def test_a_consumer_is_not_assigned_what_its_client_may_not_know_of() -> None:
    rig = GroupRig(OFFSETS)
    request = ConsumerGroupHeartbeatRequest(
        group_id="c", member_id="m", rebalance_timeout_ms=60_000, subscribed_topic_regex="[tu]", topic_partitions=[]
    )
    pending = begun(rig.ports.env, rig.service.consumer.heartbeat(request, 1, CLIENT, lambda topic: topic != "t"))
    assignment = rig.ports.answer(pending).assignment
    assert assignment is not None
    assert [each.topic_id for each in assignment.topic_partitions] == [rig.id_of("u")]


def test_only_the_partition_that_moves_is_given_up() -> None:
    rig = GroupRig(OFFSETS)
    for group in ("g0", "g1", "g2"):
        rig.ports.answer(beat(rig, "m", 0, "t", group=group))
    assert len(list(rig.service.coordinator.partitions)) == 2
    rig.service.leader_moved(OFFSETS, 0)
    assert len(list(rig.service.coordinator.partitions)) == 1


def test_what_happens_to_groups_is_counted_and_what_they_may_append_is_bounded() -> None:
    rig = GroupRig(OFFSETS)
    formed(rig)
    assert rig.service.coordinator.counters.classic_rebalances == 1
    rig.ports.logs.get(OFFSETS, 0).settings = LogSettings(max_message_bytes=300)
    pending = join(rig, group="large-" + "g" * 300)
    rig.ports.clock.advance(3_000)
    rig.ports.logs.flush()
    assert pending.done


def test_news_that_cannot_be_written_harm_nobody(rig: GroupRig) -> None:
    rig.join()
    rig.service.topics_deleted([rig.ports.topics.delete("t")])
    rig.ports.logs.lose_all()
    rig.service.topics_deleted([rig.ports.topics.delete(STATES)])
    rig.ports.logs.lose_all()
    group = rig.shard().share.group("g")
    assert group is not None
    assert len(group.initialized) == 1, "what is lost is made up for at the next start"


def test_what_is_given_up_is_freed_by_its_last_reference() -> None:
    """The memory is freed without the garbage collector, which skips loaded state (`Collector.keep`)."""
    rig = GroupRig()
    rig.ports.topics.add(OFFSETS, 1)
    given_up = rig.service.coordinator.partitions.get(0)
    left = weakref.ref(given_up), weakref.ref(given_up.shard)
    gc.disable()
    try:
        rig.service.coordinator.partitions.resign(0)
        del given_up
        assert [each() for each in left] == [None, None]
    finally:
        gc.enable()
