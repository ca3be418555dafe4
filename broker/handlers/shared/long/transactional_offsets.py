"""A TxnOffsetCommit of many partitions, in turns of the loop.

Its topics are looked at, and its records made and encoded, some at a time; then the transaction and the group are
asked, and all records are appended and replayed in one turn, as those of a short commit are: either all of them count,
or none. The rows of the answer are put together in turns again. The rules are those of the short one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, emptied, lacking_in_turns, pending_in_turns, pieces
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.security.rights import READ_TOPIC
from shareq.broker.transactions.offsets import CommitOutcome, partition_of
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

TURN_PARTITIONS: Final = 500
"""So many are looked at in one turn, or made into records, 15 µs each; a topic counts as one more."""

_TURN_ROWS: Final = 3_000  # of the answer; a topic counts as one more
_IDS_FROM: Final = 6

_Topics = Sequence[TxnOffsetCommitRequestTopic]
_Errors = dict[tuple[str | bytes, int], ErrorCode]
"""By the topic's name or id, whichever the request has, and partition."""


def is_long(request: TxnOffsetCommitRequest) -> bool:
    """Whether the request is more than one turn has room for."""
    topics = request.topics
    return len(topics) > TURN_PARTITIONS or sum(1 + len(topic.partitions) for topic in topics) > TURN_PARTITIONS


def refused_in_turns(request: TxnOffsetCommitRequest, error: ErrorCode) -> Steps[Pending[TxnOffsetCommitResponse]]:
    """The same error for every partition."""
    return (yield from _response(request.topics, {}, error))


def commit_in_turns(ctx: RequestContext, request: TxnOffsetCommitRequest) -> Steps[Pending[TxnOffsetCommitResponse]]:
    """What comes of a request whose client may write in the transaction and read in the group."""
    errors: _Errors = {}
    topics = request.topics  # the request is given back before the answer comes, but for what is referred to
    existing = yield from _existing(ctx, request, errors)
    if not existing:
        return (yield from _response(topics, errors, ErrorCode.NONE))
    offsets, clock = ctx.services.transactions.offsets, ctx.services.env.clock
    prepared = (yield from ctx.services.groups.offsets.prepare()) if request.group_id else None
    if prepared is None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if request.group_id else ErrorCode.INVALID_GROUP_ID
        return (yield from _response(topics, errors, error))
    header = OffsetCommitRequest(
        request.group_id, request.generation_id_or_member_epoch, request.member_id, request.group_instance_id
    )
    for part in existing:
        prepared.add(OffsetCommitRequest(request.group_id, topics=part), clock.wall_ms())
        yield
    producer = ProducerEpoch(request.producer_id, request.producer_epoch)

    def commit() -> Pending[CommitOutcome]:
        return offsets.commit_prepared(producer, request.transactional_id, header, ctx.api_version, prepared)

    if request.generation_id_or_member_epoch >= 0:  # makes no group
        done = commit()
    else:
        full = CommitOutcome(ErrorCode.GROUP_MAX_SIZE_REACHED)
        done = ctx.services.groups.names.make(request.group_id, ctx.owner, commit, lambda _: full)
    return done.chain(
        lambda outcome: pending_in_turns(ctx, _committed(topics, errors, prepared, outcome, ctx.api_version))
    )


def _existing(
    ctx: RequestContext, request: TxnOffsetCommitRequest, errors: _Errors
) -> Steps[list[list[OffsetCommitRequestTopic]]]:
    """What the client may read and what exists, with names and ids, as much as is made into records in one turn; the
    errors of the rest are added to `errors`.
    """
    by_id = ctx.api_version >= _IDS_FROM
    metadata = ctx.services.metadata
    turn = TurnCount(TURN_PARTITIONS)
    parts: list[list[OffsetCommitRequestTopic]] = [[]]
    names = (topic.name for topic in request.topics)
    if by_id:
        found = (metadata.topic_by_id(topic.topic_id) for topic in request.topics)
        names = (image.name for image in found if image is not None)
    hidden = yield from lacking_in_turns(ctx, READ_TOPIC, names)
    for topic in request.topics:
        image = metadata.topic_by_id(topic.topic_id) if by_id else metadata.topic(topic.name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if (image.name if image is not None else topic.name) in hidden:
            image, error = None, READ_TOPIC.error
        elif by_id and image is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        count = 0 if image is None else image.partitions
        for some in pieces(topic.partitions, TURN_PARTITIONS):
            there = [partition_of(each) for each in some if 0 <= each.partition_index < count]
            if len(there) < len(some):
                key = _key(topic)
                errors.update(
                    ((key, each.partition_index), error) for each in some if not 0 <= each.partition_index < count
                )
            if there and image is not None:
                parts[-1].append(OffsetCommitRequestTopic(image.name, image.topic_id, there))
            if turn.full(len(some)):
                parts.append([])
                yield
        if turn.full():
            parts.append([])
            yield
    return [part for part in parts if part]


def _committed(
    topics: _Topics, errors: _Errors, prepared: PreparedCommit, outcome: CommitOutcome, version: int
) -> Steps[Pending[TxnOffsetCommitResponse]]:
    """The answer, with the errors of single partitions beside what came of all."""
    turn = TurnCount(_TURN_ROWS)
    by_id = version >= _IDS_FROM
    gone = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic in prepared.topics:
        key = topic.topic_id if by_id else topic.name
        is_gone = topic.topic_id in outcome.gone
        for row in topic.partitions:
            error = gone if is_gone else outcome.error or ErrorCode(row.error_code)
            if error is not outcome.error:
                errors[key, row.partition_index] = error
            elif errors:
                errors.pop((key, row.partition_index), None)  # of a partition that is named twice the last one counts
        if turn.full(1 + len(topic.partitions)):
            yield
    return (yield from _response(topics, errors, outcome.error))


def _response(topics: _Topics, errors: _Errors, others: ErrorCode) -> Steps[Pending[TxnOffsetCommitResponse]]:
    turn = TurnCount(_TURN_ROWS)
    response = TxnOffsetCommitResponse()
    for topic in topics:
        key = _key(topic)
        answered = TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, [])
        response.topics.append(answered)
        for some in pieces(topic.partitions, _TURN_ROWS):
            answered.partitions += [
                TxnOffsetCommitResponsePartition(each.partition_index, errors.get((key, each.partition_index), others))
                for each in some
            ]
            if turn.full(len(some)):
                yield
        if turn.full():
            yield
    if len(errors) > _TURN_ROWS:
        yield from emptied(errors)
    return completed(response)


def _key(topic: TxnOffsetCommitRequestTopic) -> str | bytes:
    return topic.name or topic.topic_id
