"""From what a request names to the log it means, or to the error Apache Kafka answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.broker import Broker
    from shareq.broker.log.partition_log import PartitionLog

PRODUCE_IDS_FROM: Final = 13  # the version from which on Produce names topics by their ids


def find_log(
    broker: Broker, topic: str | bytes, partition: int, current_leader_epoch: int = -1
) -> PartitionLog | ErrorCode:
    """The log of a partition, by the topic's name or 16-byte id. `current_leader_epoch` -1: not checked (KIP-320)."""
    if isinstance(topic, bytes):
        image = broker.metadata.topic_by_id(topic)
        if image is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
    else:
        image = broker.metadata.topic(topic)
    if image is None or not 0 <= partition < image.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    log = broker.logs.get(image.name, partition)
    if current_leader_epoch >= 0 and current_leader_epoch != log.leader_epoch:
        older = current_leader_epoch < log.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
    return log
