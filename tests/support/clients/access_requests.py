"""Requests that need rights, made for a broker with a topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated import (
    add_partitions_to_txn,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    delete_acls,
    delete_share_group_offsets,
    describe_client_quotas,
    describe_configs,
    describe_producers,
    describe_share_group_offsets,
    describe_transactions,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
    list_transactions,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    share_acknowledge,
    share_fetch,
    share_group_heartbeat,
    txn_offset_commit,
    txn_share_acknowledge,
    write_txn_markers,
)
from shareq.protocol.primitives import Message
from tests.support.clients.access import GROUP, PRODUCER, TOPIC, Access, Case
from tests.support.kafka.transactions import numbered


def state_request(module: object, topic: str, request: str, *partition: int) -> Callable[[Access], Message]:
    def make(world: Access) -> Message:
        part = module.PartitionData(*partition)  # type: ignore[attr-defined]
        built: Message = getattr(module, request)(GROUP, [getattr(module, topic)(world.topic_id, [part])])
        return built

    return make


def share_fetch_request(world: Access) -> Message:
    part = share_fetch.FetchPartition(0, [])
    topic = share_fetch.FetchTopic(world.topic_id, [part])
    return share_fetch.ShareFetchRequest(GROUP, "m", 0, 0, 0, 1 << 20, 10, 10, topics=[topic])


def share_acknowledge_request(world: Access) -> Message:
    world.as_admin(Case(ApiKey.SHARE_FETCH, 1, share_fetch_request, ()))
    rpc = share_acknowledge
    part = rpc.AcknowledgePartition(0, [rpc.AcknowledgementBatch(0, 0, [1])])
    return rpc.ShareAcknowledgeRequest(GROUP, "m", 1, topics=[rpc.AcknowledgeTopic(world.topic_id, [part])])


def txn_share_acknowledge_request(world: Access) -> Message:
    joining = share_group_heartbeat.ShareGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=[TOPIC])
    joined: Any = world.as_admin(Case(ApiKey.SHARE_GROUP_HEARTBEAT, 1, lambda _: joining, ()))
    rpc = txn_share_acknowledge
    part = rpc.TxnShareAcknowledgePartition(0, [rpc.AcknowledgementBatch(0, 0, [1])])
    topics = [rpc.TxnShareAcknowledgeTopic(world.topic_id, [part])]
    return rpc.TxnShareAcknowledgeRequest(PRODUCER, GROUP, 1, 0, "m", joined.member_epoch, topics=topics)


def configs_request(kind: int, name: str) -> Callable[[Access], Message]:
    rpc = describe_configs
    return lambda _: rpc.DescribeConfigsRequest([rpc.DescribeConfigsResource(kind, name, None)])


def alter_request(kind: int, name: str) -> Callable[[Access], Message]:
    rpc = incremental_alter_configs
    return lambda _: rpc.IncrementalAlterConfigsRequest([rpc.AlterConfigsResource(kind, name, [])])


def offset_commit_request(world: Access, **topic: object) -> Message:
    rpc = offset_commit
    row = rpc.OffsetCommitRequestTopic(partitions=[rpc.OffsetCommitRequestPartition(0, 1)], **topic)  # type: ignore[arg-type]
    return rpc.OffsetCommitRequest("classic", topics=[row])


def offset_fetch_request(world: Access, **topic: object) -> Message:
    rpc = offset_fetch
    row = rpc.OffsetFetchRequestTopics(partition_indexes=[0], **topic)  # type: ignore[arg-type]
    return rpc.OffsetFetchRequest(groups=[rpc.OffsetFetchRequestGroup("classic", topics=[row])])


def consumer_heartbeat_request(_world: Access) -> Message:
    rpc = consumer_group_heartbeat
    return rpc.ConsumerGroupHeartbeatRequest(
        "consumer", "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=[TOPIC], topic_partitions=[]
    )


def consumer_group_request(world: Access) -> Message:
    world.as_admin(Case(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, consumer_heartbeat_request, ()))
    return consumer_group_describe.ConsumerGroupDescribeRequest(["consumer"])


def offset_fetch_old_request(_world: Access) -> Message:
    rpc = offset_fetch
    return rpc.OffsetFetchRequest("classic", topics=[rpc.OffsetFetchRequestTopic(TOPIC, [0])])


def offset_delete_request(world: Access) -> Message:
    commit = Case(ApiKey.OFFSET_COMMIT, 9, lambda w: offset_commit_request(w, name=TOPIC), ())
    world.as_admin(commit)
    rpc = offset_delete
    rows = [rpc.OffsetDeleteRequestTopic(TOPIC, [rpc.OffsetDeleteRequestPartition(0)])]
    return rpc.OffsetDeleteRequest("classic", rows)


def share_offsets_request(_world: Access) -> Message:
    rpc = describe_share_group_offsets
    topics = [rpc.DescribeShareGroupOffsetsRequestTopic(TOPIC, [0])]
    return rpc.DescribeShareGroupOffsetsRequest([rpc.DescribeShareGroupOffsetsRequestGroup(GROUP, topics)])


def alter_share_offsets_request(_world: Access) -> Message:
    rpc = alter_share_group_offsets
    part = rpc.AlterShareGroupOffsetsRequestPartition(0, 0)
    return rpc.AlterShareGroupOffsetsRequest("other", [rpc.AlterShareGroupOffsetsRequestTopic(TOPIC, [part])])


def delete_share_offsets_request(world: Access) -> Message:
    world.as_admin(Case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, alter_share_offsets_request, ()))
    rpc = delete_share_group_offsets
    return rpc.DeleteShareGroupOffsetsRequest("other", [rpc.DeleteShareGroupOffsetsRequestTopic(TOPIC)])


def create_acls_request(_world: Access) -> Message:
    return create_acls.CreateAclsRequest([create_acls.AclCreation(2, "x", 3, "User:x", "*", 3, 3)])


def delete_acls_request(_world: Access) -> Message:
    return delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(2, "nobody", 3, None, None, 1, 1)])


def alter_scram_request(_world: Access) -> Message:
    rpc = alter_user_scram_credentials
    upsertion = rpc.ScramCredentialUpsertion("u", 1, 4096, b"salt" * 4, b"p" * 32)
    return rpc.AlterUserScramCredentialsRequest(upsertions=[upsertion])


def quotas_request(_world: Access) -> Message:
    return describe_client_quotas.DescribeClientQuotasRequest()


def list_offsets_request(_world: Access) -> Message:
    rpc = list_offsets
    part = rpc.ListOffsetsPartition(0, timestamp=-1)
    return rpc.ListOffsetsRequest(-1, 0, [rpc.ListOffsetsTopic(TOPIC, [part])])


def epochs_request(_world: Access) -> Message:
    rpc = offset_for_leader_epoch
    part = rpc.OffsetForLeaderPartition(0, -1, 0)
    return rpc.OffsetForLeaderEpochRequest(-1, [rpc.OffsetForLeaderTopic(TOPIC, [part])])


def join_request(_world: Access) -> Message:
    rpc = join_group
    protocols = [rpc.JoinGroupRequestProtocol("range", b"")]
    return rpc.JoinGroupRequest("classic", 10_000, 10_000, "", None, "consumer", protocols)


def leave_request(_world: Access) -> Message:
    return leave_group.LeaveGroupRequest("classic", members=[leave_group.MemberIdentity("m")])


def find_request(version: int, key_type: int, key: str) -> Callable[[Access], Message]:
    if version < 4:
        return lambda _: find_coordinator.FindCoordinatorRequest(key, key_type)
    return lambda _: find_coordinator.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])


def add_partitions_request(_world: Access) -> Message:
    rpc = add_partitions_to_txn
    topics = [rpc.AddPartitionsToTxnTopic(TOPIC, [0])]
    return rpc.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=PRODUCER, v3_and_below_producer_id=1, v3_and_below_topics=topics
    )


def txn_offset_commit_request(world: Access) -> Message:
    rpc = txn_offset_commit
    part = rpc.TxnOffsetCommitRequestPartition(0, 1)
    topics = [rpc.TxnOffsetCommitRequestTopic(TOPIC, world.topic_id, [part])]
    return rpc.TxnOffsetCommitRequest(PRODUCER, "classic", 1, 0, topics=topics)


def markers_request(_world: Access) -> Message:
    rpc = write_txn_markers
    marker = rpc.WritableTxnMarker(99, 0, True, [rpc.WritableTxnMarkerTopic(TOPIC, [0])], 0)
    return rpc.WriteTxnMarkersRequest([marker])


def producers_request(_world: Access) -> Message:
    return describe_producers.DescribeProducersRequest([describe_producers.TopicRequest(TOPIC, [0])])


def transactional_batch() -> bytes:
    return numbered(b"x", producer_id=1, transactional=True)


def _begin_transaction(world: Access) -> None:
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


def describe_transaction_request(world: Access) -> Message:
    _begin_transaction(world)
    return describe_transactions.DescribeTransactionsRequest([PRODUCER])


def list_transactions_request(world: Access) -> Message:
    _begin_transaction(world)
    return list_transactions.ListTransactionsRequest()
