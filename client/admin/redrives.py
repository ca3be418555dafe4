"""Dead letters: the queues that exist, the content of a letter, and redrives, which only shareq offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, refused
from shareq.client.admin.configs import Configs
from shareq.client.admin.groups import Groups
from shareq.client.admin.topics import Topics
from shareq.client.errors import BrokerError, ClientError, UnsupportedApi
from shareq.protocol.config_def import is_named
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from shareq.protocol.generated.describe_redrives import (
    DescribedRedrive,
    DescribeRedrivesRequest,
    DescribeRedrivesResponse,
)
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse
from shareq.protocol.names import (
    DLQ_AUTO_CREATE_TOPICS,
    DLQ_ERRORS,
    DLQ_GROUP_ENABLE,
    DLQ_TOPIC_NAME,
    DLQ_TOPIC_NAME_PREFIX,
    DLQ_TOPICS,
)

_MOST_DIGITS: Final = 19
NO_REDRIVES: Final = (
    "there are no redrives here: brokers of shareq that keep data send dead letters back; nodes before a cluster, and "
    "Apache Kafka, do not"
)

Headers = Sequence[tuple[str, bytes | None]]


class Queue(NamedTuple):
    """A topic that is a dead-letter queue: `enabled`, or named by `groups`, sorted, or both."""

    topic: str
    exists: bool
    enabled: bool
    groups: tuple[str, ...]


class QueueRules(NamedTuple):
    """A broker's rules for queues: the prefix of their names ("" for none), and whether the broker creates a missing
    one.

    `topics` are the queues that a node in front of a cluster names, by `is_named`, where the cluster's topics have no
    property for it.
    """

    prefix: str = "dlq."
    creates: bool = False
    topics: tuple[str, ...] = ()

    def problem(self, queue: Queue) -> str | None:
        """Return why no dead letter is written to the queue; None if they are, or it will be created."""
        if (problem := self.problem_of_name(queue.topic)) is not None:
            return problem
        if not queue.exists:
            return None if self.creates else f"it does not exist, and {DLQ_AUTO_CREATE_TOPICS} is false"
        return None if queue.enabled else f"{DLQ_GROUP_ENABLE} of the topic is false"

    def problem_of_name(self, name: str) -> str | None:
        """Return why no dead letter is written to a queue of this name, even if the topic allows it; None if the name
        is allowed.
        """
        return (
            None
            if name.startswith(self.prefix)
            else f"its name must begin with {self.prefix} ({DLQ_TOPIC_NAME_PREFIX})"
        )


class Letter(NamedTuple):
    """The content of a dead letter's headers. None for missing or unreadable values."""

    topic: str | None
    partition: int | None
    offset: int | None
    group: str | None
    deliveries: int | None
    reason: str | None
    disposition: str | None
    died_ms: int | None
    error: str | None = None
    """The error text that the worker sent with the rejection, or with the last release."""


class Redrive(NamedTuple):
    """A redrive. `left`: letters still to be examined; `counts`: the outcomes of the others."""

    name: str
    state: str
    queue: str
    target: str
    left: int
    counts: Mapping[str, int]
    per_second: int
    owner: str
    started_ms: int
    trouble: str | None


class LetterFilter(NamedTuple):
    """The choice of letters for a redrive. None and -1: any.

    Offsets are inclusive; times are milliseconds, `died_until_ms` exclusive.
    """

    group: str | None = None
    source_topic: str | None = None
    source_partition: int = -1
    first_source_offset: int = -1
    last_source_offset: int = -1
    reason: str | None = None
    died_from_ms: int = -1
    died_until_ms: int = -1

    @property
    def takes_all(self) -> bool:
        """True if the filter takes every letter."""
        return self == _ALL

    def takes(self, letter: Letter, timestamp: int) -> bool:
        """Return True if the filter takes a letter whose record has this time."""
        died_ms = timestamp if letter.died_ms is None else letter.died_ms
        offset = -1 if letter.offset is None else letter.offset
        return (
            self.group in (None, letter.group)
            and self.source_topic in (None, letter.topic)
            and self.source_partition in (-1, letter.partition)
            and offset >= self.first_source_offset
            and (self.last_source_offset < 0 or offset <= self.last_source_offset)
            and (self.reason is None or self.reason in (letter.reason, letter.disposition))
            and died_ms >= self.died_from_ms
            and (self.died_until_ms < 0 or died_ms < self.died_until_ms)
        )


_ALL: Final = LetterFilter()


class SentRange(NamedTuple):
    """The letters of one partition of a queue that a redrive has sent back.

    These are the letters from `first_offset` to `next_offset` (exclusive) that its filter takes, without the `stayed`
    ones, and the `beyond` ones. Ranges are inclusive.
    """

    partition: int
    first_offset: int
    next_offset: int
    stayed: tuple[tuple[int, int], ...]
    beyond: tuple[tuple[int, int], ...]
    letters: LetterFilter

    def has(self, offset: int, letter: Letter, timestamp: int) -> bool:
        """Return True if the letter at `offset`, whose record has this time, was sent back."""
        within = self.first_offset <= offset < self.next_offset and not _in(offset, self.stayed)
        return (within or _in(offset, self.beyond)) and self.letters.takes(letter, timestamp)

    @property
    def upto(self) -> int:
        """The offset after the last letter that may have been sent back."""
        return max(self.next_offset, self.beyond[-1][1] + 1 if self.beyond else 0)


class SentLetters:
    """The letters of a queue that redrives have sent back; none on brokers other than shareq."""

    def __init__(self, ranges: Sequence[SentRange]) -> None:
        self.ranges = tuple(ranges)

    def has(self, partition: int, offset: int, letter: Letter, timestamp: int) -> bool:
        """Return True if a redrive has sent back the letter at `offset`, whose record has this time."""
        return any(each.partition == partition and each.has(offset, letter, timestamp) for each in self.ranges)

    def upto(self, partition: int) -> int:
        """Return the end (exclusive) of letters that may have been sent back; 0 if none were."""
        return max((each.upto for each in self.ranges if each.partition == partition), default=0)


class Redrives:
    """The dead letters of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def queues(self) -> list[Queue]:
        """Return topics that are enabled as queues, and those that groups name as theirs, by name."""
        configs = Configs(self._calls)
        groups = self._queues_of_groups(configs)
        names = [topic.name for topic in Topics(self._calls).all() if not topic.internal]
        enabled = {name for name, is_enabled in self._enabled(configs, names).items() if is_enabled}
        return [
            Queue(name, name in names, name in enabled, tuple(sorted(groups.get(name, ()))))
            for name in sorted(enabled | groups.keys())
        ]

    def queue_rules(self) -> QueueRules:
        """Return the brokers' rules for queues; the defaults if this user may not read them."""
        return self._rules() or QueueRules()

    def check_queue(self, group: str, configs: Mapping[str, str]) -> None:
        """Raise BrokerError where configs of a group name a queue that would get no letters because of its name.

        Brokers take any name, as Apache Kafka does. A broker that does not publish its rules for names is not asked.
        """
        name = configs.get(DLQ_TOPIC_NAME)
        rules = self._rules() if name else None
        problem = None if rules is None or name is None else rules.problem_of_name(name)
        if problem is not None:
            raise BrokerError(ErrorCode.INVALID_CONFIG, f"group {group}", f"{DLQ_TOPIC_NAME}={name}: {problem}.")

    def _rules(self) -> QueueRules | None:
        """Return the brokers' rules for queues; None if brokers do not report them, or this user may not see them."""
        broker = str(min(self._calls.network.brokers()))
        for _, outcome in Configs(self._calls).describe(
            [("broker", broker)], [DLQ_TOPIC_NAME_PREFIX, DLQ_AUTO_CREATE_TOPICS, DLQ_TOPICS]
        ):
            if not isinstance(outcome, ClientError):
                found = {each.name: each.value or "" for each in outcome}
                if DLQ_TOPIC_NAME_PREFIX in found:
                    topics = tuple(each for each in found.get(DLQ_TOPICS, "").split(",") if each)
                    creates = found.get(DLQ_AUTO_CREATE_TOPICS) == "true"
                    return QueueRules(found[DLQ_TOPIC_NAME_PREFIX], creates, topics)
        return None

    def is_queue(self, topic: str) -> bool | None:
        """Return True if a topic is enabled as a queue, or groups name it as theirs; None if this user may not read
        that.
        """
        configs = Configs(self._calls)
        is_enabled = self._enabled(configs, [topic])[topic]
        if is_enabled is not False:
            return is_enabled
        try:
            return topic in self._queues_of_groups(configs)
        except BrokerError:
            return None

    def _enabled(self, configs: Configs, topics: Sequence[str]) -> dict[str, bool | None]:
        """Return by topic True if it is enabled as a queue; None if this user may not read that.

        In a cluster without that property, a topic is a queue if the node in front of the cluster names it.
        """
        enabled: dict[str, bool | None] = {}
        undecided: list[str] = []
        for (_, name), outcome in configs.describe([("topic", each) for each in topics], [DLQ_GROUP_ENABLE]):
            if isinstance(outcome, ClientError):
                enabled[name] = None
            elif outcome:
                enabled[name] = any(each.value == "true" for each in outcome)
            else:
                undecided.append(name)
        named = self.queue_rules().topics if undecided else ()
        return enabled | {name: is_named(named, name) for name in undecided}

    def _queues_of_groups(self, configs: Configs) -> dict[str, list[str]]:
        """Return the groups that name a queue. A group may have configs before it exists."""
        try:
            named = {name for _, name in configs.resources(["group"])}
        except UnsupportedApi:
            named = {group.group_id for group in Groups(self._calls).find(["share"])}
        found: dict[str, list[str]] = {}
        for (_, group), outcome in configs.describe([("group", each) for each in sorted(named)], [DLQ_TOPIC_NAME]):
            for each in () if isinstance(outcome, ClientError) else outcome:
                if each.value:
                    found.setdefault(each.value, []).append(group)
        return found

    def start(self, request: StartRedriveRequest) -> None:
        """Start a redrive, which runs in the broker.

        Raises BrokerError, and UnsupportedApi on brokers other than shareq.
        """
        self._calls.any(request, StartRedriveResponse, f"redrive {request.name}")

    def find(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, Outcome[Redrive]]]:
        """Return the redrives of these names, or all known redrives."""
        request = DescribeRedrivesRequest(None if names is None else list(names))
        try:
            found = self._calls.any(request, DescribeRedrivesResponse, "redrives").redrives
        except UnsupportedApi:
            raise UnsupportedApi(NO_REDRIVES) from None
        for row in found:
            yield row.name, refused(row.error_code, f"redrive {row.name}", row.error_message) or _redrive(row)

    def sent_back_from(self, queue: str) -> SentLetters:
        """Return the letters of a queue that redrives have sent back, and will not send again unless asked to.

        Brokers without redrives have no such letters.
        """
        request = DescribeRedrivesRequest([], sent_from=queue)
        try:
            found = self._calls.any(request, DescribeRedrivesResponse, "redrives").redrives
        except UnsupportedApi:
            return SentLetters(())
        return SentLetters([each for row in found if not row.error_code for each in _sent(row)])

    def cancel(self, name: str) -> None:
        """Stop a redrive; letters that it has not sent yet stay in the queue. Raises BrokerError."""
        self._calls.any(CancelRedriveRequest(name), CancelRedriveResponse, f"redrive {name}")


def letter_of(headers: Headers) -> Letter:
    """Read the content of a dead letter from a record's headers; after several deaths, that of the last one."""
    said = {key.removeprefix(DLQ_ERRORS): value for key, value in headers if key.startswith(DLQ_ERRORS)}
    texts = {key: value.decode("utf-8", "replace") for key, value in said.items() if value is not None}
    return Letter(
        topic=texts.get("topic"),
        partition=_number(texts.get("partition")),
        offset=_number(texts.get("offset")),
        group=texts.get("group"),
        deliveries=_number(texts.get("delivery.count")),
        reason=texts.get("message"),
        disposition=texts.get("disposition"),
        died_ms=_number(texts.get("timestamp")),
        error=texts.get("shareq.error"),
    )


def _sent(row: DescribedRedrive) -> Iterator[SentRange]:
    letters = LetterFilter(
        group=row.group_id,
        source_topic=row.source_topic,
        source_partition=row.source_partition,
        first_source_offset=row.first_source_offset,
        last_source_offset=row.last_source_offset,
        reason=row.reason,
        died_from_ms=row.died_from_ms,
        died_until_ms=row.died_until_ms,
    )
    for each in row.partitions:
        stayed, beyond = _pairs(each.stayed), _pairs(each.beyond)
        yield SentRange(each.partition, row.first_offset, each.next_offset, stayed, beyond, letters)


def _pairs(ends: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def _in(offset: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(first <= offset <= last for first, last in ranges)


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) <= _MOST_DIGITS and text.isdecimal() and text.isascii() else None


def _redrive(row: DescribedRedrive) -> Redrive:
    return Redrive(
        name=row.name,
        state=row.state,
        queue=row.queue,
        target=f"redrive.{row.group_id}" if row.target else row.source_topic or "their topics",
        left=sum(each.end_offset - each.next_offset for each in row.partitions),
        counts={each.what: each.records for each in row.counts},
        per_second=row.records_per_second,
        owner=row.owner,
        started_ms=row.started_ms,
        trouble=row.trouble or None,
    )
