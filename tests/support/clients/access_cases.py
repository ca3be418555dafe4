"""The access cases: for every RPC in the operation table, a request and the rights it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from devtools.clients.requests import batch, fetch_request, produce_request
from shareq.broker.security import rights as r
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    cancel_redrive,
    create_partitions,
    delete_groups,
    delete_share_group_state,
    delete_topics,
    describe_cluster,
    describe_groups,
    describe_redrives,
    describe_topic_partitions,
    describe_user_scram_credentials,
    end_txn,
    heartbeat,
    init_producer_id,
    initialize_share_group_state,
    leave_group,
    list_groups,
    metadata,
    move_user_scram_credentials,
    read_share_group_state,
    read_share_group_state_summary,
    share_group_describe,
    share_group_heartbeat,
    start_redrive,
    sync_group,
    write_share_group_state,
)
from shareq.protocol.primitives import Message
from tests.support.clients.access import GROUP, PRODUCER, TOPIC, Access, Case
from tests.support.clients.access_requests import (
    add_partitions_request,
    alter_request,
    alter_scram_request,
    alter_share_offsets_request,
    configs_request,
    consumer_group_request,
    consumer_heartbeat_request,
    create_acls_request,
    delete_acls_request,
    delete_share_offsets_request,
    describe_transaction_request,
    epochs_request,
    find_request,
    join_request,
    list_offsets_request,
    list_transactions_request,
    markers_request,
    offset_commit_request,
    offset_delete_request,
    offset_fetch_old_request,
    offset_fetch_request,
    producers_request,
    quotas_request,
    share_acknowledge_request,
    share_fetch_request,
    share_offsets_request,
    state_request,
    transactional_batch,
    txn_offset_commit_request,
    txn_share_acknowledge_request,
)
from tests.support.clients.administration import RIGHT_CASES, alter_replica_log_dirs_request


def _names_no_transaction(response: Message) -> bool:
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


def redrive_request(**fields: Any) -> start_redrive.StartRedriveRequest:
    return start_redrive.StartRedriveRequest("again", TOPIC, **fields)


def describe_redrives_request(world: Access) -> Message:
    world.as_admin(Case(ApiKey.START_REDRIVE, 0, _always(redrive_request()), ()))
    return describe_redrives.DescribeRedrivesRequest(None)


def _names_no_redrive(response: Message) -> bool:
    return not response.redrives  # type: ignore[attr-defined]


_GROUP_READERS: Final = (
    (ApiKey.SYNC_GROUP, 3, lambda _: sync_group.SyncGroupRequest("classic", 1, "m")),
    (ApiKey.HEARTBEAT, 4, lambda _: heartbeat.HeartbeatRequest("classic", 1, "m")),
    (ApiKey.LEAVE_GROUP, 2, lambda _: leave_group.LeaveGroupRequest("classic", "m")),
    (
        ApiKey.LEAVE_GROUP,
        5,
        lambda _: leave_group.LeaveGroupRequest("classic", members=[leave_group.MemberIdentity("m")]),
    ),
    (ApiKey.JOIN_GROUP, 4, join_request),
    (ApiKey.JOIN_GROUP, 9, join_request),
)
_STATE_REQUESTS: Final = (
    (
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        state_request(initialize_share_group_state, "InitializeStateData", "InitializeShareGroupStateRequest", 0, 9, 0),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE,
        state_request(read_share_group_state, "ReadStateData", "ReadShareGroupStateRequest", 0, 0),
    ),
    (
        ApiKey.WRITE_SHARE_GROUP_STATE,
        state_request(write_share_group_state, "WriteStateData", "WriteShareGroupStateRequest", 0, 9, 0, 0, 0),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        state_request(
            read_share_group_state_summary, "ReadStateSummaryData", "ReadShareGroupStateSummaryRequest", 0, 0
        ),
    ),
    (
        ApiKey.DELETE_SHARE_GROUP_STATE,
        state_request(delete_share_group_state, "DeleteStateData", "DeleteShareGroupStateRequest", 0),
    ),
)
CASES: Final = (
    Case(ApiKey.PRODUCE, 9, lambda _: produce_request(batch(b"x"), topic=TOPIC), (r.WRITE_TOPIC,)),
    Case(ApiKey.PRODUCE, 13, lambda w: produce_request(batch(b"x"), topic_id=w.topic_id), (r.WRITE_TOPIC,)),
    Case(ApiKey.FETCH, 12, lambda _: fetch_request(TOPIC), (r.READ_TOPIC,)),
    Case(ApiKey.FETCH, 18, lambda w: fetch_request(topic_id=w.topic_id), (r.READ_TOPIC,)),
    Case(ApiKey.LIST_OFFSETS, 7, list_offsets_request, (r.DESCRIBE_TOPIC,)),
    Case(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epochs_request, (r.DESCRIBE_TOPIC,)),
    Case(
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        4,
        epochs_request,
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
    Case(ApiKey.FIND_COORDINATOR, 3, find_request(3, 0, GROUP), (r.DESCRIBE_GROUP,)),
    Case(ApiKey.FIND_COORDINATOR, 6, find_request(6, 0, GROUP), (r.DESCRIBE_GROUP,)),
    Case(ApiKey.FIND_COORDINATOR, 3, find_request(3, 1, PRODUCER), (r.DESCRIBE_TRANSACTION,)),
    Case(ApiKey.FIND_COORDINATOR, 6, find_request(6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0"), (r.CLUSTER_ACTION,)),
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
            (9, lambda w: offset_commit_request(w, name=TOPIC)),
            (10, lambda w: offset_commit_request(w, topic_id=w.topic_id)),
        )
    ),
    *(
        Case(ApiKey.OFFSET_FETCH, version, request, (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC), group="classic")
        for version, request in (
            (1, offset_fetch_old_request),
            (2, offset_fetch_old_request),
            (7, offset_fetch_old_request),
            (9, lambda w: offset_fetch_request(w, name=TOPIC)),
            (10, lambda w: offset_fetch_request(w, topic_id=w.topic_id)),
        )
    ),
    Case(ApiKey.OFFSET_DELETE, 0, offset_delete_request, (r.DELETE_GROUP, r.READ_TOPIC), group="classic"),
    Case(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        consumer_heartbeat_request,
        (r.READ_GROUP, r.DESCRIBE_TOPIC),
        group="consumer",
    ),
    Case(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        1,
        consumer_group_request,
        (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC),
        group="consumer",
    ),
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
    *(Case(ApiKey.SHARE_FETCH, version, share_fetch_request, (r.READ_GROUP, r.READ_TOPIC)) for version in (1, 2)),
    *(
        Case(ApiKey.SHARE_ACKNOWLEDGE, version, share_acknowledge_request, (r.READ_GROUP, r.READ_TOPIC))
        for version in (1, 2)
    ),
    Case(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, share_offsets_request, (r.DESCRIBE_GROUP, r.DESCRIBE_TOPIC)),
    Case(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, alter_share_offsets_request, (r.READ_GROUP, r.READ_TOPIC), group="other"),
    Case(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        0,
        delete_share_offsets_request,
        (r.DELETE_GROUP, r.READ_TOPIC),
        group="other",
    ),
    *(Case(key, 0, request, (r.CLUSTER_ACTION,)) for key, request in _STATE_REQUESTS),
    Case(ApiKey.INIT_PRODUCER_ID, 4, lambda _: init_producer_id.InitProducerIdRequest(None), (r.IDEMPOTENT_WRITE,)),
    Case(
        ApiKey.INIT_PRODUCER_ID,
        4,
        lambda _: init_producer_id.InitProducerIdRequest(PRODUCER, 10_000),
        (r.WRITE_TRANSACTION,),
    ),
    *(
        Case(ApiKey.ADD_PARTITIONS_TO_TXN, version, add_partitions_request, (r.WRITE_TRANSACTION, r.WRITE_TOPIC))
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
    *(
        Case(
            ApiKey.TXN_OFFSET_COMMIT,
            version,
            txn_offset_commit_request,
            (r.WRITE_TRANSACTION, r.READ_GROUP, r.READ_TOPIC),
            group="classic",
        )
        for version in (3, 6)
    ),
    *(
        Case(ApiKey.END_TXN, version, lambda _: end_txn.EndTxnRequest(PRODUCER, 1, 0, True), (r.WRITE_TRANSACTION,))
        for version in (1, 5)
    ),
    Case(ApiKey.WRITE_TXN_MARKERS, 2, markers_request, (r.CLUSTER_ACTION,)),
    Case(
        ApiKey.WRITE_TXN_MARKERS, 2, markers_request, (r.ALTER_CLUSTER,), error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    ),
    Case(ApiKey.DESCRIBE_PRODUCERS, 0, producers_request, (r.READ_TOPIC,)),
    Case(ApiKey.DESCRIBE_TRANSACTIONS, 0, describe_transaction_request, (r.DESCRIBE_TRANSACTION,)),
    Case(ApiKey.LIST_TRANSACTIONS, 2, list_transactions_request, (r.DESCRIBE_TRANSACTION,), _names_no_transaction),
    Case(
        ApiKey.PRODUCE,
        9,
        lambda _: produce_request(transactional_batch(), topic=TOPIC, transactional_id=PRODUCER),
        (r.WRITE_TRANSACTION, r.WRITE_TOPIC),
    ),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, configs_request(2, TOPIC), (r.DESCRIBE_TOPIC_CONFIGS,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, configs_request(32, GROUP), (r.DESCRIBE_GROUP_CONFIGS,)),
    Case(ApiKey.DESCRIBE_CONFIGS, 4, configs_request(4, "1"), (r.DESCRIBE_CLUSTER_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter_request(2, TOPIC), (r.ALTER_TOPIC_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter_request(32, GROUP), (r.ALTER_GROUP_CONFIGS,)),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter_request(4, "1"), (r.ALTER_CLUSTER_CONFIGS,)),
    Case(
        ApiKey.DESCRIBE_CLUSTER,
        2,
        lambda _: describe_cluster.DescribeClusterRequest(True, 1),
        (r.DESCRIBE_CLUSTER,),
        _cluster_bits,
    ),
    Case(ApiKey.CREATE_ACLS, 3, create_acls_request, (r.ALTER_CLUSTER,)),
    Case(ApiKey.DELETE_ACLS, 3, delete_acls_request, (r.ALTER_CLUSTER,)),
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
    Case(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, quotas_request, (r.DESCRIBE_CLUSTER_CONFIGS,)),
    Case(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        0,
        lambda _: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(None),
        (r.DESCRIBE_CLUSTER,),
    ),
    Case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, alter_scram_request, (r.ALTER_CLUSTER,)),
    Case(
        ApiKey.TXN_SHARE_ACKNOWLEDGE,
        0,
        txn_share_acknowledge_request,
        (r.WRITE_TRANSACTION, r.READ_GROUP, r.READ_TOPIC),
    ),
    Case(ApiKey.START_REDRIVE, 0, _always(redrive_request(source_topic=TOPIC)), (r.READ_TOPIC, r.WRITE_TOPIC)),
    Case(ApiKey.START_REDRIVE, 0, _always(redrive_request(group_id=GROUP, target=1)), (r.READ_TOPIC, r.READ_GROUP)),
    Case(ApiKey.DESCRIBE_REDRIVES, 0, describe_redrives_request, (r.DESCRIBE_TOPIC,), _names_no_redrive),
    Case(ApiKey.CANCEL_REDRIVE, 0, _always(cancel_redrive.CancelRedriveRequest("unknown")), (r.ALTER_CLUSTER,)),
    Case(
        ApiKey.MOVE_USER_SCRAM_CREDENTIALS,
        0,
        _always(move_user_scram_credentials.MoveUserScramCredentialsRequest(None)),
        (r.ALTER_CLUSTER,),
    ),
    *(Case(key, version, _always(request), (right,)) for key, version, request, right in RIGHT_CASES),
)
