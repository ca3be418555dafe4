"""Every response field with a broker, its address or a leader: of three brokers it must name one, by the right
listener.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import shareq.schemas
from devtools.clients.requests import batch, fetch_request, produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.topics.leaders import Leader, Node
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.api_keys import codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from shareq.protocol.generated.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
)
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from shareq.protocol.names import CLUSTER_METADATA
from shareq.protocol.primitives import Message
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start
from tests.support.each import for_each
from tests.support.worlds.cluster import GROUP_TOPIC, STATE_TOPIC, Cluster

GROUPS, STATES, LEADER = 1, 2, 3
ALL: Final = (GROUPS, STATES, LEADER)
EPOCHS: Final = {GROUP_TOPIC: 5, STATE_TOPIC: 6, "t": 7}
LISTENERS: Final = ("PLAINTEXT", "INSIDE")


class Named(NamedTuple):
    values: Callable[[str], set[object]]


class Left(NamedTuple):
    """The reason why a field names no broker of ours."""

    reason: str


def ids(*nodes: int) -> Named:
    return Named(lambda _: set(nodes))


def hosts(*nodes: int) -> Named:
    return Named(lambda listener: {f"node-{each}.inside" if listener == "INSIDE" else "127.0.0.1" for each in nodes})


def ports(*nodes: int) -> Named:
    return Named(lambda listener: {each + (19091 if listener == "INSIDE" else 9091) for each in nodes})


def racks(*nodes: int) -> Named:
    return Named(lambda _: {f"rack-{each}" for each in nodes})


def addresses(path: str, *nodes: int) -> dict[str, Named | Left]:
    return {f"{path}.Host": hosts(*nodes), f"{path}.Port": ports(*nodes), f"{path}.Rack": racks(*nodes)}


NONE_IS_OFFLINE = Named(lambda _: set())
CLIENT = Left("the address of a client")
CLIENTS_RACK = Left("where a client stands")
ACL_HOST = Left("the address of clients that an ACL is for")
STREAMS = Left("Streams groups are not offered")
LOGS_EPOCH = Left("the epoch of records in a log")
STATES_EPOCH = Left("the epoch in which a state was written")
NO_MOVES = Left("a request to move replicas is refused, so none is under way")

FIELDS: Final[dict[str, Named | Left]] = {
    "MetadataResponse.Brokers.NodeId": ids(*ALL),
    **addresses("MetadataResponse.Brokers", *ALL),
    "MetadataResponse.ControllerId": ids(GROUPS),
    "MetadataResponse.Topics.Partitions.LeaderId": ids(*ALL),
    "MetadataResponse.Topics.Partitions.LeaderEpoch": ids(*EPOCHS.values()),
    "MetadataResponse.Topics.Partitions.ReplicaNodes": ids(*ALL),
    "MetadataResponse.Topics.Partitions.IsrNodes": ids(*ALL),
    "MetadataResponse.Topics.Partitions.OfflineReplicas": NONE_IS_OFFLINE,
    "DescribeTopicPartitionsResponse.Topics.Partitions.LeaderId": ids(*ALL),
    "DescribeTopicPartitionsResponse.Topics.Partitions.LeaderEpoch": ids(*EPOCHS.values()),
    "DescribeTopicPartitionsResponse.Topics.Partitions.ReplicaNodes": ids(*ALL),
    "DescribeTopicPartitionsResponse.Topics.Partitions.IsrNodes": ids(*ALL),
    "DescribeTopicPartitionsResponse.Topics.Partitions.EligibleLeaderReplicas": NONE_IS_OFFLINE,
    "DescribeTopicPartitionsResponse.Topics.Partitions.LastKnownElr": NONE_IS_OFFLINE,
    "DescribeTopicPartitionsResponse.Topics.Partitions.OfflineReplicas": NONE_IS_OFFLINE,
    "DescribeClusterResponse.ControllerId": ids(GROUPS),
    "DescribeClusterResponse.Brokers.BrokerId": ids(*ALL),
    **addresses("DescribeClusterResponse.Brokers", *ALL),
    "FindCoordinatorResponse.NodeId": ids(GROUPS),
    "FindCoordinatorResponse.Host": hosts(GROUPS),
    "FindCoordinatorResponse.Port": ports(GROUPS),
    "FindCoordinatorResponse.Coordinators.NodeId": ids(GROUPS, STATES),
    "FindCoordinatorResponse.Coordinators.Host": hosts(GROUPS, STATES),
    "FindCoordinatorResponse.Coordinators.Port": ports(GROUPS, STATES),
    "FetchResponse.Responses.Partitions.CurrentLeader.LeaderId": ids(LEADER),
    "FetchResponse.Responses.Partitions.CurrentLeader.LeaderEpoch": ids(EPOCHS["t"]),
    "FetchResponse.Responses.Partitions.PreferredReadReplica": Left("the leader is read from, whatever the rack"),
    "FetchResponse.NodeEndpoints.NodeId": ids(LEADER),
    **addresses("FetchResponse.NodeEndpoints", LEADER),
    "ProduceResponse.Responses.PartitionResponses.CurrentLeader.LeaderId": ids(LEADER),
    "ProduceResponse.Responses.PartitionResponses.CurrentLeader.LeaderEpoch": ids(EPOCHS["t"]),
    "ProduceResponse.NodeEndpoints.NodeId": ids(LEADER),
    **addresses("ProduceResponse.NodeEndpoints", LEADER),
    "ShareFetchResponse.Responses.Partitions.CurrentLeader.LeaderId": ids(LEADER),
    "ShareFetchResponse.Responses.Partitions.CurrentLeader.LeaderEpoch": ids(EPOCHS["t"]),
    "ShareFetchResponse.NodeEndpoints.NodeId": ids(LEADER),
    **addresses("ShareFetchResponse.NodeEndpoints", LEADER),
    "ShareAcknowledgeResponse.Responses.Partitions.CurrentLeader.LeaderId": ids(STATES),
    "ShareAcknowledgeResponse.Responses.Partitions.CurrentLeader.LeaderEpoch": ids(EPOCHS["t"] + 1),
    "ShareAcknowledgeResponse.NodeEndpoints.NodeId": ids(STATES),
    **addresses("ShareAcknowledgeResponse.NodeEndpoints", STATES),
    "DescribeQuorumResponse.Topics.Partitions.LeaderId": ids(GROUPS),
    "DescribeQuorumResponse.Topics.Partitions.LeaderEpoch": ids(0),
    "DescribeQuorumResponse.Topics.Partitions.CurrentVoters.ReplicaId": ids(GROUPS),
    "DescribeQuorumResponse.Topics.Partitions.CurrentVoters.ReplicaDirectoryId": Left("the quorum has no folders"),
    "DescribeQuorumResponse.Topics.Partitions.Observers.ReplicaId": NONE_IS_OFFLINE,
    "DescribeQuorumResponse.Topics.Partitions.Observers.ReplicaDirectoryId": Left("the quorum has no folders"),
    "DescribeQuorumResponse.Nodes.NodeId": ids(GROUPS),
    "DescribeQuorumResponse.Nodes.Listeners.Name": Named(lambda _: set(LISTENERS)),
    "DescribeQuorumResponse.Nodes.Listeners.Host": Named(lambda _: {"127.0.0.1", "node-1.inside"}),
    "DescribeQuorumResponse.Nodes.Listeners.Port": Named(lambda _: {9092, 19092}),
    "ListConfigResourcesResponse.ConfigResources.ResourceName": Named(lambda _: {"1", "2", "3"}),
    "ConsumerGroupDescribeResponse.Groups.Members.RackId": CLIENTS_RACK,
    "ConsumerGroupDescribeResponse.Groups.Members.ClientHost": CLIENT,
    "DescribeGroupsResponse.Groups.Members.ClientHost": CLIENT,
    "ShareGroupDescribeResponse.Groups.Members.RackId": CLIENTS_RACK,
    "ShareGroupDescribeResponse.Groups.Members.ClientHost": CLIENT,
    "JoinGroupResponse.Leader": Left("the member that leads a group"),
    "DeleteAclsResponse.FilterResults.MatchingAcls.Host": ACL_HOST,
    "DescribeAclsResponse.Resources.Acls.Host": ACL_HOST,
    "AlterPartitionReassignmentsResponse.AllowReplicationFactorChange": Left("what the request allowed"),
    "CreateTopicsResponse.Topics.ReplicationFactor": Left("a number of replicas"),
    "DescribeClusterResponse.EndpointType": Left("brokers or controllers, as asked"),
    "DescribeProducersResponse.Topics.Partitions.ActiveProducers.CoordinatorEpoch": LOGS_EPOCH,
    "DescribeShareGroupOffsetsResponse.Groups.Topics.Partitions.LeaderEpoch": STATES_EPOCH,
    "ReadShareGroupStateSummaryResponse.Results.Partitions.LeaderEpoch": STATES_EPOCH,
    "ListOffsetsResponse.Topics.Partitions.LeaderEpoch": LOGS_EPOCH,
    "OffsetForLeaderEpochResponse.Topics.Partitions.LeaderEpoch": LOGS_EPOCH,
    "OffsetFetchResponse.Topics.Partitions.CommittedLeaderEpoch": LOGS_EPOCH,
    "OffsetFetchResponse.Groups.Topics.Partitions.CommittedLeaderEpoch": LOGS_EPOCH,
    "ListPartitionReassignmentsResponse.Topics.Partitions.Replicas": NO_MOVES,
    "ListPartitionReassignmentsResponse.Topics.Partitions.AddingReplicas": NO_MOVES,
    "ListPartitionReassignmentsResponse.Topics.Partitions.RemovingReplicas": NO_MOVES,
    "StreamsGroupDescribeResponse.Groups.Members.RackId": STREAMS,
    "StreamsGroupDescribeResponse.Groups.Members.ClientHost": STREAMS,
    "StreamsGroupDescribeResponse.Groups.Members.UserEndpoint.Host": STREAMS,
    "StreamsGroupDescribeResponse.Groups.Members.UserEndpoint.Port": STREAMS,
    "StreamsGroupDescribeResponse.Groups.Topology.Subtopologies.RepartitionSourceTopics.ReplicationFactor": STREAMS,
    "StreamsGroupDescribeResponse.Groups.Topology.Subtopologies.StateChangelogTopics.ReplicationFactor": STREAMS,
    "StreamsGroupDescribeResponse.Groups.TopologyDescription.GlobalStores.Processor.NodeType": STREAMS,
    "StreamsGroupDescribeResponse.Groups.TopologyDescription.GlobalStores.Source.NodeType": STREAMS,
    "StreamsGroupDescribeResponse.Groups.TopologyDescription.Subtopologies.Nodes.NodeType": STREAMS,
    "StreamsGroupHeartbeatResponse.EndpointInformationEpoch": STREAMS,
    "StreamsGroupHeartbeatResponse.PartitionsByUserEndpoint.UserEndpoint.Host": STREAMS,
    "StreamsGroupHeartbeatResponse.PartitionsByUserEndpoint.UserEndpoint.Port": STREAMS,
}

_CARRIES = re.compile(
    r"node|broker|leader|host|port$|rack|replica|isr|coordinator|controller|voter|endpoint|listener|elr", re.IGNORECASE
)
_ALSO = {"ListConfigResourcesResponse.ConfigResources.ResourceName", "DescribeQuorumResponse.Nodes.Listeners.Name"}
"""The names of fields that have node ids or listener names, apart from the usual ones."""


def carriers() -> set[str]:
    """Return the fields of our responses that may name a broker, by their schemas."""
    found: set[str] = set()
    folder = Path(shareq.schemas.__path__[0]) / "rpc"
    for key, row in HANDLERS.items():
        if row.own:
            continue
        name = codec(key).response_class.__name__
        schema = json.loads(re.sub(r"^\s*//.*$", "", (folder / f"{name}.json").read_text(), flags=re.MULTILINE))
        shared = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}
        for path, kind in _leaves(schema["fields"], name, shared):
            if path in _ALSO or kind == "brokerId" or _CARRIES.search(path.rpartition(".")[2]):
                found.add(path)
    return found


def _leaves(fields: list[dict[str, Any]], path: str, shared: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for each in fields:
        inner = each.get("fields") or shared.get(each["type"].removeprefix("[]"))
        if inner:
            yield from _leaves(inner, f"{path}.{each['name']}", shared)
        else:
            yield f"{path}.{each['name']}", each.get("entityType", "")


def values(found: object, names: list[str]) -> Iterator[object]:
    if isinstance(found, list):
        for each in found:
            yield from values(each, names)
    elif names:
        yield from values(getattr(found, re.sub(r"(?<!^)(?=[A-Z])", "_", names[0]).lower()), names[1:])
    else:
        yield found


def test_every_field_that_may_name_a_broker_is_looked_at() -> None:
    assert carriers() == set(FIELDS)


# -- three brokers, asked by clients of each listener


class Asked:
    def __init__(self, listener: str) -> None:
        self.cluster = Cluster()
        self.listener = listener
        self.answers: list[Message] = []
        for topic, world in zip(EPOCHS, self.cluster.brokers, strict=True):
            self.cluster.lead(topic, world, EPOCHS[topic])
        for world in self.cluster.brokers:
            self._ask_for_brokers(world.connect(listener=listener))
        for world in (self.cluster.groups, self.cluster.states):
            self._ask_for_records(world)
        self._acknowledge_while_the_leader_moves()

    def _ask_for_brokers(self, client: MockConnection) -> None:
        key = SharePartitionKey("g", *self.cluster.place).text()
        quorum = DescribeQuorumRequestTopicData(CLUSTER_METADATA, [DescribeQuorumRequestPartitionData(0)])
        self.answers += [
            client.call(MetadataRequest(None), 13, MetadataResponse),
            client.call(DescribeTopicPartitionsRequest(), 0, DescribeTopicPartitionsResponse),
            client.call(DescribeClusterRequest(), 2, DescribeClusterResponse),
            client.call(FindCoordinatorRequest("g", 0), 3, FindCoordinatorResponse),
            client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6, FindCoordinatorResponse),
            client.call(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6, FindCoordinatorResponse),
            client.call(DescribeQuorumRequest([quorum]), 2, DescribeQuorumResponse),
            client.call(ListConfigResourcesRequest([4]), 1, ListConfigResourcesResponse),
        ]

    def _ask_for_records(self, world: BrokerWorld) -> None:
        client, topic_id = world.connect(listener=self.listener), self.cluster.place[0]
        self.answers.append(client.call(fetch_request(topic_id=topic_id), 16, FetchResponse))
        for version in (10, 13):
            request = produce_request(batch(b"x"), topic="t", topic_id=topic_id)
            self.answers.append(client.call(request, version, ProduceResponse))
        member = ShareClient(world)
        member.connection = client
        self.answers.append(member.fetch(self.cluster.place))

    def _acknowledge_while_the_leader_moves(self) -> None:
        cluster, place = self.cluster, self.cluster.place
        from_the_start(cluster.leader)
        append(cluster.leader, "t", 1)
        ShareClient(cluster.groups).join("t")
        member = ShareClient(cluster.leader)
        member.connection = cluster.leader.connect(listener=self.listener)
        assert member.acquire(place) == [(0, 0, 1)]
        states = cluster.states.services.share_states
        states.read(SharePartitionKey("g", *place), EPOCHS["t"] + 1)
        cluster.clock.run_until_idle()
        write = cluster.leader_to_states.write_state

        def moved(*arguments: Any) -> Any:
            answer = write(*arguments)
            cluster.lead("t", cluster.states, EPOCHS["t"] + 1)
            return answer

        setattr(cluster.leader_to_states, "write_state", moved)  # noqa: B010 an assignment is no method to mypy
        member.send_acknowledge(place, (0, 0, ACCEPT))
        self.answers.append(member.connection.receive(ShareAcknowledgeResponse))


@pytest.fixture(scope="module", params=LISTENERS)
def asked(request: pytest.FixtureRequest) -> Asked:
    return Asked(request.param)


@for_each("path", [path for path, named in FIELDS.items() if isinstance(named, Named)])
def test_it_names_brokers_of_ours_by_the_listener_that_was_asked(path: str, asked: Asked) -> None:
    response, *names = path.split(".")
    named = FIELDS[path]
    assert isinstance(named, Named)
    answers = [answer for answer in asked.answers if type(answer).__name__ == response]
    assert answers, f"nothing was asked that a {response} answers"
    found = {value for answer in answers for value in values(answer, names)}
    if response == "FindCoordinatorResponse":
        found -= {-1, 0, ""}  # one form of the answer leaves the fields of the other as they are
    assert found == named.values(asked.listener)


# -- a leader that clients of the listener do not reach


NOT_AVAILABLE, NOT_FOUND = ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND


@pytest.mark.parametrize(
    ("leader", "alive", "before_6", "error", "replicas"),
    [
        (Leader(None, 9), False, NOT_AVAILABLE, NOT_AVAILABLE, []),
        (Leader(Node(8, {}), 9), False, NOT_AVAILABLE, NOT_AVAILABLE, [8]),
        (Leader(Node(8, {}), 9), True, NOT_AVAILABLE, NOT_FOUND, [8]),
    ],
    ids=["nobody leads", "it is not alive", "it has no such listener"],
)
def test_a_leader_that_is_not_reached_is_not_named(
    leader: Leader, alive: bool, before_6: ErrorCode, error: ErrorCode, replicas: list[int]
) -> None:
    world = BrokerWorld({"offsets.topic.num.partitions": "1"})
    topic = world.create_topic("t")
    client = world.connect()
    groups = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    assert client.call(groups, 6, FindCoordinatorResponse).coordinators[0].node_id == 1
    world.leaders.move("t", 0, leader)
    world.leaders.move(GROUP_TOPIC, 0, leader)
    if alive and leader.node is not None:
        world.leaders.know(leader.node)
    for version, code in ((5, before_6), (6, error), (13, error)):
        request = MetadataRequest(None)
        answer = client.call(request, version, MetadataResponse)
        (row,) = [row for each in answer.topics if each.name == "t" for row in each.partitions]
        assert (row.error_code, row.leader_id, row.replica_nodes) == (code, -1, replicas)
        assert [broker.node_id for broker in answer.brokers] == [1]
    pages = client.call(DescribeTopicPartitionsRequest(), 0, DescribeTopicPartitionsResponse)
    (described,) = [row for each in pages.topics if each.name == "t" for row in each.partitions]
    assert (described.error_code, described.leader_id, described.leader_epoch) == (error, -1, 9)
    assert described.offline_replicas == ([] if alive else replicas)
    (found,) = client.call(groups, 6, FindCoordinatorResponse).coordinators
    assert (found.error_code, found.node_id, found.host) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "")
    fetched = client.call(fetch_request(topic_id=topic.topic_id), 16, FetchResponse)
    named = fetched.responses[0].partitions[0].current_leader
    assert (named.leader_id, fetched.node_endpoints) == (replicas[0] if replicas else -1, [])
