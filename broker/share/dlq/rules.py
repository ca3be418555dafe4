"""Rules for dead letters: if a topic may be a group's queue, and when a failed write is tried again (KIP-1191).

They are those of Apache Kafka 4.4.0 (`validateDlqTopic`), with its error texts, because people search for them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.protocol.errors import ApiError
from shareq.protocol.names import DLQ_GROUP_ENABLE

CREATED_WITH: Final = ((DLQ_GROUP_ENABLE, "true"), ("message.timestamp.type", "CreateTime"))
"""The topic properties of a queue that the broker creates."""

MOST_ATTEMPTS: Final = 5
"""Attempts at a write that may succeed later, in a group that does not keep its dead records."""

_BASE_MS: Final = 1_000
_LONGEST_MS: Final = 30_000
_JITTER: Final = 0.2


class QueuePolicy(NamedTuple):
    """The broker's configuration of all queues: the prefix of their names ("" for any name), and if the broker creates
    them.
    """

    prefix: str
    creates: bool

    @classmethod
    def of(cls, config: BrokerConfig) -> QueuePolicy:
        """Return the policy of a configuration."""
        return cls(
            config.errors_deadletterqueue_topic_name_prefix, config.errors_deadletterqueue_auto_create_topics_enable
        )


class QueueTopic(NamedTuple):
    """An existing topic. `takes_letters` is its property `errors.deadletterqueue.group.enable`."""

    name: str
    partitions: int
    takes_letters: bool
    max_message_bytes: int


def refusal(group_id: str, name: str, topic: QueueTopic | None, policy: QueuePolicy) -> str | None:
    """Return why the group's dead letters may not be written to the topic; None if they may, or if the topic will be
    created.
    """
    if not name:
        return f"Configured DLQ topic name in share group: {group_id} is empty."
    if name.startswith("__"):
        return f"Configured DLQ topic name in share group: {group_id} cannot start with __, topic: {name}."
    if topic is not None and not topic.takes_letters:
        return f"DLQ is not enabled on configured DLQ topic for share group: {group_id}, topic: {name}."
    if topic is None and not policy.creates:
        return (
            "DLQ topic does not exist and auto create is disabled on cluster for share group: "
            f"{group_id}, topic: {name}."
        )
    if not name.startswith(policy.prefix):
        return (
            f"Configured DLQ topic name does not comply with the DLQ topic prefix in share group: {group_id}, "
            f"topic: {name}, prefix: {policy.prefix}."
        )
    return None


def not_found(name: str, error: ApiError) -> str:
    """Return why no dead letter is written to a topic, when it is uncertain if the topic exists."""
    return f"topic {name} cannot be found: {error.code.name}: {error.message or ''}"


def partition_for(source_partition: int, partitions: int) -> int:
    """Return the queue's partition for dead records of a source partition; it does not depend on keys."""
    return source_partition % partitions


def delay_ms(attempts: int, chance: float) -> int:
    """Return the wait, in milliseconds, after `attempts` failed ones (1 or more). `chance` in [0, 1) varies it by up to
    a fifth either way.
    """
    longest = min(_LONGEST_MS, _BASE_MS << min(attempts, 10))
    return round(longest * (1 - _JITTER + 2 * _JITTER * chance))
