"""Produce: v3-13; v0-2 are advertised and not served (KAFKA-18659).

Behaviour: each partition carries exactly one batch, checked and appended as it came; an error concerns its partition
alone. acks 1 and -1 are answered when the tick's appends are written (and synced if so configured), acks 0 not at all:
there an error closes the connection. Does not hold later requests of the connection back.
Transactional batches have to be part of their producer's transaction; until that is known the connection waits.
v7: zstd. v8: error messages, and which records are at fault. v10: CurrentLeader, which is left out: only a broker in a
test refuses with NOT_LEADER_OR_FOLLOWER.
v11: TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE. v12: transactional batches make their partition part of the
transaction (KIP-890). v13: topic ids instead of names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import run_in_turns
from shareq.broker.foundation.loop.effort import EFFORT
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.handlers.records.produce_fast_path import ProduceFastPath
from shareq.broker.handlers.shared.produce_append import ProduceAppend, refused_partition
from shareq.broker.network.connection import CloseConnection
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import TRANSACTIONAL, attributes_of

__all__ = ["ProduceFastPath", "failed", "handle"]


def handle(ctx: RequestContext, request: ProduceRequest) -> ProduceResponse | Pending[ProduceResponse] | None:
    """Append every batch of the request."""
    return _admit(ctx, request) if _has_transactional(request) else _append(ctx, request, {})


def _has_transactional(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is not None and attributes_of(records) & TRANSACTIONAL:
                return True
    return False


def _admit(ctx: RequestContext, request: ProduceRequest) -> ProduceResponse | Pending[ProduceResponse] | None:
    """Append what may be; the connection waits only where the coordinator has to be asked."""
    from shareq.broker.transactions.produce import admit_batches  # only transactions need these rules

    admitted = admit_batches(
        ctx.services.transactions.admission, ctx.services.lookup, ctx.may, ctx.api_version, request
    )
    if isinstance(admitted, ErrorCode):
        return failed(request, admitted)
    if admitted.done:
        return _append(ctx, request, admitted.value)
    if request.acks == 0:
        raise CloseConnection("a transactional Produce request with acks=0 has no response that could carry an error")
    topics = request.topic_data  # a long request is given back meanwhile, but for what is referred to

    def append(refusals: Mapping[tuple[str, int], ErrorCode]) -> Pending[ProduceResponse]:
        request.topic_data = topics
        return _as_pending(_append(ctx, request, refusals))

    return admitted.chain(append)


def _append(
    ctx: RequestContext, request: ProduceRequest, refusals: Mapping[tuple[str, int], ErrorCode]
) -> ProduceResponse | Pending[ProduceResponse] | None:
    produce = ProduceAppend(ctx, request.acks, refusals)
    response = ProduceResponse()
    steps = produce.append(request.topic_data, response.responses)
    for _ in steps:
        later: Pending[ProduceResponse] = Pending()
        run_in_turns(ctx, _append_rest(ctx, request, produce, steps, response, later))
        return later
    return _appended(request, produce, response)


def _append_rest(
    ctx: RequestContext,
    request: ProduceRequest,
    produce: ProduceAppend,
    steps: Iterator[None],
    response: ProduceResponse,
    later: Pending[ProduceResponse],
) -> Iterator[None]:
    """Append the other batches, so many in a turn as are opened in time. The connection waits."""
    EFFORT.spent = 0
    for _ in steps:
        yield
        EFFORT.spent = 0
    try:
        answer = _appended(request, produce, response)
    except CloseConnection as error:
        answer = None
        ctx.connection.close(str(error))
    if isinstance(answer, Pending):
        answer.on_complete(later.complete)
    else:
        later.complete(cast(ProduceResponse, answer))  # None: acks=0, which gets no answer


def _appended(
    request: ProduceRequest, produce: ProduceAppend, response: ProduceResponse
) -> ProduceResponse | Pending[ProduceResponse] | None:
    """The answer once every batch was appended or refused."""
    if request.acks == 0:
        if produce.failed:
            raise CloseConnection(
                "a Produce request with acks=0 failed, and has no response that could carry the error"
            )
        return None
    if not produce.missing:
        return response
    produce.response = response
    produce.pending = Pending(parks=False)
    return produce.pending


def _as_pending(answer: ProduceResponse | Pending[ProduceResponse] | None) -> Pending[ProduceResponse]:
    assert answer is not None, "acks=0 does not come here"
    return answer if isinstance(answer, Pending) else completed(answer)


def failed(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """The answer when the request could not be handled at all. Raises CloseConnection where none is due."""
    if request.acks == 0:
        raise CloseConnection(
            f"a Produce request with acks=0 failed ({error.name}), and has no response that could carry the error"
        )
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                topic.name, topic.topic_id, [refused_partition(part, error) for part in topic.partition_data]
            )
            for topic in request.topic_data
        ]
    )
