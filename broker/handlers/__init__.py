"""The table of RPCs: which handler serves a key, in which versions, and which versions are advertised.

A handler is a module with a card as its docstring, `VERSIONS`, and
`handle(ctx: RequestContext, request: XRequest) -> XResponse | Pending[XResponse]`. It may have
`failed(request: XRequest, error: ErrorCode) -> XResponse`, the answer when it raised, where the response has no
top-level error code. Modules are imported at their first request, which keeps the start short; ApiVersions is computed
from this table alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shareq.protocol.api_keys import ApiKey


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions of an RPC, both ends inclusive."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


class HandlerRow:
    """One RPC: the module in this package, the versions it serves, and those that ApiVersions names.

    The advertised range may reach below the served one: clients on old librdkafka test for fixed versions that nobody
    sends any more (KIP-896, KAFKA-18659). A request in such a version closes the connection.
    """

    __slots__ = ("advertised", "module", "served")

    def __init__(self, module: str, first: int, last: int, *, advertised_first: int | None = None) -> None:
        self.module = module
        self.served = VersionRange(first, last)
        self.advertised = VersionRange(first if advertised_first is None else advertised_first, last)


HANDLERS: Final[dict[ApiKey, HandlerRow]] = {
    ApiKey.PRODUCE: HandlerRow("produce", 3, 13, advertised_first=0),
    ApiKey.FETCH: HandlerRow("fetch", 4, 18),
    ApiKey.LIST_OFFSETS: HandlerRow("list_offsets", 1, 11),
    ApiKey.METADATA: HandlerRow("metadata", 0, 13),
    ApiKey.OFFSET_COMMIT: HandlerRow("offset_commit", 2, 10),
    ApiKey.OFFSET_FETCH: HandlerRow("offset_fetch", 1, 10),
    ApiKey.FIND_COORDINATOR: HandlerRow("find_coordinator", 0, 6),
    ApiKey.JOIN_GROUP: HandlerRow("join_group", 0, 9),
    ApiKey.HEARTBEAT: HandlerRow("heartbeat", 0, 4),
    ApiKey.LEAVE_GROUP: HandlerRow("leave_group", 0, 5),
    ApiKey.SYNC_GROUP: HandlerRow("sync_group", 0, 5),
    ApiKey.DESCRIBE_GROUPS: HandlerRow("describe_groups", 0, 6),
    ApiKey.LIST_GROUPS: HandlerRow("list_groups", 0, 5),
    ApiKey.SASL_HANDSHAKE: HandlerRow("sasl_handshake", 0, 1),
    ApiKey.API_VERSIONS: HandlerRow("api_versions", 0, 4),
    ApiKey.CREATE_TOPICS: HandlerRow("create_topics", 2, 7),
    ApiKey.DELETE_TOPICS: HandlerRow("delete_topics", 1, 6),
    ApiKey.DELETE_RECORDS: HandlerRow("delete_records", 0, 2),
    ApiKey.INIT_PRODUCER_ID: HandlerRow("init_producer_id", 0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: HandlerRow("offset_for_leader_epoch", 2, 4),
    ApiKey.DESCRIBE_ACLS: HandlerRow("describe_acls", 1, 3),
    ApiKey.CREATE_ACLS: HandlerRow("create_acls", 1, 3),
    ApiKey.DELETE_ACLS: HandlerRow("delete_acls", 1, 3),
    ApiKey.ADD_PARTITIONS_TO_TXN: HandlerRow("add_partitions_to_txn", 0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: HandlerRow("add_offsets_to_txn", 0, 4),
    ApiKey.END_TXN: HandlerRow("end_txn", 0, 5),
    ApiKey.WRITE_TXN_MARKERS: HandlerRow("write_txn_markers", 1, 2),
    ApiKey.TXN_OFFSET_COMMIT: HandlerRow("txn_offset_commit", 0, 5),
    ApiKey.SASL_AUTHENTICATE: HandlerRow("sasl_authenticate", 0, 2),
    ApiKey.DESCRIBE_CONFIGS: HandlerRow("describe_configs", 1, 4),
    ApiKey.ALTER_CONFIGS: HandlerRow("alter_configs", 0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: HandlerRow("alter_replica_log_dirs", 1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: HandlerRow("describe_log_dirs", 1, 5),
    ApiKey.CREATE_PARTITIONS: HandlerRow("create_partitions", 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: HandlerRow("create_delegation_token", 1, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: HandlerRow("renew_delegation_token", 1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: HandlerRow("expire_delegation_token", 1, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: HandlerRow("describe_delegation_token", 1, 3),
    ApiKey.DELETE_GROUPS: HandlerRow("delete_groups", 0, 2),
    ApiKey.ELECT_LEADERS: HandlerRow("elect_leaders", 0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: HandlerRow("incremental_alter_configs", 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: HandlerRow("alter_partition_reassignments", 0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: HandlerRow("list_partition_reassignments", 0, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: HandlerRow("describe_client_quotas", 0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: HandlerRow("alter_client_quotas", 0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: HandlerRow("describe_user_scram_credentials", 0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: HandlerRow("alter_user_scram_credentials", 0, 0),
    ApiKey.DESCRIBE_QUORUM: HandlerRow("describe_quorum", 0, 2),
    ApiKey.UPDATE_FEATURES: HandlerRow("update_features", 0, 2),
    ApiKey.DESCRIBE_CLUSTER: HandlerRow("describe_cluster", 0, 2),
    ApiKey.UNREGISTER_BROKER: HandlerRow("unregister_broker", 0, 0),
    ApiKey.DESCRIBE_PRODUCERS: HandlerRow("describe_producers", 0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: HandlerRow("describe_transactions", 0, 0),
    ApiKey.LIST_TRANSACTIONS: HandlerRow("list_transactions", 0, 2),
    ApiKey.LIST_CONFIG_RESOURCES: HandlerRow("list_config_resources", 0, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: HandlerRow("describe_topic_partitions", 0, 0),
    ApiKey.OFFSET_DELETE: HandlerRow("offset_delete", 0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: HandlerRow("consumer_group_heartbeat", 0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: HandlerRow("consumer_group_describe", 0, 1),
    ApiKey.SHARE_GROUP_HEARTBEAT: HandlerRow("share_group_heartbeat", 1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: HandlerRow("share_group_describe", 1, 1),
    ApiKey.SHARE_FETCH: HandlerRow("share_fetch", 1, 2),
    ApiKey.SHARE_ACKNOWLEDGE: HandlerRow("share_acknowledge", 1, 2),
    ApiKey.ADD_RAFT_VOTER: HandlerRow("add_raft_voter", 0, 1),
    ApiKey.REMOVE_RAFT_VOTER: HandlerRow("remove_raft_voter", 0, 0),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: HandlerRow("initialize_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE: HandlerRow("read_share_group_state", 0, 0),
    ApiKey.WRITE_SHARE_GROUP_STATE: HandlerRow("write_share_group_state", 0, 1),
    ApiKey.DELETE_SHARE_GROUP_STATE: HandlerRow("delete_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: HandlerRow("read_share_group_state_summary", 0, 1),
    ApiKey.STREAMS_GROUP_HEARTBEAT: HandlerRow("streams_group_heartbeat", 0, 0),
    ApiKey.STREAMS_GROUP_DESCRIBE: HandlerRow("streams_group_describe", 0, 0),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: HandlerRow("describe_share_group_offsets", 0, 1),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: HandlerRow("alter_share_group_offsets", 0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: HandlerRow("delete_share_group_offsets", 0, 0),
}
