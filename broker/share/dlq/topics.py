"""The queues as this broker has them: it looks them up, creates them and appends to them as itself, with all rights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shareq.broker.config.keys.definition import int_value
from shareq.broker.config.service import ConfigService
from shareq.broker.log.append import OnDurable, Origin
from shareq.broker.log.manager import LogManager
from shareq.broker.metadata.store import MetadataStore, NewTopic
from shareq.broker.share.dlq.rules import QueuePolicy, QueueTopic
from shareq.broker.topics.creation import TopicSpec, plan_topic
from shareq.broker.topics.leaders import LeaderMap
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure

_ENABLED: Final = "errors.deadletterqueue.group.enable"
_CONFIGS: Final = ((_ENABLED, "true"), ("message.timestamp.type", "CreateTime"))


class BrokerQueues:
    """`QueueTopics` of this broker. `wall_ms` gives the time of an append."""

    def __init__(
        self,
        metadata: MetadataStore,
        configs: ConfigService,
        logs: LogManager,
        leaders: LeaderMap,
        wall_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self._configs = configs
        self._logs = logs
        self._leaders = leaders
        self._wall_ms = wall_ms

    def policy(self) -> QueuePolicy:
        config = self._configs.broker
        return QueuePolicy(
            config.errors_deadletterqueue_topic_name_prefix, config.errors_deadletterqueue_auto_create_topics_enable
        )

    def find(self, name: str) -> QueueTopic | None:
        topic = self._metadata.topic(name)
        if topic is None:
            return None
        values = self._configs.topic(name)
        return QueueTopic(name, topic.partitions, values[_ENABLED] is True, int_value(values, "max.message.bytes"))

    def create(self, name: str) -> ApiError:
        planned = plan_topic(self._metadata, self._configs, TopicSpec(name, configs=_CONFIGS))
        if not isinstance(planned, NewTopic):
            return planned
        try:
            self._metadata.create_topics([planned])
        except OSError as error:
            return storage_failure(error)
        return NO_ERROR

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        if self._leaders.other_leader(name, partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        try:
            log = self._logs.get(name, partition)
        except KeyError:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        except OSError:
            return ErrorCode.KAFKA_STORAGE_ERROR
        appended = log.append(batch, origin=Origin.CLIENT, now_wall_ms=self._wall_ms(), on_durable=on_durable)
        return appended if isinstance(appended, ErrorCode) else ErrorCode.NONE
