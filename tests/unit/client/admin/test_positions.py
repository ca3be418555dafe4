"""Queries of logs and share groups among brokers that move, die and refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.client.admin import Admin
from shareq.client.admin.share_groups import SharePosition
from shareq.client.admin.topics import LogRange
from shareq.client.errors import BrokerError, Unreachable
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp, Script, ScriptedBroker
from tests.support.fakes.scripted_world import ID, World, topic

START, END = -2, -1


def logs(ends: dict[int, tuple[int, int]], error: ErrorCode = ErrorCode.NONE) -> Script:
    """Return the script of a leader whose partitions start and end at `ends`.

    It refuses other partitions, or all with `error`.
    """

    def answer(request: Message) -> Message:
        assert isinstance(request, ListOffsetsRequest)
        rows = []
        for row in request.topics[0].partitions:
            known = ends.get(row.partition_index)
            code = error or (ErrorCode.NONE if known else ErrorCode.NOT_LEADER_OR_FOLLOWER)
            offset = known[0 if row.timestamp == START else 1] if known and not code else -1
            rows.append(ListOffsetsPartitionResponse(row.partition_index, code, offset=offset))
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", rows)])

    return answer


def serving(world: World, node: int, script: Script) -> ScriptedBroker:
    broker = world.broker(node)
    broker.scripts[ApiKey.LIST_OFFSETS] = script
    return broker


def test_every_leader_is_asked_for_its_own(world: World) -> None:
    one = serving(world, 1, logs({0: (3, 10), 2: (0, 0)}))
    serving(world, 2, logs({1: (5, 6)}))
    world.topics = [topic(1, 2, 1)]
    found = Admin(world.network(one)).topics.log_ranges({"t": range(3)})
    assert found == {("t", 0): LogRange(3, 10), ("t", 1): LogRange(5, 6), ("t", 2): LogRange(0, 0)}


def test_a_leader_that_moved_is_found(world: World) -> None:
    old = serving(world, 1, logs({}))
    serving(world, 2, logs({0: (0, 4)}))
    world.topics = [topic(1)]
    network = world.network(old)
    network.topic_ids(["t"])
    world.topics = [topic(2, epoch=1)]
    assert Admin(network).topics.log_ranges({"t": [0]}) == {("t", 0): LogRange(0, 4)}
    assert len(world.clock.slept) == 1


def test_a_leader_that_died_holds_up_only_its_own_partitions(world: World) -> None:
    alive = serving(world, 1, logs({0: (0, 1), 1: (0, 2)}))
    dead = serving(world, 2, logs({1: (0, 2)}))
    world.topics = [topic(1, 2)]
    network = world.network(alive)
    network.topic_ids(["t"])
    dead.close()
    world.topics = [topic(1, 1, epoch=1)]
    assert Admin(network).topics.log_ranges({"t": [0, 1]}) == {("t", 0): LogRange(0, 1), ("t", 1): LogRange(0, 2)}
    assert len(alive.requests) > 2


def test_a_refusal_for_good_is_raised_at_once(world: World) -> None:
    broker = serving(world, 1, logs({}, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    world.topics = [topic(1)]
    with pytest.raises(BrokerError, match=r"^partition t-0: TOPIC_AUTHORIZATION_FAILED: "):
        Admin(world.network(broker)).topics.log_ranges({"t": [0]})
    assert world.clock.slept == []


def test_a_partition_without_a_leader_is_waited_for_within_the_time(world: World) -> None:
    broker = serving(world, 1, logs({}))
    world.topics = [topic(-1)]
    with pytest.raises(Unreachable, match=r"^partition t-0: LEADER_NOT_AVAILABLE: .*; given up after 60000 ms$"):
        Admin(world.network(broker)).topics.log_ranges({"t": [0]})
    assert 60 - 1.2 < sum(world.clock.slept) <= 60  # less than the longest pause is left over


def coordinated(world: World, *nodes: int) -> Script:
    left = iter(nodes)

    def answer(_: Message) -> Message:
        broker = world.nodes[node := next(left)]
        return FindCoordinatorResponse(coordinators=[Coordinator("g", node, broker.host, broker.port)])

    return answer


def described(
    *partitions: tuple[int, int, int], error: ErrorCode = ErrorCode.NONE, code: ErrorCode = ErrorCode.NONE
) -> Callable[[Message], Message]:
    """Return a coordinator's script with (partition, start offset, lag) of topic t.

    `error`: the group's; `code`: each partition's.
    """
    rows = [
        DescribeShareGroupOffsetsResponsePartition(number, start, 0, lag, code) for number, start, lag in partitions
    ]
    topics = [DescribeShareGroupOffsetsResponseTopic("t", ID, rows)]
    return lambda _: DescribeShareGroupOffsetsResponse(
        groups=[DescribeShareGroupOffsetsResponseGroup("g", topics, error)]
    )


def coordinator(world: World, node: int, script: Script) -> ScriptedBroker:
    broker = world.broker(node)
    broker.scripts[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = script
    return broker


def test_what_a_group_has_not_begun_is_not_a_number(world: World) -> None:
    broker = coordinator(world, 1, described((0, 12, 3), (1, -1, -1), (2, 4, -1)))
    broker.scripts[ApiKey.FIND_COORDINATOR] = coordinated(world, 1)
    assert Admin(world.network(broker)).share_groups.all_offsets("g") == {
        ("t", 0): SharePosition(12, 0, 3, ID),
        ("t", 1): SharePosition(None, 0, None, ID),
        ("t", 2): SharePosition(4, 0, None, ID),
    }


def hang_up(_: Message) -> Message:
    raise HangUp


@pytest.mark.parametrize("old_says", [described(error=ErrorCode.NOT_COORDINATOR), hang_up])
def test_a_coordinator_that_moved_is_asked_for_again(world: World, old_says: Script) -> None:
    old = coordinator(world, 1, old_says)
    new = coordinator(world, 2, described((0, 1, 0)))
    for broker in (old, new):
        broker.scripts[ApiKey.FIND_COORDINATOR] = coordinated(world, 1, 2) if broker is old else coordinated(world, 2)
    assert Admin(world.network(old)).share_groups.all_offsets("g") == {("t", 0): SharePosition(1, 0, 0, ID)}


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (described(error=ErrorCode.GROUP_AUTHORIZATION_FAILED), r"^share group g: GROUP_AUTHORIZATION_FAILED"),
        (
            described((0, -1, -1), code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            r"^partition t-0 of share group g: TOPIC_AUTHORIZATION_FAILED",
        ),
    ],
)
def test_a_group_or_topic_that_may_not_be_seen(world: World, says: Script, why: str) -> None:
    broker = coordinator(world, 1, says)
    broker.scripts[ApiKey.FIND_COORDINATOR] = coordinated(world, 1)
    with pytest.raises(BrokerError, match=why):
        Admin(world.network(broker)).share_groups.all_offsets("g", {"t": [0]})
    assert world.clock.slept == []
