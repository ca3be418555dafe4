"""The options of the source: their names, their values, and why some of Spark's Kafka source are missing.

Spark hands them over in lower case; errors show them as they are documented. All problems are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, Self, TypeVar

from shareq.client.config import ClientConfig
from shareq.client.errors import ConfigError
from shareq.client.properties import boolean, listed
from shareq.spark import columns

T = TypeVar("T")

Ack = Literal["commit", "log"]

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_PREFIX: Final = "kafka."

KNOWN: Final = (
    "subscribe",
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
"""Beside kafka.*."""

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
    "subscribePattern": "share groups take topics by name, not by pattern; use subscribe with a list of names",
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
"""Options that are known and not offered, with the reason and the way out."""


class OptionsError(ValueError):
    """Options that make no source. The message is one line with every problem: option, value, allowed values."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The user's options. A plain value: it can be pickled, and its repr holds no secret."""

    client: ClientConfig
    group_id: str
    topics: tuple[str, ...]
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
        reader = _Reader(options)
        client, group_id = reader.client()
        topics = reader.take("subscribe", _topics)
        if topics is None and "subscribe" not in reader.failed:
            reader.problem("subscribe must be given: the topics to read, with commas in between")
        most = reader.take("maxRecordsPerTrigger", _whole(1, _LONG_MAX))
        alias = reader.take("maxOffsetsPerTrigger", _whole(1, _LONG_MAX))
        if most is not None and alias is not None and most != alias:
            reader.problem(
                f"maxRecordsPerTrigger={most} and maxOffsetsPerTrigger={alias} are two names of one option: give one"
            )
        values = {
            "ack": reader.take("ack", _ack),
            "max_records_per_trigger": alias if most is None else most,
            "min_partitions": reader.take("minPartitions", _whole(1, _INT_MAX)),
            "max_records_per_partition": reader.take("maxRecordsPerPartition", _whole(1, _LONG_MAX)),
            "include_headers": reader.take("includeHeaders", boolean),
            "include_delivery_count": reader.take("includeDeliveryCount", boolean),
            "fail_on_data_loss": reader.take("failOnDataLoss", boolean),
            "max_renew_ms": reader.take("maxRenewMs", _whole(0, _LONG_MAX)),
            # 1 would reject every record at its first delivery
            "max_delivery_count": reader.take("maxDeliveryCount", _whole(2, 32_767)),
        }
        reader.finish()
        assert client is not None
        assert group_id is not None
        assert topics is not None
        given = {name: value for name, value in values.items() if value is not None}
        return cls(client, group_id, topics, **given)  # type: ignore[arg-type]  # each was read by a function of its type


class _Reader:
    """A reader of options, one by one, that collects the errors."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._left = {name.lower(): str(value) for name, value in options.items()}
        self._problems: list[str] = []
        self.failed: set[str] = set()
        for name, why in REFUSED.items():
            if self._left.pop(name.lower(), None) is not None:
                self.problem(f"{name} is not an option here: {why}")

    def problem(self, text: str) -> None:
        self._problems.append(text)

    def take(self, name: str, parse: Callable[[str], T]) -> T | None:
        text = self._left.pop(name.lower(), None)
        if text is None:
            return None
        try:
            return parse(text.strip())
        except ValueError as error:
            self.failed.add(name)
            self.problem(f"{name}={text!r}: {error}")
            return None

    def client(self) -> tuple[ClientConfig | None, str | None]:
        """Read the options that begin with kafka.: the connection, and the share group."""
        group_id = self.take(f"{_PREFIX}group.id", _group)
        if group_id is None and f"{_PREFIX}group.id" not in self.failed:
            self.problem("kafka.group.id must be given: the share group that this query is a member of")
        given = {name: value for name, value in self._left.items() if name.startswith(_PREFIX)}
        for name in given:
            del self._left[name]
        try:
            return ClientConfig.from_properties(
                {name.removeprefix(_PREFIX): value for name, value in given.items()}, prefix=_PREFIX
            ), group_id
        except ConfigError as error:
            self.problem(str(error))
            return None, group_id

    def finish(self) -> None:
        """Raise OptionsError for all that was found. Values of unknown options are not shown: they may be secrets."""
        for name in sorted(self._left):
            self.problem(f"{name} is not an option of kafka-share; {_nearest(name)}")
        if self._problems:
            count = len(self._problems)
            raise OptionsError(
                f"kafka-share: {self._problems[0]}"
                if count == 1
                else f"kafka-share: {count} problems: {'; '.join(self._problems)}"
            )


def _nearest(name: str) -> str:
    spelled = {known.lower(): known for known in KNOWN}
    close = get_close_matches(name, spelled, 1, 0.75)
    if close:
        return f"did you mean {spelled[close[0]]}?"
    if "." in name:  # a property of the client, without what stands before all of them
        return f"did you mean {_PREFIX}{name}?"
    return f"there are kafka.* and {', '.join(KNOWN)}"


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(listed(text)))
    if not topics:
        raise ValueError("must name a topic, several with commas in between")
    return topics


def _group(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _ack(text: str) -> str:
    if text.lower() not in ("commit", "log"):
        raise ValueError("must be commit or log")
    return text.lower()


def _whole(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = lowest - 1
        if not lowest <= value <= highest:
            bounds = f"of at least {lowest}" if highest > 32_767 else f"from {lowest} to {highest}"
            raise ValueError(f"must be a whole number {bounds}")
        return value

    return parse
