"""The partitions of one transaction in AddPartitionsToTxn: which cannot be added, and the answer's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Final

from shareq.broker.foundation.pending import Pending, completed
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)

TURN_PARTITIONS: Final = 2_000
"""So many are looked at in one turn of the loop, 3 µs each; a topic counts as one more. All that exist are added in
one.
"""

Errors = dict[TopicPartition, ErrorCode]
Rows = list[AddPartitionsToTxnTopicResult]


def count(topics: Iterable[AddPartitionsToTxnTopic]) -> int:
    """How many topics and partitions are named."""
    return sum(1 + len(topic.partitions) for topic in topics)


class NamedPartitions:
    """Looks at what requests name: `metadata` has what there is."""

    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata

    def rows_of(
        self,
        topics: Sequence[AddPartitionsToTxnTopic],
        refused: Set[str],
        add: Callable[[Sequence[TopicPartition]], Pending[Errors]],
        in_turns: Callable[[Iterator[None]], None],
    ) -> Pending[Rows]:
        """What became of the partitions. None of `refused` topics may be added; `add` adds all, if it gets there.

        Many of them are looked at in turns, and `add` gets each once. `in_turns` does work in turns.
        """
        if count(topics) <= TURN_PARTITIONS:
            partitions = [TopicPartition(topic.name, each) for topic in topics for each in topic.partitions]
            found = self._problems(partitions, refused)
            return (completed(found) if found else add(partitions)).then(lambda errors: rows(topics, errors))
        answer: Pending[Rows] = Pending()

        def look() -> Iterator[None]:
            every: dict[TopicPartition, None] = {}
            found: Errors = {}
            for part in _parts(topics):
                found |= self._problems(part, refused)
                every.update(dict.fromkeys(part))
                yield
            errors = completed(found) if found else add(list(every))
            errors.on_complete(lambda errors: in_turns(answered(errors)))

        def answered(errors: Errors) -> Iterator[None]:
            return _rows_in_turns(topics, lambda topic, some: _row(topic, some, errors), answer)

        in_turns(look())
        return answer

    def refused_rows(
        self,
        topics: Sequence[AddPartitionsToTxnTopic],
        error: ErrorCode,
        in_turns: Callable[[Iterator[None]], None],
    ) -> Pending[Rows]:
        """The same error for every partition; many of them in turns."""
        answer: Pending[Rows] = Pending()
        turns = _rows_in_turns(
            topics, lambda _topic, some: [AddPartitionsToTxnPartitionResult(each, error) for each in some], answer
        )
        if count(topics) <= TURN_PARTITIONS:
            for _ in turns:
                pass
        else:
            in_turns(turns)
        return answer

    def _problems(self, partitions: Iterable[TopicPartition], refused: Set[str]) -> Errors:
        """Those that cannot be added, and why."""
        found: Errors = {}
        for at in partitions:
            image = self._metadata.topic(at.topic)
            if at.topic in refused:
                found[at] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image is None or not 0 <= at.partition < image.partitions:
                found[at] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return found


def _parts(topics: Iterable[AddPartitionsToTxnTopic]) -> Iterator[list[TopicPartition]]:
    """The partitions, some at a time."""
    part: list[TopicPartition] = []
    named = 0
    for topic in topics:
        named += 1
        for at in range(0, len(topic.partitions), TURN_PARTITIONS):
            part += [TopicPartition(topic.name, each) for each in topic.partitions[at : at + TURN_PARTITIONS]]
            if named + len(part) >= TURN_PARTITIONS:
                yield part
                part, named = [], 0
        if named >= TURN_PARTITIONS:
            yield part
            part, named = [], 0
    yield part


def _rows_in_turns(
    topics: Iterable[AddPartitionsToTxnTopic],
    row: Callable[[str, Sequence[int]], list[AddPartitionsToTxnPartitionResult]],
    answer: Pending[Rows],
) -> Iterator[None]:
    """Answer with a row for each partition, some in each turn."""
    results: Rows = []
    room = TURN_PARTITIONS
    for topic in topics:
        result = AddPartitionsToTxnTopicResult(topic.name, [])
        results.append(result)
        room -= 1
        for at in range(0, len(topic.partitions), TURN_PARTITIONS):
            some = topic.partitions[at : at + TURN_PARTITIONS]
            result.results_by_partition += row(topic.name, some)
            room -= len(some)
            if room <= 0:
                room = TURN_PARTITIONS
                yield
        if room <= 0:
            room = TURN_PARTITIONS
            yield
    answer.complete(results)


def rows(topics: Iterable[AddPartitionsToTxnTopic], errors: Errors) -> Rows:
    """A row for each partition that is named."""
    return [AddPartitionsToTxnTopicResult(topic.name, _row(topic.name, topic.partitions, errors)) for topic in topics]


def _row(topic: str, partitions: Iterable[int], errors: Errors) -> list[AddPartitionsToTxnPartitionResult]:
    """Those without an error of their own were not tried, because others have one."""
    others = ErrorCode.OPERATION_NOT_ATTEMPTED
    return [
        AddPartitionsToTxnPartitionResult(each, errors.get(TopicPartition(topic, each), others)) for each in partitions
    ]
