"""Requests that administer the cluster, each with the right it needs; part of the access cases."""

from __future__ import annotations

from typing import Final

from shareq.broker.security import rights as r
from shareq.broker.security.rights import Right
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated import (
    add_raft_voter,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    delete_records,
    describe_acls,
    describe_log_dirs,
    describe_quorum,
    elect_leaders,
    list_config_resources,
    list_partition_reassignments,
    remove_raft_voter,
    unregister_broker,
    unregister_controller,
    update_features,
)
from shareq.protocol.primitives import Message


def delete_records_request(topic: str, offsets: dict[int, int]) -> delete_records.DeleteRecordsRequest:
    rpc = delete_records
    parts = [rpc.DeleteRecordsPartition(partition, offset) for partition, offset in offsets.items()]
    return rpc.DeleteRecordsRequest([rpc.DeleteRecordsTopic(topic, parts)], 10_000)


def alter_configs_request(
    kind: int, name: str, configs: dict[str, str | None], *, validate_only: bool = False
) -> alter_configs.AlterConfigsRequest:
    rpc = alter_configs
    rows = [rpc.AlterableConfig(key, value) for key, value in configs.items()]
    return rpc.AlterConfigsRequest([rpc.AlterConfigsResource(kind, name, rows)], validate_only)


def elect_leaders_request(topic: str, *partitions: int, unclean: bool = False) -> elect_leaders.ElectLeadersRequest:
    rpc = elect_leaders
    return rpc.ElectLeadersRequest(int(unclean), [rpc.TopicPartitions(topic, list(partitions))])


def reassign_request(
    topic: str, *targets: list[int] | None
) -> alter_partition_reassignments.AlterPartitionReassignmentsRequest:
    rpc = alter_partition_reassignments
    parts = [rpc.ReassignablePartition(number, target) for number, target in enumerate(targets)]
    return rpc.AlterPartitionReassignmentsRequest(topics=[rpc.ReassignableTopic(topic, parts)])


def quorum_request(topic: str = "__cluster_metadata", *partitions: int) -> describe_quorum.DescribeQuorumRequest:
    """Return a request that describes partitions of the quorum; by default number 0."""
    rpc = describe_quorum
    parts = [rpc.DescribeQuorumRequestPartitionData(each) for each in partitions or (0,)]
    return rpc.DescribeQuorumRequest([rpc.DescribeQuorumRequestTopicData(topic, parts)])


def alter_replica_log_dirs_request(
    path: str, topic: str, partitions: list[int]
) -> alter_replica_log_dirs.AlterReplicaLogDirsRequest:
    rpc = alter_replica_log_dirs
    topics = [rpc.AlterReplicaLogDirTopic(topic, partitions)]
    return rpc.AlterReplicaLogDirsRequest([rpc.AlterReplicaLogDir(path, topics)])


RIGHT_CASES: Final[tuple[tuple[ApiKey, int, Message, Right], ...]] = (
    (ApiKey.DELETE_RECORDS, 2, delete_records_request("t", {0: 0}), r.DELETE_TOPIC),
    (ApiKey.ALTER_CONFIGS, 2, alter_configs_request(2, "t", {}), r.ALTER_TOPIC_CONFIGS),
    (ApiKey.ALTER_CONFIGS, 2, alter_configs_request(32, "g", {}), r.ALTER_GROUP_CONFIGS),
    (ApiKey.ALTER_CONFIGS, 2, alter_configs_request(4, "1", {}), r.ALTER_CLUSTER_CONFIGS),
    (
        ApiKey.LIST_CONFIG_RESOURCES,
        1,
        list_config_resources.ListConfigResourcesRequest(),
        r.DESCRIBE_CLUSTER_CONFIGS,
    ),
    (
        ApiKey.DESCRIBE_ACLS,
        3,
        describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1),
        r.DESCRIBE_CLUSTER,
    ),
    (ApiKey.UPDATE_FEATURES, 2, update_features.UpdateFeaturesRequest(), r.ALTER_CLUSTER),
    (ApiKey.DESCRIBE_LOG_DIRS, 5, describe_log_dirs.DescribeLogDirsRequest(None), r.DESCRIBE_CLUSTER),
    (ApiKey.DESCRIBE_QUORUM, 2, quorum_request(), r.DESCRIBE_CLUSTER),
    (
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        0,
        list_partition_reassignments.ListPartitionReassignmentsRequest(),
        r.DESCRIBE_CLUSTER,
    ),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, reassign_request("t", [1]), r.ALTER_CLUSTER),
    (ApiKey.UNREGISTER_BROKER, 0, unregister_broker.UnregisterBrokerRequest(2), r.ALTER_CLUSTER),
    (ApiKey.UNREGISTER_CONTROLLER, 0, unregister_controller.UnregisterControllerRequest(2), r.ALTER_CLUSTER),
    (ApiKey.ADD_RAFT_VOTER, 1, add_raft_voter.AddRaftVoterRequest(None), r.ALTER_CLUSTER),
    (ApiKey.REMOVE_RAFT_VOTER, 0, remove_raft_voter.RemoveRaftVoterRequest(None), r.ALTER_CLUSTER),
    (ApiKey.ELECT_LEADERS, 2, elect_leaders_request("t", 0), r.ALTER_CLUSTER),
)
"""Requests about topic `t` and group `g`, with broker 1."""
