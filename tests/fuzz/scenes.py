"""What belongs together in a request: by RPC, by element of an array, by field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generator.layout import StructLayout
from tests.fuzz import facts as known
from tests.fuzz.facts import Acquired, Facts, Member, Producer, Topic
from tests.fuzz.records import batch

Scene = dict[str, Any]  # Any: values of fields, of every type
Make = Callable[[Facts, int], Scene]
"""From what is known and the version."""

TOPIC_NAME_FIELDS: Final = ("Topic", "TopicName", "Name")
PARTITION_FIELDS: Final = ("Index", "Partition", "PartitionIndex")
PARTITION_LISTS: Final = ("Partitions", "PartitionIndexes")
NUMBERS: Final = ("0", "1", "-1", "1000", "60000", "9223372036854775807", "x", "")

# -- which member, producer or range a request is about


def _member(facts: Facts, members: Sequence[Member], groups: Sequence[str]) -> Member:
    """Mostly one that there is."""
    if members and facts.rng.random() < 0.85:
        return facts.rng.choice(members)
    return Member(facts.rng.choice(groups), facts.rng.choice(("", "m-1", "m-2", "m-3")), 0)


def _transaction(facts: Facts) -> tuple[str, Producer]:
    name = facts.rng.choice(known.TRANSACTIONAL_IDS)
    return name, facts.transactions.get(name) or Producer(facts.rng.choice((-1, 0, 1000)), 0)


def _transactional(facts: Facts, _version: int) -> Scene:
    name, producer = _transaction(facts)
    fields = {"TransactionalId": name, "ProducerId": producer.producer_id, "ProducerEpoch": producer.epoch}
    return {**fields, **{f"V3AndBelow{key}": value for key, value in fields.items()}}


# -- by RPC


def _produce(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    scene: Scene = {"Acks": rng.choice((-1, -1, 1, 0)), "TimeoutMs": 1000}
    producer, transactional = None, rng.random() < 0.3 and bool(facts.transactions)
    if transactional:
        name = rng.choice(sorted(facts.transactions))
        scene["TransactionalId"], producer = name, facts.transactions[name]
    else:
        scene["TransactionalId"] = None
        if facts.producers and rng.random() < 0.4:
            producer = rng.choice(facts.producers)

    def topics(rng: Random) -> list[Scene]:
        return [
            {
                **_named(topic),
                "PartitionData": [
                    {"Index": index, "Records": batch(rng, producer, (topic.name, index), transactional=transactional)}
                    for index in _some(rng, range(topic.partitions))
                ],
            }
            for topic in _some(rng, facts.topics)
        ]

    return {**scene, "TopicData": topics}


def _fetch(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    session, epoch = facts.fetch_sessions.get(facts.connection, (0, 0))
    if rng.random() < 0.3:
        session, epoch = 0, rng.choice((0, -1))
    return {
        "ReplicaId": -1,
        "ClusterId": None,
        "MaxWaitMs": rng.choice((0, 0, 0, 100)),
        "MinBytes": rng.choice((0, 1)),
        "MaxBytes": 1 << 20,
        "PartitionMaxBytes": rng.choice((1 << 20, 1000, 1)),
        "SessionId": session,
        "SessionEpoch": epoch if version >= 7 else -1,
        "IsolationLevel": rng.choice((0, 1)),
        "FetchOffset": lambda rng: rng.choice((0, 0, 1, 3, 10)),
        "CurrentLeaderEpoch": lambda rng: rng.choice((-1, -1, 0)),
        "LastFetchedEpoch": -1,
        "LogStartOffset": -1,
        "RackId": "",
        "ForgottenTopicsData": lambda rng: [] if rng.random() < 0.8 else [_with_partitions(rng, rng.choice(facts.topics))],
    }


def _share_session(facts: Facts) -> tuple[Member, Scene]:
    rng = facts.rng
    open_here = [key[1:] for key in facts.share_sessions if key[0] == facts.connection]
    here = [member for member in facts.share if (member.group, member.member_id) in open_here]
    member = _member(facts, here if here and rng.random() < 0.8 else facts.share, known.SHARE_GROUPS)
    epoch = facts.share_sessions.get((facts.connection, member.group, member.member_id), 0)
    if rng.random() < 0.08:
        epoch = -1
    return member, {"GroupId": member.group, "MemberId": member.member_id, "ShareSessionEpoch": epoch}


def _acknowledgements(facts: Facts, member: Member, *, empty: bool) -> Callable[[Random], list[Scene]]:
    """Of ranges that the member has, each taken out of the facts; with `empty` also topics without any."""

    def topics(rng: Random) -> list[Scene]:
        mine = [each for each in facts.acquired if each.member is member]
        chosen = _some(rng, mine) if mine and rng.random() < 0.8 else []
        by_place: dict[bytes, dict[int, list[Acquired]]] = {}
        for each in chosen:
            facts.acquired.remove(each)
            by_place.setdefault(each.topic_id, {}).setdefault(each.partition, []).append(each)
        if empty:
            for topic in _some(rng, facts.topics):
                for partition in range(topic.partitions):
                    by_place.setdefault(topic.topic_id, {}).setdefault(partition, [])
        return [
            {
                "TopicId": topic_id,
                "Partitions": [
                    {
                        "PartitionIndex": partition,
                        "PartitionMaxBytes": 1 << 20,
                        "AcknowledgementBatches": [
                            _batch_of(rng, each) for each in sorted(ranges, key=lambda each: each.first)
                        ],
                    }
                    for partition, ranges in partitions.items()
                ],
            }
            for topic_id, partitions in by_place.items()
        ]

    return topics


def _batch_of(rng: Random, each: Acquired) -> Scene:
    size = each.last - each.first + 1
    types = (1, 1, 1, 2, 3)
    kinds = [rng.choice(types)] if rng.random() < 0.6 else [rng.choice(types) for _ in range(min(size, 100))]
    return {"FirstOffset": each.first, "LastOffset": each.last, "AcknowledgeTypes": kinds}


def _share_fetch(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member, scene = _share_session(facts)
    return {
        **scene,
        "MaxWaitMs": rng.choice((0, 0, 0, 100)),
        "MinBytes": rng.choice((0, 1)),
        "MaxBytes": 1 << 20,
        "MaxRecords": rng.choice((1, 10, 500)),
        "BatchSize": rng.choice((1, 10, 500)),
        "ShareAcquireMode": rng.choice((0, 1)),
        "IsRenewAck": False,
        "Topics": _acknowledgements(facts, member, empty=scene["ShareSessionEpoch"] >= 0),
        "ForgottenTopicsData": lambda rng: [] if rng.random() < 0.9 else [_with_partitions(rng, rng.choice(facts.topics))],
    }


def _share_acknowledge(facts: Facts, _version: int) -> Scene:
    member, scene = _share_session(facts)
    return {**scene, "IsRenewAck": False, "Topics": _acknowledgements(facts, member, empty=False)}


def _share_heartbeat(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = _member(facts, facts.share, known.SHARE_GROUPS)
    epoch = -1 if rng.random() < 0.1 else member.epoch
    topics = [topic.name for topic in _some(rng, facts.topics)] if epoch == 0 or rng.random() < 0.3 else None
    return {
        "GroupId": member.group,
        "MemberId": member.member_id or f"m-{rng.randrange(10)}",
        "MemberEpoch": epoch,
        "SubscribedTopicNames": topics,
        "RackId": None,
    }


def _consumer_heartbeat(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    member = _member(facts, facts.consumer, known.CONSUMER_GROUPS)
    epoch = rng.choice((-1, -2)) if rng.random() < 0.1 else member.epoch
    joins = epoch == 0
    return {
        "GroupId": member.group,
        "MemberId": member.member_id or f"m-{rng.randrange(10)}",
        "MemberEpoch": epoch,
        "InstanceId": None,
        "RackId": None,
        "RebalanceTimeoutMs": rng.choice((5_000, 60_000)) if joins else -1,
        "SubscribedTopicNames": [t.name for t in _some(rng, facts.topics)] if joins or rng.random() < 0.3 else None,
        "SubscribedTopicRegex": rng.choice((None, None, "o.*", "")) if version >= 1 else None,
        "ServerAssignor": rng.choice((None, "uniform", "range")),
        "TopicPartitions": [] if joins else rng.choice((None, [_with_partitions(rng, rng.choice(facts.topics))])),
    }


def _join(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = _member(facts, facts.classic, known.CLASSIC_GROUPS)
    return {
        "GroupId": member.group,
        "MemberId": member.member_id if member in facts.classic else "",
        "SessionTimeoutMs": rng.choice((6_000, 30_000)),
        "RebalanceTimeoutMs": rng.choice((500, 2_000)),
        "GroupInstanceId": rng.choice((None, None, None, "static")),
        "ProtocolType": "consumer",
        "Protocols": [{"Name": name, "Metadata": SUBSCRIPTION} for name in _some(rng, ("range", "roundrobin"))],
    }


SUBSCRIPTION: Final = bytes.fromhex("0001000000010006") + b"orders" + bytes.fromhex("ffffffff00000000")
ASSIGNMENT: Final = bytes.fromhex("0000000000010006") + b"orders" + bytes.fromhex("0000000100000000ffffffff")


def _classic_member(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = _member(facts, facts.classic, known.CLASSIC_GROUPS)
    return {
        "GroupId": member.group,
        "MemberId": member.member_id,
        "GenerationId": member.epoch,
        "GroupInstanceId": None,
        "ProtocolType": rng.choice((None, "consumer")),
        "ProtocolName": None,
        "Assignments": [
            {"MemberId": each.member_id, "Assignment": ASSIGNMENT} for each in facts.classic if each.group == member.group
        ]
        if member.leader
        else [],
        "Members": [{"MemberId": member.member_id, "GroupInstanceId": None}],
    }


def _commit(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    members = facts.consumer if version >= 9 and rng.random() < 0.5 else facts.classic
    if members and rng.random() < 0.7:
        member = rng.choice(members)
    else:
        member = Member(rng.choice(("nobody", *known.CLASSIC_GROUPS)), "", -1)
    return {
        "GroupId": member.group,
        "MemberId": member.member_id,
        "GenerationIdOrMemberEpoch": member.epoch,
        "GenerationId": member.epoch,
        "MemberEpoch": member.epoch,
        "GroupInstanceId": None,
        "RetentionTimeMs": -1,
        "CommittedOffset": lambda rng: rng.randrange(10),
        "CommittedLeaderEpoch": lambda rng: rng.choice((-1, 0)),
        "CommittedMetadata": lambda rng: rng.choice((None, "", "meta")),
    }


def _txn_offsets(facts: Facts, version: int) -> Scene:
    return {**_commit(facts, version), **_transactional(facts, version)}


def _fetch_offsets(facts: Facts, version: int) -> Scene:
    return {**_commit(facts, version), "MemberId": None, "MemberEpoch": -1}


def _init_producer(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    name, producer = _transaction(facts)
    again = rng.random() < 0.3 and name in facts.transactions
    return {
        "TransactionalId": None if rng.random() < 0.3 else name,
        "TransactionTimeoutMs": rng.choice((1_000, 60_000)),
        "ProducerId": producer.producer_id if again else -1,
        "ProducerEpoch": producer.epoch if again else -1,
        "Enable2Pc": False,
        "KeepPreparedTxn": False,
    }


def _markers(facts: Facts, _version: int) -> Scene:
    _, producer = _transaction(facts)
    return {
        "Markers": lambda rng: [
            {
                "ProducerId": producer.producer_id,
                "ProducerEpoch": producer.epoch,
                "TransactionResult": rng.random() < 0.5,
                "CoordinatorEpoch": 0,
                "Topics": [_with_partitions(rng, topic) for topic in _some(rng, facts.topics)],
            }
        ]
    }


def _state(facts: Facts, _version: int) -> Scene:
    """Share state from outside, mostly of one share partition."""
    rng = facts.rng
    few = {} if rng.random() < 0.3 else {"Topics": [{**_named(rng.choice(facts.topics)), "Partitions": Partitions([0])}]}
    return {
        **few,
        "GroupId": rng.choice(known.STATE_GROUPS),
        "StateEpoch": lambda rng: rng.choice((0, 0, 0, 0, 0, 1)),
        "LeaderEpoch": lambda rng: rng.choice((-1, 0, 0)),
        "StartOffset": lambda rng: rng.choice((-1, 0, 3)),
        "DeliveryCompleteCount": -1,
        "StateBatches": lambda rng: [
            {"FirstOffset": 3 * n + 3, "LastOffset": 3 * n + 4, "DeliveryState": rng.choice((0, 2, 4)), "DeliveryCount": 1}
            for n in range(rng.randrange(4))
        ],
    }


def _share_offsets(facts: Facts, _version: int) -> Scene:
    return {"GroupId": facts.rng.choice((*known.SHARE_GROUPS, "share-idle", "share-idle")), "StartOffset": lambda rng: rng.randrange(6)}


def _create_topics(facts: Facts, _version: int) -> Scene:
    def topics(rng: Random) -> list[Scene]:
        names = _some(rng, (*known.TOPICS, "new-a", "new-b", f"new-{rng.randrange(30)}"))
        return [
            {
                "Name": name,
                "NumPartitions": known.TOPICS.get(name) or rng.choice((-1, 1, 2)),
                "ReplicationFactor": rng.choice((-1, 1)),
                "Assignments": [],
                "Configs": [{"Name": key, "Value": value} for key, value in _some_configs(rng, TOPIC_VALUES)],
            }
            for name in names
        ]

    return {"Topics": topics, "timeoutMs": 1000, "validateOnly": facts.rng.random() < 0.2}


def _delete_topics(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    name = rng.choice((*known.TOPICS, "new-a", "new-b"))
    by_id = rng.random() < 0.3
    ids = {topic.name: topic.topic_id for topic in facts.topics}
    if by_id and name in ids:
        topics = [{"Name": None, "TopicId": ids[name]}]
    else:
        topics = [{"Name": name, "TopicId": bytes(16)}]
    return {"Topics": topics, "TopicNames": [name], "TimeoutMs": 1000}


def _grow(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    name = rng.choice((*known.TOPICS, "new-a"))
    topics = [{"Name": name, "Count": rng.choice((2, 3, 4)), "Assignments": None}]
    return {"Topics": topics, "TimeoutMs": 1000, "ValidateOnly": rng.random() < 0.7}


TOPIC_VALUES: Final[dict[str, tuple[str | None, ...]]] = {
    "retention.ms": ("-1", "604800000"),
    "cleanup.policy": ("delete", "compact", "compact,delete"),
    "max.message.bytes": ("1048588", "100000"),
    "compression.type": ("producer", "gzip", "lz4", "zstd", "snappy", "uncompressed"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": ("0.5", "0"),
    "segment.bytes": ("1048576",),
    "segment.ms": ("1000",),
}
GROUP_VALUES: Final[dict[str, tuple[str | None, ...]]] = {
    "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT1H"),
    "share.record.lock.duration.ms": ("15000", "30000"),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "share.session.timeout.ms": ("45000",),
    "consumer.session.timeout.ms": ("45000",),
}
BROKER_VALUES: Final[dict[str, tuple[str | None, ...]]] = {
    "log.retention.ms": ("604800000",),
    "group.share.record.lock.duration.ms": ("30000", "20000"),
    "log.cleaner.min.cleanable.ratio": ("0.5",),
}
TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32


def _some_configs(rng: Random, values: dict[str, tuple[str | None, ...]]) -> list[tuple[str, str | None]]:
    names = _some(rng, sorted(values)) if rng.random() < 0.7 else []
    return [(name, rng.choice(values[name])) for name in names]


def _resource(rng: Random) -> tuple[int, str, dict[str, tuple[str | None, ...]], list[str]]:
    """Kind, name, values that may be set, and names of properties that it has."""
    match rng.randrange(3):
        case 0:
            return TOPIC_RESOURCE, rng.choice((*known.TOPICS, "new-a")), TOPIC_VALUES, sorted(key.name for key in TOPIC_KEYS)
        case 1:
            return GROUP_RESOURCE, rng.choice(known.GROUPS), GROUP_VALUES, sorted(key.name for key in GROUP_KEYS)
        case _:
            return BROKER_RESOURCE, rng.choice(("", "1")), BROKER_VALUES, sorted(BROKER_VALUES)


def _configs(facts: Facts, _version: int) -> Scene:
    def resources(rng: Random) -> list[Scene]:
        kind, name, values, names = _resource(rng)
        return [
            {
                "ResourceType": kind,
                "ResourceName": name,
                "ConfigurationKeys": rng.choice((None, _some(rng, names))),
                "Configs": [
                    {"Name": key, "Value": value, "ConfigOperation": rng.choice((0, 0, 1))}
                    for key, value in _some_configs(rng, values)
                ],
            }
        ]

    return {"Resources": resources, "ValidateOnly": facts.rng.random() < 0.5}


def _acl(facts: Facts, _version: int) -> Scene:
    def acl(rng: Random) -> Scene:
        kind = rng.choice((2, 2, 3, 4, 5))
        name = {4: "kafka-cluster", 3: "share-a", 5: "tx-a"}.get(kind, rng.choice(tuple(known.TOPICS)))
        fields = {
            "ResourceType": kind,
            "ResourceName": name,
            "ResourcePatternType": 3 if kind == 4 else rng.choice((3, 3, 4)),
            "Principal": f"User:{rng.choice(known.USERS)}",
            "Host": rng.choice(("*", "127.0.0.1")),
            "Operation": rng.choice((2, 3, 8)) if kind != 4 else 8,
            "PermissionType": rng.choice((2, 3)),
        }
        filters = {
            "ResourceTypeFilter": kind,
            "ResourceNameFilter": rng.choice((name, None)),
            "PatternTypeFilter": rng.choice((1, 2, 3)),
            "PrincipalFilter": rng.choice((fields["Principal"], None)),
            "HostFilter": None,
        }
        return {**fields, **filters}

    rng = facts.rng
    return {**acl(rng), "Creations": [acl(rng)], "Filters": [acl(rng)]}


def _quotas(facts: Facts, _version: int) -> Scene:
    def entity(rng: Random) -> list[Scene]:
        if rng.random() < 0.2:
            return [{"EntityType": "ip", "EntityName": "10.0.0.1"}]
        user, client = rng.choice(known.USERS), rng.choice(known.CLIENT_IDS[:2])
        both = [{"EntityType": "user", "EntityName": user}, {"EntityType": "client-id", "EntityName": client}]
        return both[rng.randrange(2) :]

    def operation(rng: Random, entity: list[Scene]) -> Scene:
        ip = entity[0]["EntityType"] == "ip"
        keys = ("connection_creation_rate",) if ip else ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
        return {"Key": rng.choice(keys), "Value": rng.choice((1e9, 1e6)), "Remove": rng.random() < 0.4}

    def entries(rng: Random) -> list[Scene]:
        of = entity(rng)
        return [{"Entity": of, "Ops": [operation(rng, of)]}]

    def components(rng: Random) -> list[Scene]:
        return [
            {"EntityType": kind, "MatchType": match, "Match": name if match == 0 else None}
            for kind, name in _some(rng, (("user", "alice"), ("client-id", "fuzz")))
            for match in (rng.randrange(3),)
        ]

    return {"Entries": entries, "Components": components, "ValidateOnly": facts.rng.random() < 0.2}


def _scram(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    one = {
        "Name": rng.choice(known.USERS),
        "Mechanism": rng.choice((1, 2)),
        "Iterations": rng.choice((4096, 8192)),
        "Salt": b"salt of sixteen.",
    }
    one["SaltedPassword"] = bytes(32 if one["Mechanism"] == 1 else 64)
    remove = rng.random() < 0.3
    return {
        "Users": rng.choice((None, [one])),
        "Deletions": [one] if remove else [],
        "Upsertions": [] if remove else [one],
    }


def _features(facts: Facts, _version: int) -> Scene:
    """Not share.version: without it there would be no share groups to go on with."""
    rng = facts.rng
    name = rng.choice(("transaction.version", "group.version"))
    level = rng.choice((1, 2)) if name.startswith("t") else 1
    return {
        "FeatureUpdates": [{"Feature": name, "MaxVersionLevel": level, "AllowDowngrade": False, "UpgradeType": 1}],
        "ValidateOnly": rng.random() < 0.8,
    }


def _sasl(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    return {
        "Mechanism": rng.choice(("PLAIN", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")),
        "AuthBytes": rng.choice(
            (b"\0alice\0wonderland", b"\0alice\0wrong", b"n,,n=carol,r=abcdef", b"c=biws,r=abcdef,p=AAAA", b"")
        ),
    }


def _coordinators(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    kind = rng.choice((0, 1, 2))
    topic = rng.choice(facts.topics)
    share = f"share-a:{_uuid_text(topic.topic_id)}:0"
    keys = {0: known.GROUPS, 1: known.TRANSACTIONAL_IDS, 2: (share,)}[kind]
    return {"KeyType": kind, "Key": rng.choice(keys), "CoordinatorKeys": _some(rng, keys)}


def _uuid_text(topic_id: bytes) -> str:
    from shareq.protocol.primitives import uuid_to_text

    return uuid_to_text(topic_id)


def _lists(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    return {
        "StatesFilter": _some(rng, ("Stable", "Empty", "Dead")) if rng.random() < 0.5 else [],
        "TypesFilter": _some(rng, ("share", "consumer", "classic")) if rng.random() < 0.5 else [],
        "StateFilters": _some(rng, ("Empty", "Ongoing", "CompleteCommit")) if rng.random() < 0.5 else [],
        "ProducerIdFilters": [],
        "DurationFilter": rng.choice((-1, 0)),
        "TransactionalIdPattern": rng.choice((None, "tx-.*", "")),
        "ResourceTypes": _some(rng, (2, 4, 8, 16, 32)),
    }


def _offsets_of(facts: Facts, _version: int) -> Scene:
    return {
        "ReplicaId": -1,
        "IsolationLevel": facts.rng.choice((0, 1)),
        "CurrentLeaderEpoch": lambda rng: rng.choice((-1, 0)),
        "LeaderEpoch": 0,
        "Timestamp": lambda rng: rng.choice((-1, -2, -3, 0, 1_700_000_000_000)),
        "TimeoutMs": 1000,
    }


def _deleted_records(facts: Facts, _version: int) -> Scene:
    return {"Offset": lambda rng: rng.choice((0, 1, 2, -1)), "TimeoutMs": 1000}


def _metadata_of(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    topics: list[Scene] | None = [{"Name": t.name, "TopicId": bytes(16)} for t in _some(rng, facts.topics)]
    if version >= 12 and rng.random() < 0.4:
        topics = [{"Name": None, "TopicId": t.topic_id} for t in _some(rng, facts.topics)]
    elif rng.random() < 0.2:
        topics = None
    return {"Topics": topics, "AllowAutoTopicCreation": rng.random() < 0.7}


def _names_of(groups: Sequence[str]) -> Make:
    """Mostly of groups of the kind that is asked for."""

    def make(facts: Facts, _version: int) -> Scene:
        rng = facts.rng
        names = _some(rng, groups if rng.random() < 0.8 else known.GROUPS)
        return {"Groups": names, "GroupIds": names, "GroupsNames": [rng.choice(names)]}

    return make


def _cluster(facts: Facts, _version: int) -> Scene:
    return {
        "EndpointType": 1,
        "ResponsePartitionLimit": 2000,
        "TopicName": "__cluster_metadata",
        "ClientSoftwareName": "fuzz",
        "ClientSoftwareVersion": "1.0",
    }


def _topic_partitions(facts: Facts, _version: int) -> Scene:
    return {"ResponsePartitionLimit": facts.rng.choice((1, 2000)), "TopicName": "orders", "Cursor": None}


REQUESTS: Final[dict[ApiKey, Make]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _offsets_of,
    ApiKey.METADATA: _metadata_of,
    ApiKey.OFFSET_COMMIT: _commit,
    ApiKey.OFFSET_FETCH: _fetch_offsets,
    ApiKey.OFFSET_DELETE: _commit,
    ApiKey.FIND_COORDINATOR: _coordinators,
    ApiKey.JOIN_GROUP: _join,
    ApiKey.HEARTBEAT: _classic_member,
    ApiKey.LEAVE_GROUP: _classic_member,
    ApiKey.SYNC_GROUP: _classic_member,
    ApiKey.DESCRIBE_GROUPS: _names_of(known.CLASSIC_GROUPS),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _names_of(known.CONSUMER_GROUPS),
    ApiKey.SHARE_GROUP_DESCRIBE: _names_of(known.SHARE_GROUPS),
    ApiKey.STREAMS_GROUP_DESCRIBE: _names_of(known.GROUPS),
    ApiKey.DELETE_GROUPS: _names_of(known.GROUPS),
    ApiKey.LIST_GROUPS: _lists,
    ApiKey.LIST_TRANSACTIONS: _lists,
    ApiKey.LIST_CONFIG_RESOURCES: _lists,
    ApiKey.SASL_HANDSHAKE: _sasl,
    ApiKey.SASL_AUTHENTICATE: _sasl,
    ApiKey.API_VERSIONS: _cluster,
    ApiKey.DESCRIBE_CLUSTER: _cluster,
    ApiKey.DESCRIBE_QUORUM: _cluster,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _grow,
    ApiKey.DELETE_RECORDS: _deleted_records,
    ApiKey.INIT_PRODUCER_ID: _init_producer,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offsets_of,
    ApiKey.DESCRIBE_ACLS: _acl,
    ApiKey.CREATE_ACLS: _acl,
    ApiKey.DELETE_ACLS: _acl,
    ApiKey.ADD_PARTITIONS_TO_TXN: _transactional,
    ApiKey.ADD_OFFSETS_TO_TXN: _transactional,
    ApiKey.END_TXN: _transactional,
    ApiKey.WRITE_TXN_MARKERS: _markers,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offsets,
    ApiKey.DESCRIBE_CONFIGS: _configs,
    ApiKey.ALTER_CONFIGS: _configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _configs,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: _quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _scram,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _scram,
    ApiKey.UPDATE_FEATURES: _features,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _topic_partitions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _consumer_heartbeat,
    ApiKey.SHARE_GROUP_HEARTBEAT: _share_heartbeat,
    ApiKey.SHARE_FETCH: _share_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: _share_acknowledge,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _state,
    ApiKey.READ_SHARE_GROUP_STATE: _state,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _state,
    ApiKey.WRITE_SHARE_GROUP_STATE: _state,
    ApiKey.DELETE_SHARE_GROUP_STATE: _state,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _share_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _share_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _share_offsets,
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
    "TransactionalIds": lambda facts: _some(facts.rng, known.TRANSACTIONAL_IDS),
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


# -- by element


def elements(facts: Facts, layout: StructLayout, scene: Scene) -> list[Scene]:
    """Scenes for the elements of an array that nothing else says: topics, partitions, groups, or two of whatever."""
    rng = facts.rng
    names = {item.spec.name for item in layout.fields if not item.absent}
    if names & {"Topic", "TopicName", "TopicId"} or ("Name" in names and names & {*PARTITION_LISTS, "Count"}):
        return [_with_partitions(rng, topic) for topic in _some(rng, facts.topics)]
    if "Name" in names and layout.spec.name in ("TopicRequest", "TopicData"):
        return [_with_partitions(rng, topic) for topic in _some(rng, facts.topics)]
    if found := names & set(PARTITION_FIELDS):
        count = scene.get("partitions of the topic", 1)
        return [dict.fromkeys(found, index) for index in _some(rng, range(count))]
    if names & {"Transactions", "VerifyOnly"}:
        return [_transactional(facts, 0)]
    return [{} for _ in range(rng.choice((0, 1, 1, 2)))]


def _named(topic: Topic) -> Scene:
    return {**dict.fromkeys(TOPIC_NAME_FIELDS, topic.name), "TopicId": topic.topic_id}


def _with_partitions(rng: Random, topic: Topic) -> Scene:
    """A topic's scene. Arrays of numbers get partitions of it; arrays of structs make their own."""
    numbers = Partitions(_some(rng, range(topic.partitions)))
    return {**_named(topic), "partitions of the topic": topic.partitions, **dict.fromkeys(PARTITION_LISTS, numbers)}


class Partitions(list[int]):
    """Partitions: as they are for an array of numbers, an element's scene each for an array of structs."""


def _some(rng: Random, of: Sequence[Any]) -> list[Any]:
    """One to three different ones, in their order. Any: of whatever it is."""
    if not of:
        return []
    count = min(len(of), rng.choice((1, 1, 1, 2, 3)))
    chosen = sorted(rng.sample(range(len(of)), count))
    return [of[index] for index in chosen]
