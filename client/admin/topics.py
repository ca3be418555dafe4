"""Topics: list, describe, create, add partitions, delete, trim, and offsets by time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, Partition, answered, batched, only, refused
from shareq.client.admin.news_of_topics import wait_until_known
from shareq.client.core.list_offsets import EARLIEST, LATEST, OffsetAt, by_topic, list_offsets, listed
from shareq.client.errors import BrokerError, UnsupportedApi
from shareq.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from shareq.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import Message

_PAGE: Final = 2000
_BROKERS_DEFAULT: Final = -1


class PartitionInfo(NamedTuple):
    """A partition. `leader` is None while it has none."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class TopicInfo(NamedTuple):
    """A topic and its partitions, ascending. `topic_id` has 16 bytes."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionInfo, ...]


class NewTopic(NamedTuple):
    """A topic to create; -1 stands for the broker's default.

    `assignment` has replicas by partition, instead of both numbers.
    """

    name: str
    partitions: int = _BROKERS_DEFAULT
    replication_factor: int = _BROKERS_DEFAULT
    configs: Mapping[str, str] = {}
    assignment: Sequence[Sequence[int]] = ()


class CreatedTopic(NamedTuple):
    """A topic that was created, or would be by a dry run; numbers are -1 if the broker does not report them."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int


class LogRange(NamedTuple):
    """The offsets that a log holds: from `start`, inclusive, to `end`, the high watermark, exclusive."""

    start: int
    end: int


class Topics:
    """The topics of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    # -- look

    def all(self) -> Iterator[TopicInfo]:
        """Yield all topics that this user may see, internal ones included, by name; in pages of 2,000 partitions if
        supported.
        """
        for outcome in self._pages([]):
            if isinstance(outcome[1], TopicInfo):
                yield outcome[1]

    def describe(self, names: Iterable[str]) -> Iterator[tuple[str, Outcome[TopicInfo]]]:
        """Return topics by name, in the order of names."""
        for some in batched(sorted(set(names))):
            yield from self._pages(some)

    def _pages(self, names: Sequence[str]) -> Iterator[tuple[str, Outcome[TopicInfo]]]:
        try:
            first = self._page(names, None)
        except UnsupportedApi:
            yield from self._by_metadata(names)
            return
        yield from _joined(self._rows(names, first))

    def _rows(
        self, names: Sequence[str], page: DescribeTopicPartitionsResponse
    ) -> Iterator[DescribeTopicPartitionsResponseTopic]:
        while True:
            yield from page.topics
            at = page.next_cursor
            if at is None:
                return
            page = self._page(names, DescribeTopicPartitionsRequestCursor(at.topic_name, at.partition_index))

    def _page(
        self, names: Sequence[str], cursor: DescribeTopicPartitionsRequestCursor | None
    ) -> DescribeTopicPartitionsResponse:
        request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], _PAGE, cursor)
        return self._calls.any(request, DescribeTopicPartitionsResponse, "topics")

    def _by_metadata(self, names: Sequence[str]) -> Iterator[tuple[str, Outcome[TopicInfo]]]:
        wanted = [MetadataRequestTopic(name=name) for name in names] or None
        answer = self._calls.any(MetadataRequest(wanted, allow_auto_topic_creation=False), MetadataResponse, "topics")
        for topic in sorted(answer.topics, key=lambda one: one.name or ""):
            yield _outcome(topic, topic.partitions)

    # -- change

    def create(self, topics: Sequence[NewTopic], *, dry_run: bool = False) -> dict[str, Outcome[CreatedTopic]]:
        """Create topics; with `dry_run` the broker checks everything and creates nothing. Returns when the brokers know
        the topics, so that the next command finds them, except brokers that are unreachable or slow.
        """
        rows = [_creatable(topic) for topic in topics]
        timeout_ms = self._calls.network.config.default_api_timeout_ms
        answer = self._calls.controller(
            CreateTopicsRequest(rows, timeout_ms, dry_run), CreateTopicsResponse, "create topics"
        )
        if not dry_run:
            made = [row.name for row in answer.topics if not row.error_code]
            wait_until_known(self._calls.network, made)
        return {
            row.name: refused(row.error_code, f"topic {row.name}", row.error_message)
            or CreatedTopic(row.name, row.topic_id, row.num_partitions, row.replication_factor)
            for row in answer.topics
        }

    def set_partitions(self, counts: Mapping[str, int], *, dry_run: bool = False) -> dict[str, Outcome[int]]:
        """Raise the number of partitions of topics to `counts`. The value is the count."""
        rows = [CreatePartitionsTopic(name, count, None) for name, count in counts.items()]
        timeout_ms = self._calls.network.config.default_api_timeout_ms
        request = CreatePartitionsRequest(rows, timeout_ms, dry_run)
        answer = self._calls.controller(request, CreatePartitionsResponse, "add partitions")
        return {
            row.name: refused(row.error_code, f"topic {row.name}", row.error_message) or counts[row.name]
            for row in answer.results
        }

    def delete(self, names: Sequence[str]) -> dict[str, Outcome[bytes]]:
        """Delete topics with all their records. The value is the topic's id, zero where the cluster names none."""
        timeout_ms = self._calls.network.config.default_api_timeout_ms
        request = DeleteTopicsRequest([DeleteTopicState(name) for name in names], list(names), timeout_ms)
        answer = self._calls.controller(request, DeleteTopicsResponse, "delete topics")
        return {
            row.name or "": refused(row.error_code, f"topic {row.name}", row.error_message) or row.topic_id
            for row in answer.responses
        }

    def trim(self, before: Mapping[Partition, int]) -> dict[Partition, Outcome[int]]:
        """Remove the records below these offsets (-1: all). The value is the log's new start offset."""
        timeout_ms = self._calls.network.config.request_timeout_ms

        def ask(partitions: list[Partition]) -> Message:
            topics = [
                DeleteRecordsTopic(name, [DeleteRecordsPartition(number, before[name, number]) for number in numbers])
                for name, numbers in by_topic(partitions).items()
            ]
            return DeleteRecordsRequest(topics, timeout_ms)

        def take(answer: DeleteRecordsResponse) -> dict[Partition, Outcome[int]]:
            return {
                (topic.name, row.partition_index): refused(
                    row.error_code, f"partition {topic.name}-{row.partition_index}"
                )
                or row.low_watermark
                for topic in answer.topics
                for row in topic.partitions
            }

        return self._calls.each_partition(before, ask, answered(DeleteRecordsResponse, take))

    # -- offsets

    def offsets(
        self, times: Mapping[Partition, int], *, committed_only: bool = False
    ) -> dict[Partition, Outcome[OffsetAt]]:
        """Return the first offset at or after a time: milliseconds since the epoch, EARLIEST or LATEST.

        LATEST is the high watermark; with `committed_only`, it is the end of decided transactions.
        """

        def ask(partitions: list[Partition]) -> Message:
            return list_offsets({each: times[each] for each in partitions}, committed_only=committed_only)

        found: dict[Partition, Outcome[OffsetAt]] = {}
        for some in batched(times, _PAGE):
            found |= self._calls.each_partition(some, ask, lambda answer, _: listed(answer))
        return found

    def log_ranges(self, topics: Mapping[str, Collection[int]]) -> dict[Partition, LogRange]:
        """Return where the logs of partitions start and end. Raises the error of the first partition that has one."""
        wanted = [(name, number) for name, numbers in topics.items() for number in numbers]
        starts, ends = self._all_offsets(wanted, EARLIEST), self._all_offsets(wanted, LATEST)
        return {each: LogRange(starts[each], ends[each]) for each in wanted}

    def _all_offsets(self, partitions: Sequence[Partition], time: int) -> dict[Partition, int]:
        found = self.offsets(dict.fromkeys(partitions, time))
        return {each: only(found, each).offset or 0 for each in partitions}


def _creatable(topic: NewTopic) -> CreatableTopic:
    configs = [CreatableTopicConfig(name, value) for name, value in topic.configs.items()]
    assignment = [CreatableReplicaAssignment(number, list(nodes)) for number, nodes in enumerate(topic.assignment)]
    if assignment:
        return CreatableTopic(topic.name, _BROKERS_DEFAULT, _BROKERS_DEFAULT, assignment, configs)
    return CreatableTopic(topic.name, topic.partitions, topic.replication_factor, [], configs)


def _joined(rows: Iterator[DescribeTopicPartitionsResponseTopic]) -> Iterator[tuple[str, Outcome[TopicInfo]]]:
    """Yield topics; one that was cut in two by a page is joined."""
    for _, parts in groupby(rows, key=lambda row: row.name):
        first, *more = parts
        yield _outcome(first, [each for part in (first, *more) for each in part.partitions])


def _outcome(
    topic: DescribeTopicPartitionsResponseTopic | MetadataResponseTopic,
    partitions: Sequence[DescribeTopicPartitionsResponsePartition | MetadataResponsePartition],
) -> tuple[str, Outcome[TopicInfo]]:
    name = topic.name or ""
    if topic.error_code:
        return name, BrokerError(topic.error_code, f"topic {name}")
    rows = [
        PartitionInfo(
            row.partition_index,
            None if row.leader_id < 0 else row.leader_id,
            tuple(row.replica_nodes),
            tuple(row.isr_nodes),
        )
        for row in sorted(partitions, key=lambda each: each.partition_index)
    ]
    return name, TopicInfo(name, topic.topic_id, topic.is_internal, tuple(rows))
