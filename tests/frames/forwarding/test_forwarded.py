"""RPCs that a node forwards to a simulated cluster, with clients' frames in and out."""

from __future__ import annotations

from typing import Final

import pytest

from devtools.clients.requests import batch, produce_request
from devtools.in_memory.mock_transport import MockConnection
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.rights import CREATE_CLUSTER, Right
from shareq.cluster.link.versions import Served
from shareq.cluster.node.table import FORWARDED, NOT_OFFERED, OF_CLIENTS, OWN, REFUSED
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import api_versions, init_producer_id, start_redrive, write_txn_markers
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.support.clients.access import ADMIN, ALICE, STANDARD, TOPIC, Case, acl
from tests.support.clients.access_cases import CASES
from tests.support.cluster.forwarding_world import NODE_ID, ForwardingWorld
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9
from tests.support.each import for_each

EVERYTHING: Final = Served({key: (row.served.first, row.served.last) for key, row in HANDLERS.items()}, {})
TOPIC_KIND, BROKER_KIND, GROUP_KIND = 2, 4, 32
LATEST, EARLIEST = -1, -2


@pytest.fixture
def world() -> ForwardingWorld:
    world = ForwardingWorld()
    world.cluster.create_topic("orders", 3)
    return world


@pytest.fixture
def client(world: ForwardingWorld) -> MockConnection:
    return world.connect()


def test_batches_go_to_the_leaders_and_each_row_comes_into_its_place(
    world: ForwardingWorld, client: MockConnection
) -> None:
    data = [PartitionProduceData(index, batch(b"%d" % index)) for index in (2, 0, 9, 1)]
    request = ProduceRequest(
        None, -1, 1_000, [TopicProduceData("orders", partition_data=data), TopicProduceData("missing", bytes(16), data)]
    )
    answer = world.ask(client, request, 11, ProduceResponse)
    orders, missing = answer.responses
    assert [(row.index, row.error_code, row.base_offset) for row in orders.partition_responses] == [
        (2, ErrorCode.NONE, 0),
        (0, ErrorCode.NONE, 0),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (1, ErrorCode.NONE, 0),
    ]
    assert {row.error_code for row in missing.partition_responses} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert [world.cluster.log("orders", index).high_watermark for index in range(3)] == [1, 1, 1]


def test_clients_of_one_tick_share_a_request(world: ForwardingWorld) -> None:
    world.cluster.create_topic("one", 1)
    clients = [world.connect() for _ in range(4)]
    world.ask(clients[0], produce_request(batch(b"first"), topic="one"), 11, ProduceResponse)
    world.forwarded.clear()
    leader = world.cluster.leader("one")
    beside = next(name for name in ("a", "b", "c") if world.cluster.create_topic(name) and leader)
    for client, topic in zip(clients, ("one", "one", beside, beside), strict=True):
        client.send(produce_request(batch(b"x"), topic=topic), 11)
    world.clock.advance(1_000)
    for client in clients:
        assert client.receive(ProduceResponse).responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert world.cluster.log("one").high_watermark == 3


def test_producers_that_want_no_answer_get_none_and_are_cut_off_by_an_error(
    world: ForwardingWorld, client: MockConnection
) -> None:
    client.send(produce_request(batch(b"x"), topic="orders", acks=0), 11)
    world.clock.advance(1_000)
    assert not client.frames
    assert not client.closed
    assert world.cluster.log("orders").high_watermark == 1
    ((_, request),) = world.forwarded
    assert isinstance(request, ProduceRequest)
    assert request.acks == 1
    client.send(produce_request(batch(b"x"), topic="missing", acks=0), 11)
    world.clock.advance(1_000)
    assert client.closed


def test_the_nodes_own_topics_take_nothing_from_clients(world: ForwardingWorld, client: MockConnection) -> None:
    world.cluster.create_topic("__shareq_state", 1)
    for name in ("__shareq_state", "__consumer_offsets"):
        answer = world.ask(client, produce_request(batch(b"x"), topic=name), 11, ProduceResponse)
        row = answer.responses[0].partition_responses[0]
        assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    topic_id = world.cluster.topic("__shareq_state").topic_id
    answer = world.ask(client, produce_request(batch(b"x"), topic_id=topic_id), 13, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    deleted = world.ask(
        client,
        DeleteRecordsRequest([DeleteRecordsTopic("__shareq_state", [DeleteRecordsPartition(0, 0)])]),
        2,
        DeleteRecordsResponse,
    )
    assert deleted.topics[0].partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    rows = world.ask(
        client,
        DeleteTopicsRequest([DeleteTopicState("__shareq_state"), DeleteTopicState(None, topic_id)]),
        6,
        DeleteTopicsResponse,
    )
    assert {row.error_code for row in rows.responses} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not world.forwarded


def test_a_producer_without_transactions_gets_an_id_of_the_clusters(
    world: ForwardingWorld, client: MockConnection
) -> None:
    rpc = init_producer_id
    ids = {
        world.ask(client, rpc.InitProducerIdRequest(None, 0), 4, rpc.InitProducerIdResponse).producer_id
        for _ in range(3)
    }
    assert len(ids) == 3
    assert len(world.forwarded) == 3


@pytest.mark.parametrize("version", [3, 8])
def test_a_node_that_is_no_proxy_sends_producers_to_the_cluster(version: int) -> None:
    world = ForwardingWorld(proxies=False)
    client = world.connect()
    world.cluster.create_topic("t", 1)
    row = world.ask(client, produce_request(batch(b"x"), topic="t"), version, ProduceResponse)
    (refused,) = row.responses[0].partition_responses
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    where = "This node takes no records of producers; they produce at broker-1:9092,broker-2:9092."
    assert refused.error_message == (where if version >= 8 else None)
    answer = world.ask(
        client,
        init_producer_id.InitProducerIdRequest(None, 0),
        4,
        init_producer_id.InitProducerIdResponse,
    )
    assert (answer.error_code, answer.producer_id) == (ErrorCode.POLICY_VIOLATION, -1)
    assert world.cluster.log("t").high_watermark == 0
    client.send(produce_request(batch(b"x"), topic="t", acks=0), 3)
    world.clock.run_until_idle()
    assert client.closed


def test_markers_are_refused_with_where_to_go(world: ForwardingWorld, client: MockConnection) -> None:
    rpc = write_txn_markers
    topics = [rpc.WritableTxnMarkerTopic("orders", [0])]
    request = rpc.WriteTxnMarkersRequest([rpc.WritableTxnMarker(1, 0, False, topics)])
    (marker,) = world.ask(client, request, 1, rpc.WriteTxnMarkersResponse).markers
    assert marker.topics[0].partitions[0].error_code == ErrorCode.POLICY_VIOLATION
    assert not world.forwarded


def offsets(when: int, *partitions: int) -> ListOffsetsRequest:
    rows = [ListOffsetsPartition(each, 77, when) for each in partitions]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", rows)])


def test_ends_come_from_the_leaders_without_epochs_of_either_side(
    world: ForwardingWorld, client: MockConnection
) -> None:
    for partition in range(3):
        for _ in range(partition + 1):
            world.cluster.append("orders", batch(b"x"), partition)
    answer = world.ask(client, offsets(LATEST, 2, 0, 1, 5), 11, ListOffsetsResponse)
    assert [(row.error_code, row.offset, row.leader_epoch) for row in answer.topics[0].partitions] == [
        (ErrorCode.NONE, 3, -1),
        (ErrorCode.NONE, 1, -1),
        (ErrorCode.NONE, 2, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
    ]


def test_what_has_no_leader_now_can_be_tried_again(world: ForwardingWorld, client: MockConnection) -> None:
    world.ask(client, offsets(LATEST, 0), 11, ListOffsetsResponse)
    world.cluster.kill(world.cluster.leader("orders"))
    errors = {
        world.ask(client, offsets(LATEST, 0), 11, ListOffsetsResponse).topics[0].partitions[0].error_code
        for _ in range(3)
    }
    assert errors <= {ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_topics_are_made_and_deleted_in_the_cluster(world: ForwardingWorld, client: MockConnection) -> None:
    wanted = [
        CreatableTopic("new", 2, 1),
        CreatableTopic("orders", 1, 1),
        CreatableTopic("__shareq_x", 1, 1),
        CreatableTopic("twice", 1, 1),
        CreatableTopic("twice", 2, 1),
    ]
    made = world.ask(client, CreateTopicsRequest(wanted, 1_000), 7, CreateTopicsResponse)
    assert [(row.name, row.error_code) for row in made.topics] == [
        ("new", ErrorCode.NONE),
        ("orders", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("__shareq_x", ErrorCode.INVALID_REQUEST),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert made.topics[0].topic_id == world.cluster.topic("new").topic_id
    rows = world.ask(
        client,
        DeleteTopicsRequest([DeleteTopicState(None, made.topics[0].topic_id), DeleteTopicState("none")]),
        6,
        DeleteTopicsResponse,
    )
    assert {row.name: row.error_code for row in rows.responses} == {
        "new": ErrorCode.NONE,
        "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    old = world.ask(client, DeleteTopicsRequest(topic_names=["orders"]), 5, DeleteTopicsResponse)
    assert old.responses[0].error_code == ErrorCode.NONE


def test_what_no_broker_serves_is_said_of_each_row() -> None:
    """If the cluster lacks the RPC (here CreatePartitions), as in a rolling upgrade, each row has the error."""
    world = ForwardingWorld(served=EVERYTHING)
    rows = [CreatePartitionsTopic("new", 5), CreatePartitionsTopic("__shareq_state", 5)]
    grown = world.ask(world.connect(), CreatePartitionsRequest(rows, 1_000), 3, CreatePartitionsResponse)
    assert {row.name: row.error_code for row in grown.results} == {
        "new": ErrorCode.UNSUPPORTED_VERSION,
        "__shareq_state": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_records_are_deleted_by_the_leaders(world: ForwardingWorld, client: MockConnection) -> None:
    for _ in range(3):
        world.cluster.append("orders", batch(b"x"), 1)
    parts = [DeleteRecordsPartition(1, 2), DeleteRecordsPartition(0, 5)]
    answer = world.ask(
        client, DeleteRecordsRequest([DeleteRecordsTopic("orders", parts)], 1_000), 2, DeleteRecordsResponse
    )
    assert [(row.error_code, row.low_watermark) for row in answer.topics[0].partitions] == [
        (ErrorCode.NONE, 2),
        (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
    ]


def test_properties_are_the_nodes_for_groups_and_itself_and_the_clusters_for_all_else(
    world: ForwardingWorld, client: MockConnection
) -> None:
    wanted = [
        DescribeConfigsResource(TOPIC_KIND, "orders", None),
        DescribeConfigsResource(GROUP_KIND, "g", None),
        DescribeConfigsResource(BROKER_KIND, str(NODE_ID), None),
        DescribeConfigsResource(BROKER_KIND, "77", None),
        DescribeConfigsResource(TOPIC_KIND, "__shareq_state", None),
    ]
    answer = world.ask(client, DescribeConfigsRequest(wanted), 4, DescribeConfigsResponse)
    rows = {(row.resource_type, row.resource_name): row for row in answer.results}
    assert rows[GROUP_KIND, "g"].error_code == rows[BROKER_KIND, str(NODE_ID)].error_code == ErrorCode.NONE
    assert "share.isolation.level" in {each.name for each in rows[GROUP_KIND, "g"].configs}
    assert "retention.ms" in {each.name for each in rows[TOPIC_KIND, "orders"].configs}
    assert rows[BROKER_KIND, "77"].error_code == ErrorCode.INVALID_REQUEST
    assert rows[TOPIC_KIND, "__shareq_state"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    altered = world.ask(
        client,
        IncrementalAlterConfigsRequest(
            [
                AlterConfigsResource(TOPIC_KIND, "orders", [AlterableConfig("retention.ms", 0, "5000")]),
                AlterConfigsResource(GROUP_KIND, "g", [AlterableConfig("share.auto.offset.reset", 0, "earliest")]),
            ]
        ),
        1,
        IncrementalAlterConfigsResponse,
    )
    assert {row.error_code for row in altered.responses} == {ErrorCode.NONE}
    assert world.cluster.topic("orders").configs == {"retention.ms": "5000"}
    assert world.services.metadata.configs("group", "g") == {"share.auto.offset.reset": "earliest"}


def test_a_number_that_no_broker_can_have_costs_its_row_alone(world: ForwardingWorld, client: MockConnection) -> None:
    """Python refuses to parse that many digits, which once failed the whole request."""
    wanted = [
        DescribeConfigsResource(BROKER_KIND, "9" * 5_000, None),
        DescribeConfigsResource(TOPIC_KIND, "orders", None),
    ]
    answer = world.ask(client, DescribeConfigsRequest(wanted), 4, DescribeConfigsResponse)
    assert [row.error_code for row in answer.results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


def test_versions_are_ours_cut_to_the_clusters(world: ForwardingWorld) -> None:
    rpc = api_versions
    answers = [
        {row.api_key: row for row in each.ask(each.connect(), rpc.ApiVersionsRequest("a", "1"), 3, _VERSIONS).api_keys}
        for each in (ForwardingWorld(ClusterSettings(release=KAFKA_3_9)), world)
    ]
    old, new = answers
    assert (old[ApiKey.PRODUCE].min_version, old[ApiKey.PRODUCE].max_version) == (0, 11)
    assert new[ApiKey.PRODUCE].max_version == 13
    assert old[ApiKey.SHARE_FETCH].max_version == 2  # ours, whatever the cluster has
    assert not set(NOT_OFFERED) & set(old)


def test_a_redrive_is_refused(world: ForwardingWorld) -> None:
    """The RPC is offered only to our own clients, which recognise our brokers by it."""
    client = world.connect()
    for software in ("other", "shareq"):
        request = api_versions.ApiVersionsRequest(software, "1")
        offered = {row.api_key for row in world.ask(client, request, 3, _VERSIONS).api_keys}
        assert (ApiKey.START_REDRIVE in offered) is (software == "shareq")
    rpc = start_redrive
    answer = world.ask(client, rpc.StartRedriveRequest("again", "dlq.orders"), 0, rpc.StartRedriveResponse)
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert (answer.error_message or "").startswith("This node keeps no data, and sends no dead letters back;")


_VERSIONS: Final = api_versions.ApiVersionsResponse


def test_an_old_cluster_is_spoken_to_in_its_own_versions() -> None:
    world = ForwardingWorld(ClusterSettings(release=KAFKA_3_9))
    world.cluster.create_topic("orders", 1)
    client = world.connect()
    answer = world.ask(client, produce_request(batch(b"x"), topic="orders"), 11, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    listed = world.ask(client, offsets(LATEST, 0), 9, ListOffsetsResponse)
    assert listed.topics[0].partitions[0].offset == 1


# -- rights: the node's user sees more than its clients

CREATED: Final = CreateTopicsRequest([CreatableTopic("new", 1, 1)])
FORWARDED_CASES: Final = [
    case
    for case in (*CASES, Case(ApiKey.CREATE_TOPICS, 7, lambda _: CREATED, (CREATE_CLUSTER,)))
    if case.key in FORWARDED
    and case.version <= OF_CLIENTS.get(case.key, case.version)
    and all(right.kind.name != "TRANSACTIONAL_ID" for right in case.needs)
    and not any(right.kind.name == "GROUP" for right in case.needs)
]
"""The access cases of forwarded RPCs. Those of groups and transactions are in `test_whole_address.py`."""


class RightsWorld(ForwardingWorld):
    def __init__(self) -> None:
        super().__init__(served=EVERYTHING, properties={"authorizer.class.name": STANDARD, "super.users": ADMIN})
        self.topic_id = self.cluster.create_topic(TOPIC).topic_id
        self.alice = self.connect()
        self.alice.side.principal = ALICE

    def grant(self, rights: list[Right]) -> None:
        self.services.metadata.alter_acls([PutAcl(acl(right)) for right in rights])


def test_every_forwarded_rpc_has_a_case() -> None:
    assert {case.key for case in CASES} | {ApiKey.CREATE_TOPICS} >= {*FORWARDED}
    by_coordinators = {*FORWARDED} - {case.key for case in FORWARDED_CASES}
    assert {FORWARDED[key] for key in by_coordinators} == {
        "coordinated",
        "coordinated_each",
        "list_transactions",
        "offset_fetch",
    }


@for_each("case", FORWARDED_CASES)
def test_nothing_is_forwarded_without_the_rights_and_all_of_it_with_them(case: Case) -> None:
    for missing in (*case.needs, None):
        world = RightsWorld()
        world.grant([right for right in case.needs if right is not missing])
        world.forwarded.clear()
        request = case.request(world)  # type: ignore[arg-type]
        world.ask(world.alice, request, case.version, codec(case.key).response_class)
        sent = [message for _, message in world.forwarded if case.key == message.API_KEY]
        assert bool(sent) is (missing is None), missing


def test_any_write_right_is_enough_for_a_producer_id() -> None:
    world = RightsWorld()
    world.grant([next(case for case in FORWARDED_CASES if case.key is ApiKey.PRODUCE).needs[0]])
    rpc = init_producer_id
    answer = world.ask(world.alice, rpc.InitProducerIdRequest(None, 0), 4, rpc.InitProducerIdResponse)
    assert answer.error_code == ErrorCode.NONE


def test_each_rpc_is_in_one_place() -> None:
    assert not set(FORWARDED) & REFUSED
    assert not (set(FORWARDED) | REFUSED) & NOT_OFFERED
    assert not OWN.keys() & (set(FORWARDED) | REFUSED | NOT_OFFERED)


def test_a_topic_is_known_when_its_creation_is_answered(world: ForwardingWorld, client: MockConnection) -> None:
    """The answer waits until the brokers know of the topic, half of the client's timeout at most.

    The brokers know of it a moment after the controller.
    """

    def created(name: str) -> tuple[int, int]:
        began = world.clock.now_ms()
        request = CreateTopicsRequest([CreatableTopic(name, 1, 1)], 5_000)
        row = world.ask(client, request, 7, CreateTopicsResponse).topics[0]
        return row.error_code, world.clock.now_ms() - began

    def hear() -> None:
        for broker in world.cluster.brokers:
            world.cluster.release_news(broker)

    for broker in world.cluster.brokers:
        world.cluster.hold_news(broker)
    world.clock.call_at(world.clock.now_ms() + 300, hear)
    error, took_ms = created("soon")
    assert (error, took_ms >= 300) == (ErrorCode.NONE, True)
    answer = world.ask(client, produce_request(batch(b"x"), topic="soon"), 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    for broker in world.cluster.brokers:
        world.cluster.hold_news(broker)
    error, took_ms = created("late")
    assert (error, 2_500 <= took_ms < 3_000) == (ErrorCode.NONE, True)


def test_a_created_topic_is_not_waited_for_when_the_cluster_falls_silent(
    world: ForwardingWorld, client: MockConnection
) -> None:
    for broker in world.cluster.brokers:
        world.cluster.hold_news(broker)
    began = world.clock.now_ms()
    world.clock.call_at(began + 120, lambda: world.cluster.cut(world.cluster_world.link.name))
    request = CreateTopicsRequest([CreatableTopic("late", 1, 1)], 5_000)
    row = world.ask(client, request, 7, CreateTopicsResponse).topics[0]
    assert (row.error_code, world.clock.now_ms() - began < 3_000) == (ErrorCode.NONE, True)


def test_acknowledgements_in_transactions_are_not_offered(world: ForwardingWorld) -> None:
    for software in ("other", "shareq"):
        request = api_versions.ApiVersionsRequest(software, "1")
        answer = world.ask(world.connect(), request, 4, _VERSIONS)
        assert ApiKey.TXN_SHARE_ACKNOWLEDGE not in {row.api_key for row in answer.api_keys}
