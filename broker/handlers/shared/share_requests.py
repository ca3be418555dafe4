"""The common part of ShareFetch and ShareAcknowledge: checks of the request, and its acknowledgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC
from shareq.broker.share.acknowledgements import AckResults, PartitionAcks
from shareq.broker.share.core.values import Acknowledged, AckRanges
from shareq.coordinator.ports import MAX_MEMBER_ID_LENGTH
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.ack_delays import delays_in
from shareq.protocol.ack_reasons import reasons_in
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import AcknowledgeTopic
from shareq.protocol.primitives import Tags
from shareq.protocol.rows import Rows

_RENEW_FROM = 2


class WirePartition(Protocol):
    """A partition of a ShareFetch or a ShareAcknowledge."""

    partition_index: int
    unknown_tags: Tags

    @property
    def acknowledgement_batches(self) -> Sequence[Acknowledged]: ...


class WireTopic(Protocol):
    """A topic of a ShareFetch or a ShareAcknowledge."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[WirePartition]: ...


def share_request_error(ctx: RequestContext, group_id: str | None, member_id: str | None) -> ErrorCode:
    """Return the error that refuses a ShareFetch or ShareAcknowledge as a whole, or NONE.

    Errors: UNSUPPORTED_VERSION, INVALID_REQUEST, GROUP_AUTHORIZATION_FAILED. The member id is any text of 1 to 36
    characters; whether the member is in the group is not checked.
    """
    if not ctx.services.metadata.share_groups_enabled:
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is not None and not ctx.may(READ_GROUP, group_id):
        return READ_GROUP.error
    if group_id is None or not member_id or len(member_id) > MAX_MEMBER_ID_LENGTH:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def requested_acks(topics: Sequence[WireTopic]) -> list[PartitionAcks]:
    """Return the request's acknowledgements, one entry for each partition that it names."""
    return [
        PartitionAcks(
            topic.topic_id,
            partition.partition_index,
            _acks(partition.acknowledgement_batches),
            delays_in(partition.unknown_tags) if partition.unknown_tags else (),
        )
        for topic in topics
        for partition in topic.partitions
    ]


def note_reasons(ctx: RequestContext, group_id: str, topics: Sequence[AcknowledgeTopic]) -> None:
    """Keep the reasons that our own clients send for released and rejected records, for their dead letters.

    Call this before the acknowledgements are applied, because that writes the letters.
    """
    for topic in topics:
        for partition in topic.partitions:
            if partition.unknown_tags:
                key = SharePartitionKey(group_id, topic.topic_id, partition.partition_index)
                leader = ctx.services.share.partitions.get(key)
                if leader is not None and ctx.may(READ_TOPIC, leader.topic):
                    for offset, reason in reasons_in(partition.unknown_tags):
                        leader.note_reason(offset, reason)


def _acks(batches: Sequence[Acknowledged]) -> Sequence[Acknowledged]:
    return AckRanges(batches.numbers()) if isinstance(batches, Rows) else batches


def acknowledge(
    ctx: RequestContext, group_id: str, member_id: str, acks: Sequence[PartitionAcks], *, renew_request: bool
) -> Waiting[Pending[AckResults]]:
    """Apply a request's acknowledgements, once the result is awaited; see `ShareAcknowledgements.apply`."""
    return ctx.services.share.acknowledgements.apply(
        group_id,
        member_id,
        acks,
        lambda topic: ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error,
        renew_request=renew_request,
        renew_version=ctx.api_version >= _RENEW_FROM,
    )
