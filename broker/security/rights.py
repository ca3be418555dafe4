"""The table of operations: the rights that RPCs need.

A right is an operation on a kind of resource; the resource's name comes from the request. Handlers check it with
`RequestContext.may` and answer a refusal with the right's `error`, for the whole request or for the item concerned.
Checked rights and errors follow KIP-932's table for share groups, and Apache Kafka 4.3.1 where it goes further. A
handler must only check rights that its row names; a test verifies this.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.security.acls import Operation, ResourceKind
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode

_ERRORS: Final = {
    ResourceKind.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceKind.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceKind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceKind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


class Right:
    """An operation on a kind of resource. `error` is the answer to a client that lacks the right."""

    __slots__ = ("error", "kind", "operation")

    def __init__(self, operation: Operation, kind: ResourceKind) -> None:
        self.operation = operation
        self.kind = kind
        self.error = _ERRORS[kind]

    def __repr__(self) -> str:
        return f"{self.operation.name} on {self.kind.name}"


CREATE_CLUSTER: Final = Right(Operation.CREATE, ResourceKind.CLUSTER)
DELETE_CLUSTER: Final = Right(Operation.DELETE, ResourceKind.CLUSTER)
ALTER_CLUSTER: Final = Right(Operation.ALTER, ResourceKind.CLUSTER)
DESCRIBE_CLUSTER: Final = Right(Operation.DESCRIBE, ResourceKind.CLUSTER)
CLUSTER_ACTION: Final = Right(Operation.CLUSTER_ACTION, ResourceKind.CLUSTER)
DESCRIBE_CLUSTER_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.CLUSTER)
ALTER_CLUSTER_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceKind.CLUSTER)
IDEMPOTENT_WRITE: Final = Right(Operation.IDEMPOTENT_WRITE, ResourceKind.CLUSTER)

READ_TOPIC: Final = Right(Operation.READ, ResourceKind.TOPIC)
WRITE_TOPIC: Final = Right(Operation.WRITE, ResourceKind.TOPIC)
CREATE_TOPIC: Final = Right(Operation.CREATE, ResourceKind.TOPIC)
DELETE_TOPIC: Final = Right(Operation.DELETE, ResourceKind.TOPIC)
ALTER_TOPIC: Final = Right(Operation.ALTER, ResourceKind.TOPIC)
DESCRIBE_TOPIC: Final = Right(Operation.DESCRIBE, ResourceKind.TOPIC)
DESCRIBE_TOPIC_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.TOPIC)
ALTER_TOPIC_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceKind.TOPIC)

READ_GROUP: Final = Right(Operation.READ, ResourceKind.GROUP)
DELETE_GROUP: Final = Right(Operation.DELETE, ResourceKind.GROUP)
DESCRIBE_GROUP: Final = Right(Operation.DESCRIBE, ResourceKind.GROUP)
DESCRIBE_GROUP_CONFIGS: Final = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.GROUP)
ALTER_GROUP_CONFIGS: Final = Right(Operation.ALTER_CONFIGS, ResourceKind.GROUP)

WRITE_TRANSACTION: Final = Right(Operation.WRITE, ResourceKind.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTION: Final = Right(Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID)

HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."
"""The error message in place of a group's description, if the client may not describe all of the group's topics."""

RIGHTS: Final[dict[ApiKey, tuple[Right, ...]]] = {
    # No right: these requests come before the client is known.
    ApiKey.API_VERSIONS: (),
    ApiKey.SASL_HANDSHAKE: (),
    ApiKey.SASL_AUTHENTICATE: (),
    # Records. A transactional producer needs WRITE on its transactional id.
    ApiKey.PRODUCE: (WRITE_TOPIC, WRITE_TRANSACTION),
    ApiKey.FETCH: (READ_TOPIC,),
    ApiKey.LIST_OFFSETS: (DESCRIBE_TOPIC,),
    # Either is enough.
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (CLUSTER_ACTION, DESCRIBE_TOPIC),
    ApiKey.DELETE_RECORDS: (DELETE_TOPIC,),
    # Topics. CREATE and DELETE on the cluster are as good as on every topic.
    ApiKey.METADATA: (DESCRIBE_TOPIC, CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (DESCRIBE_TOPIC,),
    ApiKey.CREATE_TOPICS: (CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS),
    ApiKey.DELETE_TOPICS: (DELETE_CLUSTER, DESCRIBE_TOPIC, DELETE_TOPIC),
    ApiKey.CREATE_PARTITIONS: (ALTER_TOPIC,),
    # Groups of all kinds.
    ApiKey.FIND_COORDINATOR: (DESCRIBE_GROUP, DESCRIBE_TRANSACTION, CLUSTER_ACTION),
    ApiKey.LIST_GROUPS: (DESCRIBE_CLUSTER, DESCRIBE_GROUP),
    ApiKey.DELETE_GROUPS: (DELETE_GROUP,),
    ApiKey.JOIN_GROUP: (READ_GROUP,),
    ApiKey.SYNC_GROUP: (READ_GROUP,),
    ApiKey.HEARTBEAT: (READ_GROUP,),
    ApiKey.LEAVE_GROUP: (READ_GROUP,),
    ApiKey.DESCRIBE_GROUPS: (DESCRIBE_GROUP,),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (READ_GROUP, DESCRIBE_TOPIC),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    ApiKey.OFFSET_COMMIT: (READ_GROUP, READ_TOPIC),
    ApiKey.OFFSET_FETCH: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    ApiKey.OFFSET_DELETE: (DELETE_GROUP, READ_TOPIC),
    # No right: these RPCs are refused to every client.
    ApiKey.STREAMS_GROUP_HEARTBEAT: (),
    ApiKey.STREAMS_GROUP_DESCRIBE: (),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (),
    ApiKey.CREATE_DELEGATION_TOKEN: (),
    ApiKey.RENEW_DELEGATION_TOKEN: (),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (),
    # Share groups.
    ApiKey.SHARE_GROUP_HEARTBEAT: (READ_GROUP, DESCRIBE_TOPIC),
    ApiKey.SHARE_GROUP_DESCRIBE: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    ApiKey.SHARE_FETCH: (READ_GROUP, READ_TOPIC),
    ApiKey.SHARE_ACKNOWLEDGE: (READ_GROUP, READ_TOPIC),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (READ_GROUP, READ_TOPIC),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (DELETE_GROUP, READ_TOPIC),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (CLUSTER_ACTION,),
    ApiKey.READ_SHARE_GROUP_STATE: (CLUSTER_ACTION,),
    ApiKey.WRITE_SHARE_GROUP_STATE: (CLUSTER_ACTION,),
    ApiKey.DELETE_SHARE_GROUP_STATE: (CLUSTER_ACTION,),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (CLUSTER_ACTION,),
    # Transactions. A producer without a transactional id needs one of IDEMPOTENT_WRITE and WRITE on any topic.
    ApiKey.INIT_PRODUCER_ID: (WRITE_TRANSACTION, IDEMPOTENT_WRITE, WRITE_TOPIC),
    # Brokers among themselves need CLUSTER_ACTION instead.
    ApiKey.ADD_PARTITIONS_TO_TXN: (WRITE_TRANSACTION, WRITE_TOPIC, CLUSTER_ACTION),
    ApiKey.ADD_OFFSETS_TO_TXN: (WRITE_TRANSACTION, READ_GROUP),
    ApiKey.TXN_OFFSET_COMMIT: (WRITE_TRANSACTION, READ_GROUP, READ_TOPIC),
    ApiKey.END_TXN: (WRITE_TRANSACTION,),
    # Either is enough.
    ApiKey.WRITE_TXN_MARKERS: (ALTER_CLUSTER, CLUSTER_ACTION),
    ApiKey.DESCRIBE_TRANSACTIONS: (DESCRIBE_TRANSACTION, DESCRIBE_TOPIC),
    ApiKey.LIST_TRANSACTIONS: (DESCRIBE_TRANSACTION,),
    ApiKey.DESCRIBE_PRODUCERS: (READ_TOPIC,),
    # Properties: of topics, of groups, and of brokers, which belong to the cluster.
    ApiKey.DESCRIBE_CONFIGS: (DESCRIBE_TOPIC_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_CLUSTER_CONFIGS),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS),
    ApiKey.ALTER_CONFIGS: (ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS),
    ApiKey.LIST_CONFIG_RESOURCES: (DESCRIBE_CLUSTER_CONFIGS,),
    # The cluster.
    ApiKey.DESCRIBE_CLUSTER: (DESCRIBE_CLUSTER,),
    ApiKey.DESCRIBE_LOG_DIRS: (DESCRIBE_CLUSTER,),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (ALTER_CLUSTER,),
    ApiKey.DESCRIBE_QUORUM: (DESCRIBE_CLUSTER,),
    ApiKey.UNREGISTER_BROKER: (ALTER_CLUSTER,),
    ApiKey.UNREGISTER_CONTROLLER: (ALTER_CLUSTER,),
    ApiKey.ADD_RAFT_VOTER: (ALTER_CLUSTER,),
    ApiKey.REMOVE_RAFT_VOTER: (ALTER_CLUSTER,),
    ApiKey.UPDATE_FEATURES: (ALTER_CLUSTER,),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (DESCRIBE_CLUSTER,),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (ALTER_CLUSTER,),
    ApiKey.ELECT_LEADERS: (ALTER_CLUSTER,),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (DESCRIBE_CLUSTER_CONFIGS,),
    ApiKey.ALTER_CLIENT_QUOTAS: (ALTER_CLUSTER_CONFIGS,),
    # Access control.
    ApiKey.DESCRIBE_ACLS: (DESCRIBE_CLUSTER,),
    ApiKey.CREATE_ACLS: (ALTER_CLUSTER,),
    ApiKey.DELETE_ACLS: (ALTER_CLUSTER,),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (DESCRIBE_CLUSTER,),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (ALTER_CLUSTER,),
    # shareq's own. A redrive writes to the topics of its letters, or has READ on the group whose letters they are.
    ApiKey.START_REDRIVE: (READ_TOPIC, WRITE_TOPIC, READ_GROUP),
    ApiKey.DESCRIBE_REDRIVES: (DESCRIBE_TOPIC,),
    # The client that started the redrive needs no right.
    ApiKey.CANCEL_REDRIVE: (ALTER_CLUSTER,),
    ApiKey.MOVE_USER_SCRAM_CREDENTIALS: (ALTER_CLUSTER,),
    ApiKey.TXN_SHARE_ACKNOWLEDGE: (WRITE_TRANSACTION, READ_GROUP, READ_TOPIC),
}
