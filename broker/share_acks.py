"""Acknowledgements of one request, from ShareFetch or ShareAcknowledge: check, apply, collect the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shareq.broker.pending import Pending, completed, gather
from shareq.broker.share.fetch_plan import validate_ack_batches
from shareq.broker.share.partition import AckBatch
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.broker import Broker


@dataclass(frozen=True, slots=True)
class PartitionAcks:
    """What a request acknowledges on one partition. No batches: the partition is only named."""

    topic_id: bytes
    partition: int
    batches: Sequence[AckBatch]


AckResults = dict[tuple[bytes, int], ErrorCode]


def acknowledge_all(
    broker: Broker,
    group_id: str,
    member_id: str,
    acks: Sequence[PartitionAcks],
    *,
    renew_request: bool,
    renew_version: bool,
) -> Pending[AckResults]:
    """Acknowledge on every partition; the codes come when all state writes are durable.

    `renew_request` is the request's IsRenewAck, `renew_version` whether its version knows acknowledge type 4. One
    partition's error never touches another partition. A partition named twice has its batches taken together.
    """
    merged: dict[tuple[bytes, int], list[AckBatch]] = {}
    for ack in acks:
        merged.setdefault((ack.topic_id, ack.partition), []).extend(ack.batches)
    keys = list(merged)
    answers = [
        _acknowledge_one(
            broker, SharePartitionKey(group_id, *key), member_id, merged[key], renew_request, renew_version
        )
        for key in keys
    ]
    return gather(answers).then(lambda codes: dict(zip(keys, codes, strict=True)))


def _acknowledge_one(
    broker: Broker,
    key: SharePartitionKey,
    member_id: str,
    batches: Sequence[AckBatch],
    renew_request: bool,
    renew_version: bool,
) -> Pending[ErrorCode]:
    error = validate_ack_batches(batches, renew_request=renew_request, renew_version=renew_version)
    if error is not ErrorCode.NONE:
        return completed(error)
    topic = broker.metadata.topic_by_id(key.topic_id)
    if topic is None:
        return completed(ErrorCode.UNKNOWN_TOPIC_ID)
    if not 0 <= key.partition < topic.partitions:
        return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not batches:
        return completed(ErrorCode.NONE)
    leader = broker.share_partitions.get(key)
    if leader is None:  # also after a restart, until the next fetch loads it
        return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return broker.share_partitions.acknowledge(leader, member_id, batches)
