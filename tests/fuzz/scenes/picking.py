"""Choices of a request's subject among what exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from tests.fuzz import facts as known
from tests.fuzz.facts import Facts, Member, Producer, Topic

Scene = dict[str, Any]  # Any: values of fields, of every type
Make = Callable[[Facts, int], Scene]
"""A function that returns a scene for a version, from the known facts."""

TOPIC_NAME_FIELDS: Final = ("Topic", "TopicName", "Name")
PARTITION_FIELDS: Final = ("Index", "Partition", "PartitionIndex")
PARTITION_LISTS: Final = ("Partitions", "PartitionIndexes")


def some_member(facts: Facts, members: Sequence[Member], groups: Sequence[str]) -> Member:
    if members and facts.rng.random() < 0.85:
        return facts.rng.choice(members)
    return Member(facts.rng.choice(groups), facts.rng.choice(("", "m-1", "m-2", "m-3")), 0)


def transaction(facts: Facts) -> tuple[str, Producer]:
    name = facts.rng.choice(known.TRANSACTIONAL_IDS)
    return name, facts.transactions.get(name) or Producer(facts.rng.choice((-1, 0, 1000)), 0)


def transactional(facts: Facts, _version: int) -> Scene:
    name, producer = transaction(facts)
    fields = {"TransactionalId": name, "ProducerId": producer.producer_id, "ProducerEpoch": producer.epoch}
    return {**fields, **{f"V3AndBelow{key}": value for key, value in fields.items()}}


def named(topic: Topic) -> Scene:
    return {**dict.fromkeys(TOPIC_NAME_FIELDS, topic.name), "TopicId": topic.topic_id}


def with_partitions(rng: Random, topic: Topic) -> Scene:
    """Return the scene of a topic, with partitions for arrays of numbers.

    Elements of arrays of structs choose their own.
    """
    numbers = Partitions(some(rng, range(topic.partitions)))
    return {**named(topic), "partitions of the topic": topic.partitions, **dict.fromkeys(PARTITION_LISTS, numbers)}


class Partitions(list[int]):
    """Partition numbers: plain for an array of numbers, a scene for each element of an array of structs."""


def some(rng: Random, of: Sequence[Any]) -> list[Any]:
    """Return one to three different elements, in their order. The elements may have any type."""
    if not of:
        return []
    count = min(len(of), rng.choice((1, 1, 1, 2, 3)))
    chosen = sorted(rng.sample(range(len(of)), count))
    return [of[index] for index in chosen]
