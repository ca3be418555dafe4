"""Queries to the shard about a group of any type."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shareq.coordinator.group.offsets.offset import NO_PRODUCER, CommittedOffset
from shareq.coordinator.group.offsets.records import offset_record
from shareq.coordinator.shard import AmpleRoom, CoordinatorRecord, InconsistentRecords, RecordsTooLarge, at_once
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.group_metadata import GroupMetadataKey
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.coordinator.group.classic.world import ClassicWorld
from tests.unit.coordinator.group.consumer.world import CLIENT, GROUP, SESSION_MS, ConsumerWorld
from tests.unit.coordinator.group.offsets.world import OffsetsWorld
from tests.unit.coordinator.group.share.world import GroupWorld


class Room(AmpleRoom):
    def __init__(self) -> None:
        self.is_left = True

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        return self.is_left


def with_room(world: ConsumerWorld) -> Room:
    world.log.shard.consumer.room = room = Room()
    return room


def test_members_are_found_by_their_ids_and_instance_ids() -> None:
    world = ConsumerWorld()
    world.join("m", instance="i")
    shard = world.log.shard
    assert shard.has_member(GROUP, "m")
    assert not shard.has_member(GROUP, "other")
    assert not shard.has_member("other", "m")
    assert shard.has_static_member(GROUP, "i")
    assert not shard.has_static_member(GROUP, "m")
    assert not shard.has_static_member("other", "i")


def test_an_id_that_was_given_out_is_a_members() -> None:
    """JoinGroup returns the id with MEMBER_ID_REQUIRED, and the member joins with it."""
    world = ClassicWorld()
    answer = world.join("").response
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert not world.group.members
    assert world.log.shard.has_member(GROUP, answer.member_id)


def test_a_group_that_cannot_be_deleted_is_named() -> None:
    world = ConsumerWorld()
    world.join("m")
    missing = world.log.run(world.log.shard.delete_group("other"))
    assert (missing.code, missing.message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group other not found.")
    in_use = world.log.run(world.log.shard.delete_group(GROUP))
    assert (in_use.code, in_use.message) == (ErrorCode.NON_EMPTY_GROUP, f"Group {GROUP} has members.")
    assert world.log.shard.group_kind(GROUP) is not None


def test_the_end_of_a_group_may_take_several_batches() -> None:
    world = ConsumerWorld()
    world.join("m")
    world.leave("m")
    result = world.log.shard.delete_group(GROUP)
    assert result.atomic is False
    assert result.records


def test_the_description_of_a_group_of_another_kind_says_why_there_is_none() -> None:
    world = ClassicWorld()
    world.join("")
    entry = world.log.shard.consumer.describe(GROUP).response
    other = world.log.shard.consumer.describe("other").response
    assert entry.error_code == other.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert entry.error_message == f"Group {GROUP} is not a consumer group."
    assert other.error_message == "Group other not found."


def test_a_transaction_has_no_records_but_offsets() -> None:
    shard = ConsumerWorld().log.shard
    with pytest.raises(InconsistentRecords, match="GroupMetadataKey"):
        shard.replay_transactional(CoordinatorRecord(GroupMetadataKey(GROUP), None), 0, NO_PRODUCER)


def test_what_goes_with_a_topic_may_take_several_batches() -> None:
    assert at_once(ConsumerWorld().log.shard.topics_deleted({bytes(16): "foo"})).atomic is False


def test_a_heartbeat_whose_records_have_no_room_changes_nothing() -> None:
    world = ConsumerWorld()
    world.join("m")
    world.time.now_ms = 1_000
    room, deadline = with_room(world), world.log.shard.next_deadline_ms()
    room.is_left = False
    with pytest.raises(RecordsTooLarge):
        world.join("n")
    assert set(world.group.members) == {"m"}
    assert world.log.shard.next_deadline_ms() == deadline


def test_late_members_whose_end_has_no_room_are_looked_at_again_a_minute_later() -> None:
    world = ConsumerWorld()
    world.join("m")
    world.join("n")
    room = Room()
    room.is_left = False
    world.log.shard.consumer.conversions._room = room
    world.log.advance(SESSION_MS)
    assert set(world.group.members) == {"m", "n"}
    assert world.log.shard.next_deadline_ms() == world.time.now_ms + 60_000
    room.is_left = True
    world.log.advance(59_999)
    assert set(world.group.members) == {"m", "n"}
    world.log.advance(1)
    assert world.group.members == {}


def test_a_join_to_a_group_of_another_kind_is_refused_by_its_token() -> None:
    """A share group is refused here; a consumer group with members is handled elsewhere."""
    world = ClassicWorld()
    request = ShareGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=["t"])
    world.log.run(world.log.shard.share.begin_heartbeat(request, CLIENT, world.time.now_ms))
    assert world.join("").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.join("one").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_offset_of_a_transaction_counts_when_that_is_committed() -> None:
    world = OffsetsWorld()
    shard = world.shard
    shard.replay_transactional(offset_record("g", "t", 1, CommittedOffset(7)), 0, 5)
    assert world.offsets() == {}
    shard.end_transaction(5, commit=True)
    assert world.offsets() == {("t", 1): 7}


@pytest.mark.parametrize("kind", ["share", "classic", "consumer"])
def test_after_a_load_others_may_have_their_turn_at_each_group(kind: str) -> None:
    match kind:
        case "share":
            share = GroupWorld()
            share.join("m", "foo")
            shard = share.log.loaded()
        case "classic":
            classic = ClassicWorld()
            member_id = classic.join("").response.member_id
            classic.join(member_id)
            shard = classic.log.loaded()
        case _:
            consumer = ConsumerWorld()
            consumer.join("m")
            shard = consumer.log.loaded()
    groups = [*shard.share.all(), *shard.classic.all(), *shard.consumer.all()]
    assert len(groups) == 1
    assert len(list(shard.on_loaded(0))) == 1
