"""The driver of the target's share groups, before a broker that answers late or never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from shareq.ops.migrate.broker import TargetCluster
from shareq.ops.migrate.broker_groups import GroupsOfTarget
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_share_group_offsets as alter
from shareq.protocol.generated import describe_share_group_offsets as describe
from shareq.protocol.generated import initialize_share_group_state as initialize
from shareq.protocol.generated import read_share_group_state_summary as summary
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp
from tests.support.fakes.scripted_world import ID, World, topic

GROUP, PARTITION, START = "packers", ("t", 0), 7
STARTS: Final = {PARTITION: START}


class SlowBroker:
    """A broker with one share partition that the group knows only after a number of requests.

    `epoch`: the state's epoch; `asked`: the state epochs of its initialisations. `lost` requests are not answered.
    """

    def __init__(self, world: World) -> None:
        self.epoch = 0
        self.knows_after = 0
        self.altered = 0
        self.lost = 0
        self.asked: list[int] = []
        world.topics = [topic(1)]
        self.broker = world.broker(1)
        self.broker.scripts |= {
            ApiKey.FIND_COORDINATOR: self._coordinators,
            ApiKey.ALTER_SHARE_GROUP_OFFSETS: self._altered,
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: self._described,
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: self._summary,
            ApiKey.INITIALIZE_SHARE_GROUP_STATE: self._initialized,
        }

    def _coordinators(self, request: Message) -> Message:
        assert isinstance(request, FindCoordinatorRequest)
        rows = [Coordinator(key, 1, self.broker.host, self.broker.port) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=rows)

    def _altered(self, request: Message) -> Message:
        assert isinstance(request, alter.AlterShareGroupOffsetsRequest)
        self.altered += 1
        self._lose()
        rows = [
            alter.AlterShareGroupOffsetsResponseTopic(
                each.topic_name,
                ID,
                [alter.AlterShareGroupOffsetsResponsePartition(row.partition_index) for row in each.partitions],
            )
            for each in request.topics
        ]
        return alter.AlterShareGroupOffsetsResponse(responses=rows)

    def _described(self, _: Message) -> Message:
        self.knows_after -= 1
        row = describe.DescribeShareGroupOffsetsResponsePartition(0, START)
        of_topic = describe.DescribeShareGroupOffsetsResponseTopic("t", ID, [row])
        topics = [] if self.knows_after >= 0 else [of_topic]
        group = describe.DescribeShareGroupOffsetsResponseGroup(GROUP, topics)
        return describe.DescribeShareGroupOffsetsResponse(groups=[group])

    def _summary(self, _: Message) -> Message:
        row = summary.PartitionResult(0, 0, None, self.epoch, 0, START)
        return summary.ReadShareGroupStateSummaryResponse([summary.ReadStateSummaryResult(ID, [row])])

    def _initialized(self, request: Message) -> Message:
        assert isinstance(request, initialize.InitializeShareGroupStateRequest)
        (of_topic,) = request.topics
        (asked,) = of_topic.partitions
        assert asked.start_offset == START
        self.asked.append(asked.state_epoch)
        self._lose()
        fenced = ErrorCode.FENCED_STATE_EPOCH if asked.state_epoch < self.epoch else 0
        self.epoch = max(self.epoch, asked.state_epoch)
        row = initialize.PartitionResult(0, fenced)
        return initialize.InitializeShareGroupStateResponse([initialize.InitializeStateResult(ID, [row])])

    def _lose(self) -> None:
        self.lost -= 1
        if self.lost >= 0:
            raise HangUp


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.mark.parametrize(("knows_after", "asked"), [(0, 1), (4, 1), (5, 2), (9, 2), (10, 3)])
def test_a_group_has_begun_once_it_knows(world: World, knows_after: int, asked: int) -> None:
    slow = SlowBroker(world)
    target = GroupsOfTarget(TargetCluster(world.network(slow.broker)))
    slow.knows_after = knows_after
    assert target.begin(GROUP, STARTS) == asked == slow.altered
    assert slow.knows_after == -1
    assert target.begin(GROUP, {}) == 1  # a group that has begun is only asked for its members
    assert slow.knows_after == -1


def test_each_request_without_an_answer_counts(world: World) -> None:
    slow = SlowBroker(world)
    target = GroupsOfTarget(TargetCluster(world.network(slow.broker)))
    slow.lost = 2
    assert target.begin(GROUP, STARTS) == 3


def test_each_try_to_begin_above_refuses_those_before(world: World) -> None:
    slow = SlowBroker(world)
    target = GroupsOfTarget(TargetCluster(world.network(slow.broker)))
    slow.epoch, slow.lost = 4, 2
    target.begin_above(GROUP, STARTS)
    assert slow.asked == [5, 6, 7]
    assert slow.epoch == 7
