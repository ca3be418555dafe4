"""For every RPC a request that needs rights, and the rights it needs: what the walk over the operation table sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from devtools.clients.requests import batch, fetch_request, produce_request
from devtools.clients.wire import Caller
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import DropAcl, PutAcl
from shareq.broker.security import rights as r
from shareq.broker.security.acls import Acl, PatternType, Permission, ResourceKind
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import Right
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_producers,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    end_txn,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    read_share_group_state,
    read_share_group_state_summary,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    sync_group,
    txn_offset_commit,
    write_share_group_state,
    write_txn_markers,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.clients.administration import RIGHT_CASES, alter_replica_log_dirs_request

TOPIC, GROUP, PRODUCER, ALICE, ADMIN = "t", "g", "p", "User:alice", "User:admin"
_NAMES: Final = {
    ResourceKind.TOPIC: TOPIC,
    ResourceKind.GROUP: GROUP,
    ResourceKind.CLUSTER: CLUSTER_NAME,
    ResourceKind.TRANSACTIONAL_ID: PRODUCER,
}
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def acl(right: Right, name: str | None = None, *, principal: str = ALICE) -> Acl:
    """What grants a right on a resource; on the one of the cases, if no name is given."""
    resource = name or _NAMES[right.kind]
    return Acl(right.kind, resource, PatternType.LITERAL, principal, "*", right.operation, Permission.ALLOW)


class Access(Protocol):
    """What the cases need of a broker: a topic, and somebody who may do everything."""

    topic_id: bytes

    @property
    def admin(self) -> Caller: ...

    def as_admin(self, case: Case) -> Message:
        """The answer to the case's request."""


class AccessWorld(BrokerWorld):
    """A broker with an authorizer, a topic and a share group; `alice` is its only client without all rights."""

    def __init__(self) -> None:
        super().__init__({"authorizer.class.name": STANDARD, "super.users": ADMIN})
        self.topic_id = self.create_topic(TOPIC).topic_id
        self.alice = self.connect()
        self.alice.side.principal = ALICE
        self.admin = self.connect()
        self.admin.side.principal = ADMIN
        rpc = share_group_heartbeat
        request = rpc.ShareGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=[TOPIC])
        assert self.admin.call(request, 1, rpc.ShareGroupHeartbeatResponse).error_code == 0

    def as_admin(self, case: Case) -> Message:
        """The answer to the case's request."""
        return send(self, self.admin, case)

    def grant(self, acls: Iterable[Acl]) -> None:
        """Let these be all the ACLs there are."""
        store = self.broker.services.metadata
        changes: list[PutAcl | DropAcl] = [DropAcl(each) for each in store.acls]
        store.alter_acls([*changes, *(PutAcl(each) for each in acls)])


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and the rights it needs, all of them. `hides`: without a right nothing is told, and there is
    no error. `error`: the one that is answered, if it is not the right's own.
    """

    key: ApiKey
    version: int
    request: Callable[[Access], Message]
    needs: tuple[Right, ...]
    hides: Callable[[Message], bool] | None = None
    error: ErrorCode | None = None
    group: str = GROUP

    def acl(self, right: Right) -> Acl:
        """What grants one of the rights."""
        return acl(right, self.group if right.kind == ResourceKind.GROUP else None)

    def refused_without(self, right: Right) -> ErrorCode:
        """What is answered without one of the rights."""
        return right.error if self.error is None else self.error

    def __str__(self) -> str:
        return f"{self.key.name} v{self.version} {self.needs}"


def send(world: AccessWorld, client: MockConnection, case: Case) -> Message:
    """The answer, however long it takes. AssertionError when there is none."""
    client.send(case.request(world), case.version)
    world.clock.run_until_idle()
    if not client.frames:
        world.clock.advance(60_000)
    return client.receive(codec(case.key).response_class)


def _state(module: object, topic: str, request: str, *partition: int) -> Callable[[Access], Message]:
    def make(world: Access) -> Message:
        part = module.PartitionData(*partition)  # type: ignore[attr-defined]
        built: Message = getattr(module, request)(GROUP, [getattr(module, topic)(world.topic_id, [part])])
        return built

    return make


def _share_fetch(world: Access) -> Message:
    part = share_fetch.FetchPartition(0, [])
    topic = share_fetch.FetchTopic(world.topic_id, [part])
    return share_fetch.ShareFetchRequest(GROUP, "m", 0, 0, 0, 1 << 20, 10, 10, topics=[topic])


def _share_acknowledge(world: Access) -> Message:
    world.as_admin(Case(ApiKey.SHARE_FETCH, 1, _share_fetch, ()))
    rpc = share_acknowledge
    part = rpc.AcknowledgePartition(0, [rpc.AcknowledgementBatch(0, 0, [1])])
    return rpc.ShareAcknowledgeRequest(GROUP, "m", 1, topics=[rpc.AcknowledgeTopic(world.topic_id, [part])])


def _configs(kind: int, name: str) -> Callable[[Access], Message]:
    rpc = describe_configs
    return lambda _: rpc.DescribeConfigsRequest([rpc.DescribeConfigsResource(kind, name, None)])


def _alter(kind: int, name: str) -> Callable[[Access], Message]:
    rpc = incremental_alter_configs
    return lambda _: rpc.IncrementalAlterConfigsRequest([rpc.AlterConfigsResource(kind, name, [])])


def _offset_commit(world: Access, **topic: object) -> Message:
    rpc = offset_commit
    row = rpc.OffsetCommitRequestTopic(partitions=[rpc.OffsetCommitRequestPartition(0, 1)], **topic)  # type: ignore[arg-type]
    return rpc.OffsetCommitRequest("classic", topics=[row])


def _offset_fetch(world: Access, **topic: object) -> Message:
    rpc = offset_fetch
    row = rpc.OffsetFetchRequestTopics(partition_indexes=[0], **topic)  # type: ignore[arg-type]
    return rpc.OffsetFetchRequest(groups=[rpc.OffsetFetchRequestGroup("classic", topics=[row])])


def _consumer_heartbeat(_world: Access) -> Message:
    rpc = consumer_group_heartbeat
    return rpc.ConsumerGroupHeartbeatRequest(
        "consumer", "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=[TOPIC], topic_partitions=[]
    )


def _consumer_group(world: Access) -> Message:
    world.as_admin(Case(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, _consumer_heartbeat, ()))
    return consumer_group_describe.ConsumerGroupDescribeRequest(["consumer"])


def _offset_fetch_old(_world: Access) -> Message:
    rpc = offset_fetch
    return rpc.OffsetFetchRequest("classic", topics=[rpc.OffsetFetchRequestTopic(TOPIC, [0])])


def _offset_delete(world: Access) -> Message:
    commit = Case(ApiKey.OFFSET_COMMIT, 9, lambda w: _offset_commit(w, name=TOPIC), ())
    world.as_admin(commit)
    rpc = offset_delete
    rows = [rpc.OffsetDeleteRequestTopic(TOPIC, [rpc.OffsetDeleteRequestPartition(0)])]
    return rpc.OffsetDeleteRequest("classic", rows)


def _share_offsets(_world: Access) -> Message:
    rpc = describe_share_group_offsets
    topics = [rpc.DescribeShareGroupOffsetsRequestTopic(TOPIC, [0])]
    return rpc.DescribeShareGroupOffsetsRequest([rpc.DescribeShareGroupOffsetsRequestGroup(GROUP, topics)])


def _alter_share_offsets(_world: Access) -> Message:
    rpc = alter_share_group_offsets
    part = rpc.AlterShareGroupOffsetsRequestPartition(0, 0)
    return rpc.AlterShareGroupOffsetsRequest("other", [rpc.AlterShareGroupOffsetsRequestTopic(TOPIC, [part])])


def _delete_share_offsets(world: Access) -> Message:
    world.as_admin(Case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, _alter_share_offsets, ()))
    rpc = delete_share_group_offsets
    return rpc.DeleteShareGroupOffsetsRequest("other", [rpc.DeleteShareGroupOffsetsRequestTopic(TOPIC)])


def _new_topic(_world: Access) -> Message:
    return create_topics.CreateTopicsRequest([create_topics.CreatableTopic("new", 1, 1)])


def _create_acls(_world: Access) -> Message:
    return create_acls.CreateAclsRequest([create_acls.AclCreation(2, "x", 3, "User:x", "*", 3, 3)])


def _delete_acls(_world: Access) -> Message:
    return delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(2, "nobody", 3, None, None, 1, 1)])


def _alter_scram(_world: Access) -> Message:
    rpc = alter_user_scram_credentials
    upsertion = rpc.ScramCredentialUpsertion("u", 1, 4096, b"salt" * 4, b"p" * 32)
    return rpc.AlterUserScramCredentialsRequest(upsertions=[upsertion])


def _quotas(_world: Access) -> Message:
    return describe_client_quotas.DescribeClientQuotasRequest()


def _list_offsets(_world: Access) -> Message:
    rpc = list_offsets
    part = rpc.ListOffsetsPartition(0, timestamp=-1)
    return rpc.ListOffsetsRequest(-1, 0, [rpc.ListOffsetsTopic(TOPIC, [part])])


def _epochs(_world: Access) -> Message:
    rpc = offset_for_leader_epoch
    part = rpc.OffsetForLeaderPartition(0, -1, 0)
    return rpc.OffsetForLeaderEpochRequest(-1, [rpc.OffsetForLeaderTopic(TOPIC, [part])])


def _join(_world: Access) -> Message:
    rpc = join_group
    protocols = [rpc.JoinGroupRequestProtocol("range", b"")]
    return rpc.JoinGroupRequest("classic", 10_000, 10_000, "", None, "consumer", protocols)


def _leave(_world: Access) -> Message:
    return leave_group.LeaveGroupRequest("classic", members=[leave_group.MemberIdentity("m")])


def _find(version: int, key_type: int, key: str) -> Callable[[Access], Message]:
    if version < 4:
        return lambda _: find_coordinator.FindCoordinatorRequest(key, key_type)
    return lambda _: find_coordinator.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])


def _add_partitions(_world: Access) -> Message:
    rpc = add_partitions_to_txn
    topics = [rpc.AddPartitionsToTxnTopic(TOPIC, [0])]
    return rpc.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=PRODUCER, v3_and_below_producer_id=1, v3_and_below_topics=topics
    )


def _txn_offset_commit(_world: Access) -> Message:
    rpc = txn_offset_commit
    part = rpc.TxnOffsetCommitRequestPartition(0, 1)
    topics = [rpc.TxnOffsetCommitRequestTopic(TOPIC, [part])]
    return rpc.TxnOffsetCommitRequest(PRODUCER, "classic", 1, 0, topics=topics)


def _markers(_world: Access) -> Message:
    rpc = write_txn_markers
    marker = rpc.WritableTxnMarker(99, 0, True, [rpc.WritableTxnMarkerTopic(TOPIC, [0])], 0)
    return rpc.WriteTxnMarkersRequest([marker])


def _producers(_world: Access) -> Message:
    return describe_producers.DescribeProducersRequest([describe_producers.TopicRequest(TOPIC, [0])])


def transactional_batch() -> bytes:
    """One record of a producer that nobody knows."""
    return bytes(
        build_batch(
            [RecordData(None, b"x")],
            timestamp_ms=0,
            producer_id=1,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
    )


def _begin_transaction(world: Access) -> None:
    """As the admin, with the topic in it."""
    rpc = init_producer_id
    producer = world.admin.call(rpc.InitProducerIdRequest(PRODUCER, 10_000), 4, rpc.InitProducerIdResponse)
    request = add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=PRODUCER,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[add_partitions_to_txn.AddPartitionsToTxnTopic(TOPIC, [0])],
    )
    answer = world.admin.call(request, 3, add_partitions_to_txn.AddPartitionsToTxnResponse)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0


def _describe_transaction(world: Access) -> Message:
    _begin_transaction(world)
    return describe_transactions.DescribeTransactionsRequest([PRODUCER])


def _list_transactions(world: Access) -> Message:
    _begin_transaction(world)
    return list_transactions.ListTransactionsRequest()


def _tells_no_transaction(response: Message) -> bool:
    return not response.transaction_states  # type: ignore[attr-defined]


def _named(name: str, create: bool = False) -> Callable[[Access], Message]:
    return lambda _: metadata.MetadataRequest([metadata.MetadataRequestTopic(name=name)], create)


def _by_id(world: Access) -> Message:
    return metadata.MetadataRequest([metadata.MetadataRequestTopic(world.topic_id, None)], False)


def _always(request: Message) -> Callable[[Access], Message]:
    return lambda _: request


def _names_nothing(response: Message) -> bool:
    return not getattr(response, "topics", None)


def _cluster_bits(response: Message) -> bool:
    return response.cluster_authorized_operations == 0  # type: ignore[attr-defined,no-any-return]


_GROUP_READERS: Final = (
    (ApiKey.SYNC_GROUP, 3, lambda _: sync_group.SyncGroupRequest("classic", 1, "m")),
    (ApiKey.HEARTBEAT, 4, lambda _: heartbeat.HeartbeatRequest("classic", 1, "m")),
    (ApiKey.LEAVE_GROUP, 2, lambda _: leave_group.LeaveGroupRequest("classic", "m")),
    (
        ApiKey.LEAVE_GROUP,
        5,
        lambda _: leave_group.LeaveGroupRequest("classic", members=[leave_group.MemberIdentity("m")]),
    ),
    (ApiKey.JOIN_GROUP, 4, _join),
    (ApiKey.JOIN_GROUP, 9, _join),
)
_STATE_REQUESTS: Final = (
    (
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        _state(initialize_share_group_state, "InitializeStateData", "InitializeShareGroupStateRequest", 0, 9, 0),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE,
        _state(read_share_group_state, "ReadStateData", "ReadShareGroupStateRequest", 0, 0),
    ),
    (
        ApiKey.WRITE_SHARE_GROUP_STATE,
        _state(write_share_group_state, "WriteStateData", "WriteShareGroupStateRequest", 0, 9, 0, 0, 0),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        _state(read_share_group_state_summary, "ReadStateSummaryData", "ReadShareGroupStateSummaryRequest", 0, 0),
    ),
    (
        ApiKey.DELETE_SHARE_GROUP_STATE,
        _state(delete_share_group_state, "DeleteStateData", "DeleteShareGroupStateRequest", 0),
    ),
)


CASES: Final = (
    Case(ApiKey.PRODUCE, 9, lambda _: produce_request(batch(b"x"), topic=TOPIC), (r.WRITE_TOPIC,)),
    Case(ApiKey.PRODUCE, 13, lambda w: produce_request(batch(b"x"), topic_id=w.topic_id), (r.WRITE_TOPIC,)),
    Case(ApiKey.FETCH, 12, lambda _: fetch_request(TOPIC), (r.READ_TOPIC,)),
    Case(ApiKey.FETCH, 18, lambda w: fetch_request(topic_id=w.topic_id), (r.READ_TOPIC,)),
    Case(ApiKey.LIST_OFFSETS, 7, _list_offsets, (r.DESCRIBE_TOPIC,)),
    Case(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, _epochs, (r.DESCRIBE_TOPIC,)),
    Case(
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        4,
        _epochs,
        (r.CLUSTER_ACTION,),
        error=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ),
    Case(ApiKey.METADATA, 12, _named(TOPIC), (r.DESCRIBE_TOPIC,)),
    Case(ApiKey.METADATA, 12, _by_id, (r.DESCRIBE_TOPIC,)),
    Case(ApiKey.METADATA, 12, lambda _: metadata.MetadataRequest(None), (r.DESCRIBE_TOPIC,), _names_nothing),
    Case(
        ApiKey.METADATA,
        8,
        lambda _: metadata.MetadataRequest([], include_cluster_authorized_operations=True),
        (r.DESCRIBE_CLUSTER,),
        _cluster_bits,
    ),
    Case(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        lambda _: describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest(TOPIC)]
        ),
        (r.DESCRIBE_TOPIC,),
    ),
    Case(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        lambda _: describe_topic_partitions.DescribeTopicPartitionsRequest(),
        (r.DESCRIBE_TOPIC,),
        _names_nothing,
    ),
    Case(ApiKey.DELETE_TOPICS, 5, lambda _: delete_topics.DeleteTopicsRequest(topic_names=[TOPIC]), (r.DELETE_TOPIC,)),
    Case(
        ApiKey.DELETE_TOPICS,
        6,
        lambda w: delete_topics.DeleteTopicsRequest([delete_topics.DeleteTopicState(None, w.topic_id)]),
        (r.DELETE_TOPIC,),
    ),
    Case(
        ApiKey.CREATE_PARTITIONS,
        3,
        lambda _: create_partitions.CreatePartitionsRequest([create_partitions.CreatePartitionsTopic(TOPIC, 2, None)]),
        (r.ALTER_TOPIC,),
    ),
    Case(ApiKey.FIND_COORDINATOR, 3, _find(3, 0, GROUP), (r.DESCRIBE_GROUP,)),
    Case(ApiKey.FIND_COORDINATOR, 6, _find(6, 0, GROUP), (r.DESCRIBE_GROUP,)),
    Case(ApiKey.FIND_COORDINATOR, 3, _find(3, 1, PRODUCER), (r.DESCRIBE_TRANSACTION,)),
    Case(ApiKey.FIND_COORDINATOR, 6, _find(6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0"), (r.CLUSTER_ACTION,)),
    Case(
        ApiKey.LIST_GROUPS,
        5,
        lambda _: list_groups.ListGroupsRequest(),
        (r.DESCRIBE_GROUP,),
        lambda response: not response.groups,  # type: ignore[attr-defined]
    ),
    Case(
        ApiKey.LIST_GROUPS,
        5,
        lambda _: list_groups.ListGroupsRequest(),
        (r.DESCRIBE_CLUSTER,),
        lambda response: not response.groups,  # type: ignore[attr-defined]
    ),
    Case(ApiKey.DELETE_GROUPS, 2, lambda _: delete_groups.DeleteGroupsRequest([GROUP]), (r.DELETE_GROUP,)),
    Case(ApiKey.DESCRIBE_GROUPS, 5, lambda _: describe_groups.DescribeGroupsRequest([GROUP]), (r.DESCRIBE_GROUP,)),
    *(Case(key, version, request, (r.READ_GROUP,), group="classic") for key, version, request in _GROUP_READERS),
    *(
        Case(ApiKey.OFFSET_COMMIT, version, request, (r.READ_GROUP, r.READ_TOPIC), group="classic")
        for version, request in (
            (9, lambda w: _offset_commit(w, name=TOPIC)),
            (10, lambda w: _offset_commit(w, topic_id=w.topic_id)),
        )
    ),
    *(
        Case(ApiKey.OFFSET_FETCH, version, request, (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC), group="classic")
        for version, request in (
            (1, _offset_fetch_old),
            (2, _offset_fetch_old),
            (7, _offset_fetch_old),
            (9, lambda w: _offset_fetch(w, name=TOPIC)),
            (10, lambda w: _offset_fetch(w, topic_id=w.topic_id)),
        )
    ),
    Case(ApiKey.OFFSET_DELETE, 0, _offset_delete, (r.DELETE_GROUP, r.READ_TOPIC), group="classic"),
    Case(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, _consumer_heartbeat, (r.READ_GROUP, r.DESCRIBE_TOPIC), group="consumer"),
    Case(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, _consumer_group, (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC), group="consumer"),
    Case(
        ApiKey.SHARE_GROUP_HEARTBEAT,
        1,
        lambda _: share_group_heartbeat.ShareGroupHeartbeatRequest(GROUP, "m2", 0, subscribed_topic_names=[TOPIC]),
        (r.READ_GROUP, r.DESCRIBE_TOPIC),
    ),
    Case(
        ApiKey.SHARE_GROUP_DESCRIBE,
        1,
        lambda _: share_group_describe.ShareGroupDescribeRequest([GROUP]),
        (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC),
    ),
    *(Case(ApiKey.SHARE_FETCH, version, _share_fetch, (r.READ_GROUP, r.READ_TOPIC)) for version in (1, 2)),
    *(Case(ApiKey.SHARE_ACKNOWLEDGE, version, _share_acknowledge, (r.READ_GROUP, r.READ_TOPIC)) for version in (1, 2)),
    Case(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, _share_offsets, (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC)),
    Case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, _alter_share_offsets, (r.READ_GROUP, r.READ_TOPIC), group="other"),
    Case(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, _delete_share_offsets, (r.DELETE_GROUP, r.READ_TOPIC), group="other"),
    *(Case(key, 0, request, (r.CLUSTER_ACTION,)) for key, request in _STATE_REQUESTS),
    Case(ApiKey.INIT_PRODUCER_ID, 4, lambda _: init_producer_id.InitProducerIdRequest(None), (r.IDEMPOTENT_WRITE,)),
    Case(
        ApiKey.INIT_PRODUCER_ID,
        4,
        lambda _: init_producer_id.InitProducerIdRequest(PRODUCER, 10_000),
        (r.WRITE_TRANSACTION,),
    ),
    *(
        Case(ApiKey.ADD_PARTITIONS_TO_TXN, version, _add_partitions, (r.WRITE_TRANSACTION, r.WRITE_TOPIC))
        for version in (0, 3)
    ),
    Case(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        5,
        lambda _: add_partitions_to_txn.AddPartitionsToTxnRequest(
            [add_partitions_to_txn.AddPartitionsToTxnTransaction(PRODUCER, 1)]
        ),
        (r.CLUSTER_ACTION,),
    ),
    Case(
        ApiKey.ADD_OFFSETS_TO_TXN,
        4,
        lambda _: add_offsets_to_txn.AddOffsetsToTxnRequest(PRODUCER, 1, 0, "classic"),
        (r.WRITE_TRANSACTION, r.READ_GROUP),
        group="classic",
    ),
    Case(
        ApiKey.TXN_OFFSET_COMMIT,
        3,
        _txn_offset_commit,
        (r.WRITE_TRANSACTION, r.READ_GROUP, r.READ_TOPIC),
        group="classic",
    ),
    *(
        Case(ApiKey.END_TXN, version, lambda _: end_txn.EndTxnRequest(PRODUCER, 1, 0, True), (r.WRITE_TRANSACTION,))
        for version in (1, 5)
    ),
    Case(ApiKey.WRITE_TXN_MARKERS, 2, _markers, (r.CLUSTER_ACTION,)),
    Case(ApiKey.WRITE_TXN_MARKERS, 2, _markers, (r.ALTER_CLUSTER,), error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    Case(ApiKey.DESCRIBE_PRODUCERS, 0, _producers, (r.READ_TOPIC,)),
    Case(ApiKey.DESCRIBE_TRANSACTIONS, 0, _describe_transaction, (r.DESCRIBE_TRANSACTION,)),
    Case(ApiKey.LIST_TRANSACTIONS, 2, _list_transactions, (r.DESCRIBE_TRANSACTION,), _tells_no_transaction),
    Case(
        ApiKey.PRODUCE,
        9,
        lambda _: produce_request(transactional_batch(), topic=TOPIC, transactional_id=PRODUCER),
        (r.WRITE_TRANSACTION, r.WRITE_TOPIC),
    ),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, _configs(2, TOPIC), (r.DESCRIBE_TOPIC_CONFIGS,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, _configs(32, GROUP), (r.DESCRIBE_GROUP_CONFIGS,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, _configs(4, "1"), (r.DESCRIBE_CLUSTER_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _alter(2, TOPIC), (r.ALTER_TOPIC_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _alter(32, GROUP), (r.ALTER_GROUP_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _alter(4, "1"), (r.ALTER_CLUSTER_CONFIGS,)),
    Case(
        ApiKey.DESCRIBE_CLUSTER,
        2,
        lambda _: describe_cluster.DescribeClusterRequest(True, 1),
        (r.DESCRIBE_CLUSTER,),
        _cluster_bits,
    ),
    Case(ApiKey.CREATE_ACLS, 3, _create_acls, (r.ALTER_CLUSTER,)),
    Case(ApiKey.DELETE_ACLS, 3, _delete_acls, (r.ALTER_CLUSTER,)),
    Case(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        2,
        lambda _: alter_replica_log_dirs_request("/elsewhere", "t", [0]),
        (r.ALTER_CLUSTER,),
    ),
    Case(
        ApiKey.ALTER_CLIENT_QUOTAS,
        1,
        lambda _: alter_client_quotas.AlterClientQuotasRequest(
            [alter_client_quotas.AlterClientQuotasRequestEntryData()], False
        ),
        (r.ALTER_CLUSTER_CONFIGS,),
    ),
    Case(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, _quotas, (r.DESCRIBE_CLUSTER_CONFIGS,)),
    Case(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        0,
        lambda _: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(None),
        (r.DESCRIBE_CLUSTER,),
    ),
    Case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, _alter_scram, (r.ALTER_CLUSTER,)),
    *(Case(key, version, _always(request), (right,)) for key, version, request, right in RIGHT_CASES),
)
