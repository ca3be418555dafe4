"""Acknowledgements of one request, from ShareFetch or ShareAcknowledge: check, apply, collect the codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.share.core.fetch_plan import validate_ack_batches
from shareq.broker.share.core.partition import Acknowledged
from shareq.broker.share.partitions import SharePartitionManager
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PartitionAcks:
    """What a request acknowledges on one partition. No batches: the partition is only named."""

    topic_id: bytes
    partition: int
    batches: Sequence[Acknowledged]


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
        *,
        renew_request: bool,
        renew_version: bool,
    ) -> Pending[AckResults]:
        """Acknowledge on every partition; the codes come when all state writes are durable.

        `refuse` returns why the member may not acknowledge on a topic, or NONE. `renew_request` is the request's
        IsRenewAck, `renew_version` whether its version knows acknowledge type 4. One partition's error never touches
        another partition. A partition named twice has its batches taken together. One that is merely named is answered
        too if there is anything to acknowledge, as by Apache Kafka 4.3.1.
        """
        merged: dict[tuple[bytes, int], list[Acknowledged]] = {}
        for ack in acks:
            merged.setdefault((ack.topic_id, ack.partition), []).extend(ack.batches)
        refused: AckResults = {}
        for key, batches in merged.items():
            error = validate_ack_batches(batches, renew_request=renew_request, renew_version=renew_version)
            error = error or self._unreachable(*key, refuse)
            if error is not ErrorCode.NONE:
                refused[key] = error
        if not any(batches and key not in refused for key, batches in merged.items()):
            merged = {key: merged[key] for key in refused}
        keys = list(merged)
        answers = [
            completed(refused[key])
            if key in refused
            else self._acknowledge(SharePartitionKey(group_id, *key), member_id, merged[key])
            for key in keys
        ]
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
        self, key: SharePartitionKey, member_id: str, batches: Sequence[Acknowledged]
    ) -> Pending[ErrorCode]:
        if not batches:
            return completed(ErrorCode.NONE)
        leader = self._partitions.get(key)
        if leader is None:  # also after a restart, until the next fetch loads it
            return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._partitions.acknowledge(leader, member_id, batches)
