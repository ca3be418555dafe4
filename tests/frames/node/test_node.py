"""A node in front of a cluster, as its clients see it."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    ShareClient,
    acquired_of,
    append,
    fetch_errors,
    from_the_start,
)
from tests.support.cluster.node_world import NODE_ID, NodeWorld


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld()
    world.cluster.create_topic("t", 1)
    world.until_it_serves()
    from_the_start(world)
    return world


def assigned(client: ShareClient, topic: str, partitions: int = 1) -> None:
    found = client.join(topic)
    for _ in range(20):
        if found == {topic: list(range(partitions))}:
            return
        client.world.clock.advance(500)
        found = client.assigned(client.heartbeat()) or found
    raise AssertionError(f"the member has {found}")


def acquired(client: ShareClient, place: tuple[bytes, int], max_records: int = 500) -> list[tuple[int, int, int]]:
    for _ in range(20):
        answer = client.fetch(place, max_wait_ms=500, max_records=max_records)
        assert answer.error_code == ErrorCode.NONE
        if found := acquired_of(answer):
            return found
    raise AssertionError("nothing is handed out")


def test_a_share_group_works_by_way_of_a_node(world: NodeWorld) -> None:
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 3)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place) == [(0, 2, 1)]
    assert client.acknowledge(place, (0, 1, ACCEPT), (2, 2, RELEASE)) is ErrorCode.NONE
    assert acquired(client, place) == [(2, 2, 2)]


def test_another_node_goes_on_where_the_first_was_killed(world: NodeWorld) -> None:
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 4)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place) == [(0, 3, 1)]
    assert client.acknowledge(place, (0, 1, ACCEPT)) is ErrorCode.NONE
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1)
    world.clock.advance(5_000)
    assert len(world.stands_on.ownership.holds) == 8
    world.broker.close(clean=False)
    other.until_it_serves()
    client = ShareClient(other)
    assigned(client, "t")
    assert acquired(client, place) == [(2, 3, 1)]


def test_a_member_keeps_its_partitions_when_another_node_takes_over(world: NodeWorld) -> None:
    """The group is loaded before the node knows its topics."""
    client = ShareClient(world)
    assigned(client, "t")
    epoch = client.member_epoch
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1)
    world.clock.advance(5_000)
    world.broker.close(clean=False)
    other.until_it_serves()
    client.world = other
    client.reconnect()
    answer = client.heartbeat()
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (ErrorCode.NONE, epoch, None)


def test_without_a_proof_for_a_lease_nothing_is_handed_out(world: NodeWorld) -> None:
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 3)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place, max_records=1) == [(0, 0, 1)]
    world.cluster.cut(world.link.name)
    world.clock.advance(5_000)
    assert client.acquire(place, max_records=1) == [(1, 1, 1)]
    world.clock.advance(1_500)
    assert fetch_errors(client.fetch(place, max_records=1)) == {place: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    world.cluster.heal(world.link.name)
    world.clock.advance(5_000)
    assert client.acquire(place, max_records=1) == [(2, 2, 1)]


def test_a_node_that_is_cut_off_sends_its_clients_away_and_goes_on_when_it_is_heard(world: NodeWorld) -> None:
    sent_away = []
    world.services.send_clients_away = lambda: sent_away.append(world.clock.now_ms())
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 1)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place) == [(0, 0, 1)]
    assert shown_leader(world, "t") == (ErrorCode.NONE, NODE_ID, 1)
    world.cluster.cut(world.link.name)
    world.clock.advance(5_000)
    assert sent_away == []
    world.clock.advance(1_000)
    assert len(sent_away) == 1
    assert shown_leader(world, "t") == (ErrorCode.LEADER_NOT_AVAILABLE, -1, -1)
    world.cluster.heal(world.link.name)
    world.clock.advance(8_000)
    assert shown_leader(world, "t")[0] is ErrorCode.NONE
    take_overs = world.stands_on.slots.take_overs.count
    assert (client.acknowledge(place, (0, 0, ACCEPT)), take_overs) == (ErrorCode.NONE, 8)


def test_a_leader_elsewhere_is_named_without_an_epoch(world: NodeWorld) -> None:
    """A leader's epoch may be outdated, and librdkafka ignores a leader with an older one.

    The owner may have taken its slots over again and shown clients the new epoch; librdkafka then asked no node any
    more.
    """
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1)
    world.clock.advance(5_000)
    assert shown_leader(world, "t") == (ErrorCode.NONE, NODE_ID, 1)
    assert shown_leader(other, "t") == (ErrorCode.NONE, NODE_ID, -1)


def test_a_node_that_lost_its_slots_while_it_was_cut_off_serves_them_as_soon_as_it_is_a_member(
    world: NodeWorld,
) -> None:
    world.cluster.cut(world.link.name)
    world.clock.advance(60_000)
    assert not world.stands_on.ownership.holds
    world.cluster.heal(world.link.name)
    for _ in range(100):
        world.clock.advance(100)
        if world.stands_on.membership.problem is None:
            break
    world.clock.advance(500)
    assert len(world.stands_on.ownership.holds) == 8


def shown_leader(world: NodeWorld, topic: str) -> tuple[ErrorCode, int, int]:
    request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    (row,) = world.connect().call(request, 12, MetadataResponse).topics[0].partitions
    return ErrorCode(row.error_code), row.leader_id, row.leader_epoch


def test_records_that_were_deleted_by_way_of_a_node_are_handed_out_no_more(world: NodeWorld) -> None:
    """The deletion applies at once: a consumer may fetch before the node's next fetch shows it."""
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 5)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place, max_records=1) == [(0, 0, 1)]
    deletion = DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 4)])], 5_000)
    answer = world.connect().call(deletion, 2, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert client.acquire(place) == [(4, 4, 1)]
