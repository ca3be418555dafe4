"""The acknowledgements of one request, a ShareFetch or a ShareAcknowledge: check them, apply them, collect the error
codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.foundation.turn_budget import TurnBudget
from shareq.broker.share.core.ack_batches import validate_ack_batches
from shareq.broker.share.core.partition import Acknowledged
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode


class PartitionAcks(NamedTuple):
    """The acknowledgements of one partition in a request. Without batches, the request only names the partition.

    `later`: the delays of some of the released records, ascending and disjoint; None if they cannot be read.
    """

    topic_id: bytes
    partition: int
    batches: Sequence[Acknowledged]
    later: Sequence[Later] | None = ()


MOST_BATCHES: Final = 20_000
"""The most batches of one partition in one request, all of which are applied in one turn. A fetch brings 500 records,
or a few more.
"""

FEW_BATCHES: Final = 500
"""Batches that are checked between two calls of `breathe`."""

_BATCHES_OF_AN_ELEMENT: Final = 10
"""The number of batches that count as one element of a turn, at 2 µs for each batch."""

AckResults = dict[tuple[bytes, int], ErrorCode]
"""The error code of each partition, by topic id and partition."""


class ShareAcknowledgements:
    """Applies the acknowledgements of requests to the share partitions this broker leads."""

    def __init__(self, partitions: SharePartitionManager, metadata: MetadataImage, budget: TurnBudget) -> None:
        self._partitions = partitions
        self._metadata = metadata
        self._budget = budget

    async def apply(
        self,
        group_id: str,
        member_id: str,
        acks: Sequence[PartitionAcks],
        refuse: Callable[[str], ErrorCode],
        *,
        renew_request: bool,
        renew_version: bool,
    ) -> Pending[AckResults]:
        """Acknowledge on every partition; complete with the error codes when all state writes are durable.

        `refuse` returns why the member may not acknowledge on a topic, or NONE. `renew_request` is the request's
        IsRenewAck, `renew_version` whether its version knows acknowledge type 4. One partition's error never touches
        another partition. The batches of a partition that is named twice are applied together. A partition with more
        than `MOST_BATCHES` gets INVALID_REQUEST. A partition without batches is in the answer only if the request
        acknowledges something on another one, as in Apache Kafka 4.3.1.
        """
        breathe = self._budget.breathe
        merged: dict[tuple[bytes, int], Sequence[Acknowledged]] = {}
        later: dict[tuple[bytes, int], Sequence[Later] | None] = {}
        for ack in acks:
            key = (ack.topic_id, ack.partition)
            merged[key] = [*merged[key], *ack.batches] if key in merged else ack.batches
            if ack.later is None or ack.later:
                later[key] = None if key in later else ack.later
        refused: AckResults = {}
        for key, batches in merged.items():
            wrong = len(batches) > MOST_BATCHES or later.get(key, ()) is None
            error = ErrorCode.INVALID_REQUEST if wrong else ErrorCode.NONE
            for some in _pieces(batches) if error is ErrorCode.NONE else ():
                error = error or validate_ack_batches(some, renew_request=renew_request, renew_version=renew_version)
                await breathe(1 + len(some) // _BATCHES_OF_AN_ELEMENT)
            error = error or self._unreachable(*key, refuse)
            if error is not ErrorCode.NONE:
                refused[key] = error
        if not any(batches and key not in refused for key, batches in merged.items()):
            merged = {key: merged[key] for key in refused}
        answers: list[Pending[ErrorCode]] = []
        for key, batches in merged.items():
            if key in refused:
                answers.append(completed(refused[key]))
            else:
                times = later.get(key) or ()
                answers.append(self._acknowledge(SharePartitionKey(group_id, *key), member_id, batches, times))
                await breathe(1 + len(batches) // _BATCHES_OF_AN_ELEMENT)
        keys = list(merged)
        if len(answers) == 1:
            return answers[0].then(lambda code: self._results(keys, [code]))
        return gather(answers).then(lambda codes: self._results(keys, codes))

    def _results(self, keys: Sequence[tuple[bytes, int]], codes: list[ErrorCode]) -> AckResults:
        by_key = dict(zip(keys, codes, strict=True))
        known = {topic_id for topic_id, _ in keys if self._metadata.topic_by_id(topic_id) is not None}
        failed = {topic_id for (topic_id, _), code in by_key.items() if code is not ErrorCode.NONE}
        if known:
            self._partitions.counters.acknowledged(known, known & failed)
        return by_key

    def _unreachable(self, topic_id: bytes, partition: int, refuse: Callable[[str], ErrorCode]) -> ErrorCode:
        topic = self._metadata.topic_by_id(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        error = refuse(topic.name)
        if error is not ErrorCode.NONE:
            return error
        return ErrorCode.NONE if 0 <= partition < topic.partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _acknowledge(
        self, key: SharePartitionKey, member_id: str, batches: Sequence[Acknowledged], later: Sequence[Later]
    ) -> Pending[ErrorCode]:
        if not batches:
            return completed(ErrorCode.NONE)
        leader = self._partitions.get(key)
        if leader is None:  # also after a restart, until the next fetch loads it
            return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._partitions.acknowledge(leader, member_id, batches, later)


def _pieces(batches: Sequence[Acknowledged]) -> Iterable[Sequence[Acknowledged]]:
    """Return the batches in pieces of `FEW_BATCHES`; each piece also begins with the last batch of the previous one."""
    if len(batches) <= FEW_BATCHES:
        return (batches,)
    return (batches[max(0, at - 1) : at + FEW_BATCHES] for at in range(0, len(batches), FEW_BATCHES))
