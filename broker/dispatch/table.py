"""The table of RPCs: for each key the handler, the served versions, and the advertised versions.A handler is a
module with a card as its docstring and `handle(ctx: RequestContext, request: XRequest) -> XResponse |
Pending[XResponse]`, or the same as `async def` if it may wait or pause. If the response has no top-level error code,
it may have `failed(request: XRequest, error: ErrorCode) -> XResponse`, which returns the answer after an exception.
Modules are imported at their first request, which keeps the start short; ApiVersions is computed from this table
alone.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.handler_rows import HandlerRow, VersionRange
from shareq.broker.metadata.features import SHARE_TRANSACTIONS
from shareq.protocol.api_keys import ApiKey


def _row(
    module: str,
    first: int,
    last: int,
    *,
    advertised_first: int | None = None,
    own: bool = False,
    ends: bool = False,
    feature: str = "",
) -> HandlerRow:
    advertised = VersionRange(first if advertised_first is None else advertised_first, last)
    return HandlerRow(f"shareq.broker.handlers.{module}", VersionRange(first, last), advertised, own, ends, feature)


HANDLERS: Final[dict[ApiKey, HandlerRow]] = {
    # librdkafka infers from versions 0 to 2 what the broker can do: they are advertised, and not served.
    ApiKey.PRODUCE: _row("records.produce", 3, 13, advertised_first=0),
    ApiKey.FETCH: _row("records.fetch", 4, 18, ends=True),
    ApiKey.LIST_OFFSETS: _row("records.list_offsets", 1, 11, ends=True),
    ApiKey.METADATA: _row("topics.metadata", 0, 13, ends=True),
    ApiKey.OFFSET_COMMIT: _row("groups.offset_commit", 2, 10),
    ApiKey.OFFSET_FETCH: _row("groups.offset_fetch", 1, 10, ends=True),
    ApiKey.FIND_COORDINATOR: _row("cluster.find_coordinator", 0, 6, ends=True),
    ApiKey.JOIN_GROUP: _row("groups.join_group", 0, 9),
    ApiKey.HEARTBEAT: _row("groups.heartbeat", 0, 4),
    ApiKey.LEAVE_GROUP: _row("groups.leave_group", 0, 5),
    ApiKey.SYNC_GROUP: _row("groups.sync_group", 0, 5),
    ApiKey.DESCRIBE_GROUPS: _row("groups.describe_groups", 0, 6, ends=True),
    ApiKey.LIST_GROUPS: _row("groups.list_groups", 0, 5, ends=True),
    ApiKey.SASL_HANDSHAKE: _row("access.sasl_handshake", 0, 1),
    ApiKey.API_VERSIONS: _row("cluster.api_versions", 0, 5),
    ApiKey.CREATE_TOPICS: _row("topics.create_topics", 2, 7),
    ApiKey.DELETE_TOPICS: _row("topics.delete_topics", 1, 6),
    ApiKey.DELETE_RECORDS: _row("records.delete_records", 0, 2),
    ApiKey.INIT_PRODUCER_ID: _row("transactions.init_producer_id", 0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _row("records.offset_for_leader_epoch", 2, 4, ends=True),
    ApiKey.DESCRIBE_ACLS: _row("access.describe_acls", 1, 3, ends=True),
    ApiKey.CREATE_ACLS: _row("access.create_acls", 1, 3),
    ApiKey.DELETE_ACLS: _row("access.delete_acls", 1, 3),
    ApiKey.ADD_PARTITIONS_TO_TXN: _row("transactions.add_partitions_to_txn", 0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: _row("transactions.add_offsets_to_txn", 0, 4),
    ApiKey.END_TXN: _row("transactions.end_txn", 0, 5),
    ApiKey.WRITE_TXN_MARKERS: _row("transactions.write_txn_markers", 1, 2),
    ApiKey.TXN_OFFSET_COMMIT: _row("transactions.txn_offset_commit", 0, 6),
    ApiKey.SASL_AUTHENTICATE: _row("access.sasl_authenticate", 0, 2),
    ApiKey.DESCRIBE_CONFIGS: _row("configs.describe_configs", 1, 4, ends=True),
    ApiKey.ALTER_CONFIGS: _row("configs.alter_configs", 0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _row("cluster.alter_replica_log_dirs", 1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: _row("cluster.describe_log_dirs", 1, 5, ends=True),
    ApiKey.CREATE_PARTITIONS: _row("topics.create_partitions", 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: _row("not_offered", 1, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: _row("not_offered", 1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: _row("not_offered", 1, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _row("not_offered", 1, 3),
    ApiKey.DELETE_GROUPS: _row("groups.delete_groups", 0, 3),
    ApiKey.ELECT_LEADERS: _row("cluster.elect_leaders", 0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _row("configs.incremental_alter_configs", 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _row("cluster.alter_partition_reassignments", 0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _row("cluster.list_partition_reassignments", 0, 0, ends=True),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _row("configs.describe_client_quotas", 0, 1, ends=True),
    ApiKey.ALTER_CLIENT_QUOTAS: _row("configs.alter_client_quotas", 0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _row("access.describe_user_scram_credentials", 0, 0, ends=True),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _row("access.alter_user_scram_credentials", 0, 0),
    ApiKey.DESCRIBE_QUORUM: _row("cluster.describe_quorum", 0, 2),
    ApiKey.UPDATE_FEATURES: _row("cluster.update_features", 0, 2),
    ApiKey.DESCRIBE_CLUSTER: _row("cluster.describe_cluster", 0, 2),
    ApiKey.UNREGISTER_BROKER: _row("not_offered", 0, 0),
    ApiKey.DESCRIBE_PRODUCERS: _row("transactions.describe_producers", 0, 0, ends=True),
    ApiKey.DESCRIBE_TRANSACTIONS: _row("transactions.describe_transactions", 0, 0, ends=True),
    ApiKey.LIST_TRANSACTIONS: _row("transactions.list_transactions", 0, 2, ends=True),
    ApiKey.LIST_CONFIG_RESOURCES: _row("configs.list_config_resources", 0, 1, ends=True),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _row("topics.describe_topic_partitions", 0, 0, ends=True),
    ApiKey.OFFSET_DELETE: _row("groups.offset_delete", 0, 0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _row("groups.consumer_group_heartbeat", 0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _row("groups.consumer_group_describe", 0, 1, ends=True),
    ApiKey.SHARE_GROUP_HEARTBEAT: _row("share.share_group_heartbeat", 1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: _row("share.share_group_describe", 1, 1, ends=True),
    ApiKey.SHARE_FETCH: _row("share.share_fetch", 1, 2),
    ApiKey.SHARE_ACKNOWLEDGE: _row("share.share_acknowledge", 1, 2),
    ApiKey.ADD_RAFT_VOTER: _row("not_offered", 0, 1),
    ApiKey.REMOVE_RAFT_VOTER: _row("not_offered", 0, 0),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _row("share.initialize_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE: _row("share.read_share_group_state", 0, 0),
    ApiKey.WRITE_SHARE_GROUP_STATE: _row("share.write_share_group_state", 0, 1),
    ApiKey.DELETE_SHARE_GROUP_STATE: _row("share.delete_share_group_state", 0, 0),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _row("share.read_share_group_state_summary", 0, 1),
    ApiKey.STREAMS_GROUP_HEARTBEAT: _row("not_offered", 0, 1),
    ApiKey.STREAMS_GROUP_DESCRIBE: _row("not_offered", 0, 1),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _row("share.describe_share_group_offsets", 0, 1, ends=True),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _row("share.alter_share_group_offsets", 0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _row("share.delete_share_group_offsets", 0, 0),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: _row("not_offered", 0, 0),
    ApiKey.UNREGISTER_CONTROLLER: _row("not_offered", 0, 0),
    ApiKey.START_REDRIVE: _row("redrive.start_redrive", 0, 0, own=True),
    ApiKey.DESCRIBE_REDRIVES: _row("redrive.describe_redrives", 0, 0, own=True, ends=True),
    ApiKey.CANCEL_REDRIVE: _row("redrive.cancel_redrive", 0, 0, own=True),
    ApiKey.MOVE_USER_SCRAM_CREDENTIALS: _row("access.move_user_scram_credentials", 0, 0, own=True),
    ApiKey.TXN_SHARE_ACKNOWLEDGE: _row("share.txn_share_acknowledge", 0, 0, own=True, feature=SHARE_TRANSACTIONS),
}
