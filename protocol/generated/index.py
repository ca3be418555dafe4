"""Every API and message: key, module, classes, versions.

Generated from schemas (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from enum import IntEnum


class ApiKey(IntEnum):
    """The requests that have versions, by Kafka's names."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94
    START_REDRIVE = 29553
    DESCRIBE_REDRIVES = 29554
    CANCEL_REDRIVE = 29555


# key: (module, name, lowest version, highest, first flexible, highest is unstable, listeners)
APIS: dict[int, tuple[str, str, int, int, int, bool, tuple[str, ...]]] = {
    0: ("produce", "Produce", 3, 13, 9, False, ("broker",)),
    1: ("fetch", "Fetch", 4, 18, 12, False, ("broker", "controller")),
    2: ("list_offsets", "ListOffsets", 1, 11, 6, False, ("broker",)),
    3: ("metadata", "Metadata", 0, 13, 9, False, ("broker",)),
    8: ("offset_commit", "OffsetCommit", 2, 10, 8, False, ("broker",)),
    9: ("offset_fetch", "OffsetFetch", 1, 10, 6, False, ("broker",)),
    10: ("find_coordinator", "FindCoordinator", 0, 6, 3, False, ("broker",)),
    11: ("join_group", "JoinGroup", 0, 9, 6, False, ("broker",)),
    12: ("heartbeat", "Heartbeat", 0, 4, 4, False, ("broker",)),
    13: ("leave_group", "LeaveGroup", 0, 5, 4, False, ("broker",)),
    14: ("sync_group", "SyncGroup", 0, 5, 4, False, ("broker",)),
    15: ("describe_groups", "DescribeGroups", 0, 6, 5, False, ("broker",)),
    16: ("list_groups", "ListGroups", 0, 5, 3, False, ("broker",)),
    17: ("sasl_handshake", "SaslHandshake", 0, 1, 32768, False, ("broker", "controller")),
    18: ("api_versions", "ApiVersions", 0, 5, 3, False, ("broker", "controller")),
    19: ("create_topics", "CreateTopics", 2, 7, 5, False, ("broker", "controller")),
    20: ("delete_topics", "DeleteTopics", 1, 6, 4, False, ("broker", "controller")),
    21: ("delete_records", "DeleteRecords", 0, 2, 2, False, ("broker",)),
    22: ("init_producer_id", "InitProducerId", 0, 6, 2, True, ("broker",)),
    23: ("offset_for_leader_epoch", "OffsetForLeaderEpoch", 2, 4, 4, False, ("broker",)),
    24: ("add_partitions_to_txn", "AddPartitionsToTxn", 0, 5, 3, False, ("broker",)),
    25: ("add_offsets_to_txn", "AddOffsetsToTxn", 0, 4, 3, False, ("broker",)),
    26: ("end_txn", "EndTxn", 0, 5, 3, False, ("broker",)),
    27: ("write_txn_markers", "WriteTxnMarkers", 1, 2, 1, False, ("broker",)),
    28: ("txn_offset_commit", "TxnOffsetCommit", 0, 6, 3, False, ("broker",)),
    29: ("describe_acls", "DescribeAcls", 1, 3, 2, False, ("broker", "controller")),
    30: ("create_acls", "CreateAcls", 1, 3, 2, False, ("broker", "controller")),
    31: ("delete_acls", "DeleteAcls", 1, 3, 2, False, ("broker", "controller")),
    32: ("describe_configs", "DescribeConfigs", 1, 4, 4, False, ("broker", "controller")),
    33: ("alter_configs", "AlterConfigs", 0, 2, 2, False, ("broker", "controller")),
    34: ("alter_replica_log_dirs", "AlterReplicaLogDirs", 1, 2, 2, False, ("broker",)),
    35: ("describe_log_dirs", "DescribeLogDirs", 1, 5, 2, False, ("broker",)),
    36: ("sasl_authenticate", "SaslAuthenticate", 0, 2, 2, False, ("broker", "controller")),
    37: ("create_partitions", "CreatePartitions", 0, 3, 2, False, ("broker", "controller")),
    38: ("create_delegation_token", "CreateDelegationToken", 1, 3, 2, False, ("broker", "controller")),
    39: ("renew_delegation_token", "RenewDelegationToken", 1, 2, 2, False, ("broker", "controller")),
    40: ("expire_delegation_token", "ExpireDelegationToken", 1, 2, 2, False, ("broker", "controller")),
    41: ("describe_delegation_token", "DescribeDelegationToken", 1, 3, 2, False, ("broker", "controller")),
    42: ("delete_groups", "DeleteGroups", 0, 3, 2, False, ("broker",)),
    43: ("elect_leaders", "ElectLeaders", 0, 2, 2, False, ("broker", "controller")),
    44: ("incremental_alter_configs", "IncrementalAlterConfigs", 0, 1, 1, False, ("broker", "controller")),
    45: ("alter_partition_reassignments", "AlterPartitionReassignments", 0, 1, 0, False, ("broker", "controller")),
    46: ("list_partition_reassignments", "ListPartitionReassignments", 0, 0, 0, False, ("broker", "controller")),
    47: ("offset_delete", "OffsetDelete", 0, 0, 32768, False, ("broker",)),
    48: ("describe_client_quotas", "DescribeClientQuotas", 0, 1, 1, False, ("broker",)),
    49: ("alter_client_quotas", "AlterClientQuotas", 0, 1, 1, False, ("broker", "controller")),
    50: ("describe_user_scram_credentials", "DescribeUserScramCredentials", 0, 0, 0, False, ("broker", "controller")),
    51: ("alter_user_scram_credentials", "AlterUserScramCredentials", 0, 0, 0, False, ("broker", "controller")),
    52: ("vote", "Vote", 0, 2, 0, False, ("controller",)),
    53: ("begin_quorum_epoch", "BeginQuorumEpoch", 0, 1, 1, False, ("controller",)),
    54: ("end_quorum_epoch", "EndQuorumEpoch", 0, 1, 1, False, ("controller",)),
    55: ("describe_quorum", "DescribeQuorum", 0, 2, 0, False, ("broker", "controller")),
    56: ("alter_partition", "AlterPartition", 2, 3, 0, False, ("controller",)),
    57: ("update_features", "UpdateFeatures", 0, 2, 0, False, ("broker", "controller")),
    58: ("envelope", "Envelope", 0, 0, 0, False, ("controller",)),
    59: ("fetch_snapshot", "FetchSnapshot", 0, 1, 0, False, ("controller",)),
    60: ("describe_cluster", "DescribeCluster", 0, 2, 0, False, ("broker", "controller")),
    61: ("describe_producers", "DescribeProducers", 0, 0, 0, False, ("broker",)),
    62: ("broker_registration", "BrokerRegistration", 0, 4, 0, False, ("controller",)),
    63: ("broker_heartbeat", "BrokerHeartbeat", 0, 2, 0, False, ("controller",)),
    64: ("unregister_broker", "UnregisterBroker", 0, 0, 0, False, ("broker", "controller")),
    65: ("describe_transactions", "DescribeTransactions", 0, 0, 0, False, ("broker",)),
    66: ("list_transactions", "ListTransactions", 0, 2, 0, False, ("broker",)),
    67: ("allocate_producer_ids", "AllocateProducerIds", 0, 0, 0, False, ("controller",)),
    68: ("consumer_group_heartbeat", "ConsumerGroupHeartbeat", 0, 1, 0, False, ("broker",)),
    69: ("consumer_group_describe", "ConsumerGroupDescribe", 0, 1, 0, False, ("broker",)),
    70: ("controller_registration", "ControllerRegistration", 0, 0, 0, False, ("controller",)),
    71: ("get_telemetry_subscriptions", "GetTelemetrySubscriptions", 0, 0, 0, False, ("broker",)),
    72: ("push_telemetry", "PushTelemetry", 0, 0, 0, False, ("broker",)),
    73: ("assign_replicas_to_dirs", "AssignReplicasToDirs", 0, 0, 0, False, ("controller",)),
    74: ("list_config_resources", "ListConfigResources", 0, 1, 0, False, ("broker",)),
    75: ("describe_topic_partitions", "DescribeTopicPartitions", 0, 0, 0, False, ("broker",)),
    76: ("share_group_heartbeat", "ShareGroupHeartbeat", 1, 1, 0, False, ("broker",)),
    77: ("share_group_describe", "ShareGroupDescribe", 1, 1, 0, False, ("broker",)),
    78: ("share_fetch", "ShareFetch", 1, 2, 0, False, ("broker",)),
    79: ("share_acknowledge", "ShareAcknowledge", 1, 2, 0, False, ("broker",)),
    80: ("add_raft_voter", "AddRaftVoter", 0, 1, 0, False, ("controller", "broker")),
    81: ("remove_raft_voter", "RemoveRaftVoter", 0, 0, 0, False, ("controller", "broker")),
    82: ("update_raft_voter", "UpdateRaftVoter", 0, 0, 0, False, ("controller",)),
    83: ("initialize_share_group_state", "InitializeShareGroupState", 0, 0, 0, False, ("broker",)),
    84: ("read_share_group_state", "ReadShareGroupState", 0, 0, 0, False, ("broker",)),
    85: ("write_share_group_state", "WriteShareGroupState", 0, 1, 0, False, ("broker",)),
    86: ("delete_share_group_state", "DeleteShareGroupState", 0, 0, 0, False, ("broker",)),
    87: ("read_share_group_state_summary", "ReadShareGroupStateSummary", 0, 1, 0, False, ("broker",)),
    88: ("streams_group_heartbeat", "StreamsGroupHeartbeat", 0, 1, 0, False, ("broker",)),
    89: ("streams_group_describe", "StreamsGroupDescribe", 0, 1, 0, False, ("broker",)),
    90: ("describe_share_group_offsets", "DescribeShareGroupOffsets", 0, 1, 0, False, ("broker",)),
    91: ("alter_share_group_offsets", "AlterShareGroupOffsets", 0, 0, 0, False, ("broker",)),
    92: ("delete_share_group_offsets", "DeleteShareGroupOffsets", 0, 0, 0, False, ("broker",)),
    93: (
        "streams_group_topology_description_update",
        "StreamsGroupTopologyDescriptionUpdate",
        0,
        0,
        0,
        False,
        ("broker",),
    ),
    94: ("unregister_controller", "UnregisterController", 0, 0, 0, False, ("broker", "controller")),
    29553: ("start_redrive", "StartRedrive", 0, 0, 0, False, ("broker",)),
    29554: ("describe_redrives", "DescribeRedrives", 0, 0, 0, False, ("broker",)),
    29555: ("cancel_redrive", "CancelRedrive", 0, 0, 0, False, ("broker",)),
}

# message: (module, kind)
MESSAGES: dict[str, tuple[str, str]] = {
    "AddOffsetsToTxnRequest": ("add_offsets_to_txn", "request"),
    "AddOffsetsToTxnResponse": ("add_offsets_to_txn", "response"),
    "AddPartitionsToTxnRequest": ("add_partitions_to_txn", "request"),
    "AddPartitionsToTxnResponse": ("add_partitions_to_txn", "response"),
    "AddRaftVoterRequest": ("add_raft_voter", "request"),
    "AddRaftVoterResponse": ("add_raft_voter", "response"),
    "AllocateProducerIdsRequest": ("allocate_producer_ids", "request"),
    "AllocateProducerIdsResponse": ("allocate_producer_ids", "response"),
    "AlterClientQuotasRequest": ("alter_client_quotas", "request"),
    "AlterClientQuotasResponse": ("alter_client_quotas", "response"),
    "AlterConfigsRequest": ("alter_configs", "request"),
    "AlterConfigsResponse": ("alter_configs", "response"),
    "AlterPartitionReassignmentsRequest": ("alter_partition_reassignments", "request"),
    "AlterPartitionReassignmentsResponse": ("alter_partition_reassignments", "response"),
    "AlterPartitionRequest": ("alter_partition", "request"),
    "AlterPartitionResponse": ("alter_partition", "response"),
    "AlterReplicaLogDirsRequest": ("alter_replica_log_dirs", "request"),
    "AlterReplicaLogDirsResponse": ("alter_replica_log_dirs", "response"),
    "AlterShareGroupOffsetsRequest": ("alter_share_group_offsets", "request"),
    "AlterShareGroupOffsetsResponse": ("alter_share_group_offsets", "response"),
    "AlterUserScramCredentialsRequest": ("alter_user_scram_credentials", "request"),
    "AlterUserScramCredentialsResponse": ("alter_user_scram_credentials", "response"),
    "ApiVersionsRequest": ("api_versions", "request"),
    "ApiVersionsResponse": ("api_versions", "response"),
    "AssignReplicasToDirsRequest": ("assign_replicas_to_dirs", "request"),
    "AssignReplicasToDirsResponse": ("assign_replicas_to_dirs", "response"),
    "BeginQuorumEpochRequest": ("begin_quorum_epoch", "request"),
    "BeginQuorumEpochResponse": ("begin_quorum_epoch", "response"),
    "BrokerHeartbeatRequest": ("broker_heartbeat", "request"),
    "BrokerHeartbeatResponse": ("broker_heartbeat", "response"),
    "BrokerRegistrationRequest": ("broker_registration", "request"),
    "BrokerRegistrationResponse": ("broker_registration", "response"),
    "CancelRedriveRequest": ("cancel_redrive", "request"),
    "CancelRedriveResponse": ("cancel_redrive", "response"),
    "ConsumerGroupCurrentMemberAssignmentKey": ("consumer_group_current_member_assignment", "coordinator-key"),
    "ConsumerGroupCurrentMemberAssignmentValue": ("consumer_group_current_member_assignment", "coordinator-value"),
    "ConsumerGroupDescribeRequest": ("consumer_group_describe", "request"),
    "ConsumerGroupDescribeResponse": ("consumer_group_describe", "response"),
    "ConsumerGroupHeartbeatRequest": ("consumer_group_heartbeat", "request"),
    "ConsumerGroupHeartbeatResponse": ("consumer_group_heartbeat", "response"),
    "ConsumerGroupMemberMetadataKey": ("consumer_group_member_metadata", "coordinator-key"),
    "ConsumerGroupMemberMetadataValue": ("consumer_group_member_metadata", "coordinator-value"),
    "ConsumerGroupMetadataKey": ("consumer_group_metadata", "coordinator-key"),
    "ConsumerGroupMetadataValue": ("consumer_group_metadata", "coordinator-value"),
    "ConsumerGroupPartitionMetadataKey": ("consumer_group_partition_metadata", "coordinator-key"),
    "ConsumerGroupPartitionMetadataValue": ("consumer_group_partition_metadata", "coordinator-value"),
    "ConsumerGroupRegularExpressionKey": ("consumer_group_regular_expression", "coordinator-key"),
    "ConsumerGroupRegularExpressionValue": ("consumer_group_regular_expression", "coordinator-value"),
    "ConsumerGroupTargetAssignmentMemberKey": ("consumer_group_target_assignment_member", "coordinator-key"),
    "ConsumerGroupTargetAssignmentMemberValue": ("consumer_group_target_assignment_member", "coordinator-value"),
    "ConsumerGroupTargetAssignmentMetadataKey": ("consumer_group_target_assignment_metadata", "coordinator-key"),
    "ConsumerGroupTargetAssignmentMetadataValue": ("consumer_group_target_assignment_metadata", "coordinator-value"),
    "ConsumerProtocolAssignment": ("consumer_protocol_assignment", "data"),
    "ConsumerProtocolSubscription": ("consumer_protocol_subscription", "data"),
    "ControlRecordTypeSchema": ("control_record_type_schema", "data"),
    "ControllerRegistrationRequest": ("controller_registration", "request"),
    "ControllerRegistrationResponse": ("controller_registration", "response"),
    "CreateAclsRequest": ("create_acls", "request"),
    "CreateAclsResponse": ("create_acls", "response"),
    "CreateDelegationTokenRequest": ("create_delegation_token", "request"),
    "CreateDelegationTokenResponse": ("create_delegation_token", "response"),
    "CreatePartitionsRequest": ("create_partitions", "request"),
    "CreatePartitionsResponse": ("create_partitions", "response"),
    "CreateTopicsRequest": ("create_topics", "request"),
    "CreateTopicsResponse": ("create_topics", "response"),
    "DefaultPrincipalData": ("default_principal_data", "data"),
    "DeleteAclsRequest": ("delete_acls", "request"),
    "DeleteAclsResponse": ("delete_acls", "response"),
    "DeleteGroupsRequest": ("delete_groups", "request"),
    "DeleteGroupsResponse": ("delete_groups", "response"),
    "DeleteRecordsRequest": ("delete_records", "request"),
    "DeleteRecordsResponse": ("delete_records", "response"),
    "DeleteShareGroupOffsetsRequest": ("delete_share_group_offsets", "request"),
    "DeleteShareGroupOffsetsResponse": ("delete_share_group_offsets", "response"),
    "DeleteShareGroupStateRequest": ("delete_share_group_state", "request"),
    "DeleteShareGroupStateResponse": ("delete_share_group_state", "response"),
    "DeleteTopicsRequest": ("delete_topics", "request"),
    "DeleteTopicsResponse": ("delete_topics", "response"),
    "DescribeAclsRequest": ("describe_acls", "request"),
    "DescribeAclsResponse": ("describe_acls", "response"),
    "DescribeClientQuotasRequest": ("describe_client_quotas", "request"),
    "DescribeClientQuotasResponse": ("describe_client_quotas", "response"),
    "DescribeClusterRequest": ("describe_cluster", "request"),
    "DescribeClusterResponse": ("describe_cluster", "response"),
    "DescribeConfigsRequest": ("describe_configs", "request"),
    "DescribeConfigsResponse": ("describe_configs", "response"),
    "DescribeDelegationTokenRequest": ("describe_delegation_token", "request"),
    "DescribeDelegationTokenResponse": ("describe_delegation_token", "response"),
    "DescribeGroupsRequest": ("describe_groups", "request"),
    "DescribeGroupsResponse": ("describe_groups", "response"),
    "DescribeLogDirsRequest": ("describe_log_dirs", "request"),
    "DescribeLogDirsResponse": ("describe_log_dirs", "response"),
    "DescribeProducersRequest": ("describe_producers", "request"),
    "DescribeProducersResponse": ("describe_producers", "response"),
    "DescribeQuorumRequest": ("describe_quorum", "request"),
    "DescribeQuorumResponse": ("describe_quorum", "response"),
    "DescribeRedrivesRequest": ("describe_redrives", "request"),
    "DescribeRedrivesResponse": ("describe_redrives", "response"),
    "DescribeShareGroupOffsetsRequest": ("describe_share_group_offsets", "request"),
    "DescribeShareGroupOffsetsResponse": ("describe_share_group_offsets", "response"),
    "DescribeTopicPartitionsRequest": ("describe_topic_partitions", "request"),
    "DescribeTopicPartitionsResponse": ("describe_topic_partitions", "response"),
    "DescribeTransactionsRequest": ("describe_transactions", "request"),
    "DescribeTransactionsResponse": ("describe_transactions", "response"),
    "DescribeUserScramCredentialsRequest": ("describe_user_scram_credentials", "request"),
    "DescribeUserScramCredentialsResponse": ("describe_user_scram_credentials", "response"),
    "ElectLeadersRequest": ("elect_leaders", "request"),
    "ElectLeadersResponse": ("elect_leaders", "response"),
    "EndQuorumEpochRequest": ("end_quorum_epoch", "request"),
    "EndQuorumEpochResponse": ("end_quorum_epoch", "response"),
    "EndTxnMarker": ("end_txn_marker", "data"),
    "EndTxnRequest": ("end_txn", "request"),
    "EndTxnResponse": ("end_txn", "response"),
    "EnvelopeRequest": ("envelope", "request"),
    "EnvelopeResponse": ("envelope", "response"),
    "ExpireDelegationTokenRequest": ("expire_delegation_token", "request"),
    "ExpireDelegationTokenResponse": ("expire_delegation_token", "response"),
    "FetchRequest": ("fetch", "request"),
    "FetchResponse": ("fetch", "response"),
    "FetchSnapshotRequest": ("fetch_snapshot", "request"),
    "FetchSnapshotResponse": ("fetch_snapshot", "response"),
    "FindCoordinatorRequest": ("find_coordinator", "request"),
    "FindCoordinatorResponse": ("find_coordinator", "response"),
    "GetTelemetrySubscriptionsRequest": ("get_telemetry_subscriptions", "request"),
    "GetTelemetrySubscriptionsResponse": ("get_telemetry_subscriptions", "response"),
    "GroupMetadataKey": ("group_metadata", "coordinator-key"),
    "GroupMetadataValue": ("group_metadata", "coordinator-value"),
    "HeartbeatRequest": ("heartbeat", "request"),
    "HeartbeatResponse": ("heartbeat", "response"),
    "IncrementalAlterConfigsRequest": ("incremental_alter_configs", "request"),
    "IncrementalAlterConfigsResponse": ("incremental_alter_configs", "response"),
    "InitProducerIdRequest": ("init_producer_id", "request"),
    "InitProducerIdResponse": ("init_producer_id", "response"),
    "InitializeShareGroupStateRequest": ("initialize_share_group_state", "request"),
    "InitializeShareGroupStateResponse": ("initialize_share_group_state", "response"),
    "JoinGroupRequest": ("join_group", "request"),
    "JoinGroupResponse": ("join_group", "response"),
    "KRaftVersionRecord": ("kraft_version_record", "data"),
    "LeaderChangeMessage": ("leader_change_message", "data"),
    "LeaveGroupRequest": ("leave_group", "request"),
    "LeaveGroupResponse": ("leave_group", "response"),
    "LegacyOffsetCommitKey": ("legacy_offset_commit", "coordinator-key"),
    "LegacyOffsetCommitValue": ("legacy_offset_commit", "coordinator-value"),
    "ListConfigResourcesRequest": ("list_config_resources", "request"),
    "ListConfigResourcesResponse": ("list_config_resources", "response"),
    "ListGroupsRequest": ("list_groups", "request"),
    "ListGroupsResponse": ("list_groups", "response"),
    "ListOffsetsRequest": ("list_offsets", "request"),
    "ListOffsetsResponse": ("list_offsets", "response"),
    "ListPartitionReassignmentsRequest": ("list_partition_reassignments", "request"),
    "ListPartitionReassignmentsResponse": ("list_partition_reassignments", "response"),
    "ListTransactionsRequest": ("list_transactions", "request"),
    "ListTransactionsResponse": ("list_transactions", "response"),
    "MetadataRequest": ("metadata", "request"),
    "MetadataResponse": ("metadata", "response"),
    "OffsetCommitKey": ("offset_commit", "coordinator-key"),
    "OffsetCommitRequest": ("offset_commit", "request"),
    "OffsetCommitResponse": ("offset_commit", "response"),
    "OffsetCommitValue": ("offset_commit", "coordinator-value"),
    "OffsetDeleteRequest": ("offset_delete", "request"),
    "OffsetDeleteResponse": ("offset_delete", "response"),
    "OffsetFetchRequest": ("offset_fetch", "request"),
    "OffsetFetchResponse": ("offset_fetch", "response"),
    "OffsetForLeaderEpochRequest": ("offset_for_leader_epoch", "request"),
    "OffsetForLeaderEpochResponse": ("offset_for_leader_epoch", "response"),
    "ProduceRequest": ("produce", "request"),
    "ProduceResponse": ("produce", "response"),
    "PushTelemetryRequest": ("push_telemetry", "request"),
    "PushTelemetryResponse": ("push_telemetry", "response"),
    "ReadShareGroupStateRequest": ("read_share_group_state", "request"),
    "ReadShareGroupStateResponse": ("read_share_group_state", "response"),
    "ReadShareGroupStateSummaryRequest": ("read_share_group_state_summary", "request"),
    "ReadShareGroupStateSummaryResponse": ("read_share_group_state_summary", "response"),
    "RemoveRaftVoterRequest": ("remove_raft_voter", "request"),
    "RemoveRaftVoterResponse": ("remove_raft_voter", "response"),
    "RenewDelegationTokenRequest": ("renew_delegation_token", "request"),
    "RenewDelegationTokenResponse": ("renew_delegation_token", "response"),
    "RequestHeader": ("request_header", "header"),
    "ResponseHeader": ("response_header", "header"),
    "SaslAuthenticateRequest": ("sasl_authenticate", "request"),
    "SaslAuthenticateResponse": ("sasl_authenticate", "response"),
    "SaslHandshakeRequest": ("sasl_handshake", "request"),
    "SaslHandshakeResponse": ("sasl_handshake", "response"),
    "ShareAcknowledgeRequest": ("share_acknowledge", "request"),
    "ShareAcknowledgeResponse": ("share_acknowledge", "response"),
    "ShareFetchRequest": ("share_fetch", "request"),
    "ShareFetchResponse": ("share_fetch", "response"),
    "ShareGroupCurrentMemberAssignmentKey": ("share_group_current_member_assignment", "coordinator-key"),
    "ShareGroupCurrentMemberAssignmentValue": ("share_group_current_member_assignment", "coordinator-value"),
    "ShareGroupDescribeRequest": ("share_group_describe", "request"),
    "ShareGroupDescribeResponse": ("share_group_describe", "response"),
    "ShareGroupHeartbeatRequest": ("share_group_heartbeat", "request"),
    "ShareGroupHeartbeatResponse": ("share_group_heartbeat", "response"),
    "ShareGroupMemberMetadataKey": ("share_group_member_metadata", "coordinator-key"),
    "ShareGroupMemberMetadataValue": ("share_group_member_metadata", "coordinator-value"),
    "ShareGroupMetadataKey": ("share_group_metadata", "coordinator-key"),
    "ShareGroupMetadataValue": ("share_group_metadata", "coordinator-value"),
    "ShareGroupStatePartitionMetadataKey": ("share_group_state_partition_metadata", "coordinator-key"),
    "ShareGroupStatePartitionMetadataValue": ("share_group_state_partition_metadata", "coordinator-value"),
    "ShareGroupTargetAssignmentMemberKey": ("share_group_target_assignment_member", "coordinator-key"),
    "ShareGroupTargetAssignmentMemberValue": ("share_group_target_assignment_member", "coordinator-value"),
    "ShareGroupTargetAssignmentMetadataKey": ("share_group_target_assignment_metadata", "coordinator-key"),
    "ShareGroupTargetAssignmentMetadataValue": ("share_group_target_assignment_metadata", "coordinator-value"),
    "ShareSnapshotKey": ("share_snapshot", "coordinator-key"),
    "ShareSnapshotValue": ("share_snapshot", "coordinator-value"),
    "ShareUpdateKey": ("share_update", "coordinator-key"),
    "ShareUpdateValue": ("share_update", "coordinator-value"),
    "SnapshotFooterRecord": ("snapshot_footer_record", "data"),
    "SnapshotHeaderRecord": ("snapshot_header_record", "data"),
    "StartRedriveRequest": ("start_redrive", "request"),
    "StartRedriveResponse": ("start_redrive", "response"),
    "StreamsGroupCurrentMemberAssignmentKey": ("streams_group_current_member_assignment", "coordinator-key"),
    "StreamsGroupCurrentMemberAssignmentValue": ("streams_group_current_member_assignment", "coordinator-value"),
    "StreamsGroupDescribeRequest": ("streams_group_describe", "request"),
    "StreamsGroupDescribeResponse": ("streams_group_describe", "response"),
    "StreamsGroupHeartbeatRequest": ("streams_group_heartbeat", "request"),
    "StreamsGroupHeartbeatResponse": ("streams_group_heartbeat", "response"),
    "StreamsGroupMemberMetadataKey": ("streams_group_member_metadata", "coordinator-key"),
    "StreamsGroupMemberMetadataValue": ("streams_group_member_metadata", "coordinator-value"),
    "StreamsGroupMetadataKey": ("streams_group_metadata", "coordinator-key"),
    "StreamsGroupMetadataValue": ("streams_group_metadata", "coordinator-value"),
    "StreamsGroupTargetAssignmentMemberKey": ("streams_group_target_assignment_member", "coordinator-key"),
    "StreamsGroupTargetAssignmentMemberValue": ("streams_group_target_assignment_member", "coordinator-value"),
    "StreamsGroupTargetAssignmentMetadataKey": ("streams_group_target_assignment_metadata", "coordinator-key"),
    "StreamsGroupTargetAssignmentMetadataValue": ("streams_group_target_assignment_metadata", "coordinator-value"),
    "StreamsGroupTopologyDescriptionUpdateRequest": ("streams_group_topology_description_update", "request"),
    "StreamsGroupTopologyDescriptionUpdateResponse": ("streams_group_topology_description_update", "response"),
    "StreamsGroupTopologyKey": ("streams_group_topology", "coordinator-key"),
    "StreamsGroupTopologyValue": ("streams_group_topology", "coordinator-value"),
    "SyncGroupRequest": ("sync_group", "request"),
    "SyncGroupResponse": ("sync_group", "response"),
    "TransactionLogKey": ("transaction_log", "coordinator-key"),
    "TransactionLogValue": ("transaction_log", "coordinator-value"),
    "TxnOffsetCommitRequest": ("txn_offset_commit", "request"),
    "TxnOffsetCommitResponse": ("txn_offset_commit", "response"),
    "UnregisterBrokerRequest": ("unregister_broker", "request"),
    "UnregisterBrokerResponse": ("unregister_broker", "response"),
    "UnregisterControllerRequest": ("unregister_controller", "request"),
    "UnregisterControllerResponse": ("unregister_controller", "response"),
    "UpdateFeaturesRequest": ("update_features", "request"),
    "UpdateFeaturesResponse": ("update_features", "response"),
    "UpdateRaftVoterRequest": ("update_raft_voter", "request"),
    "UpdateRaftVoterResponse": ("update_raft_voter", "response"),
    "VoteRequest": ("vote", "request"),
    "VoteResponse": ("vote", "response"),
    "VotersRecord": ("voters_record", "data"),
    "WriteShareGroupStateRequest": ("write_share_group_state", "request"),
    "WriteShareGroupStateResponse": ("write_share_group_state", "response"),
    "WriteTxnMarkersRequest": ("write_txn_markers", "request"),
    "WriteTxnMarkersResponse": ("write_txn_markers", "response"),
}
