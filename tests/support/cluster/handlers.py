"""The simulated broker's handlers, by request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from shareq.protocol.api_keys import ApiKey
from tests.support.cluster import admin, fetch, groups, metadata, offsets, produce, transactions
from tests.support.cluster.call import Answer, Call

# Any: each takes the request of its own API
HANDLERS: Final[Mapping[ApiKey, Callable[[Call, Any], Answer]]] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: offsets.list_offsets,
    ApiKey.METADATA: metadata.metadata,
    ApiKey.FIND_COORDINATOR: metadata.find_coordinator,
    ApiKey.JOIN_GROUP: groups.join_group,
    ApiKey.HEARTBEAT: groups.heartbeat,
    ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
    ApiKey.LEAVE_GROUP: groups.leave_group,
    ApiKey.SYNC_GROUP: groups.sync_group,
    ApiKey.API_VERSIONS: metadata.api_versions,
    ApiKey.CREATE_TOPICS: admin.create_topics,
    ApiKey.DELETE_TOPICS: admin.delete_topics,
    ApiKey.DELETE_RECORDS: offsets.delete_records,
    ApiKey.INIT_PRODUCER_ID: transactions.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offsets.offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: transactions.add_partitions_to_txn,
    ApiKey.END_TXN: transactions.end_txn,
    ApiKey.DESCRIBE_CONFIGS: admin.describe_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: admin.incremental_alter_configs,
    ApiKey.DESCRIBE_CLUSTER: metadata.describe_cluster,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: metadata.describe_topic_partitions,
}
