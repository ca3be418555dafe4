from __future__ import annotations

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from shareq.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from tests.campaign.dlq_kills.removals import Operation, Scene


def deleted(error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult("removed-0", error)])


def test_a_group_that_is_gone_counts_as_deleted_only_when_that_was_tried_before() -> None:
    scene = Scene(0, Operation.GROUP)
    assert scene.answered(deleted(ErrorCode.GROUP_ID_NOT_FOUND), again=False) is ErrorCode.GROUP_ID_NOT_FOUND
    assert not scene.done
    assert scene.answered(deleted(ErrorCode.GROUP_ID_NOT_FOUND), again=True) is ErrorCode.NONE
    assert scene.done


def test_an_operation_that_waited_too_long_is_tried_again_and_one_that_is_refused_is_noticed() -> None:
    scene = Scene(0, Operation.GROUP)
    assert scene.answered(deleted(ErrorCode.COORDINATOR_NOT_AVAILABLE), again=False) is ErrorCode.NONE
    assert not scene.done
    assert scene.answered(deleted(ErrorCode.NON_EMPTY_GROUP), again=True) is ErrorCode.NON_EMPTY_GROUP


def test_the_error_of_a_partition_is_the_operations() -> None:
    rows = [AlterShareGroupOffsetsResponsePartition(number, error_code=number * 6) for number in range(2)]
    answer = AlterShareGroupOffsetsResponse(responses=[AlterShareGroupOffsetsResponseTopic("work-0", partitions=rows)])
    scene = Scene(0, Operation.ALTER)
    assert scene.answered(answer, again=False) is ErrorCode.NONE  # NOT_LEADER_OR_FOLLOWER: again
    assert not scene.done
