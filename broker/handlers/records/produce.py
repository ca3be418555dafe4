"""Produce: v3-13; v0-2 are advertised and not served (KAFKA-18659).

Behaviour: each partition carries exactly one batch, checked and appended as it came; an error concerns its partition
alone. acks 1 and -1 are answered when the tick's appends are written (and synced if so configured), acks 0 not at all:
there an error closes the connection. Does not hold later requests of the connection back.
Transactional batches have to be part of their producer's transaction; until that is known the connection waits.
v7: zstd. v8: error messages, and which records are at fault. v10: CurrentLeader, sent only with NOT_LEADER_OR_FOLLOWER,
which one broker never has.
v11: TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE. v12: transactional batches make their partition part of the
transaction (KIP-890). v13: topic ids instead of names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.handlers.records.produce_fast_path import ZSTD_FROM, ProduceFastPath
from shareq.broker.log.partition_log import Origin, PartitionLog
from shareq.broker.network.connection import CloseConnection
from shareq.broker.security.rights import WRITE_TOPIC
from shareq.broker.topics.lookup import PRODUCE_IDS_FROM
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, TRANSACTIONAL, Compression, attributes_of

__all__ = ["ProduceFastPath", "failed", "handle"]


_RECORD_ERRORS_FROM = 8
_OF_RECORDS = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)


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
    from shareq.broker.transactions.produce import admit_batches  # nobody else needs a transaction's rules

    admitted = admit_batches(
        ctx.services.transactions.admission, ctx.services.lookup, ctx.may, ctx.api_version, request
    )
    if isinstance(admitted, ErrorCode):
        return _refuse_all(request, admitted)
    if admitted.done:
        return _append(ctx, request, admitted.value)
    if request.acks == 0:
        raise CloseConnection("a transactional Produce request with acks=0 has no response that could carry an error")
    return admitted.chain(lambda refusals: _as_pending(_append(ctx, request, refusals)))


def _append(
    ctx: RequestContext, request: ProduceRequest, refusals: Mapping[tuple[str, int], ErrorCode]
) -> ProduceResponse | Pending[ProduceResponse] | None:
    produce = _Produce(ctx, request.acks, refusals)
    responses = [produce.topic(topic) for topic in request.topic_data]
    if request.acks == 0:
        if produce.failed:
            raise CloseConnection(
                "a Produce request with acks=0 failed, and has no response that could carry the error"
            )
        return None
    response = ProduceResponse(responses=responses)
    if not produce.missing:
        return response
    produce.response = response
    produce.pending = Pending(parks=False)
    return produce.pending


def _as_pending(answer: ProduceResponse | Pending[ProduceResponse] | None) -> Pending[ProduceResponse]:
    assert answer is not None, "acks=0 does not come here"
    return answer if isinstance(answer, Pending) else completed(answer)


def _refuse_all(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    if request.acks == 0:
        raise CloseConnection(
            f"a Produce request with acks=0 failed ({error.name}), and has no response that could carry the error"
        )
    return failed(request, error)


def failed(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """The answer when the request could not be handled at all."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(topic.name, topic.topic_id, [_refused(part, error) for part in topic.partition_data])
            for topic in request.topic_data
        ]
    )


class _Produce:
    """One request under way: counts the batches that are not durable yet."""

    __slots__ = ("_acks", "_ctx", "_now_ms", "_refusals", "_services", "failed", "missing", "pending", "response")

    def __init__(self, ctx: RequestContext, acks: int, refusals: Mapping[tuple[str, int], ErrorCode]) -> None:
        self._ctx = ctx
        self._refusals = refusals
        self._services = ctx.services
        self._acks = acks
        self._now_ms = ctx.services.env.clock.wall_ms()
        self.failed = False
        self.missing = 0
        self.response: ProduceResponse | None = None
        self.pending: Pending[ProduceResponse] | None = None

    def topic(self, data: TopicProduceData) -> TopicProduceResponse:
        image = self._image(data)
        if isinstance(image, ErrorCode):
            self.failed = True
            parts = [_refused(part, image) for part in data.partition_data]
        else:
            parts = [self._partition(image, part) for part in data.partition_data]
        return TopicProduceResponse(data.name, data.topic_id, parts)

    def _image(self, data: TopicProduceData) -> TopicImage | ErrorCode:
        """The topic, or the error of all its partitions."""
        metadata = self._services.metadata
        if self._ctx.api_version >= PRODUCE_IDS_FROM:
            image = metadata.topic_by_id(data.topic_id)
            missing = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            image = metadata.topic(data.name)
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if not self._ctx.may(WRITE_TOPIC, data.name):
                return WRITE_TOPIC.error
        if self._acks not in (-1, 0, 1):
            return ErrorCode.INVALID_REQUIRED_ACKS
        if image is None:
            return missing
        if not self._ctx.may(WRITE_TOPIC, image.name):
            return WRITE_TOPIC.error
        if image.internal:  # whatever the client calls itself: a forged record would be another group's state
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        return image

    def _partition(self, image: TopicImage, data: PartitionProduceData) -> PartitionProduceResponse:
        if not 0 <= data.index < image.partitions:
            return self._refuse(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        records = data.records
        error = ErrorCode.INVALID_RECORD if records is None else self._unacceptable(records)
        error = error or self._refusals.get((image.name, data.index), ErrorCode.NONE)
        if records is None or error is not ErrorCode.NONE:
            return self._refuse(data, error)
        response = PartitionProduceResponse(data.index)
        log = self._services.logs.get(image.name, data.index)
        on_durable = self._durable(response) if self._acks else None
        outcome = log.append(records, origin=Origin.CLIENT, now_wall_ms=self._now_ms, on_durable=on_durable)
        if isinstance(outcome, ErrorCode):
            return self._blame(self._refuse(data, outcome), log, records)
        self.missing += 1
        response.base_offset = outcome.base_offset
        response.log_append_time_ms = outcome.log_append_time_ms
        response.log_start_offset = log.log_start_offset
        return response

    def _blame(
        self, response: PartitionProduceResponse, log: PartitionLog, records: bytes | memoryview
    ) -> PartitionProduceResponse:
        """Name the records that are at fault; producers try the others again."""
        if response.error_code in _OF_RECORDS and self._ctx.api_version >= _RECORD_ERRORS_FROM:
            response.record_errors = [
                BatchIndexAndErrorMessage(index, reason) for index, reason in log.record_errors(records, self._now_ms)
            ]
        return response

    def _unacceptable(self, records: bytes | memoryview) -> ErrorCode:
        """What this request's version, or this broker, does not take, beyond what every append checks."""
        if len(records) <= ATTRIBUTES_AT:
            return ErrorCode.INVALID_RECORD
        if attributes_of(records) & CODEC_MASK == Compression.ZSTD and self._ctx.api_version < ZSTD_FROM:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.NONE

    def _durable(self, response: PartitionProduceResponse) -> Callable[[ErrorCode], None]:
        def on_durable(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                _refuse(response, error)
            self.missing -= 1
            if not self.missing and self.pending is not None and self.response is not None:
                self.pending.complete(self.response)

        return on_durable

    def _refuse(self, data: PartitionProduceData, error: ErrorCode) -> PartitionProduceResponse:
        self.failed = True
        return _refused(data, error)


def _refused(data: PartitionProduceData, error: ErrorCode) -> PartitionProduceResponse:
    response = PartitionProduceResponse(data.index)
    _refuse(response, error)
    return response


def _refuse(response: PartitionProduceResponse, error: ErrorCode) -> None:
    response.error_code = error
    response.error_message = text_of(error)
    response.base_offset = -1
    response.log_append_time_ms = -1
    response.log_start_offset = -1
