"""The options of the source: their names, their values, and why some of Spark's Kafka source are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self

from shareq.client.config import ClientConfig
from shareq.client.properties import boolean, listed
from shareq.spark import columns
from shareq.spark.option_reader import INT_MAX, LONG_MAX, OptionReader, OptionsError, whole

__all__ = ["OptionsError", "SourceOptions"]

Ack = Literal["commit", "log"]

KNOWN: Final = (
    "subscribe",
    "subscribePattern",
    "ack",
    "maxRecordsPerTrigger",
    "maxOffsetsPerTrigger",
    "minPartitions",
    "maxRecordsPerPartition",
    "includeHeaders",
    "includeDeliveryCount",
    "failOnDataLoss",
    "maxRenewMs",
    "maxDeliveryCount",
)
"""The options besides kafka.*."""

_WHERE_IT_STARTS: Final = (
    "where a share group starts is the group's own config at the broker: set share.auto.offset.reset of the group to "
    "latest, earliest or by_duration:PT1H, or alter the group's offsets (kafka-share-groups.sh --reset-offsets)"
)
_WHERE_IT_ENDS: Final = "a share group has no range to read; trigger(availableNow=True) reads what is there, and ends"
_NO_DELAY: Final = "Spark offers no such limit to sources in Python; use trigger(processingTime=...)"
_BYTES: Final = "key and value are columns of bytes; cast or parse them in the query"
_ACKS: Final = "records of a share group are acknowledged, not committed; option ack says when"
_NUMBER_OF_FETCHES: Final = "what fails is tried again for kafka.default.api.timeout.ms"

REFUSED: Final[dict[str, str]] = {
    "assign": "share groups take topics, not partitions; use subscribe with topic names",
    "startingOffsets": _WHERE_IT_STARTS,
    "startingOffsetsByTimestamp": _WHERE_IT_STARTS,
    "startingOffsetsByTimestampStrategy": _WHERE_IT_STARTS,
    "startingTimestamp": _WHERE_IT_STARTS,
    "endingOffsets": _WHERE_IT_ENDS,
    "endingOffsetsByTimestamp": _WHERE_IT_ENDS,
    "endingTimestamp": _WHERE_IT_ENDS,
    "groupIdPrefix": "the share group is part of what the query is; name it by kafka.group.id",
    "minOffsetsPerTrigger": _NO_DELAY,
    "maxTriggerDelay": _NO_DELAY,
    "path": "load() takes no path; use subscribe with topic names",
    "kafkaConsumer.pollTimeoutMs": _NUMBER_OF_FETCHES,
    "fetchOffset.numRetries": _NUMBER_OF_FETCHES,
    "fetchOffset.retryIntervalMs": _NUMBER_OF_FETCHES,
    "kafka.auto.offset.reset": _WHERE_IT_STARTS,
    "kafka.enable.auto.commit": _ACKS,
    "kafka.auto.commit.interval.ms": _ACKS,
    "kafka.share.acknowledgement.mode": _ACKS,
    "kafka.share.acquire.mode": "it follows from maxRecordsPerTrigger: with a limit never more than that is acquired",
    "kafka.isolation.level": "what of transactions is seen is the group's own config, share.isolation.level",
    "kafka.max.poll.records": "use maxRecordsPerTrigger",
    "kafka.key.deserializer": _BYTES,
    "kafka.value.deserializer": _BYTES,
    "kafka.key.serializer": _BYTES,
    "kafka.value.serializer": _BYTES,
    "kafka.interceptor.classes": "there is no Java consumer here that could call them",
}
"""Options that are known but not supported, with the reason and the alternative."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The user's options. A plain value: it can be pickled, and its repr holds no secret."""

    client: ClientConfig
    group_id: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    """A regular expression for whole names of topics, in the place of `topics`."""
    ack: Ack = "commit"
    max_records_per_trigger: int | None = None
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    include_headers: bool = False
    include_delivery_count: bool = False
    fail_on_data_loss: bool = True
    max_renew_ms: int = 600_000
    max_delivery_count: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that these options ask for."""
        return columns.names(include_headers=self.include_headers, include_delivery_count=self.include_delivery_count)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read the options as Spark gives them, in any case. Raises OptionsError."""
        reader = OptionReader(options, KNOWN, REFUSED)
        group_id = reader.take("kafka.group.id", _group)
        if group_id is None and "kafka.group.id" not in reader.failed:
            reader.problem("kafka.group.id must be given: the share group that this query is a member of")
        client = reader.client()
        topics = reader.take("subscribe", _topics)
        pattern = reader.take("subscribePattern", _pattern)
        if topics is not None and pattern is not None:
            reader.problem("subscribe and subscribePattern are given: one of them says which topics are read")
        elif topics is None and pattern is None and not reader.failed & {"subscribe", "subscribePattern"}:
            reader.problem("subscribe must be given: the topics to read, with commas in between; or subscribePattern")
        most = reader.take("maxRecordsPerTrigger", whole(1, LONG_MAX))
        alias = reader.take("maxOffsetsPerTrigger", whole(1, LONG_MAX))
        if most is not None and alias is not None and most != alias:
            reader.problem(
                f"maxRecordsPerTrigger={most} and maxOffsetsPerTrigger={alias} are two names of one option: give one"
            )
        values = {
            "ack": reader.take("ack", _ack),
            "max_records_per_trigger": alias if most is None else most,
            "min_partitions": reader.take("minPartitions", whole(1, INT_MAX)),
            "max_records_per_partition": reader.take("maxRecordsPerPartition", whole(1, LONG_MAX)),
            "include_headers": reader.take("includeHeaders", boolean),
            "include_delivery_count": reader.take("includeDeliveryCount", boolean),
            "fail_on_data_loss": reader.take("failOnDataLoss", boolean),
            "max_renew_ms": reader.take("maxRenewMs", whole(0, LONG_MAX)),
            # 1 would reject every record at its first delivery
            "max_delivery_count": reader.take("maxDeliveryCount", whole(2, 32_767)),
        }
        reader.finish()
        assert client is not None
        assert group_id is not None
        given = {name: value for name, value in values.items() if value is not None}
        return cls(client, group_id, topics or (), pattern, **given)  # type: ignore[arg-type]  # each was read by a function of its type


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(listed(text)))
    if not topics:
        raise ValueError("must name a topic, several with commas in between")
    return topics


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from None
    if not text:
        raise ValueError("must be a regular expression for names of topics")
    return text


def _group(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _ack(text: str) -> str:
    if text.lower() not in ("commit", "log"):
        raise ValueError("must be commit or log")
    return text.lower()
