"""The coordinators' topics, which are created before FindCoordinator names a coordinator.

Their definitions follow Apache Kafka 4.3.1 except for `__share_group_state`, which is compacted here, with a policy
of its own (its update records are deltas). With one broker, more than one replica is impossible: with such a
configuration nothing is created, and the error is that of Apache Kafka with too few brokers. More in-sync replicas
than exist count as one, as in Apache Kafka; the start warns of that (`shareq.broker.config.keys.effects`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.metadata.store import NewTopic
from shareq.broker.topics.ports import TopicMetadata
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.config_def import int_value
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from shareq.broker.log.cleaner.survivors import Rule

logger = logging.getLogger(__name__)

_LEAST_SEGMENT_BYTES: Final = 1_048_576  # of the topic property segment.bytes


class _Definition(NamedTuple):
    """The definition of an internal topic: the broker properties that set its topic properties, and its fixed topic
    properties.
    """

    partitions: str
    replication_factor: str
    segment_bytes: str
    min_isr: str | None
    configs: Mapping[str, str]


_DEFINITIONS: Final[Mapping[str, _Definition]] = {
    CONSUMER_OFFSETS: _Definition(
        partitions="offsets.topic.num.partitions",
        replication_factor="offsets.topic.replication.factor",
        segment_bytes="offsets.topic.segment.bytes",
        min_isr=None,
        configs={"cleanup.policy": "compact", "compression.type": "producer"},
    ),
    SHARE_GROUP_STATE: _Definition(
        partitions="share.coordinator.state.topic.num.partitions",
        replication_factor="share.coordinator.state.topic.replication.factor",
        segment_bytes="share.coordinator.state.topic.segment.bytes",
        min_isr="share.coordinator.state.topic.min.isr",
        configs={"cleanup.policy": "compact", "compression.type": "producer", "retention.ms": "-1"},
    ),
    TRANSACTION_STATE: _Definition(
        partitions="transaction.state.log.num.partitions",
        replication_factor="transaction.state.log.replication.factor",
        segment_bytes="transaction.state.log.segment.bytes",
        min_isr="transaction.state.log.min.isr",
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
        },
    ),
}


def cleaner_rule_for(topic: str) -> Rule:
    """Return the rule by which the cleaner keeps a topic's records."""
    from shareq.broker.log.cleaner.survivors import latest_value, share_state  # not what a start needs

    return share_state if topic == SHARE_GROUP_STATE else latest_value


def warn_of_counts_without_effect(metadata: MetadataImage, config: BrokerConfig) -> None:
    """Log each property with another number of partitions than its topic has. The topic's number stays, since it
    determines where records are.
    """
    for name, definition in _DEFINITIONS.items():
        topic, key = metadata.topic(name), definition.partitions
        if topic is not None and key in config.originals and int_value(config.values, key) != topic.partitions:
            wanted, there = config.values[key], topic.partitions
            logger.warning(
                "Property %s (%s) is ignored: %s exists, and its %d partitions count", key, wanted, name, there
            )


def new_internal_topic(config: BrokerConfig, name: str) -> NewTopic | ApiError:
    """Return the internal topic according to this configuration; an error that names the property if that is
    impossible.
    """
    definition = _DEFINITIONS[name]
    configs = dict(definition.configs)
    key = definition.replication_factor
    factor = int_value(config.values, key)
    if factor > 1:
        message = f"Topic {name} cannot be created: {key}={factor}, and there is one broker"
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if definition.min_isr is not None:
        configs["min.insync.replicas"] = str(int_value(config.values, definition.min_isr))
    segment_bytes = int_value(config.values, definition.segment_bytes)
    # The broker properties accept less than a topic property does.
    key = "segment.bytes" if segment_bytes >= _LEAST_SEGMENT_BYTES else "internal.segment.bytes"
    configs[key] = str(segment_bytes)
    return NewTopic(name, int_value(config.values, definition.partitions), configs, internal=True)


class InternalTopics:
    """The creation of the coordinators' topics when they are first needed. `config` returns the present
    configuration.

    Missing topics are created in a commit, so only by work that has passed the gate of commits, as `made` does.
    """

    def __init__(self, metadata: TopicMetadata, config: Callable[[], BrokerConfig]) -> None:
        self._metadata = metadata
        self._config = config

    async def made(self, *names: str) -> ApiError:
        """Return the result of `ensure` for the topics, once it may create those that are missing."""
        if self._missing(names):
            await self._metadata.gate.passed()
        return self.ensure(*names)

    def ensure(self, *names: str) -> ApiError:
        """Create those internal topics that do not exist, in one commit; their files appear with their first
        records. Raise KeyError for other names.

        Errors: those of `new_internal_topic`, KAFKA_STORAGE_ERROR.
        """
        new: list[NewTopic] = []
        for name in self._missing(names):
            topic = new_internal_topic(self._config(), name)
            if isinstance(topic, ApiError):
                logger.error("%s", topic.message)
                return topic
            new.append(topic)
        try:
            if new:
                self._metadata.create_topics(new)
        except OSError as error:
            logger.error("topic %s: not created: %s", " and ".join(topic.name for topic in new), error)
            return storage_failure(error)
        return NO_ERROR

    def _missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self._metadata.topic(name) is None]
