"""TxnOffsetCommit: v0-6 (KIP-98, KIP-447, KIP-890, KIP-1319).

Behaviour: the offsets become the group's once the producer's transaction is committed. Each topic or partition that
does not exist is refused; an error of the transaction, the group or its member is returned in every other row. v3: the
member that has read up to these offsets; it is fenced if it is no longer in the group. v4: if the group's offsets are
not part of the transaction, the error is TRANSACTION_ABORTABLE (before, INVALID_TXN_STATE). v5: they are added to the
transaction. v6: topics by their ids, with UNKNOWN_TOPIC_ID; GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH instead of
ILLEGAL_GENERATION.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.turn_budget import PIECE, in_pieces
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTION
from shareq.broker.transactions.offsets import CommitOutcome, partition_of
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

CONTEXT = FolderContext

_IDS_FROM: Final = 6

_Topics = Sequence[TxnOffsetCommitRequestTopic]
_Partitions = Sequence[TxnOffsetCommitRequestPartition]
_index: Final = attrgetter("partition_index")
_Errors = dict[tuple[str | bytes, int], ErrorCode]
"""Errors by topic (name or id, as in the request) and partition."""


async def handle(ctx: FolderContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    topics = request.topics  # the request is emptied before the answer arrives, except for parts with references
    if not ctx.may(WRITE_TRANSACTION, request.transactional_id):
        return await _answer(ctx, topics, {}, WRITE_TRANSACTION.error)
    if not ctx.may(READ_GROUP, request.group_id):
        return await _answer(ctx, topics, {}, READ_GROUP.error)
    errors: _Errors = {}
    existing = await _existing(ctx, topics, errors)
    if not existing:
        return await _answer(ctx, topics, errors, ErrorCode.NONE)
    if not request.group_id:
        return await _answer(ctx, topics, errors, ErrorCode.INVALID_GROUP_ID)
    header = OffsetCommitRequest(
        request.group_id, request.generation_id_or_member_epoch, request.member_id, request.group_instance_id
    )
    producer, transactional_id = ProducerEpoch(request.producer_id, request.producer_epoch), request.transactional_id
    prepared = await ctx.services.groups.offsets.prepare(short=len(existing) == 1)
    if prepared is None:
        return await _answer(ctx, topics, errors, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    for part in existing:
        prepared.add(OffsetCommitRequest(header.group_id, topics=part), ctx.services.env.clock.wall_ms())
        await ctx.breathe(PIECE if len(existing) > 1 else len(part))

    names, owner, makes_group = ctx.services.groups.names, ctx.owner, header.generation_id_or_member_epoch < 0
    if makes_group and names.refusal(header.group_id, owner):
        return await _answer(ctx, topics, errors, ErrorCode.GROUP_MAX_SIZE_REACHED)
    offsets = ctx.ground.transactions.offsets
    outcome = await offsets.commit(producer, transactional_id, header, ctx.api_version, prepared)
    if makes_group:
        names.settle(header.group_id, owner)
    await _add_errors(ctx, errors, prepared, outcome)
    return await _answer(ctx, topics, errors, outcome.error)


def failed(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """Return the answer with the same error for every partition."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, _rows("", topic.partitions, {}, error))
            for topic in request.topics
        ]
    )


async def _existing(ctx: FolderContext, topics: _Topics, errors: _Errors) -> list[list[OffsetCommitRequestTopic]]:
    """Return, in parts, the existing topics that the client may read, with names and ids; add the errors of the others
    to `errors`.
    """
    by_id = ctx.api_version >= _IDS_FROM
    metadata = ctx.services.metadata
    parts: list[list[OffsetCommitRequestTopic]] = [[]]
    weight = 0
    for topic in topics:
        image = metadata.topic_by_id(topic.topic_id) if by_id else metadata.topic(topic.name)
        error = ErrorCode.UNKNOWN_TOPIC_ID if by_id and image is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        name = None if image is None and by_id else topic.name if image is None else image.name
        if name is not None and not ctx.may(READ_TOPIC, name):
            image, error = None, READ_TOPIC.error
        count = 0 if image is None else image.partitions
        for some in in_pieces(topic.partitions):
            there = [partition_of(each) for each in some if 0 <= each.partition_index < count]
            others = [each.partition_index for each in some if not 0 <= each.partition_index < count]
            errors.update(((_key(topic), partition), error) for partition in others)
            if there and image is not None:
                parts[-1].append(OffsetCommitRequestTopic(image.name, image.topic_id, there))
            weight += 1 + len(some)
            if weight >= PIECE:
                parts.append([])
                weight = 0
            await ctx.breathe(1 + len(some))
    return [part for part in parts if part]


async def _add_errors(ctx: FolderContext, errors: _Errors, prepared: PreparedCommit, outcome: CommitOutcome) -> None:
    """Add the errors of single partitions that differ from the error of all."""
    by_id = ctx.api_version >= _IDS_FROM
    gone = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic in prepared.topics:
        key = topic.topic_id if by_id else topic.name
        is_gone = topic.topic_id in outcome.gone
        for row in topic.partitions:
            error = gone if is_gone else outcome.error or ErrorCode(row.error_code)
            if error is not outcome.error:
                errors[key, row.partition_index] = error
            elif errors:
                errors.pop((key, row.partition_index), None)  # if a partition is named twice, its last row is used
        await ctx.breathe(1 + len(topic.partitions))


async def _answer(ctx: FolderContext, topics: _Topics, errors: _Errors, others: ErrorCode) -> TxnOffsetCommitResponse:
    response = TxnOffsetCommitResponse()
    for topic in topics:
        response.topics.append(TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, []))
        for some in in_pieces(topic.partitions):
            response.topics[-1].partitions += _rows(_key(topic), some, errors, others)
            await ctx.breathe(1 + len(some))
    return response


def _rows(
    key: str | bytes, partitions: _Partitions, errors: _Errors, others: ErrorCode
) -> list[TxnOffsetCommitResponsePartition]:
    return [TxnOffsetCommitResponsePartition(each, errors.get((key, each), others)) for each in map(_index, partitions)]


def _key(topic: TxnOffsetCommitRequestTopic) -> str | bytes:
    return topic.name or topic.topic_id
