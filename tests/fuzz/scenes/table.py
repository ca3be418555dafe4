"""The parts of a request that belong together, by RPC, array element and field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generator.layout import StructLayout
from tests.fuzz import facts as known
from tests.fuzz.facts import Facts
from tests.fuzz.scenes import administration, clients
from tests.fuzz.scenes.picking import (
    PARTITION_FIELDS,
    PARTITION_LISTS,
    Make,
    Partitions,
    Scene,
    some,
    transactional,
    with_partitions,
)

__all__ = ["FIELDS", "PARTITION_FIELDS", "REQUESTS", "STATEFUL", "Partitions", "elements"]

REQUESTS: Final[dict[ApiKey, Make]] = {
    ApiKey.PRODUCE: clients.produce,
    ApiKey.FETCH: clients.fetch,
    ApiKey.LIST_OFFSETS: clients.offsets_of,
    ApiKey.METADATA: administration.metadata_of,
    ApiKey.OFFSET_COMMIT: clients.commit,
    ApiKey.OFFSET_FETCH: clients.fetch_offsets,
    ApiKey.OFFSET_DELETE: clients.commit,
    ApiKey.FIND_COORDINATOR: administration.coordinators,
    ApiKey.JOIN_GROUP: clients.join,
    ApiKey.HEARTBEAT: clients.classic_member,
    ApiKey.LEAVE_GROUP: clients.classic_member,
    ApiKey.SYNC_GROUP: clients.classic_member,
    ApiKey.DESCRIBE_GROUPS: administration.names_of(known.CLASSIC_GROUPS),
    ApiKey.CONSUMER_GROUP_DESCRIBE: administration.names_of(known.CONSUMER_GROUPS),
    ApiKey.SHARE_GROUP_DESCRIBE: administration.names_of(known.SHARE_GROUPS),
    ApiKey.STREAMS_GROUP_DESCRIBE: administration.names_of(known.GROUPS),
    ApiKey.DELETE_GROUPS: administration.names_of(known.GROUPS),
    ApiKey.LIST_GROUPS: administration.lists,
    ApiKey.LIST_TRANSACTIONS: administration.lists,
    ApiKey.LIST_CONFIG_RESOURCES: administration.lists,
    ApiKey.SASL_HANDSHAKE: administration.sasl,
    ApiKey.SASL_AUTHENTICATE: administration.sasl,
    ApiKey.API_VERSIONS: administration.cluster,
    ApiKey.DESCRIBE_CLUSTER: administration.cluster,
    ApiKey.DESCRIBE_QUORUM: administration.quorum,
    ApiKey.CREATE_TOPICS: administration.create_topics,
    ApiKey.DELETE_TOPICS: administration.delete_topics,
    ApiKey.CREATE_PARTITIONS: administration.grow,
    ApiKey.DELETE_RECORDS: administration.deleted_records,
    ApiKey.INIT_PRODUCER_ID: clients.init_producer,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: clients.offsets_of,
    ApiKey.DESCRIBE_ACLS: administration.acl,
    ApiKey.CREATE_ACLS: administration.acl,
    ApiKey.DELETE_ACLS: administration.acl,
    ApiKey.ADD_PARTITIONS_TO_TXN: transactional,
    ApiKey.ADD_OFFSETS_TO_TXN: transactional,
    ApiKey.END_TXN: transactional,
    ApiKey.WRITE_TXN_MARKERS: administration.markers,
    ApiKey.TXN_OFFSET_COMMIT: clients.txn_offsets,
    ApiKey.DESCRIBE_CONFIGS: administration.configs,
    ApiKey.ALTER_CONFIGS: administration.configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: administration.configs,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: administration.quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: administration.quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: administration.scram,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: administration.scram,
    ApiKey.UPDATE_FEATURES: administration.features,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: administration.topic_partitions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: clients.consumer_heartbeat,
    ApiKey.SHARE_GROUP_HEARTBEAT: clients.share_heartbeat,
    ApiKey.SHARE_FETCH: clients.share_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: clients.share_acknowledge,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: administration.state,
    ApiKey.READ_SHARE_GROUP_STATE: administration.state,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: administration.state,
    ApiKey.WRITE_SHARE_GROUP_STATE: administration.state,
    ApiKey.DELETE_SHARE_GROUP_STATE: administration.state,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: administration.share_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: administration.share_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: administration.share_offsets,
    ApiKey.START_REDRIVE: administration.redrive,
    ApiKey.DESCRIBE_REDRIVES: administration.begun_redrives,
    ApiKey.CANCEL_REDRIVE: administration.begun_redrives,
    ApiKey.MOVE_USER_SCRAM_CREDENTIALS: administration.moved_scram,
}

STATEFUL: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
    }
)

# -- by field, where nothing else says it

FIELDS: Final[dict[str, Callable[[Facts], Any]]] = {  # Any: of the field's type
    "GroupId": lambda facts: facts.rng.choice(known.GROUPS),
    "MemberId": lambda facts: facts.rng.choice(("", "m-1")),
    "TransactionalId": lambda facts: facts.rng.choice(known.TRANSACTIONAL_IDS),
    "TransactionalIds": lambda facts: some(facts.rng, known.TRANSACTIONAL_IDS),
    "TopicId": lambda facts: facts.rng.choice(facts.topics).topic_id,
    "PrincipalType": lambda _facts: "User",
    "PrincipalName": lambda facts: facts.rng.choice(known.USERS),
    "Path": lambda _facts: "data",
    "BrokerId": lambda _facts: 1,
    "BrokerIds": lambda _facts: [1],
    "Replicas": lambda _facts: [1],
    "ReplicaId": lambda _facts: -1,
    "TimeoutMs": lambda _facts: 1000,
    "Host": lambda _facts: "localhost",
    "Port": lambda _facts: 9092,
}


def elements(facts: Facts, layout: StructLayout, scene: Scene) -> list[Scene]:
    """Return scenes for the elements of an array that has none: topics, partitions, groups, or up to two empty ones."""
    rng = facts.rng
    names = {item.spec.name for item in layout.fields if not item.absent}
    if names & {"Topic", "TopicName", "TopicId"} or ("Name" in names and names & {*PARTITION_LISTS, "Count"}):
        return [with_partitions(rng, topic) for topic in some(rng, facts.topics)]
    if "Name" in names and layout.spec.name in ("TopicRequest", "TopicData"):
        return [with_partitions(rng, topic) for topic in some(rng, facts.topics)]
    if found := names & set(PARTITION_FIELDS):
        count = scene.get("partitions of the topic", 1)
        return [dict.fromkeys(found, index) for index in some(rng, range(count))]
    if names & {"Transactions", "VerifyOnly"}:
        return [transactional(facts, 0)]
    return [{} for _ in range(rng.choice((0, 1, 1, 2)))]
