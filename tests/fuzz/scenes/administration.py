"""Requests from administrators, from other brokers, and from clients that look around."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.protocol.primitives import uuid_to_text
from tests.fuzz import facts as known
from tests.fuzz.facts import Facts
from tests.fuzz.scenes.picking import Make, Partitions, Scene, named, some, transaction, with_partitions


def create_topics(facts: Facts, _version: int) -> Scene:
    def topics(rng: Random) -> list[Scene]:
        names = some(rng, (*known.TOPICS, "new-a", "new-b", f"new-{rng.randrange(30)}"))
        return [
            {
                "Name": name,
                "NumPartitions": known.TOPICS.get(name) or rng.choice((-1, 1, 2)),
                "ReplicationFactor": rng.choice((-1, 1)),
                "Assignments": [],
                "Configs": [{"Name": key, "Value": value} for key, value in some_configs(rng, TOPIC_VALUES)],
            }
            for name in names
        ]

    return {"Topics": topics, "timeoutMs": 1000, "validateOnly": facts.rng.random() < 0.2}


def delete_topics(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    name = rng.choice((*known.TOPICS, "new-a", "new-b"))
    by_id = rng.random() < 0.3
    ids = {topic.name: topic.topic_id for topic in facts.topics}
    topics: list[Scene] = [{"Name": name, "TopicId": bytes(16)}]
    if by_id and name in ids:
        topics = [{"Name": None, "TopicId": ids[name]}]
    return {"Topics": topics, "TopicNames": [name], "TimeoutMs": 1000}


def grow(facts: Facts, _version: int) -> Scene:
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


def some_configs(rng: Random, values: dict[str, tuple[str | None, ...]]) -> list[tuple[str, str | None]]:
    names = some(rng, sorted(values)) if rng.random() < 0.7 else []
    return [(name, rng.choice(values[name])) for name in names]


def resource(rng: Random) -> tuple[int, str, dict[str, tuple[str | None, ...]], list[str]]:
    """Return the kind and name of a resource, values that may be set, and the names of its properties."""
    match rng.randrange(3):
        case 0:
            return (
                TOPIC_RESOURCE,
                rng.choice((*known.TOPICS, "new-a")),
                TOPIC_VALUES,
                sorted(key.name for key in TOPIC_KEYS),
            )
        case 1:
            return GROUP_RESOURCE, rng.choice(known.GROUPS), GROUP_VALUES, sorted(key.name for key in GROUP_KEYS)
        case _:
            return BROKER_RESOURCE, rng.choice(("", "1")), BROKER_VALUES, sorted(BROKER_VALUES)


def configs(facts: Facts, _version: int) -> Scene:
    def resources(rng: Random) -> list[Scene]:
        kind, name, values, names = resource(rng)
        return [
            {
                "ResourceType": kind,
                "ResourceName": name,
                "ConfigurationKeys": rng.choice((None, some(rng, names))),
                "Configs": [
                    {"Name": key, "Value": value, "ConfigOperation": rng.choice((0, 0, 1))}
                    for key, value in some_configs(rng, values)
                ],
            }
        ]

    return {"Resources": resources, "ValidateOnly": facts.rng.random() < 0.5}


def acl(facts: Facts, _version: int) -> Scene:
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


def quotas(facts: Facts, _version: int) -> Scene:
    def entity(rng: Random) -> list[Scene]:
        if rng.random() < 0.2:
            return [{"EntityType": "ip", "EntityName": "10.0.0.1"}]
        user, client = rng.choice(known.USERS), rng.choice(known.CLIENT_IDS[:2])
        both = [{"EntityType": "user", "EntityName": user}, {"EntityType": "client-id", "EntityName": client}]
        return both[rng.randrange(2) :]

    def operation(rng: Random, entity: list[Scene]) -> Scene:
        ip = entity[0]["EntityType"] == "ip"
        keys = (
            ("connection_creation_rate",) if ip else ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
        )
        return {"Key": rng.choice(keys), "Value": rng.choice((1e9, 1e6)), "Remove": rng.random() < 0.4}

    def entries(rng: Random) -> list[Scene]:
        of = entity(rng)
        return [{"Entity": of, "Ops": [operation(rng, of)]}]

    def components(rng: Random) -> list[Scene]:
        return [
            {"EntityType": kind, "MatchType": match, "Match": name if match == 0 else None}
            for kind, name in some(rng, (("user", "alice"), ("client-id", "fuzz")))
            for match in (rng.randrange(3),)
        ]

    return {"Entries": entries, "Components": components, "ValidateOnly": facts.rng.random() < 0.2}


def scram(facts: Facts, _version: int) -> Scene:
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


def moved_scram(facts: Facts, version: int) -> Scene:
    scene = scram(facts, version)
    one = (scene["Upsertions"] or scene["Deletions"])[0]
    key = one["SaltedPassword"]
    moved = {**one, "User": one["Name"], "StoredKey": key, "ServerKey": key}
    return {"Credentials": facts.rng.choice((None, [moved]))}


def features(facts: Facts, _version: int) -> Scene:
    """Update a feature other than share.version, without which no share groups would be left to test."""
    rng = facts.rng
    name = rng.choice(("transaction.version", "group.version"))
    level = rng.choice((1, 2)) if name.startswith("t") else 1
    return {
        "FeatureUpdates": [{"Feature": name, "MaxVersionLevel": level, "AllowDowngrade": False, "UpgradeType": 1}],
        "ValidateOnly": rng.random() < 0.8,
    }


_TOKENS: Final = {"PLAIN": b"\0alice\0wonderland"}


def sasl(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    return {
        "Mechanism": rng.choice(("PLAIN", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")),
        "AuthBytes": _TOKENS[facts.mechanisms[facts.connection]]
        if facts.connection in facts.mechanisms and rng.random() < 0.7
        else rng.choice(
            (b"\0alice\0wonderland", b"\0alice\0wrong", b"n,,n=carol,r=abcdef", b"c=biws,r=abcdef,p=AAAA", b"")
        ),
    }


def coordinators(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    kind = rng.choice((0, 1, 2))
    topic = rng.choice(facts.topics)
    share = f"share-a:{uuid_text(topic.topic_id)}:0"
    keys = {0: known.GROUPS, 1: known.TRANSACTIONAL_IDS, 2: (share,)}[kind]
    return {"KeyType": kind, "Key": rng.choice(keys), "CoordinatorKeys": some(rng, keys)}


def uuid_text(topic_id: bytes) -> str:

    return uuid_to_text(topic_id)


def lists(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    return {
        "StatesFilter": some(rng, ("Stable", "Empty", "Dead")) if rng.random() < 0.5 else [],
        "TypesFilter": some(rng, ("share", "consumer", "classic")) if rng.random() < 0.5 else [],
        "StateFilters": some(rng, ("Empty", "Ongoing", "CompleteCommit")) if rng.random() < 0.5 else [],
        "ProducerIdFilters": [],
        "DurationFilter": rng.choice((-1, 0)),
        "TransactionalIdPattern": rng.choice((None, "tx-.*", "")),
        "ResourceTypes": some(rng, (2, 4, 8, 16, 32)),
    }


def deleted_records(facts: Facts, _version: int) -> Scene:
    return {"Offset": lambda rng: rng.choice((0, 1, 2, -1)), "TimeoutMs": 1000}


def metadata_of(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    topics: list[Scene] | None = [{"Name": t.name, "TopicId": bytes(16)} for t in some(rng, facts.topics)]
    if version >= 12 and rng.random() < 0.4:
        topics = [{"Name": None, "TopicId": t.topic_id} for t in some(rng, facts.topics)]
    elif rng.random() < 0.2:
        topics = None
    return {"Topics": topics, "AllowAutoTopicCreation": rng.random() < 0.7}


def names_of(groups: Sequence[str]) -> Make:
    """Return a maker of requests that name mostly groups of the right kind."""

    def make(facts: Facts, _version: int) -> Scene:
        rng = facts.rng
        names = some(rng, groups if rng.random() < 0.8 else known.GROUPS)
        return {"Groups": names, "GroupIds": names, "GroupsNames": [rng.choice(names)]}

    return make


def cluster(facts: Facts, _version: int) -> Scene:
    return {
        "EndpointType": 1,
        "ResponsePartitionLimit": 2000,
        "TopicName": "__cluster_metadata",
        "ClientSoftwareName": "fuzz",
        "ClientSoftwareVersion": "1.0",
    }


def quorum(facts: Facts, _version: int) -> Scene:
    partition = {"PartitionIndex": 0 if facts.rng.random() < 0.9 else 1}
    return {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [partition]}]}


def topic_partitions(facts: Facts, _version: int) -> Scene:
    return {"ResponsePartitionLimit": facts.rng.choice((1, 2000)), "TopicName": "orders", "Cursor": None}


def share_offsets(facts: Facts, _version: int) -> Scene:
    return {
        "GroupId": facts.rng.choice((*known.SHARE_GROUPS, "share-idle", "share-idle")),
        "StartOffset": lambda rng: rng.randrange(6),
    }


def state(facts: Facts, _version: int) -> Scene:
    """Write or read share state directly, mostly of one share partition."""
    rng = facts.rng
    few = {} if rng.random() < 0.3 else {"Topics": [{**named(rng.choice(facts.topics)), "Partitions": Partitions([0])}]}
    return {
        **few,
        "GroupId": rng.choice(known.STATE_GROUPS),
        "StateEpoch": lambda rng: rng.choice((0, 0, 0, 0, 0, 1)),
        "LeaderEpoch": lambda rng: rng.choice((-1, 0, 0)),
        "StartOffset": lambda rng: rng.choice((-1, 0, 3)),
        "DeliveryCompleteCount": -1,
        "StateBatches": lambda rng: [
            {
                "FirstOffset": 3 * n + 3,
                "LastOffset": 3 * n + 4,
                "DeliveryState": rng.choice((0, 2, 4)),
                "DeliveryCount": 1,
            }
            for n in range(rng.randrange(4))
        ],
    }


def markers(facts: Facts, _version: int) -> Scene:
    _, producer = transaction(facts)
    return {
        "Markers": lambda rng: [
            {
                "ProducerId": producer.producer_id,
                "ProducerEpoch": producer.epoch,
                "TransactionResult": rng.random() < 0.5,
                "CoordinatorEpoch": 0,
                "Topics": [with_partitions(rng, topic) for topic in some(rng, facts.topics)],
            }
        ]
    }


def redrive(facts: Facts, _version: int) -> Scene:
    """Redrive records that are no dead letters: none is sent back, and the neighbour's reads stay the same."""
    rng = facts.rng
    to_group = rng.random() < 0.3
    return {
        "Name": f"redrive-{rng.randrange(1000)}" if rng.random() < 0.9 else "redrive-0",
        "Queue": rng.choice(tuple(known.TOPICS)),
        "Target": int(to_group),
        "RecordsPerSecond": rng.choice((1, 100, 1_000_000)),
        "GroupId": rng.choice(known.SHARE_GROUPS) if to_group else None,
        "SourceTopic": rng.choice((None, "orders")),
        "Reason": None,
    }


def begun_redrives(facts: Facts, _version: int) -> Scene:
    names = some(facts.rng, (*facts.redrives, "redrive-0"))
    return {"Name": names[0], "Names": facts.rng.choice((None, names))}
