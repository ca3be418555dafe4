"""Kafka's error codes.

Generated from schemas/errors.json (Apache Kafka 4.4.0) by `python -m shareq.protocol.generator`. Do not edit.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """What a response says of a request, or of a part of it. int16 on the wire."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136


# The request may succeed if it is sent again.
RETRIABLE: frozenset[int] = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)

TEXTS: dict[int, str] = {
    -1: "Something failed in the broker that no other code describes.",
    0: "No error.",
    1: "The offset lies outside what the partition holds.",
    2: "A batch fails its CRC or has an impossible size, magic or layout.",
    3: "This broker has no such topic or partition.",
    4: "The fetch size asked for is not usable.",
    5: "The partition has no leader at the moment.",
    6: "This broker does not lead the partition, nor follow it where that would do.",
    7: "The time allowed for the request ran out.",
    8: "The broker is not there.",
    9: "The replica that was asked for is not there.",
    10: "A record batch is larger than the broker or topic accepts.",
    11: "The controller has moved on to a later epoch.",
    12: "The text committed with an offset is too long.",
    13: "The connection broke before the answer came.",
    14: "The coordinator still reads its log.",
    15: "There is no coordinator to ask right now.",
    16: "Another broker is the coordinator for this key.",
    17: "The topic name is not legal, or the operation is not for such a topic.",
    18: "The batches of the request are larger than a segment may be.",
    19: "Fewer replicas are in sync than the topic demands.",
    20: "Written, but to fewer in-sync replicas than the topic demands.",
    21: "The number of acknowledgements must be 0, 1 or -1.",
    22: "The generation is not the group's current one.",
    23: "The member's protocol type or protocols do not fit those of the group.",
    24: "The group id is not usable here.",
    25: "The group has no such member.",
    26: "The session timeout is outside the limits the broker is configured with.",
    27: "The group is rebalancing: join again.",
    28: "The offset commit is too large to be stored.",
    29: "Not allowed on this topic.",
    30: "Not allowed on this group.",
    31: "Not allowed on the cluster.",
    32: "A record's timestamp is out of the accepted range.",
    33: "The broker does not offer this SASL mechanism.",
    34: "The request does not belong at this point of the SASL exchange.",
    35: "This version of the request is not served.",
    36: "A topic of this name exists.",
    37: "The number of partitions is not valid.",
    38: "The replication factor is below 1 or above the number of brokers.",
    39: "The replica assignment is not valid.",
    40: "A configuration value is not valid.",
    41: "This node is not the active controller.",
    42: "The request contradicts itself or the protocol.",
    43: "The partition's record format cannot do this.",
    44: "A policy of the cluster forbids this.",
    45: "A producer's sequence number left a gap.",
    46: "A producer's batch was written before.",
    47: "The producer's epoch is older than the known one.",
    48: "The transaction is not in a state that allows this.",
    49: "The producer id is not the one of this transactional id.",
    50: "The transaction timeout is above the broker's maximum.",
    51: "The previous transaction of this producer is still being completed.",
    52: "The sending transaction coordinator has been replaced.",
    53: "Not allowed to use this transactional id.",
    54: "Security features are switched off.",
    55: "Not tried, because another part of the request failed.",
    56: "The disk failed.",
    57: "The log directory is not one of the broker's.",
    58: "The credentials were refused.",
    59: "The broker remembers nothing of this producer id.",
    60: "The partition is being reassigned.",
    61: "Delegation tokens are switched off.",
    62: "There is no such delegation token.",
    63: "The principal neither owns nor may renew the token.",
    64: "Token requests are not allowed on this kind of connection.",
    65: "Not allowed on this delegation token.",
    66: "The delegation token has expired.",
    67: "Principals of this type are not supported.",
    68: "The group still has members.",
    69: "There is no such group.",
    70: "The broker does not know this fetch session.",
    71: "The fetch session epoch is not the expected one.",
    72: "The leader does not listen on the listener that was asked.",
    73: "Deleting topics is switched off.",
    74: "The leader epoch of the request is older than the broker's.",
    75: "The leader epoch of the request is newer than the broker's.",
    76: "This version of the request may not carry this compression.",
    77: "The broker has registered again since.",
    78: "The leader cannot tell yet how far the partition is readable.",
    79: "Join again with the member id of this answer.",
    80: "The preferred leader is not there.",
    81: "The group has as many members as it may have.",
    82: "Another member has taken over this group instance id.",
    83: "No replica that may lead is there.",
    84: "The partition has the leader it should have.",
    85: "No reassignment is running for the partition.",
    86: "The group is subscribed to the topic, so its offsets stay.",
    87: "The broker refused a record.",
    88: "Offsets of an open transaction are pending.",
    89: "A quota is used up.",
    90: "A newer producer uses the same transactional id.",
    91: "What the request names does not exist.",
    92: "The request names the same thing twice.",
    93: "The credential does not meet the requirements.",
    94: "The voters of the request are not the expected ones.",
    95: "The feature level asked for cannot be set.",
    96: "The feature levels could not be changed.",
    97: "The forwarded principal cannot be read.",
    98: "There is no such snapshot.",
    99: "The position lies outside the snapshot.",
    100: "This broker has no topic of this id.",
    101: "The broker id is in use.",
    102: "No broker of this id is registered.",
    103: "The topic id is not the one of the log on this broker.",
    104: "The request is for another cluster.",
    105: "There is no such transactional id.",
    106: "The fetch session mixes topic ids and topic names.",
    107: "The replica may not join the in-sync set.",
    108: "The change was made, and the partition has a new leader by it.",
    109: "The offset has been moved to remote storage.",
    110: "The member epoch was fenced: give up the partitions and join again.",
    111: "A member that is still alive holds this group instance id.",
    112: "The group coordinator does not have this assignor.",
    113: "The member epoch is not the current one: heartbeat, then try again.",
    114: "The request is for the other kind of endpoint.",
    115: "This kind of endpoint is not known yet.",
    116: "No controller of this id is known.",
    117: "The metrics subscription is unknown or has been replaced.",
    118: "The pushed metrics are larger than the broker accepts.",
    119: "The controller refused the registration.",
    120: "The transaction can go on only by being aborted.",
    121: "The records are not in a state that allows this acknowledgement.",
    122: "The broker does not know this share session.",
    123: "The share session epoch is not the expected one.",
    124: "The coordinator knows a later state epoch.",
    125: "The voter key is not the expected one.",
    126: "The voter is in the set already.",
    127: "The voter is not in the set.",
    128: "The regular expression does not compile.",
    129: "The client should start over from its bootstrap servers.",
    130: "The Streams topology is not valid.",
    131: "The epoch of the Streams topology is not valid.",
    132: "The epoch of the Streams topology is an old one.",
    133: "The broker holds as many share sessions as it may.",
    134: "The group was not deleted; the message beside its code says why.",
    135: "What the Streams topology consists of could not be stored; the message says why.",
    136: "No controller of this id is registered.",
}
