"""Thousands of topics at once: the consequences of their commit, and groups with share states of all of them.

Work per turn is counted in calls of Python functions, the same on every machine: 30,000 take some ten milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.handlers.topics.create_topics import CREATED_TOGETHER
from shareq.broker.handlers.topics.delete_topics import DELETED_TOGETHER
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.primitives import Message
from tests.support.metered_clock import CountingClock

R = TypeVar("R", bound=Message)

MOST_CALLS = 15_000
"""The most calls in a turn for a group with states of `TOPICS`.

One record of all states, made, written and replayed in one turn, once took 27,000.
"""
MOST_OF_A_COMMIT = 30_000
"""The most calls in a turn that commits 500 new topics, or deletes 200."""
TOPICS = 2_500
ONE_LOG = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}


class Rig:
    def __init__(self, topics: int, properties: dict[str, str]) -> None:
        self.clock = CountingClock()
        self.world = BrokerWorld(properties, clock=self.clock)
        self.names = [f"t{number}" for number in range(topics)]
        self.client: MockConnection = self.world.connect()
        if topics:
            self.world.folder.metadata.create_topics([NewTopic(name, 1) for name in self.names])

    def call(self, request: Message, version: int, response: type[R]) -> R:
        """Send a request; note the most calls of a turn until all its consequences are done."""
        self.clock.run_until_idle()
        self.clock.longest = 0
        self.clock.measured(lambda: self.client.send(request, version))
        return self.client.receive(response)

    def alter(self, group_id: str, names: Sequence[str]) -> AlterShareGroupOffsetsResponse:
        first = [AlterShareGroupOffsetsRequestPartition(0, 0)]
        topics = [AlterShareGroupOffsetsRequestTopic(name, first) for name in names]
        answer = self.call(AlterShareGroupOffsetsRequest(group_id, topics), 0, AlterShareGroupOffsetsResponse)
        assert answer.error_code == ErrorCode.NONE
        assert [(row.topic_name, row.partitions[0].error_code) for row in answer.responses] == [(n, 0) for n in names]
        return answer

    def delete(self, names: Sequence[str]) -> None:
        topics = [DeleteTopicState(name=name) for name in names]
        answer = self.call(DeleteTopicsRequest(topics=topics, timeout_ms=1_000), 6, DeleteTopicsResponse)
        assert {row.error_code for row in answer.responses} == {ErrorCode.NONE}

    def states(self, group_id: str) -> int:
        group = self.world.services.groups.coordinator.partition(group_id).shard.share_group(group_id)
        assert group is not None
        assert not group.initializing
        return len(group.initialized)


def test_what_hears_of_topics_looks_once_at_all_of_one_commit() -> None:
    """Listeners are notified once per commit: 200 notices took 200 ms with 100 groups."""
    rig = Rig(0, {})
    rig.world.create_topic("there")
    for number in range(60):
        rig.alter(f"g{number}", ["there"])
    assert len(list(rig.world.services.groups.coordinator.partitions)) > 25
    names = [f"n{number}" for number in range(CREATED_TOGETHER)]
    created = CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], 1_000)
    assert {row.error_code for row in rig.call(created, 7, CreateTopicsResponse).topics} == {ErrorCode.NONE}
    assert rig.clock.longest <= MOST_OF_A_COMMIT
    grown = CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in names], 1_000)
    assert {row.error_code for row in rig.call(grown, 3, CreatePartitionsResponse).results} == {ErrorCode.NONE}
    assert rig.clock.longest <= MOST_OF_A_COMMIT
    rig.delete(names[: 2 * DELETED_TOGETHER])
    assert rig.clock.longest <= MOST_OF_A_COMMIT


def group_of_many_topics() -> Rig:
    rig = Rig(TOPICS, ONE_LOG)
    rig.alter("g", rig.names[:1])  # makes the coordinators' topics
    rig.alter("g", rig.names)
    return rig


def test_offsets_of_many_topics_are_altered_in_turns() -> None:
    """Each of 10,000 topics has two records to make, write and replay, which once took 50 and 115 ms."""
    rig = group_of_many_topics()
    for _ in ("new states", "states that there are"):
        assert rig.clock.longest <= MOST_CALLS
        assert rig.states("g") == TOPICS
        rig.alter("g", rig.names)
    rig.world.crash()
    assert rig.states("g") == TOPICS


def test_topics_that_a_group_has_states_of_are_deleted_in_turns() -> None:
    """A group's states are written once per commit: once for each of 200 deletions took 470 ms with 1,000 topics."""
    rig = group_of_many_topics()
    gone = rig.names[: 2 * DELETED_TOGETHER]
    rig.delete(gone)
    assert rig.clock.longest <= MOST_CALLS
    assert rig.states("g") == TOPICS - len(gone)
    rig.world.crash()
    assert rig.states("g") == TOPICS - len(gone)


def test_the_states_of_a_topic_with_many_partitions_are_forgotten_in_turns() -> None:
    """10,000 tombstones once took 31 to 45 ms in one turn."""
    rig = Rig(1, ONE_LOG)
    rig.alter("g", rig.names)  # makes the coordinators' topics
    rig.world.create_topic("wide", TOPICS)
    partitions = [AlterShareGroupOffsetsRequestPartition(number, 0) for number in range(TOPICS)]
    request = AlterShareGroupOffsetsRequest("g", [AlterShareGroupOffsetsRequestTopic("wide", partitions)])
    rig.call(request, 0, AlterShareGroupOffsetsResponse)
    assert rig.clock.longest <= MOST_CALLS
    (states,) = rig.world.services.share_states.partitions
    assert len(states.shard.share_partitions()) == TOPICS + 1
    rig.delete(["wide"])
    assert rig.clock.longest <= MOST_CALLS
    assert len(states.shard.share_partitions()) == 1
    rig.world.crash()
    (states,) = rig.world.services.share_states.partitions
    assert len(states.shard.share_partitions()) == 1


def test_offsets_of_many_topics_are_deleted_in_turns() -> None:
    rig = group_of_many_topics()
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in rig.names]
    request = DeleteShareGroupOffsetsRequest("g", topics)
    answer = rig.call(request, 0, DeleteShareGroupOffsetsResponse)
    assert answer.error_code == ErrorCode.NONE
    assert [(row.topic_name, row.error_code) for row in answer.responses] == [(name, 0) for name in rig.names]
    assert rig.clock.longest <= MOST_CALLS
    assert rig.states("g") == 0


def test_a_group_that_has_states_of_many_topics_is_deleted_in_turns() -> None:
    rig = group_of_many_topics()
    (row,) = rig.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse).results
    assert row.error_code == ErrorCode.NONE
    assert rig.clock.longest <= MOST_CALLS
    assert rig.world.services.groups.coordinator.partition("g").shard.share_group("g") is None
