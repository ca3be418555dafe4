"""The table of RPCs of a node: those it serves as every broker does, those it forwards, and those it refuses.

RPCs that a node cannot serve are left out: redrives, acknowledgements in transactions, log folders, features and the
quorum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.cluster.forward.forwarding import OF_PRODUCERS
from shareq.cluster.link.versions import Served, cut_to
from shareq.protocol.api_keys import ApiKey

_MODULES: Final = "shareq.cluster.forward.handlers."

FORWARDED: Final = {
    ApiKey.PRODUCE: "produce",
    ApiKey.LIST_OFFSETS: "list_offsets",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    ApiKey.DELETE_RECORDS: "delete_records",
    ApiKey.DESCRIBE_PRODUCERS: "describe_producers",
    ApiKey.INIT_PRODUCER_ID: "init_producer_id",
    ApiKey.CREATE_TOPICS: "create_topics",
    ApiKey.DELETE_TOPICS: "delete_topics",
    ApiKey.CREATE_PARTITIONS: "create_partitions",
    ApiKey.DESCRIBE_CONFIGS: "describe_configs",
    ApiKey.ALTER_CONFIGS: "alter_configs",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "incremental_alter_configs",
    ApiKey.ELECT_LEADERS: "elect_leaders",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "alter_partition_reassignments",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "list_partition_reassignments",
    ApiKey.OFFSET_FETCH: "offset_fetch",
    ApiKey.LIST_TRANSACTIONS: "list_transactions",
    ApiKey.JOIN_GROUP: "coordinated",
    ApiKey.SYNC_GROUP: "coordinated",
    ApiKey.HEARTBEAT: "coordinated",
    ApiKey.LEAVE_GROUP: "coordinated",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "coordinated",
    ApiKey.OFFSET_COMMIT: "coordinated",
    ApiKey.OFFSET_DELETE: "coordinated",
    ApiKey.TXN_OFFSET_COMMIT: "coordinated",
    ApiKey.ADD_PARTITIONS_TO_TXN: "coordinated",
    ApiKey.ADD_OFFSETS_TO_TXN: "coordinated",
    ApiKey.END_TXN: "coordinated",
    ApiKey.DESCRIBE_GROUPS: "coordinated_each",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "coordinated_each",
    ApiKey.DESCRIBE_TRANSACTIONS: "coordinated_each",
}
"""The handlers of RPCs that the cluster answers, in versions that the cluster serves, too."""

OWN: Final = {
    ApiKey.LIST_GROUPS: "list_groups",
    ApiKey.DELETE_GROUPS: "delete_groups",
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "initialize_share_group_state",
    ApiKey.DELETE_SHARE_GROUP_STATE: "delete_share_group_state",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "read_share_group_state_summary",
}
"""The handlers of RPCs that a node answers in its own way, in all versions, whatever the cluster serves."""

OF_CLIENTS: Final = {ApiKey.ADD_PARTITIONS_TO_TXN: 3}
"""The last versions for clients of those RPCs whose later versions only brokers send."""


REFUSED: Final = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.START_REDRIVE,
    }
)
"""The RPCs that a node refuses but offers: WriteTxnMarkers, and StartRedrive, by which shareq's own clients recognise a
shareq broker. They report reasons of rejections to no other broker (`protocol/ack_reasons.py`).
"""

NOT_OFFERED: Final = frozenset(
    {
        ApiKey.DESCRIBE_REDRIVES,
        ApiKey.CANCEL_REDRIVE,
        ApiKey.TXN_SHARE_ACKNOWLEDGE,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.DESCRIBE_QUORUM,
    }
)


def node_table(served: Served, *, proxies: bool = True) -> Mapping[ApiKey, HandlerRow]:
    """Return the RPC table of a node, for the versions that the cluster serves. Unless `proxies`, RPCs of producers are
    refused.
    """
    refused = REFUSED if proxies else REFUSED | OF_PRODUCERS
    forwarded = FORWARDED.keys() - refused
    rows: dict[ApiKey, HandlerRow] = {}
    for key, row in HANDLERS.items():
        if key in NOT_OFFERED:
            continue
        if key in forwarded:
            last = OF_CLIENTS.get(key, row.served.last)
            rows[key] = row._replace(module=_MODULES + FORWARDED[key]).within(row.served.first, last)
        elif key in refused:
            rows[key] = row._replace(module=_MODULES + "refused")
        elif key in OWN:
            rows[key] = row._replace(module=_MODULES + OWN[key])
        else:
            rows[key] = row
    return cut_to(served, rows, forwarded)
