"""The table of RPCs: which handler serves a key, in which versions, and which versions are advertised.

A handler is a module with a card as its docstring, `VERSIONS`, and
`handle(ctx: RequestContext, request: XRequest) -> XResponse | Pending[XResponse]`, or that as `async def` where it may
wait or pause; `ENDS_WITH_CLIENT` is true if such a one need not go on when its client has gone. It may have
`failed(request: XRequest, error: ErrorCode) -> XResponse`, the answer when it raised, where the response has no
top-level error code. Modules are imported at their first request, which keeps the start short; ApiVersions is computed
from this table alone.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.api_keys import ApiKey


class VersionRange:
    """Versions of an RPC, both ends inclusive."""

    __slots__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first: Final = first
        self.last: Final = last

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionRange) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def __repr__(self) -> str:
        return f"VersionRange({self.first}, {self.last})"


class HandlerRow:
    """One RPC: the module in this package, the versions it serves, and those that ApiVersions names.

    The advertised range may reach below the served one: clients on old librdkafka test for fixed versions that no
    client sends any more (KIP-896, KAFKA-18659). A request in such a version closes the connection. `own`: shareq's
    own, which only shareq's clients are shown.
    """

    __slots__ = ("advertised", "module", "own", "served")

    def __init__(
        self, module: str, first: int, last: int, *, advertised_first: int | None = None, own: bool = False
    ) -> None:
        self.module = module
        self.own = own
        self.served = VersionRange(first, last)
        self.advertised = VersionRange(first if advertised_first is None else advertised_first, last)


HANDLERS: Final[dict[ApiKey, HandlerRow]] = {
    ApiKey.PRODUCE: HandlerRow("records.produce", 3, 13, advertised_first=0),
    ApiKey.FETCH: HandlerRow("records.fetch", 4, 18),
    ApiKey.LIST_OFFSETS: HandlerRow("records.list_offsets", 1, 11),
    ApiKey.METADATA: HandlerRow("topics.metadata", 0, 13),
    ApiKey.OFFSET_COMMIT: HandlerRow("groups.offset_commit", 2, 10),
    ApiKey.OFFSET_FETCH: HandlerRow("groups.offset_fetch", 1, 10),
    ApiKey.FIND_COORDINATOR: HandlerRow("cluster.find_coordinator", 0, 6),
    ApiKey.JOIN_GROUP: HandlerRow("groups.join_group", 0, 9),
    ApiKey.HEARTBEAT: HandlerRow("groups.heartbeat", 0, 4),
    ApiKey.LEAVE_GROUP: HandlerRow("groups.leave_group", 0, 5),
    ApiKey.SYNC_GROUP: HandlerRow("groups.sync_group", 0, 5),
    ApiKey.DESCRIBE_GROUPS: HandlerRow("groups.describe_groups", 0, 6),
    ApiKey.LIST_GROUPS: HandlerRow("groups.list_groups", 0, 5),
    ApiKey.SASL_HANDSHAKE: HandlerRow("access.sasl_handshake", 0, 1),
    ApiKey.API_VERSIONS: HandlerRow("cluster.api_versions", 0, 5),
    ApiKey.CREATE_TOPICS: HandlerRow("topics.create_topics", 2, 7),
    ApiKey.DELETE_TOPICS: HandlerRow("topics.delete_topics", 1, 6),
    ApiKey.DELETE_RECORDS: HandlerRow("records.delete_records", 0, 2),
    ApiKey.INIT_PRODUCER_ID: HandlerRow("transactions.init_producer_id", 0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: HandlerRow("records.offset_for_leader_epoch", 2, 4),
    ApiKey.DESCRIBE_ACLS: HandlerRow("access.describe_acls", 1, 3),
    ApiKey.CREATE_ACLS: HandlerRow("access.create_acls", 1, 3),
    ApiKey.DELETE_ACLS: HandlerRow("access.delete_acls", 1, 3),
    ApiKey.ADD_PARTITIONS_TO_TXN: HandlerRow("transactions.add_partitions_to_txn", 0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: HandlerRow("transactions.add_offsets_to_txn", 0, 4),
    ApiKey.END_TXN: HandlerRow("transactions.end_txn", 0, 5),
    ApiKey.WRITE_TXN_MARKERS: HandlerRow("transactions.write_txn_markers", 1, 2),
    ApiKey.TXN_OFFSET_COMMIT: HandlerRow("transactions.txn_offset_commit", 0, 6),
    ApiKey.SASL_AUTHENTICATE: HandlerRow("access.sasl_authenticate", 0, 2),
    ApiKey.DESCRIBE_CONFIGS: HandlerRow("configs.describe_configs", 1, 4),
    ApiKey.ALTER_CONFIGS: HandlerRow("configs.alter_configs", 0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: HandlerRow("cluster.alter_replica_log_dirs", 1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: HandlerRow("cluster.describe_log_dirs", 1, 5),
    ApiKey.CREATE_PARTITIONS: HandlerRow("topics.create_partitions", 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: HandlerRow("not_offered.create_delegation_token", 1, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: HandlerRow("not_offered.renew_delegation_token", 1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: HandlerRow("not_offered.expire_delegation_token", 1, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: HandlerRow("not_offered.describe_delegation_token", 1, 3),
    ApiKey.DELETE_GROUPS: HandlerRow("groups.delete_groups", 0, 3),
    ApiKey.ELECT_LEADERS: HandlerRow("cluster.elect_leaders", 0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: HandlerRow("configs.incremental_alter_configs", 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: HandlerRow("cluster.alter_partition_reassignments", 0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: HandlerRow("cluster.list_partition_reassignments", 0, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: HandlerRow("configs.describe_client_quotas", 0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: HandlerRow("configs.alter_client_quotas", 0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: HandlerRow("access.describe_user_scram_credentials", 0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: HandlerRow("access.alter_user_scram_credentials", 0, 0),
    ApiKey.DESCRIBE_QUORUM: HandlerRow("cluster.describe_quorum", 0, 2),
    ApiKey.UPDATE_FEATURES: HandlerRow("cluster.update_features", 0, 2),
    ApiKey.DESCRIBE_CLUSTER: HandlerRow("cluster.describe_cluster", 0, 2),
    ApiKey.UNREGISTER_BROKER: HandlerRow("not_offered.unregister_broker", 0, 0),
    ApiKey.DESCRIBE_PRODUCERS: HandlerRow("transactions.describe_producers", 0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: HandlerRow("transactions.describe_transactions", 0, 0),
    ApiKey.LIST_TRANSACTIONS: HandlerRow("transactions.list_transactions", 0, 2),
    ApiKey.LIST_CONFIG_RESOURCES: HandlerRow("configs.list_config_resources", 0, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: HandlerRow("topics.describe_topic_partitions", 0, 0),
    ApiKey.OFFSET_DELETE: HandlerRow("groups.offset_delete", 0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: HandlerRow("groups.consumer_group_heartbeat", 0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: HandlerRow("groups.consumer_group_describe", 0, 1),
    ApiKey.SHARE_GROUP_HEARTBEAT: HandlerRow("share.share_group_heartbeat", 1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: HandlerRow("share.share_group_describe", 1, 1),
    ApiKey.SHARE_FETCH: HandlerRow("share.share_fetch", 1, 2),
    ApiKey.SHARE_ACKNOWLEDGE: HandlerRow("share.share_acknowledge", 1, 2),
    ApiKey.ADD_RAFT_VOTER: HandlerRow("not_offered.add_raft_voter", 0, 1),
    ApiKey.REMOVE_RAFT_VOTER: HandlerRow("not_offered.remove_raft_voter", 0, 0),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: HandlerRow("share.initialize_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE: HandlerRow("share.read_share_group_state", 0, 0),
    ApiKey.WRITE_SHARE_GROUP_STATE: HandlerRow("share.write_share_group_state", 0, 1),
    ApiKey.DELETE_SHARE_GROUP_STATE: HandlerRow("share.delete_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: HandlerRow("share.read_share_group_state_summary", 0, 1),
    ApiKey.STREAMS_GROUP_HEARTBEAT: HandlerRow("not_offered.streams_group_heartbeat", 0, 1),
    ApiKey.STREAMS_GROUP_DESCRIBE: HandlerRow("not_offered.streams_group_describe", 0, 1),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: HandlerRow("share.describe_share_group_offsets", 0, 1),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: HandlerRow("share.alter_share_group_offsets", 0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: HandlerRow("share.delete_share_group_offsets", 0, 0),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: HandlerRow("not_offered.streams_group_topology", 0, 0),
    ApiKey.UNREGISTER_CONTROLLER: HandlerRow("not_offered.unregister_controller", 0, 0),
    ApiKey.START_REDRIVE: HandlerRow("redrive.start_redrive", 0, 0, own=True),
    ApiKey.DESCRIBE_REDRIVES: HandlerRow("redrive.describe_redrives", 0, 0, own=True),
    ApiKey.CANCEL_REDRIVE: HandlerRow("redrive.cancel_redrive", 0, 0, own=True),
}
