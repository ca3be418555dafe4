"""Acknowledgements of one request, from ShareFetch or ShareAcknowledge: check, apply, collect the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.broker.share.core.fetch_plan import validate_ack_batches
from shareq.broker.share.core.partition import Acknowledged
from shareq.broker.topics.leaders import Leader
from shareq.coordinator.ports import MAX_MEMBER_ID_LENGTH
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.broker import Broker


@dataclass(frozen=True, slots=True)
class PartitionAcks:
    """What a request acknowledges on one partition. No batches: the partition is only named."""

    topic_id: bytes
    partition: int
    batches: Sequence[Acknowledged]


AckResults = dict[tuple[bytes, int], ErrorCode]


class WirePartition(Protocol):
    """A partition of either request."""

    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[Acknowledged]: ...


class WireTopic(Protocol):
    """A topic of either request."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[WirePartition]: ...


def requested_acks(topics: Sequence[WireTopic]) -> list[PartitionAcks]:
    """What the request acknowledges, with every partition it names."""
    return [
        PartitionAcks(topic.topic_id, partition.partition_index, partition.acknowledgement_batches)
        for topic in topics
        for partition in topic.partitions
    ]


def request_error(ctx: RequestContext, group_id: str | None, member_id: str | None) -> ErrorCode:
    """What forbids a ShareFetch or ShareAcknowledge as a whole: UNSUPPORTED_VERSION, INVALID_REQUEST,
    GROUP_AUTHORIZATION_FAILED, or NONE.

    The member id is any text of 1 to 36 characters; whether the member is in the group is not looked at.
    """
    if not ctx.broker.metadata.share_groups_enabled:
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is not None and not ctx.may(READ_GROUP, group_id):
        return READ_GROUP.error
    if group_id is None or not member_id or len(member_id) > MAX_MEMBER_ID_LENGTH:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def needs_leader(error: int) -> bool:
    """Whether the response must name the current leader beside this error."""
    return error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def leader_of(ctx: RequestContext, topic_id: bytes, partition: int) -> Leader:
    """Who leads the partition, as this request's listener reaches them."""
    topic = ctx.broker.metadata.topic_by_id(topic_id)
    elsewhere = None if topic is None else ctx.broker.leaders.other_leader(topic.name, partition)
    return elsewhere or Leader(ctx.broker.endpoint_for(ctx.connection.listener), 0)


def acknowledge_all(
    ctx: RequestContext,
    group_id: str,
    member_id: str,
    acks: Sequence[PartitionAcks],
    *,
    renew_request: bool,
    renew_version: bool,
) -> Pending[AckResults]:
    """Acknowledge on every partition; the codes come when all state writes are durable.

    `renew_request` is the request's IsRenewAck, `renew_version` whether its version knows acknowledge type 4. One
    partition's error never touches another partition. A partition named twice has its batches taken together. One that
    is merely named is answered too if there is anything to acknowledge, as by Apache Kafka 4.3.1.
    """
    broker = ctx.broker
    merged: dict[tuple[bytes, int], list[Acknowledged]] = {}
    for ack in acks:
        merged.setdefault((ack.topic_id, ack.partition), []).extend(ack.batches)
    refused: AckResults = {}
    for key, batches in merged.items():
        error = validate_ack_batches(batches, renew_request=renew_request, renew_version=renew_version)
        error = error or _unreachable(ctx, *key)
        if error is not ErrorCode.NONE:
            refused[key] = error
    if not any(batches and key not in refused for key, batches in merged.items()):
        merged = {key: merged[key] for key in refused}
    keys = list(merged)
    answers = [
        completed(refused[key])
        if key in refused
        else _acknowledge_one(broker, SharePartitionKey(group_id, *key), member_id, merged[key])
        for key in keys
    ]

    def results(codes: list[ErrorCode]) -> AckResults:
        by_key = dict(zip(keys, codes, strict=True))
        known = {topic_id for topic_id, _ in keys if broker.metadata.topic_by_id(topic_id) is not None}
        failed = {topic_id for (topic_id, _), code in by_key.items() if code is not ErrorCode.NONE}
        if known:
            broker.share_partitions.counters.acknowledged(known, known & failed)
        return by_key

    return gather(answers).then(results)


def _unreachable(ctx: RequestContext, topic_id: bytes, partition: int) -> ErrorCode:
    topic = ctx.broker.metadata.topic_by_id(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not ctx.may(READ_TOPIC, topic.name):
        return READ_TOPIC.error
    return ErrorCode.NONE if 0 <= partition < topic.partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _acknowledge_one(
    broker: Broker, key: SharePartitionKey, member_id: str, batches: Sequence[Acknowledged]
) -> Pending[ErrorCode]:
    if not batches:
        return completed(ErrorCode.NONE)
    leader = broker.share_partitions.get(key)
    if leader is None:  # also after a restart, until the next fetch loads it
        return completed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return broker.share_partitions.acknowledge(leader, member_id, batches)
