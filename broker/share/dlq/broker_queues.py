"""The dead-letter queues of this broker, which looks them up, creates them and appends to them itself, with all
rights.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from shareq.broker.config.service import ConfigService
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.append import OnDurable
from shareq.broker.log.manager import LogManager
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.share.dlq.ports import QueueTopics
from shareq.broker.share.dlq.rules import CREATED_WITH, QueuePolicy, QueueTopic, not_found, refusal
from shareq.broker.topics.creation import TopicSpec, create_topic
from shareq.broker.topics.leaders import Leaders
from shareq.broker.topics.lookup import led_log
from shareq.broker.topics.own_batches import append_in_turns
from shareq.protocol.config_def import int_value
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.names import DLQ_GROUP_ENABLE

logger = logging.getLogger(__name__)


class BrokerQueues:
    """The `QueueTopics` of this broker. It knows all topics, so only creations are answered later."""

    retriable: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER})

    def __init__(
        self,
        env: Environment,
        metadata: MetadataStore,
        configs: ConfigService,
        logs: LogManager,
        leaders: Leaders,
        turns: Turns,
    ) -> None:
        self._metadata = metadata
        self._configs = configs
        self._logs = logs
        self._leaders = leaders
        self._turns = turns
        self._budget = env.budget
        self._wall_ms = env.clock.wall_ms

    def policy(self) -> QueuePolicy:
        return QueuePolicy.of(self._configs.broker)

    def find(self, name: str) -> Pending[QueueTopic | ApiError | None]:
        topic = self._metadata.topic(name)
        if topic is None:
            return completed(None)
        values = self._configs.topic(name)
        takes_letters, limit = values[DLQ_GROUP_ENABLE] is True, int_value(values, "max.message.bytes")
        return completed(QueueTopic(name, topic.partitions, takes_letters, limit))

    def create(self, name: str) -> Pending[ApiError]:
        return create_topic(self._metadata, self._configs, TopicSpec(name, configs=CREATED_WITH))

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        log = partial(led_log, self._leaders, self._logs, name, partition)
        return append_in_turns(self._turns, self._budget, log, batch, self._wall_ms(), on_durable)


def warn_of_queue(group_id: str, name: str, queues: QueueTopics) -> None:
    """Log why dead letters of the group cannot be written to the queue of that name, if they cannot."""

    def found(queue: QueueTopic | ApiError | None) -> None:
        if not isinstance(queue, ApiError):
            refused = refusal(group_id, name, queue, queues.policy())
        elif queue.code in queues.retriable:
            refused = None  # a later look-up may succeed
        else:
            refused = not_found(name, queue)
        if refused is not None:
            logger.warning("share group %s: dead letters will not be written: %s", group_id, refused)

    queues.find(name).on_complete(found)
