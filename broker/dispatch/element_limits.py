"""Limits of a request's elements, counted over all its arrays before memory is allocated for them.

Apache Kafka accepts what fits into `socket.request.max.bytes`: at two bytes for each element, 50 million elements.
The limits here are far above the needs of clients, so a request beyond them is treated like unreadable bytes: the
connection is closed.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.api_keys import ApiKey

NAMES: Final = 1_000
"""The limit for names that exist once or a few times: mechanisms, states, a member's protocols, features, keys of a
quota.
"""
RESOURCES: Final = 50_000
"""The limit for resources that an administrator may name at once: all topics, all groups, their properties."""
PARTITIONS: Final = 200_000
"""The limit for partitions, with their topics, that one client may name: twice as many as one broker leads."""

_OF_ANY_SIZE: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.SYNC_GROUP,
        ApiKey.JOIN_GROUP,
        ApiKey.WRITE_SHARE_GROUP_STATE,
    }
)

MOST_ELEMENTS: Final[dict[int, int]] = {
    # all partitions of a consumer or producer, or all of a topic's
    ApiKey.PRODUCE: PARTITIONS,
    ApiKey.FETCH: PARTITIONS,  # what is fetched, and what is not any more
    ApiKey.LIST_OFFSETS: PARTITIONS,
    ApiKey.OFFSET_COMMIT: PARTITIONS,
    ApiKey.OFFSET_DELETE: PARTITIONS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: PARTITIONS,
    ApiKey.DELETE_RECORDS: PARTITIONS,
    ApiKey.TXN_OFFSET_COMMIT: PARTITIONS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: PARTITIONS,
    # partitions as numbers: four times as many
    ApiKey.OFFSET_FETCH: 100_000,
    ApiKey.ADD_PARTITIONS_TO_TXN: RESOURCES,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: RESOURCES,  # what the member has
    ApiKey.ELECT_LEADERS: RESOURCES,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: RESOURCES,
    ApiKey.DESCRIBE_LOG_DIRS: RESOURCES,
    ApiKey.ALTER_REPLICA_LOG_DIRS: RESOURCES,
    ApiKey.DESCRIBE_PRODUCERS: RESOURCES,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: RESOURCES,
    # acknowledgement batches: as many as a member can have locked records on all its partitions, within reason; those
    # of one partition are bounded in share/acknowledgements.py, partitions in share/core/sessions.py
    ApiKey.SHARE_FETCH: PARTITIONS,
    ApiKey.SHARE_ACKNOWLEDGE: PARTITIONS,
    ApiKey.TXN_SHARE_ACKNOWLEDGE: PARTITIONS,
    # all topics, groups or resources
    ApiKey.METADATA: 100_000,  # a client that follows every topic
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: RESOURCES,  # they are put in order in one turn
    ApiKey.CREATE_TOPICS: 100_000,  # at most 10,000 partitions, their replicas and properties
    # what an administrator changes at once, in one turn
    ApiKey.CREATE_PARTITIONS: 10_000,  # as many partitions at most
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 20_000,
    ApiKey.ALTER_CLIENT_QUOTAS: 20_000,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: 10_000,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 10_000,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 10_000,
    ApiKey.MOVE_USER_SCRAM_CREDENTIALS: 10_000,
    # what a member names: it fits into a record, and so into max.message.bytes
    ApiKey.SHARE_GROUP_HEARTBEAT: 5_000,  # 4 µs each, in one turn
    ApiKey.DESCRIBE_REDRIVES: NAMES,
    ApiKey.JOIN_GROUP: NAMES,
    # what brokers send each other, a share partition or some at a time; their answers are made in one turn
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: 10_000,
    ApiKey.READ_SHARE_GROUP_STATE: 10_000,
    ApiKey.DELETE_SHARE_GROUP_STATE: 10_000,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: 10_000,
    # of which there are a few
    ApiKey.WRITE_TXN_MARKERS: NAMES,  # each is written to a log, and partitions count a quarter; clients send one
    ApiKey.LIST_GROUPS: NAMES,
    ApiKey.LIST_CONFIG_RESOURCES: NAMES,
    ApiKey.API_VERSIONS: NAMES,
    ApiKey.SASL_HANDSHAKE: NAMES,
    ApiKey.SASL_AUTHENTICATE: NAMES,
    ApiKey.INIT_PRODUCER_ID: NAMES,
    ApiKey.END_TXN: NAMES,
    ApiKey.ADD_OFFSETS_TO_TXN: NAMES,
    ApiKey.HEARTBEAT: NAMES,
    ApiKey.DESCRIBE_CLUSTER: NAMES,
    ApiKey.DESCRIBE_QUORUM: NAMES,
    ApiKey.UPDATE_FEATURES: NAMES,
}


ELEMENT_BYTES: Final = 256
"""The most bytes of an element on average. Names of topics and groups have up to 249 bytes."""

LEAST_LARGEST: Final = 512 * 1024
MOST_LARGEST: Final = 32 * 1024 * 1024


def largest_frame(api_key: int) -> int:
    """Return the most bytes that a frame of this RPC may have.

    Records have other limits; the size of all other fields follows from the number of elements.
    """
    if api_key in _OF_ANY_SIZE:
        return 2**31 - 1
    elements = MOST_ELEMENTS.get(api_key, RESOURCES)
    return min(LEAST_LARGEST + ELEMENT_BYTES * elements, MOST_LARGEST)


def most_elements(api_key: ApiKey) -> int:
    """Return the most elements in a request of this RPC. A number in an array counts as a quarter."""
    return MOST_ELEMENTS.get(api_key, RESOURCES)
