"""A share group's records in `__consumer_offsets`, and their lifetime in `__share_group_state`."""

from __future__ import annotations

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.routing import group_partition_for, share_partition_for
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.share_group_metadata import ShareGroupMetadataKey, ShareGroupMetadataValue
from shareq.protocol.generated.share_group_state_partition_metadata import ShareGroupStatePartitionMetadataValue
from shareq.protocol.generated.share_group_target_assignment_metadata import ShareGroupTargetAssignmentMetadataValue
from tests.support.clients.share_client import ShareClient
from tests.support.worlds.internal_records import records


def group_records(world: BrokerWorld, group: str = "g") -> list[CoordinatorRecord]:
    return list(records(world, "__consumer_offsets", group_partition_for(group, 50), GROUP_SERDE))


def last_of_each_key(written: list[CoordinatorRecord]) -> dict[str, CoordinatorRecord]:
    """Return the records that compaction would keep."""
    return {repr(record.key): record for record in written}


def test_every_epoch_is_written_down_and_so_is_the_target(world: BrokerWorld) -> None:
    """Epoch and target are records, as in Apache Kafka 4.3.1: the KIP's first text kept them in memory."""
    world.create_topic("t", 2)
    one, two = ShareClient(world, "one"), ShareClient(world, "two")
    one.join("t")
    two.join("t")
    two.leave()
    epochs = [
        record.value.epoch for record in group_records(world) if isinstance(record.value, ShareGroupMetadataValue)
    ]
    assert epochs == [2, 3, 4]
    assert one.describe().group_epoch == 4
    targets = [
        record.value.assignment_epoch
        for record in group_records(world)
        if isinstance(record.value, ShareGroupTargetAssignmentMetadataValue)
    ]
    assert targets == [2, 3]


def test_a_group_has_six_kinds_of_record_one_of_which_reserves_its_id(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    member = ShareClient(world)
    member.join("t")
    kept = last_of_each_key(group_records(world))
    assert sorted(type(record.key).__name__ for record in kept.values()) == [
        "ShareGroupCurrentMemberAssignmentKey",
        "ShareGroupMemberMetadataKey",
        "ShareGroupMetadataKey",
        "ShareGroupStatePartitionMetadataKey",
        "ShareGroupTargetAssignmentMemberKey",
        "ShareGroupTargetAssignmentMetadataKey",
    ]
    member.leave()
    kept = last_of_each_key(group_records(world))
    assert sorted(type(record.key).__name__ for record in kept.values() if record.value is not None) == [
        "ShareGroupMetadataKey",
        "ShareGroupStatePartitionMetadataKey",
        "ShareGroupTargetAssignmentMetadataKey",
    ]


def test_the_set_of_partitions_with_state_is_written_whenever_it_changes(world: BrokerWorld) -> None:
    world.create_topic("t", 1)
    member = ShareClient(world)

    def sets() -> list[tuple[list[list[int]], list[list[int]]]]:
        return [
            ([t.partitions for t in r.value.initializing_topics], [t.partitions for t in r.value.initialized_topics])
            for r in group_records(world)
            if isinstance(r.value, ShareGroupStatePartitionMetadataValue)
        ]

    member.join("t")
    assert sets() == [([[0]], []), ([], [[0]])]
    member.heartbeat()
    assert len(sets()) == 2
    world.folder.metadata.create_partitions({"t": 3})
    member.heartbeat()
    assert sets()[2:] == [([[1, 2]], [[0]]), ([], [[0, 1, 2]])]


def test_a_group_that_is_deleted_leaves_tombstones_only(world: BrokerWorld) -> None:
    topic = world.create_topic("t", 1)
    member = ShareClient(world)
    member.join("t")
    member.leave()
    deleted = member.connection.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert deleted.results[0].error_code == ErrorCode.NONE
    written = group_records(world)
    assert {record.value for record in last_of_each_key(written).values()} == {None}
    assert isinstance(written[-1].key, ShareGroupMetadataKey)
    key = SharePartitionKey("g", topic.topic_id, 0)
    states = list(records(world, "__share_group_state", share_partition_for(key, 50), SHARE_STATE_SERDE))
    assert states[-1].value is None
