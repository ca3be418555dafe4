"""Groups other than share groups, and transactions, for clients that know only the address of a node."""

from __future__ import annotations

from typing import Final

import pytest

from devtools.clients.offsets_client import NO_OFFSET, OffsetsClient, Row
from devtools.clients.transactor import JAVA_TV2, Transactor, Versions
from devtools.in_memory.mock_transport import MockConnection
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security import rights as r
from shareq.broker.security.acls import Acl
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.link.ports import Purpose
from shareq.cluster.node.table import FORWARDED, OWN
from shareq.coordinator.group.consumer.member import JOIN_EPOCH
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.generated.sync_group import SyncGroupResponse
from shareq.protocol.primitives import Message
from tests.support.clients.access import ADMIN, ALICE, GROUP, STANDARD, TOPIC, Case, acl
from tests.support.clients.access_cases import CASES
from tests.support.clients.classic_client import ClassicClient, describe, form
from tests.support.cluster.coordinators import PARTITIONS, slot_of
from tests.support.cluster.forwarding_world import NODE_ID, OWN_GROUP, ForwardingWorld
from tests.support.cluster.our_cluster import OurClusterWorld
from tests.support.each import for_each
from tests.support.kafka.group_requests import join_request, sync_request
from tests.support.worlds.transactions import PROFILES

NONE: Final = ErrorCode.NONE
REFUSALS: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
OWN_ID: Final = "shareq-__shareq_state-3"


@pytest.fixture
def world() -> OurClusterWorld:
    return OurClusterWorld()


@pytest.fixture
def client(world: OurClusterWorld) -> MockConnection:
    return world.connect()


@pytest.fixture
def offsets(world: OurClusterWorld) -> OffsetsClient:
    """Return a client of committed offsets; its topic `a` is in the cluster."""
    return OffsetsClient(world.connect(), {"a": world.cluster.create_topic("a", 2).topic_id})


@for_each("kind", Kind)
@for_each("version", (3, 6))
def test_the_node_is_the_coordinator_of_everything(kind: Kind, version: int) -> None:
    keys = ["x"] if version >= 4 else []
    request = FindCoordinatorRequest("" if keys else "x", kind, keys)
    answer = OurClusterWorld().connect().call(request, version, FindCoordinatorResponse)
    found = answer.coordinators[0] if keys else answer
    assert (found.error_code, found.node_id, found.port) == (NONE, NODE_ID, 9092)


def test_members_of_a_classic_group_wait_for_each_other(world: OurClusterWorld) -> None:
    """A JoinGroup that waits has a connection of its own, so it holds up no other request."""
    members = [ClassicClient(world) for _ in range(3)]
    form(members)
    assert [member.heartbeat() for member in members] == [NONE] * 3
    assert {sent.lane for sent in world.asked(ApiKey.JOIN_GROUP)} == {0, 1, 2}
    members[0].send_join(protocols={"range": b"changed"})
    assert members[0].waits
    assert members[1].heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert members[2].leave().error_code == NONE
    assert describe(world.cluster).group_state == "PreparingRebalance"


def test_what_does_not_wait_shares_a_connection(world: OurClusterWorld) -> None:
    members = [ClassicClient(world) for _ in range(3)]
    form(members)
    world.link.sent.clear()
    for member in members * 2:
        assert member.heartbeat() is NONE
    assert {(sent.purpose, sent.lane) for sent in world.link.sent} == {(Purpose.COORDINATOR, 0)}


def test_a_join_may_take_as_long_as_its_rebalance(world: OurClusterWorld) -> None:
    member = ClassicClient(world)
    member.begin(rebalance_ms=300_000)
    assert world.asked(ApiKey.JOIN_GROUP)[-1].timeout_ms == 305_000
    older = ClassicClient(world, join=0)
    older.begin(session_ms=20_000)
    assert world.asked(ApiKey.JOIN_GROUP)[-1].timeout_ms == 25_000


@for_each("version", (2, 9, 10))
def test_offsets_are_the_clusters(version: int) -> None:
    world = OurClusterWorld()
    offsets = OffsetsClient(world.connect(), {"a": world.cluster.create_topic("a", 2).topic_id})
    offsets.committed({("a", 0): 5, ("a", 1): 7}, version)
    at_the_cluster = OffsetsClient(world.cluster.connect(), offsets.ids)
    assert at_the_cluster.all() == offsets.all() == {("a", 0): 5, ("a", 1): 7}
    assert offsets.fetch([("a", 1)], version) == (NONE, {("a", 1): Row(7)})
    assert offsets.delete(("a", 0)) == {("a", 0): NONE}
    assert at_the_cluster.all() == {("a", 1): 7}


@for_each("version", (7, 9))
@for_each("at", (None, [("a", 0)]))
def test_leader_epochs_of_the_cluster_are_not_shown(version: int, at: list[tuple[str, int]] | None) -> None:
    """A Java consumer that has seen a higher epoch than a node's never finds a leader again."""
    world = OurClusterWorld()
    ids = {"a": world.cluster.create_topic("a").topic_id}
    OffsetsClient(world.cluster.connect(), ids).committed({("a", 0): Row(5, leader_epoch=7)})
    assert OffsetsClient(world.connect(), ids).fetch(at, version) == (NONE, {("a", 0): Row(5)})


def test_many_groups_are_asked_for_one_by_one(offsets: OffsetsClient) -> None:
    for number, group in enumerate("xyz"):
        offsets.committed({("a", 0): number}, group=group)
    found = offsets.fetch_many({group: [("a", 0)] for group in (*"zyx", "none")})
    assert {group: rows["a", 0] for group, (_, rows) in found.items()} == {
        "z": Row(2),
        "y": Row(1),
        "x": Row(0),
        "none": NO_OFFSET,
    }


def test_a_consumer_group_lives_in_the_cluster(world: OurClusterWorld, client: MockConnection) -> None:
    topic_id = world.cluster.create_topic("a", 2).topic_id
    join = ConsumerGroupHeartbeatRequest(
        "c", "m", JOIN_EPOCH, rebalance_timeout_ms=1_000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    answer = client.call(join, 1, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == NONE
    assert answer.assignment is not None
    assert [(row.topic_id, row.partitions) for row in answer.assignment.topic_partitions] == [(topic_id, [0, 1])]
    described = client.call(ConsumerGroupDescribeRequest(["c", "d"]), 1, ConsumerGroupDescribeResponse).groups
    assert [(row.group_id, row.error_code, len(row.members)) for row in described] == [
        ("c", NONE, 1),
        ("d", ErrorCode.GROUP_ID_NOT_FOUND, 0),
    ]


@pytest.mark.parametrize("versions", PROFILES)
def test_a_transaction_with_records_and_offsets(world: OurClusterWorld, versions: Versions) -> None:
    offsets = OffsetsClient(world.connect(), {"a": world.cluster.create_topic("a", 2).topic_id})
    producer = Transactor(world.connect(), versions)
    assert producer.init() is NONE
    assert producer.write("a", b"x", b"y") is NONE
    assert producer.write("a", b"z", partition=1) is NONE
    if not producer.bumps:
        assert producer.add_offsets("g") is NONE
    assert producer.commit_offsets("g", {("a", 0): 9}, ids=offsets.ids) == [NONE]
    log = world.cluster.folder.logs.get("a", 0)
    assert (log.high_watermark, log.last_stable_offset) == (2, 0)
    assert offsets.fetch([("a", 0)], 9)[1] == {("a", 0): NO_OFFSET}
    assert producer.end(commit=True) is NONE
    world.clock.advance(1_000)
    assert (log.high_watermark, log.last_stable_offset) == (3, 3)
    assert offsets.all() == {("a", 0): 9}
    produced = world.asked(ApiKey.PRODUCE)
    assert {sent.message.transactional_id for sent in produced} == {"t"}  # type: ignore[attr-defined]


def test_transactions_of_one_tick_go_each_by_itself(world: OurClusterWorld) -> None:
    world.cluster.create_topic("a", 2)
    clients = [world.connect() for _ in range(2)]
    producers = [Transactor(client, JAVA_TV2, name) for client, name in zip(clients, "tu", strict=True)]
    for partition, producer in enumerate(producers):
        assert producer.init() is NONE
        producer.client.send(producer.produce_request("a", b"x", partition=partition), 12)  # type: ignore[attr-defined]
    world.clock.run_until_idle()
    assert [sent.message.transactional_id for sent in world.asked(ApiKey.PRODUCE)] == ["t", "u"]  # type: ignore[attr-defined]


def test_transactions_are_described_and_listed(world: OurClusterWorld, client: MockConnection) -> None:
    world.cluster.create_topic("a")
    producer = Transactor(world.connect())
    assert (producer.init(), producer.write("a", b"x")) == (NONE, NONE)
    own = Transactor(world.cluster.connect(), transactional_id=OWN_ID)
    assert own.init() is NONE
    rows = client.call(DescribeTransactionsRequest(["t", "u"]), 0, DescribeTransactionsResponse).transaction_states
    assert [(row.transactional_id, row.error_code, row.transaction_state) for row in rows] == [
        ("t", NONE, "Ongoing"),
        ("u", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ""),
    ]
    listed = client.call(ListTransactionsRequest(["Ongoing", "?"]), 2, ListTransactionsResponse)
    assert [row.transactional_id for row in listed.transaction_states] == ["t"]
    assert listed.unknown_state_filters == ["?"]
    every = client.call(ListTransactionsRequest(), 2, ListTransactionsResponse)
    assert [row.transactional_id for row in every.transaction_states] == ["t"]


def share_group(client: MockConnection, group: str) -> None:
    for epoch in (0, -1):
        request = ShareGroupHeartbeatRequest(group, "m", epoch, subscribed_topic_names=["a"] if epoch == 0 else None)
        assert client.call(request, 1, ShareGroupHeartbeatResponse).error_code == NONE


def test_groups_of_both_sides_are_listed_and_deleted(
    world: OurClusterWorld, client: MockConnection, offsets: OffsetsClient
) -> None:
    share_group(client, "shared")
    offsets.committed({("a", 0): 1}, group="classic")
    OffsetsClient(world.cluster.connect(), offsets.ids).committed({("a", 0): 1}, group=OWN_GROUP)

    def listed(version: int = 5, states: list[str] | None = None, types: list[str] | None = None) -> dict[str, str]:
        answer = client.call(ListGroupsRequest(states or [], types or []), version, ListGroupsResponse)
        return {row.group_id: row.group_type for row in answer.groups}

    assert listed() == {"shared": "share", "classic": "classic"}
    assert listed(types=["share"]) == {"shared": "share"}
    assert listed(types=["CLASSIC"]) == {"classic": "classic"}
    assert listed(states=["Dead"]) == {}
    assert set(listed(2)) == {"shared", "classic"}
    names = ["shared", "classic", "none", OWN_GROUP]
    deleted = client.call(DeleteGroupsRequest(names), 2, DeleteGroupsResponse)
    assert {row.group_id: row.error_code for row in deleted.results} == {
        "shared": NONE,
        "classic": NONE,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
        OWN_GROUP: ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert listed() == {}


def test_the_nodes_own_group_and_transactional_ids_are_not_for_clients(
    world: OurClusterWorld, offsets: OffsetsClient
) -> None:
    """Clients that use these ids could throw nodes out of their group, fence their writes, or put markers into their
    states.
    """
    world.cluster.create_topic("__shareq_state")
    member = ClassicClient(world, group=OWN_GROUP)
    member.send_join()
    assert member.joined().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert member.leave().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert offsets.fetch([("a", 0)], group=OWN_GROUP)[0] is ErrorCode.GROUP_AUTHORIZATION_FAILED
    own = Transactor(world.connect(), transactional_id=OWN_ID)
    assert own.init() is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    own.producer_id, own.epoch = 1, 0
    assert own.produce("a", b"x") is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert own.end(commit=True) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert world.link.sent == []
    producer = Transactor(world.connect())
    assert producer.init() is NONE
    assert producer.add("__shareq_state", 0) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert world.asked(ApiKey.ADD_PARTITIONS_TO_TXN) == []


def heartbeat(world: ForwardingWorld, member: ClassicClient) -> ErrorCode:
    request = HeartbeatRequest("g", member.generation, member.member_id)
    return ErrorCode(world.ask(member.connection, request, 4, HeartbeatResponse).error_code)


def test_a_coordinator_that_has_moved_is_found_again() -> None:
    """The next coordinator is asked at once; while there is none, clients ask again."""
    world = ForwardingWorld()
    world.cluster.create_topic("__consumer_offsets", PARTITIONS, 3)
    member = ClassicClient(world)
    request = join_request("g")
    first = world.ask(member.connection, request, 9, JoinGroupResponse)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    request.member_id = first.member_id
    joined = world.ask(member.connection, request, 9, JoinGroupResponse)
    member.member_id, member.generation = joined.member_id, joined.generation_id
    sync = sync_request("g", member.generation, member.member_id, {member.member_id: b""})
    assert world.ask(member.connection, sync, 5, SyncGroupResponse).error_code == NONE

    topic, slot = "__consumer_offsets", slot_of("g")
    leader = world.cluster.leader(topic, slot)
    world.cluster.elect(topic, next(each for each in world.cluster.brokers if each != leader), slot)
    world.forwarded.clear()
    assert heartbeat(world, member) is NONE
    asked = [(node, message.API_KEY) for node, message in world.forwarded]
    now = world.cluster.leader(topic, slot)
    beat, find = ApiKey.HEARTBEAT, ApiKey.FIND_COORDINATOR
    assert asked == [(leader, beat), (None, find), (now, beat)]

    world.cluster.kill(now)
    assert heartbeat(world, member) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    errors: list[ErrorCode] = []
    while not errors or errors[-1]:
        world.clock.advance(1_000)
        errors.append(heartbeat(world, member))
        assert len(errors) < 15, errors


# -- rights: the node's user may do more than its clients

COORDINATED: Final = [
    case
    for case in CASES
    if case.key in (FORWARDED.keys() | OWN.keys())
    and {right.kind.name for right in case.needs} & {"GROUP", "TRANSACTIONAL_ID"}
    and case.key not in (ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
]


class GuardedWorld(OurClusterWorld):
    def __init__(self, granted: list[Acl]) -> None:
        super().__init__({"authorizer.class.name": STANDARD, "super.users": ADMIN})
        self.topic_id = self.cluster.create_topic(TOPIC).topic_id
        self.alice, self.admin = self.connect(), self.connect()
        self.alice.side.principal, self.admin.side.principal = ALICE, ADMIN
        self.services.metadata.alter_acls([PutAcl(each) for each in granted])
        OffsetsClient(self.cluster.connect(), {TOPIC: self.topic_id}).committed({(TOPIC, 0): 1}, group=GROUP)

    def as_admin(self, case: Case) -> Message:
        return self.answer(self.admin, case)

    def answer(self, client: MockConnection, case: Case) -> Message:
        client.send(case.request(self), case.version)
        self.clock.run_until_idle()
        if not client.frames:
            self.clock.advance(60_000)
        return client.receive(codec(case.key).response_class)


@pytest.mark.parametrize("case", COORDINATED, ids=str)
def test_the_node_itself_asks_for_the_rights_that_every_broker_asks_for(case: Case) -> None:
    for missing in (None, *case.needs):
        world = GuardedWorld([case.acl(right) for right in case.needs if right is not missing])
        answer = world.answer(world.alice, case)
        refusals = {code for code in error_reader(type(answer))(answer) if code in REFUSALS}
        if missing is None:
            assert not refusals, answer
            assert case.hides is None or not case.hides(answer), answer
        elif case.hides is not None:
            assert case.hides(answer), answer
        else:
            assert refusals == {case.refused_without(missing)}, answer


def test_a_pattern_gives_a_member_no_topic_that_it_may_not_describe() -> None:
    """The assignment is refused, because the cluster matches the pattern with the rights of the node."""
    world = GuardedWorld([acl(r.READ_GROUP, "c"), acl(r.READ_GROUP, "d"), acl(r.DESCRIBE_TOPIC)])
    world.cluster.create_topic("other")

    def assigned(group: str, pattern: str) -> tuple[int, list[bytes]]:
        request = ConsumerGroupHeartbeatRequest(group, "m", JOIN_EPOCH, rebalance_timeout_ms=1_000)
        request.subscribed_topic_regex, request.topic_partitions = pattern, []
        world.alice.send(request, 1)
        world.clock.advance(1_000)  # the node asks for topics that it has not heard of
        answer = world.alice.receive(ConsumerGroupHeartbeatResponse)
        rows = [] if answer.assignment is None else answer.assignment.topic_partitions
        return answer.error_code, [row.topic_id for row in rows]

    assert assigned("c", TOPIC) == (NONE, [world.topic_id])
    assert assigned("d", ".*") == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])


def test_topics_that_a_client_may_not_read_are_refused_beside_the_others() -> None:
    world = GuardedWorld([acl(r.READ_GROUP, "g"), acl(r.DESCRIBE_GROUP, "g"), acl(r.READ_TOPIC), acl(r.DESCRIBE_TOPIC)])
    ids = {TOPIC: world.topic_id, "other": world.cluster.create_topic("other").topic_id}
    alice, admin = OffsetsClient(world.alice, ids), OffsetsClient(world.admin, ids)
    both = {(TOPIC, 0): 3, ("other", 0): 4}
    for version in (9, 10):
        refused = {(TOPIC, 0): NONE, ("other", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        assert alice.commit(both, version) == refused
    admin.committed(both)
    assert alice.all() == {(TOPIC, 0): 3}
    assert {at: row.error for at, row in alice.fetch(list(both))[1].items()} == refused
