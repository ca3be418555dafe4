"""Produce, forwarded by leader: v3-13, cut to the cluster's; v0-2 are advertised and not served (KAFKA-18659).

Behaviour: batches of one tick are sent together (`forward/produce_by_leader.py`); each is answered as its leader
answered it, without the name of another leader. A batch without an answer, which may have been appended, gets
REQUEST_TIMED_OUT; a batch that reached no broker gets NOT_LEADER_OR_FOLLOWER. acks 0 is forwarded with acks 1, and an
error closes the connection. Transactional batches are sent apart from others, in the client's version. Batches for a
node's own topics are INVALID_TOPIC_EXCEPTION.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared.produce_append import failed
from shareq.broker.network.frames import CloseConnection
from shareq.broker.security.rights import WRITE_TOPIC, WRITE_TRANSACTION
from shareq.cluster.forward.forwarding import ForwardContext, is_hidden
from shareq.cluster.forward.ports import Topic
from shareq.cluster.forward.produce_by_leader import IDS_FROM, Batch, Transaction, refused
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, TRANSACTIONAL, Compression, attributes_of

__all__ = ["CONTEXT", "failed", "handle"]

CONTEXT = ForwardContext
ZSTD_FROM: Final = 7
"""The first version in which a client may send batches compressed with Zstandard."""


async def handle(ctx: ForwardContext, request: ProduceRequest) -> ProduceResponse | Pending[ProduceResponse] | None:
    """Forward every batch of the request. The answer is complete when all batches are answered."""
    acks, forwarding = request.acks, ctx.forwarding
    names: Mapping[Topic, TopicImage | ErrorCode] = {}
    if ctx.api_version >= IDS_FROM:
        names = await ctx.find([topic.topic_id for topic in request.topic_data])
    answer = _Answer(acks, ctx)
    transaction = _Transaction(ctx, request.transactional_id)
    for topic in request.topic_data:
        named, error = _named(ctx, topic, names, acks)
        rows: list[PartitionProduceResponse] = []
        answer.response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, rows))
        for data in topic.partition_data:
            why, within = error or _unacceptable(ctx, data), transaction.of(data)
            if isinstance(within, ErrorCode):
                why, within = why or within, None
            rows.append(PartitionProduceResponse(data.index))
            done = answer.expect(rows, len(rows) - 1)
            if why or data.records is None:
                done(refused(data.index, why or ErrorCode.INVALID_RECORD))
            else:
                batch = Batch(named, data.index, data.records, acks or 1, request.timeout_ms, done, transaction=within)
                forwarding.batches.add(batch)
            await ctx.breathe()
    forwarding.batches.hurry()
    return answer.end()


class _Transaction:
    """The transaction that the transactional batches of a request belong to."""

    def __init__(self, ctx: ForwardContext, transactional_id: str | None) -> None:
        self._ctx = ctx
        self._id = transactional_id
        self._admitted: Transaction | ErrorCode | None = None

    def of(self, data: PartitionProduceData) -> Transaction | ErrorCode | None:
        """Return the batch's transaction, None for a batch without one, or the error if the client may not use it."""
        records = data.records
        if records is None or len(records) <= ATTRIBUTES_AT or not attributes_of(records) & TRANSACTIONAL:
            return None
        if self._admitted is None:
            self._admitted = self._admit()
        return self._admitted

    def _admit(self) -> Transaction | ErrorCode:
        if self._id is None:
            return WRITE_TRANSACTION.error
        return self._ctx.refusal_of(WRITE_TRANSACTION, self._id) or Transaction(self._id, self._ctx.api_version)


class _Answer:
    """The answer to one request, while rows of it are still missing."""

    def __init__(self, acks: int, ctx: ForwardContext) -> None:
        self.response = ProduceResponse()
        self._acks = acks
        self._ctx = ctx
        self._missing = 0
        self._ended = False
        self._pending: Pending[ProduceResponse] = Pending()

    def expect(self, rows: list[PartitionProduceResponse], at: int) -> Callable[[PartitionProduceResponse], None]:
        """Reserve a place for the row of one more batch; return a function that puts the row there."""
        self._missing += 1
        return partial(self._came, rows, at)

    def end(self) -> ProduceResponse | Pending[ProduceResponse] | None:
        """Return the response, now or later; None with acks 0. Raises CloseConnection for an error with acks 0."""
        self._ended = True
        if self._acks == 0:
            if any(row.error_code for topic in self.response.responses for row in topic.partition_responses):
                raise CloseConnection(_FAILED)
            return None
        return self._pending if self._missing else self.response

    def _came(self, rows: list[PartitionProduceResponse], at: int, row: PartitionProduceResponse) -> None:
        rows[at] = row
        self._missing -= 1
        if not self._ended:
            return
        if self._acks != 0:
            if self._missing == 0:
                self._pending.complete(self.response)
        elif row.error_code:
            self._ctx.failed(CloseConnection(_FAILED))


_FAILED: Final = "a Produce request with acks=0 failed, and has no response that could carry the error"


def _named(
    ctx: ForwardContext, topic: TopicProduceData, names: Mapping[Topic, TopicImage | ErrorCode], acks: int
) -> tuple[Topic, ErrorCode]:
    """Return the topic in the form in which it is forwarded, id or name, and the error that all its partitions get."""
    by_id = ctx.api_version >= IDS_FROM
    found = names[topic.topic_id] if by_id else None
    named: Topic = topic.topic_id if by_id else topic.name
    if isinstance(found, ErrorCode):
        return named, found if acks in (-1, 0, 1) else ErrorCode.INVALID_REQUIRED_ACKS
    name = topic.name if found is None else found.name
    if not ctx.may(WRITE_TOPIC, name):
        return named, WRITE_TOPIC.error
    if acks not in (-1, 0, 1):
        return named, ErrorCode.INVALID_REQUIRED_ACKS
    return named, ErrorCode.INVALID_TOPIC_EXCEPTION if is_hidden(name) else ErrorCode.NONE


def _unacceptable(ctx: ForwardContext, data: PartitionProduceData) -> ErrorCode:
    """Return the error for batches that nodes, or this version of the request, do not accept. The cluster checks
    everything else.
    """
    records = data.records
    if records is None or len(records) <= ATTRIBUTES_AT:
        return ErrorCode.INVALID_RECORD
    if attributes_of(records) & CODEC_MASK == Compression.ZSTD and ctx.api_version < ZSTD_FROM:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return ErrorCode.NONE
