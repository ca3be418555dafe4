"""Records of consumer groups, byte by byte, and records written by other brokers."""

from __future__ import annotations

from shareq.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.member import ConsumerMember, CurrentAssignment, MemberState
from shareq.coordinator.group.consumer.records import (
    CONSUMER_GROUP_RECORDS,
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_record,
    partition_metadata_tombstone,
    regex_record,
    target_record,
)
from shareq.coordinator.group.groups import Group
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.shard import CoordinatorRecord
from shareq.protocol.generated.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from shareq.protocol.generated.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from tests.unit.coordinator.group.consumer.world import GROUP, ConsumerWorld

T = bytes(range(16))


def encoded(record: CoordinatorRecord) -> tuple[str, str]:
    key, value = GROUP_SERDE.encode(record)
    return key.hex(" "), "" if value is None else value.hex(" ")


def test_bytes_of_each_type() -> None:
    uuid = T.hex(" ")
    assert encoded(epoch_record("g", 3, 7)) == (
        "00 03 00 01 67",
        "00 00 00 00 00 03 01 00 08 00 00 00 00 00 00 00 07",
    )
    assert encoded(partition_metadata_tombstone("g")) == ("00 04 00 01 67", "")
    # The final null stands for classic metadata; without it the member would be a classic one without protocols.
    member = ConsumerMember("m", "i", None, "c", "/h", ("t",), None, 5, "range")
    assert encoded(member_record("g", member)) == (
        "00 05 00 01 67 00 01 6d",
        "00 00 02 69 00 02 63 03 2f 68 02 02 74 00 00 00 00 05 06 72 61 6e 67 65 01 00 01 00",
    )
    assert encoded(assignment_epoch_record("g", 3, 9)) == (
        "00 06 00 01 67",
        "00 00 00 00 00 03 01 00 08 00 00 00 00 00 00 00 09",
    )
    assert encoded(target_record("g", "m", {T: frozenset({2, 0})})) == (
        "00 07 00 01 67 00 01 6d",
        f"00 00 02 {uuid} 03 00 00 00 00 00 00 00 02 00 00",
    )
    current = CurrentAssignment(4, 3, MemberState.UNREVOKED_PARTITIONS, {T: {0: 2}}, {T: {1: 3}})
    assert encoded(current_record("g", "m", current)) == (
        "00 08 00 01 67 00 01 6d",
        "00 00 00 00 00 04 00 00 00 03 01"
        f" 02 {uuid} 02 00 00 00 00 01 00 05 02 00 00 00 02"
        f" 02 {uuid} 02 00 00 00 01 01 00 05 02 00 00 00 03 00",
    )
    assert encoded(regex_record("g", "a.*", ResolvedRegex(frozenset({"a"}), 1, 2))) == (
        "00 10 00 01 67 00 03 61 2e 2a",
        "00 00 02 02 61 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00",
    )


def replayed(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    groups: dict[str, Group] = {}
    CONSUMER_GROUP_RECORDS.replay(groups, CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey("g", "m"), value))
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group.current_of("m")


def test_without_assignment_epochs_a_partition_is_the_members_since_its_epoch() -> None:
    """Brokers before Apache Kafka 4.3 wrote such records."""
    value = ConsumerGroupCurrentMemberAssignmentValue(5, 4, 0, [TopicPartitions(T, [1], [])])
    assert replayed(value).assigned == {T: {1: 5}}
    away = ConsumerGroupCurrentMemberAssignmentValue(-2, 4, 0, [TopicPartitions(T, [1], None)])
    assert replayed(away).assigned == {T: {1: 0}}


def test_a_member_in_a_state_of_later_versions_has_to_join_again(world: ConsumerWorld) -> None:
    world.join("m1")
    record = CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(GROUP, "m1"), ConsumerGroupCurrentMemberAssignmentValue(1, 1, 9)
    )
    world.log.encoded.append(GROUP_SERDE.encode(record))
    world.log.reload()
    assert world.group.current_of("m1").state is MemberState.UNKNOWN
    assert world.beat("m1").error_message == "The member is in a state of a later version: it has to join again."
    assert world.reported(world.join("m1")) == {"foo": {0, 1, 2, 3}}


def test_the_topics_record_of_old_brokers_is_removed_with_the_next_epoch(world: ConsumerWorld) -> None:
    world.join("m1")
    record = CoordinatorRecord(ConsumerGroupPartitionMetadataKey(GROUP), ConsumerGroupPartitionMetadataValue())
    world.log.encoded.append(GROUP_SERDE.encode(record))
    world.log.reload()
    world.join("m2")
    assert "-ConsumerGroupPartitionMetadataKey" in world.log.value_types()
    assert not world.group.has_partition_metadata
