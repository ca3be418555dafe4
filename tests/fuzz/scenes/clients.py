"""Requests of producers and of members of groups of every kind."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from tests.fuzz import facts as known
from tests.fuzz.facts import Acquired, Facts, Member
from tests.fuzz.records import batch
from tests.fuzz.scenes.picking import Scene, named, some, some_member, transaction, transactional, with_partitions


def produce(facts: Facts, _version: int) -> Scene:
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
                **named(topic),
                "PartitionData": [
                    {"Index": index, "Records": batch(rng, producer, (topic.name, index), transactional=transactional)}
                    for index in some(rng, range(topic.partitions))
                ],
            }
            for topic in some(rng, facts.topics)
        ]

    return {**scene, "TopicData": topics}


def fetch(facts: Facts, version: int) -> Scene:
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
        "ForgottenTopicsData": lambda rng: (
            [] if rng.random() < 0.8 else [with_partitions(rng, rng.choice(facts.topics))]
        ),
    }


def share_session(facts: Facts) -> tuple[Member, Scene]:
    rng = facts.rng
    open_here = [key[1:] for key in facts.share_sessions if key[0] == facts.connection]
    here = [member for member in facts.share if (member.group, member.member_id) in open_here]
    member = some_member(facts, here if here and rng.random() < 0.8 else facts.share, known.SHARE_GROUPS)
    epoch = facts.share_sessions.get((facts.connection, member.group, member.member_id), 0)
    if rng.random() < 0.08:
        epoch = -1
    return member, {"GroupId": member.group, "MemberId": member.member_id, "ShareSessionEpoch": epoch}


def acknowledgements(facts: Facts, member: Member, *, empty: bool) -> Callable[[Random], list[Scene]]:
    """Return a maker of acknowledgements of ranges that the member holds, which removes them from the facts.

    With `empty` some topics come without acknowledgements.
    """

    def topics(rng: Random) -> list[Scene]:
        mine = [each for each in facts.acquired if each.member is member]
        chosen = some(rng, mine) if mine and rng.random() < 0.8 else []
        by_place: dict[bytes, dict[int, list[Acquired]]] = {}
        for each in chosen:
            facts.acquired.remove(each)
            by_place.setdefault(each.topic_id, {}).setdefault(each.partition, []).append(each)
        if empty:
            for topic in some(rng, facts.topics):
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
                            batch_of(rng, each) for each in sorted(ranges, key=lambda each: each.first)
                        ],
                    }
                    for partition, ranges in partitions.items()
                ],
            }
            for topic_id, partitions in by_place.items()
        ]

    return topics


def batch_of(rng: Random, each: Acquired) -> Scene:
    size = each.last - each.first + 1
    types = (1, 1, 1, 2, 3)
    kinds = [rng.choice(types)] if rng.random() < 0.6 else [rng.choice(types) for _ in range(min(size, 100))]
    return {"FirstOffset": each.first, "LastOffset": each.last, "AcknowledgeTypes": kinds}


def share_fetch(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member, scene = share_session(facts)
    return {
        **scene,
        "MaxWaitMs": rng.choice((0, 0, 0, 100)),
        "MinBytes": rng.choice((0, 1)),
        "MaxBytes": 1 << 20,
        "MaxRecords": rng.choice((1, 10, 500)),
        "BatchSize": rng.choice((1, 10, 500)),
        "ShareAcquireMode": rng.choice((0, 1)),
        "IsRenewAck": False,
        "Topics": acknowledgements(facts, member, empty=scene["ShareSessionEpoch"] >= 0),
        "ForgottenTopicsData": lambda rng: (
            [] if rng.random() < 0.9 else [with_partitions(rng, rng.choice(facts.topics))]
        ),
    }


def share_acknowledge(facts: Facts, _version: int) -> Scene:
    member, scene = share_session(facts)
    return {**scene, "IsRenewAck": False, "Topics": acknowledgements(facts, member, empty=False)}


def share_heartbeat(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = some_member(facts, facts.share, known.SHARE_GROUPS)
    epoch = -1 if rng.random() < 0.1 else member.epoch
    topics = [topic.name for topic in some(rng, facts.topics)] if epoch == 0 or rng.random() < 0.3 else None
    return {
        "GroupId": member.group,
        "MemberId": member.member_id or f"m-{rng.randrange(10)}",
        "MemberEpoch": epoch,
        "SubscribedTopicNames": topics,
        "RackId": None,
    }


def consumer_heartbeat(facts: Facts, version: int) -> Scene:
    rng = facts.rng
    member = some_member(facts, facts.consumer, known.CONSUMER_GROUPS)
    epoch = rng.choice((-1, -2)) if rng.random() < 0.1 else member.epoch
    joins = epoch == 0
    return {
        "GroupId": member.group,
        "MemberId": member.member_id or f"m-{rng.randrange(10)}",
        "MemberEpoch": epoch,
        "InstanceId": None,
        "RackId": None,
        "RebalanceTimeoutMs": rng.choice((5_000, 60_000)) if joins else -1,
        "SubscribedTopicNames": [t.name for t in some(rng, facts.topics)] if joins or rng.random() < 0.3 else None,
        "SubscribedTopicRegex": rng.choice((None, None, "o.*", "")) if version >= 1 else None,
        "ServerAssignor": rng.choice((None, "uniform", "range")),
        "TopicPartitions": [] if joins else rng.choice((None, [with_partitions(rng, rng.choice(facts.topics))])),
    }


def join(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = some_member(facts, facts.classic, known.CLASSIC_GROUPS)
    return {
        "GroupId": member.group,
        "MemberId": member.member_id if member in facts.classic else "",
        "SessionTimeoutMs": rng.choice((6_000, 30_000)),
        "RebalanceTimeoutMs": rng.choice((500, 2_000)),
        "GroupInstanceId": rng.choice((None, None, None, "static")),
        "ProtocolType": "consumer",
        "Protocols": [{"Name": name, "Metadata": SUBSCRIPTION} for name in some(rng, ("range", "roundrobin"))],
    }


SUBSCRIPTION: Final = bytes.fromhex("0001000000010006") + b"orders" + bytes.fromhex("ffffffff00000000")
ASSIGNMENT: Final = bytes.fromhex("0000000000010006") + b"orders" + bytes.fromhex("0000000100000000ffffffff")


def classic_member(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    member = some_member(facts, facts.classic, known.CLASSIC_GROUPS)
    return {
        "GroupId": member.group,
        "MemberId": member.member_id,
        "GenerationId": member.epoch,
        "GroupInstanceId": None,
        "ProtocolType": rng.choice((None, "consumer")),
        "ProtocolName": None,
        "Assignments": [
            {"MemberId": each.member_id, "Assignment": ASSIGNMENT}
            for each in facts.classic
            if each.group == member.group
        ]
        if member.leader
        else [],
        "Members": [{"MemberId": member.member_id, "GroupInstanceId": None}],
    }


def commit(facts: Facts, version: int) -> Scene:
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


def txn_offsets(facts: Facts, version: int) -> Scene:
    return {**commit(facts, version), **transactional(facts, version)}


def fetch_offsets(facts: Facts, version: int) -> Scene:
    return {**commit(facts, version), "MemberId": None, "MemberEpoch": -1}


def init_producer(facts: Facts, _version: int) -> Scene:
    rng = facts.rng
    name, producer = transaction(facts)
    again = rng.random() < 0.3 and name in facts.transactions
    return {
        "TransactionalId": None if rng.random() < 0.3 else name,
        "TransactionTimeoutMs": rng.choice((1_000, 60_000)),
        "ProducerId": producer.producer_id if again else -1,
        "ProducerEpoch": producer.epoch if again else -1,
        "Enable2Pc": False,
        "KeepPreparedTxn": False,
    }


def offsets_of(facts: Facts, _version: int) -> Scene:
    return {
        "ReplicaId": -1,
        "IsolationLevel": facts.rng.choice((0, 1)),
        "CurrentLeaderEpoch": lambda rng: rng.choice((-1, 0)),
        "LeaderEpoch": 0,
        "Timestamp": lambda rng: rng.choice((-1, -2, -3, 0, 1_700_000_000_000)),
        "TimeoutMs": 1000,
    }
