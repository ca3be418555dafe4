"""What the five share-state RPCs have in common: one operation for each share partition, results regrouped by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import run_in_turns
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.security.rights import CLUSTER_ACTION
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode, text_of

TURN_PARTITIONS: Final = 250
"""So many are operated on in one turn: 25 µs each, more where a state is written."""

P = TypeVar("P", bound="PartitionData")
P_co = TypeVar("P_co", bound="PartitionData", covariant=True)
R = TypeVar("R")
Out = TypeVar("Out")


class PartitionData(Protocol):
    """A partition of a request."""

    partition: int


class TopicData(Protocol[P_co]):
    """A topic of a request."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[P_co]: ...


def for_each_partition(
    ctx: RequestContext,
    group_id: str,
    topics: Sequence[TopicData[P]],
    operate: Callable[[SharePartitionKey, P], Pending[R]],
    to_result: Callable[[int, R], Out],
    refused: Callable[[int, ErrorCode, str], Out],
) -> Pending[list[tuple[bytes, list[Out]]]]:
    """Run `operate` on every share partition named, in order, so many in a turn of the loop; the results by topic, when
    all are durable. Without CLUSTER_ACTION nothing is run, and each one is `refused`.

    As in Apache Kafka 4.3.1 an empty group id, no topics, or a topic without partitions give an empty list, and a
    share partition that is named twice is operated on twice but answered once, with the last result.
    """
    if not ctx.may(CLUSTER_ACTION):
        return completed(_refused(topics, refused, CLUSTER_ACTION.error))
    if not group_id or any(not topic.partitions for topic in topics):
        topics = ()
    keys: list[SharePartitionKey] = []
    answered: Pending[list[R]] = Pending()
    steps = _operate(group_id, topics, operate, keys, answered)
    if sum(len(topic.partitions) for topic in topics) <= TURN_PARTITIONS:
        for _ in steps:
            pass
    else:
        run_in_turns(ctx, steps)

    def regroup(results: list[R]) -> list[tuple[bytes, list[Out]]]:
        by_topic: dict[bytes, dict[int, R]] = {}
        for key, result in zip(keys, results, strict=True):
            by_topic.setdefault(key.topic_id, {})[key.partition] = result
        return [
            (topic_id, [to_result(partition, result) for partition, result in partitions.items()])
            for topic_id, partitions in by_topic.items()
        ]

    return answered.then(regroup)


def _operate(
    group_id: str,
    topics: Sequence[TopicData[P]],
    operate: Callable[[SharePartitionKey, P], Pending[R]],
    keys: list[SharePartitionKey],
    answered: Pending[list[R]],
) -> Iterator[None]:
    """Operate on each share partition, and note it in `keys`; `answered` has the results when all are there."""
    answers: list[Pending[R]] = []
    for topic in topics:
        for data in topic.partitions:
            key = SharePartitionKey(group_id, topic.topic_id, data.partition)
            keys.append(key)
            answers.append(operate(key, data))
            if len(answers) % TURN_PARTITIONS == 0:
                yield
    gather(answers).on_complete(answered.complete)


def _refused(
    topics: Sequence[TopicData[P]], refused: Callable[[int, ErrorCode, str], Out], error: ErrorCode
) -> list[tuple[bytes, list[Out]]]:
    message = text_of(error)
    return [
        (topic.topic_id, [refused(part.partition, error, message) for part in topic.partitions]) for topic in topics
    ]
