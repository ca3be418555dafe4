"""Records that no group coordinator writes are refused at load, with the reason."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.sense import check_group_record
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords
from shareq.protocol.generated.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from shareq.protocol.generated.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from shareq.protocol.primitives import Message


def classic(generation: int = 1, session_ms: int = 1, rebalance_ms: int = 1) -> GroupMetadataValue:
    member = MemberMetadata(session_timeout=session_ms, rebalance_timeout=rebalance_ms)
    return GroupMetadataValue(protocol_type="consumer", generation=generation, members=[member])


def states(partition: int) -> ShareGroupStatePartitionMetadataValue:
    topics = [TopicPartitionsInfo(bytes(16), "t", [0, partition])]
    return ShareGroupStatePartitionMetadataValue(initializing_topics=[], initialized_topics=topics)


@pytest.mark.parametrize("value", [classic(0, 0, 0), classic(rebalance_ms=-1), states(0)])
def test_the_least_numbers_make_sense(value: Message) -> None:
    check_group_record(CoordinatorRecord(GroupMetadataKey("g"), value))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (classic(generation=-1), "GroupMetadataValue with generation -1"),
        (classic(session_ms=-1), "GroupMetadataValue with session timeout -1"),
        (classic(rebalance_ms=-2), "GroupMetadataValue with rebalance timeout -2"),
        (states(-1), "ShareGroupStatePartitionMetadataValue with partition -1"),
    ],
)
def test_a_number_below_them_is_named(value: Message, what: str) -> None:
    key = GroupMetadataKey("g") if isinstance(value, GroupMetadataValue) else ShareGroupStatePartitionMetadataKey("g")
    with pytest.raises(InconsistentRecords, match=what):
        check_group_record(CoordinatorRecord(key, value))
