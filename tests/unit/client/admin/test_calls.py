"""An administrator's requests find their brokers, although some move, die, or leave things out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from shareq.client.admin import Admin
from shareq.client.admin.calls import AT_ONCE, NotFound, batched
from shareq.client.admin.consumer_groups import ConsumerGroup
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.client.network import Network
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import consumer_group_describe, describe_groups
from shareq.protocol.generated.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.list_groups import ListedGroup, ListGroupsResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from shareq.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.fakes.scripted_world import World, topic


def coordinating(world: World, by_group: dict[str, int]) -> None:
    """Let every broker return the node in `by_group` as a group's coordinator, or node 1. Tests may change the dict."""

    def answer(request: Message) -> Message:
        assert isinstance(request, FindCoordinatorRequest)
        rows = []
        for group in request.coordinator_keys:
            node = by_group.get(group, 1)
            rows.append(Coordinator(group, node, world.nodes[node].host, world.nodes[node].port))
        return FindCoordinatorResponse(coordinators=rows)

    for broker in world.brokers:
        broker.scripts[ApiKey.FIND_COORDINATOR] = answer


def describing(broker: ScriptedBroker, errors: dict[str, ErrorCode] | None = None) -> None:
    def answer(request: Message) -> Message:
        assert isinstance(request, ShareGroupDescribeRequest)
        rows = [DescribedGroup((errors or {}).get(group, 0), None, group, "Empty") for group in request.group_ids]
        return ShareGroupDescribeResponse(groups=rows)

    broker.scripts[ApiKey.SHARE_GROUP_DESCRIBE] = answer


def asked(broker: ScriptedBroker, kind: type[Message]) -> list[Message]:
    return [each for each in broker.requests if isinstance(each, kind)]


def test_each_coordinator_is_asked_once_for_all_its_groups(world: World) -> None:
    one, two = world.broker(1), world.broker(2)
    describing(one)
    describing(two)
    coordinating(world, {"b": 2, "d": 2})
    found = dict(Admin(world.network(one)).share_groups.describe(["a", "b", "c", "d"]))
    assert set(found) == {"a", "b", "c", "d"}
    (first,), (second,) = asked(one, ShareGroupDescribeRequest), asked(two, ShareGroupDescribeRequest)
    assert isinstance(first, ShareGroupDescribeRequest)
    assert isinstance(second, ShareGroupDescribeRequest)
    assert (first.group_ids, second.group_ids) == (["a", "c"], ["b", "d"])
    assert world.clock.slept == []


def test_only_the_group_that_moved_is_asked_for_again(world: World) -> None:
    one, two = world.broker(1), world.broker(2)
    describing(one, {"b": ErrorCode.NOT_COORDINATOR})
    describing(two)
    where = {"a": 1, "b": 1}
    coordinating(world, where)

    def sleep(seconds: float) -> None:
        where["b"] = 2
        world.clock.sleep(seconds)

    network = Network(world.network(one).config, clock=world.clock, sleep=sleep)
    world.networks.append(network)
    found = dict(Admin(network).share_groups.describe(["a", "b"]))
    assert not any(isinstance(each, ClientError) for each in found.values())
    (again,) = asked(two, ShareGroupDescribeRequest)
    assert isinstance(again, ShareGroupDescribeRequest)
    assert again.group_ids == ["b"]


def test_a_refusal_for_good_stands_in_the_groups_place(world: World) -> None:
    broker = world.broker(1)
    describing(broker, {"b": ErrorCode.GROUP_ID_NOT_FOUND})
    coordinating(world, {})
    found = dict(Admin(world.network(broker)).share_groups.describe(["a", "b"]))
    assert not isinstance(found["a"], ClientError)
    error = found["b"]
    assert isinstance(error, BrokerError)
    assert error.code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.clock.slept == []


def test_when_time_is_up_the_others_are_returned(world: World) -> None:
    broker = world.broker(1)
    describing(broker, {"b": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "c": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
    coordinating(world, {})
    found = dict(Admin(world.network(broker)).share_groups.describe(["a", "b", "c"]))
    assert not isinstance(found["a"], ClientError)
    assert isinstance(found["b"], Unreachable)
    assert "given up after 60000 ms" in str(found["b"])
    assert isinstance(found["c"], BrokerError)
    assert 60 - 1.2 < sum(world.clock.slept) <= 60  # less than the longest pause is left over


def test_a_group_that_an_answer_leaves_out_is_asked_for_until_the_time_is_up(world: World) -> None:
    broker = world.broker(1)
    broker.scripts[ApiKey.SHARE_GROUP_DESCRIBE] = lambda _: ShareGroupDescribeResponse()
    coordinating(world, {})
    ((_, error),) = Admin(world.network(broker)).share_groups.describe(["a"])
    assert isinstance(error, Unreachable)
    assert "left out a" in str(error)


def test_a_hundred_thousand_groups_are_described_in_portions(world: World) -> None:
    broker = world.broker(1)
    describing(broker)
    coordinating(world, {})
    groups = (f"g{number}" for number in range(100_000))
    found = Admin(world.network(broker)).share_groups.describe(groups)
    assert len(list(islice(found, 3))) == 3
    (request,) = asked(broker, ShareGroupDescribeRequest)
    assert isinstance(request, ShareGroupDescribeRequest)
    assert len(request.group_ids) == AT_ONCE
    assert next(groups) == f"g{AT_ONCE}"


def test_a_classic_group_is_described_where_consumer_groups_are_turned_off(world: World) -> None:
    """Apache Kafka 3.9 still offers ConsumerGroupDescribe then."""
    one = world.broker(1)
    coordinating(world, {})
    off = consumer_group_describe.DescribedGroup(ErrorCode.UNSUPPORTED_VERSION, group_id="g")
    one.scripts[ApiKey.CONSUMER_GROUP_DESCRIBE] = lambda _: consumer_group_describe.ConsumerGroupDescribeResponse(
        groups=[off]
    )
    one.scripts[ApiKey.DESCRIBE_GROUPS] = lambda _: describe_groups.DescribeGroupsResponse(
        groups=[
            describe_groups.DescribedGroup(ErrorCode.NONE, group_id="g", group_state="Empty", protocol_type="consumer")
        ]
    )
    found = dict(Admin(world.network(one)).consumer_groups.describe(["g"]))
    assert found == {"g": ConsumerGroup("g", "classic", "Empty", None, "", ())}


def test_groups_are_listed_broker_by_broker(world: World) -> None:
    def listing(node: int) -> Callable[[Message], Message]:
        rows = [ListedGroup(f"{node}-{number}", "share", "Empty", "Share") for number in range(2)]
        return lambda _: ListGroupsResponse(groups=rows)

    for node in (1, 2):
        world.broker(node).scripts[ApiKey.LIST_GROUPS] = listing(node)
    found = list(Admin(world.network(world.nodes[1])).groups.find(["share"]))
    assert sorted(each.group_id for each in found) == ["1-0", "1-1", "2-0", "2-1"]
    assert {each.kind for each in found} == {"share"}


def test_topics_come_in_pages(world: World) -> None:
    """Each page is requested only when its rows are wanted: 20,000 partitions of two topics, 2,000 per page."""
    broker = world.broker(1)
    names, count, page = ["a", "b"], 10_000, 2_000

    def answer(request: Message) -> Message:
        assert isinstance(request, DescribeTopicPartitionsRequest)
        at = request.cursor
        name, first = (names[0], 0) if at is None else (at.topic_name, at.partition_index)
        rows = [
            DescribeTopicPartitionsResponsePartition(0, number, 1, 0, [1], [1]) for number in range(first, first + page)
        ]
        following = None
        if first + page < count:
            following = DescribeTopicPartitionsResponseCursor(name, first + page)
        elif name != names[-1]:
            following = DescribeTopicPartitionsResponseCursor(names[1], 0)
        topics = [DescribeTopicPartitionsResponseTopic(0, name, name.encode() * 16, partitions=rows)]
        return DescribeTopicPartitionsResponse(topics=topics, next_cursor=following)

    broker.scripts[ApiKey.DESCRIBE_TOPIC_PARTITIONS] = answer
    found = Admin(world.network(broker)).topics.all()
    first = next(found)
    assert (first.name, len(first.partitions), first.partitions[-1].partition) == ("a", count, count - 1)
    assert len(asked(broker, DescribeTopicPartitionsRequest)) <= count // page + 1
    assert [each.name for each in found] == ["b"]
    assert len(asked(broker, DescribeTopicPartitionsRequest)) == 2 * count // page


def offsets(end: int, error: ErrorCode = ErrorCode.NONE) -> Callable[[Message], Message]:
    def answer(request: Message) -> Message:
        assert isinstance(request, ListOffsetsRequest)
        rows = [
            ListOffsetsPartitionResponse(row.partition_index, error, offset=end) for row in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", rows)])

    return answer


def test_a_leader_that_moved_is_found_and_what_is_missing_is_said_at_once(world: World) -> None:
    old, new = world.broker(1), world.broker(2)
    old.scripts[ApiKey.LIST_OFFSETS] = offsets(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    new.scripts[ApiKey.LIST_OFFSETS] = offsets(7)
    world.topics = [topic(1)]
    network = world.network(old)
    network.topic_ids(["t"])
    world.topics = [topic(2, epoch=1)]
    found = Admin(network).topics.offsets({("t", 0): LATEST, ("t", 5): LATEST, ("missing", 0): LATEST})
    assert getattr(found["t", 0], "offset", None) == 7
    assert isinstance(found["t", 5], NotFound)
    assert isinstance(found["missing", 0], NotFound)
    assert len(world.clock.slept) == 1


def test_a_change_is_sent_again_when_the_connection_is_lost(world: World) -> None:
    broker = world.broker(1)
    said = iter([None, DeleteTopicsResponse(responses=[DeletableTopicResult("t", b"t" * 16)])])

    def answer(_: Message) -> Message:
        if (now := next(said)) is None:
            raise HangUp
        return now

    broker.scripts[ApiKey.DELETE_TOPICS] = answer
    assert Admin(world.network(broker)).topics.delete(["t"]) == {"t": b"t" * 16}


def listing(broker: ScriptedBroker, *groups: str) -> None:
    rows = [ListedGroup(group, group_type="share") for group in groups]
    broker.scripts[ApiKey.LIST_GROUPS] = lambda _: ListGroupsResponse(groups=rows)


def test_groups_are_found_soon_although_a_broker_fails_and_what_it_leads_has_its_reason(world: World) -> None:
    one, two = world.broker(1), world.broker(2)
    listing(one, "a")

    def hang_up(_: Message) -> Message:
        raise HangUp

    two.scripts[ApiKey.LIST_GROUPS] = hang_up
    one.scripts[ApiKey.LIST_OFFSETS] = two.scripts[ApiKey.LIST_OFFSETS] = offsets(7)
    world.topics = [topic(1, 2)]
    admin = Admin(world.network(one))
    found, failed = admin.groups.found_soon(["share"], timeout_ms=2_000)
    assert ([each.group_id for each in found], list(failed)) == (["a"], [2])
    assert isinstance(failed[2], Unreachable)
    ends = admin.without({2: "it is silent"}).topics.offsets({("t", 0): LATEST, ("t", 1): LATEST})
    assert getattr(ends["t", 0], "offset", None) == 7
    assert str(ends["t", 1]) == "it is silent"
    assert asked(two, ListOffsetsRequest) == []
    assert world.clock.slept == [], "nothing is tried again"


def test_groups_are_asked_for_again_if_no_broker_answers_the_first_time(world: World) -> None:
    broker = world.broker(1)
    said = iter([ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), ListGroupsResponse()])
    broker.scripts[ApiKey.LIST_GROUPS] = lambda _: next(said)
    assert Admin(world.network(broker)).groups.found_soon(timeout_ms=2_000) == ([], {})


def test_portions_are_lists_of_a_size() -> None:
    assert list(batched(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batched((), 2)) == []
