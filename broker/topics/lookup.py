"""The look-up of a request's topic and partition: the log, or the error that Apache Kafka returns."""

from __future__ import annotations

from typing import Final, Generic

from shareq.broker.topics.leaders import Leaders
from shareq.broker.topics.ports import LogT_co, PartitionLogs
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.errors import ErrorCode

PRODUCE_IDS_FROM: Final = 13  # the version from which on Produce names topics by their ids


class PartitionLookup(Generic[LogT_co]):
    """The look-up of logs by the names and ids that clients use. `metadata` has the existing partitions, `logs`
    their logs, and `leaders` the partitions that other brokers lead.
    """

    __slots__ = ("_leaders", "_logs", "_metadata")

    def __init__(self, metadata: MetadataImage, logs: PartitionLogs[LogT_co], leaders: Leaders) -> None:
        self._metadata = metadata
        self._logs = logs
        self._leaders = leaders

    def log(self, topic: str | bytes, partition: int, current_leader_epoch: int = -1) -> LogT_co | ErrorCode:
        """Return the log of a partition, by the topic's name or 16-byte id.

        A `current_leader_epoch` of -1 is not checked (KIP-320).

        Errors: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH.
        """
        if isinstance(topic, bytes):
            image = self._metadata.topic_by_id(topic)
            if image is None:
                return ErrorCode.UNKNOWN_TOPIC_ID
        else:
            image = self._metadata.topic(topic)
        if image is None or not 0 <= partition < image.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not self._leaders.is_alone and self._leaders.other_leader(image.name, partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = self._logs.get(image.name, partition)
        if current_leader_epoch >= 0 and current_leader_epoch != log.leader_epoch:
            older = current_leader_epoch < log.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        return log


def led_log(leaders: Leaders, logs: PartitionLogs[LogT_co], topic: str, partition: int) -> LogT_co | ErrorCode:
    """Return the log of a partition that this broker leads, for its own reads and writes.

    Errors: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR.
    """
    if leaders.other_leader(topic, partition) is not None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    try:
        return logs.get(topic, partition)
    except KeyError:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    except OSError:
        return ErrorCode.KAFKA_STORAGE_ERROR
