"""Share groups with group coordinator, share coordinator and leader on different brokers (KIP-932).

The brokers know only a map of leaders, and communicate only by the state RPCs.
"""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.coordinator_runtime.routes import Routes
from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.persister import surfaced_error
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.leaders import Leader, Node
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    ShareClient,
    acquired_of,
    append,
    fetch_errors,
    from_the_start,
)
from tests.support.worlds.cluster import GROUP_TOPIC, SHARDS, STATE_TOPIC, Cluster

NONE = ErrorCode.NONE
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class Work:
    """A member at its coordinator, and the same member at the leader of ten records, on separate connections."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        from_the_start(self.cluster.leader)
        append(self.cluster.leader, "t", 10)
        self.member = ShareClient(self.cluster.groups)
        self.consumer = ShareClient(self.cluster.leader)
        self.place = self.cluster.place

    def described_start(self) -> int:
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", None)])
        answer = self.member.connection.call(request, 1, DescribeShareGroupOffsetsResponse)
        (start,) = (one.start_offset for topic in answer.groups[0].topics for one in topic.partitions)
        return start


@pytest.fixture
def work() -> Work:
    return Work()


def find(world: BrokerWorld, key: str, key_type: int = 0) -> int:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    (found,) = world.connect().call(request, 6, FindCoordinatorResponse).coordinators
    assert found.error_code == NONE
    assert found.port == 9091 + found.node_id
    return found.node_id


def read_error(world: BrokerWorld, place: tuple[bytes, int]) -> int:
    request = ReadShareGroupStateRequest("g", [ReadStateData(place[0], [PartitionData(place[1])])])
    return world.connect().call(request, 0, ReadShareGroupStateResponse).results[0].partitions[0].error_code


def leaders_named(answer: ShareFetchResponse) -> tuple[list[tuple[int, int]], list[tuple[int, str, int]]]:
    rows = [partition.current_leader for topic in answer.responses for partition in topic.partitions]
    nodes = [(node.node_id, node.host, node.port) for node in answer.node_endpoints]
    return [(row.leader_id, row.leader_epoch) for row in rows], nodes


def test_coordinators_are_found_by_the_routes_that_the_broker_has() -> None:
    """A node's routes map all share partitions of a topic to one state partition."""
    world = BrokerWorld(dict.fromkeys(SHARDS, "3"))
    topic_id = world.create_topic("t").topic_id
    routes = Routes(lambda key, count: key.partition % count, lambda name, count: len(name) % count)
    world.folder.host = world.folder.host._replace(routes=routes)
    find(world, "g")
    find(world, SharePartitionKey("g", topic_id, 0).text(), 2)
    elsewhere = Leader(Node(7, {"PLAINTEXT": Endpoint(7, "other.test", 9098)}), 1)
    world.folder.leaders.move(GROUP_TOPIC, 2, elsewhere)
    world.folder.leaders.move(STATE_TOPIC, 1, elsewhere)
    assert [find(world, "x" * length) for length in range(1, 7)] == [1, 7, 1, 1, 7, 1]
    keys = [SharePartitionKey("g", topic_id, number).text() for number in range(6)]
    assert [find(world, key, 2) for key in keys] == [1, 7, 1, 1, 7, 1]


def test_three_brokers_work_together_by_the_state_rpcs_alone(work: Work) -> None:
    """The coordinator initialises and deletes, the leader reads and writes, without touching the state topic."""
    cluster = work.cluster
    assert work.member.join("t") == {"t": [0]}
    assert cluster.groups_to_states.asked == ["InitializeShareGroupState"]
    assert work.consumer.acquire(work.place) == [(0, 9, 1)]
    assert work.consumer.acknowledge(work.place, (0, 3, ACCEPT), (4, 4, RELEASE)) is NONE
    assert cluster.leader_to_states.asked == ["ReadShareGroupState", *["WriteShareGroupState"] * 2]
    key = SharePartitionKey("g", *work.place)
    state = cluster.states.broker.services.share_states.partitions.get(0).shard.state_of(key)
    assert state is not None
    assert [StateBatch(*batch) for batch in state.batches] == [StateBatch(0, 3, 2, 1), StateBatch(4, 4, 0, 1)]
    assert work.described_start() == 0
    assert cluster.groups_to_states.asked[-1] == "ReadShareGroupStateSummary"
    work.member.leave()
    deleted = work.member.connection.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert deleted.results[0].error_code == NONE
    assert cluster.groups_to_states.asked[-1] == "DeleteShareGroupState"
    for world in (cluster.groups, cluster.leader):
        assert world.folder.logs.get(STATE_TOPIC, 0).log_end_offset == 0


def test_every_broker_names_the_coordinator(work: Work) -> None:
    for world in (work.cluster.groups, work.cluster.states, work.cluster.leader):
        assert find(world, "g") == 1
        assert find(world, SharePartitionKey("g", *work.place).text(), 2) == 2


def test_who_is_not_the_groups_coordinator_says_so(work: Work) -> None:
    work.member.join("t")
    for world in (work.cluster.states, work.cluster.leader):
        stranger = ShareClient(world)
        for epoch in (0, 2, -1):
            assert stranger.heartbeat("t", epoch=epoch).error_code == NOT_COORDINATOR
        assert stranger.describe().error_code == NOT_COORDINATOR
        deleted = stranger.connection.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
        assert deleted.results[0].error_code == NOT_COORDINATOR
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", None)])
        (offsets,) = stranger.connection.call(request, 1, DescribeShareGroupOffsetsResponse).groups
        assert (offsets.error_code, bool(offsets.error_message), offsets.topics) == (NOT_COORDINATOR, True, [])
        listed = stranger.connection.call(ListGroupsRequest(), 5, ListGroupsResponse)
        assert (listed.error_code, listed.groups) == (NONE, [])
        assert world.folder.logs.get(GROUP_TOPIC, 0).log_end_offset == 0
    assert work.member.heartbeat().error_code == NONE


def test_who_is_not_the_share_coordinator_says_so(work: Work) -> None:
    work.member.join("t")
    assert read_error(work.cluster.states, work.place) == NONE
    for world in (work.cluster.groups, work.cluster.leader):
        assert read_error(world, work.place) == NOT_COORDINATOR


def test_who_is_not_the_leader_names_it(work: Work) -> None:
    """The answer has CurrentLeader and its address, which saves the client a metadata request."""
    work.member.join("t")
    for world in (work.cluster.groups, work.cluster.states):
        stranger = ShareClient(world)
        answer = stranger.fetch(work.place, max_wait_ms=60_000)
        assert fetch_errors(answer) == {work.place: NOT_LEADER}
        assert leaders_named(answer) == ([(3, 4)], [(3, "127.0.0.1", 9094)])
        assert stranger.acknowledge(work.place, (0, 0, ACCEPT)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- a role at a time is gone: only its duty rests


def test_without_the_group_coordinator_records_are_delivered_and_acknowledged(work: Work) -> None:
    """Even a member whose session has expired is served: nothing fences it."""
    work.member.join("t")
    assert work.consumer.acquire(work.place, max_records=4) == [(0, 3, 1)]
    work.cluster.clock.advance(3_600_000)
    assert work.consumer.acquire(work.place, max_records=4) == [(0, 3, 2)]
    assert work.consumer.acknowledge(work.place, (0, 3, ACCEPT)) is NONE
    assert work.consumer.acquire(work.place) == [(4, 9, 1)]
    assert work.member.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_without_the_share_coordinator_nothing_is_acknowledged_and_nothing_is_lost(work: Work) -> None:
    work.member.join("t")
    assert work.consumer.acquire(work.place) == [(0, 9, 1)]
    work.cluster.leader_to_states.reachable = work.cluster.groups_to_states.reachable = False
    assert work.consumer.acknowledge(work.place, (0, 4, ACCEPT)) is NOT_AVAILABLE
    assert work.member.heartbeat().error_code == NONE
    assert ShareClient(work.cluster.groups, "other", "h").join("t") == {}  # no state, no assignment
    work.cluster.leader_to_states.reachable = work.cluster.groups_to_states.reachable = True
    assert work.consumer.acknowledge(work.place, (0, 4, ACCEPT)) is NONE
    assert work.described_start() == 0


def test_without_the_leader_membership_and_offsets_are_looked_after(work: Work) -> None:
    work.member.join("t")
    assert work.consumer.acquire(work.place) == [(0, 9, 1)]
    assert work.consumer.acknowledge(work.place, (0, 9, ACCEPT)) is NONE
    work.cluster.leader.broker.close()
    assert work.member.heartbeat().error_code == NONE
    assert work.described_start() == 0
    work.member.leave()
    assert work.member.describe().group_state == "Empty"


# -- when another broker takes over


def test_a_leader_that_is_deposed_sends_its_members_on(work: Work) -> None:
    """Waiting fetches end at once. The new leader loads a state without locks; the old one's writes are fenced."""
    work.member.join("t")
    assert work.consumer.acquire(work.place) == [(0, 9, 1)]
    waiting = ShareClient(work.cluster.leader, "waiting")
    waiting.send_fetch(work.place, max_wait_ms=60_000)
    work.cluster.clock.run_until_idle()
    assert not waiting.connection.frames
    work.cluster.lead("t", work.cluster.groups, epoch=5)
    answer = waiting.fetch_answer()
    assert fetch_errors(answer) == {work.place: NOT_LEADER}
    assert leaders_named(answer) == ([(1, 5)], [(1, "127.0.0.1", 9092)])
    assert work.consumer.acknowledge(work.place, (0, 9, ACCEPT)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch_errors(work.consumer.fetch()) == {work.place: NOT_LEADER}


def test_what_was_acquired_of_a_leader_that_was_deposed_meanwhile_is_not_handed_out(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are withheld while the request's own acknowledgements are written: another leader may deliver them."""
    work.member.join("t")
    assert work.consumer.acquire(work.place, max_records=2) == [(0, 1, 1)]
    written: Pending[ErrorCode] = Pending()
    monkeypatch.setattr(work.cluster.leader_to_states, "write_state", lambda _key, _write: written)
    work.consumer.send_fetch(acks={work.place: [(0, 1, ACCEPT)]}, max_records=2)
    work.cluster.clock.run_until_idle()
    assert not work.consumer.connection.frames
    work.cluster.lead("t", work.cluster.groups, epoch=5)
    work.cluster.lead("t", work.cluster.leader, epoch=6)
    written.complete(NONE)
    answer = work.consumer.fetch_answer()
    assert acquired_of(answer) == []
    assert fetch_errors(answer) == {work.place: NOT_LEADER}


def test_a_state_that_was_fenced_means_another_leader_to_the_member(work: Work) -> None:
    """Consumers get NOT_LEADER_OR_FOLLOWER for FENCED_STATE_EPOCH and FENCED_LEADER_EPOCH."""
    work.member.join("t")
    assert work.consumer.acquire(work.place) == [(0, 9, 1)]
    states = work.cluster.states.broker.services.share_states
    states.read(SharePartitionKey("g", *work.place), 7)
    work.cluster.clock.run_until_idle()
    assert work.consumer.acknowledge(work.place, (0, 4, ACCEPT)) is NOT_LEADER
    assert work.cluster.leader.broker.services.share.partitions.get(SharePartitionKey("g", *work.place)) is None
    work.consumer.send_fetch(max_wait_ms=10)
    work.cluster.clock.advance(10)  # loading it again has failed, which is returned when the time is up
    assert fetch_errors(work.consumer.fetch_answer()) == {work.place: NOT_LEADER}


def test_a_coordinator_that_is_deposed_refuses_what_is_under_way(work: Work) -> None:
    work.member.join("t")
    late = ShareClient(work.cluster.groups, "late")
    late.connection.send(late.heartbeat_request("t", epoch=0), 1)
    work.cluster.lead(GROUP_TOPIC, work.cluster.leader)
    assert late.heartbeat_answer().error_code == NOT_COORDINATOR
    assert work.member.heartbeat().error_code == NOT_COORDINATOR
    assert find(work.cluster.groups, "g") == 3
    work.cluster.lead(GROUP_TOPIC, work.cluster.groups)
    assert work.member.heartbeat().error_code == NONE
    assert [row.member_id for row in work.member.describe().members] == ["m"]


# -- what a member gets for what its leader got


@pytest.mark.parametrize(
    ("persister", "consumer"),
    [
        (NONE, NONE),
        (NOT_COORDINATOR, NOT_AVAILABLE),
        (NOT_AVAILABLE, NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, NOT_AVAILABLE),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.FENCED_LEADER_EPOCH, NOT_LEADER),
        (ErrorCode.FENCED_STATE_EPOCH, NOT_LEADER),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.NETWORK_EXCEPTION, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_of_the_state_as_a_consumer_sees_them(persister: ErrorCode, consumer: ErrorCode) -> None:
    assert surfaced_error(persister) is consumer
