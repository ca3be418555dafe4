"""Acknowledgements of one request, from ShareFetch or ShareAcknowledge: check, apply, collect the codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.share.core.fetch_plan import validate_ack_batches
from shareq.broker.share.core.partition import Acknowledged
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode


class PartitionAcks(NamedTuple):
    """What a request acknowledges on one partition. No batches: the partition is only named."""

    topic_id: bytes
    partition: int
    batches: Sequence[Acknowledged]


MOST_BATCHES: Final = 20_000
"""Of one partition in one request: what is applied in one turn of the loop. A fetch brings 500 records, or some."""

FEW_BATCHES: Final = 2_000
"""So many are looked at at once; requests that have more take several turns."""

AckResults = dict[tuple[bytes, int], ErrorCode]
"""The code of each topic id and partition."""


class ShareAcknowledgements:
    """Applies the acknowledgements of requests to the share partitions this broker leads."""

    def __init__(self, partitions: SharePartitionManager, metadata: MetadataImage) -> None:
        self._partitions = partitions
        self._metadata = metadata

    def apply(
        self,
        group_id: str,
        member_id: str,
        acks: Sequence[PartitionAcks],
        refuse: Callable[[str], ErrorCode],
        in_turns: Callable[[Iterator[None]], None],
        *,
        renew_request: bool,
        renew_version: bool,
    ) -> Pending[AckResults]:
        """Acknowledge on every partition; the codes come when all state writes are durable.

        `refuse` returns why the member may not acknowledge on a topic, or NONE. `renew_request` is the request's
        IsRenewAck, `renew_version` whether its version knows acknowledge type 4. One partition's error never touches
        another partition. A partition named twice has its batches taken together; more than `MOST_BATCHES` are
        INVALID_REQUEST. One that is merely named is answered too if there is anything to acknowledge, as by Apache
        Kafka 4.3.1. Many batches are looked at by `in_turns`, which does work in turns of the loop.
        """
        merged: dict[tuple[bytes, int], Sequence[Acknowledged]] = {}
        for ack in acks:
            key = (ack.topic_id, ack.partition)
            merged[key] = [*merged[key], *ack.batches] if key in merged else ack.batches
        result: Pending[AckResults] = Pending()

        def unsound(batches: Sequence[Acknowledged]) -> ErrorCode:
            return validate_ack_batches(batches, renew_request=renew_request, renew_version=renew_version)

        steps = self._steps(group_id, member_id, merged, unsound, refuse, result)
        if sum(map(len, merged.values())) + len(merged) <= FEW_BATCHES:
            for _ in steps:
                pass
        else:
            in_turns(_together(steps))
        return result

    def _steps(
        self,
        group_id: str,
        member_id: str,
        merged: Mapping[tuple[bytes, int], Sequence[Acknowledged]],
        unsound: Callable[[Sequence[Acknowledged]], ErrorCode],
        refuse: Callable[[str], ErrorCode],
        result: Pending[AckResults],
    ) -> Iterator[int]:
        """Check, then acknowledge, partition by partition; after each, or so many of its batches as are looked at in
        one turn, how many were looked at.
        """
        refused: AckResults = {}
        for key, batches in merged.items():
            error = ErrorCode.INVALID_REQUEST if len(batches) > MOST_BATCHES else ErrorCode.NONE
            at = 0
            while error is ErrorCode.NONE and at + FEW_BATCHES < len(batches):
                error = unsound(batches[max(0, at - 1) : at + FEW_BATCHES])  # with the last one that was looked at
                at += FEW_BATCHES
                yield FEW_BATCHES
            if error is ErrorCode.NONE:
                error = unsound(batches[at - 1 :] if at else batches) or self._unreachable(*key, refuse)
            if error is not ErrorCode.NONE:
                refused[key] = error
            yield len(batches) - at
        if not any(batches and key not in refused for key, batches in merged.items()):
            merged = {key: merged[key] for key in refused}
        keys = list(merged)
        answers: list[Pending[ErrorCode]] = []
        for key in keys:
            if key in refused:
                answers.append(completed(refused[key]))
            else:
                answers.append(self._acknowledge(SharePartitionKey(group_id, *key), member_id, merged[key]))
                yield len(merged[key])
        gather(answers).then(lambda codes: self._results(keys, codes)).on_complete(result.complete)

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
        self, key: SharePartitionKey, member_id: str, batches: Sequence[Acknowledged]
    ) -> Pending[ErrorCode]:
        if not batches:
            return completed(ErrorCode.NONE)
        leader = self._partitions.get(key)
        if leader is None:  # also after a restart, until the next fetch loads it
            return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._partitions.acknowledge(leader, member_id, batches)


def _together(steps: Iterator[int]) -> Iterator[None]:
    """Steps of few batches in one turn, as many as `FEW_BATCHES` are."""
    looked_at = 0
    for batches in steps:
        looked_at += 1 + batches
        if looked_at >= FEW_BATCHES:
            looked_at = 0
            yield
