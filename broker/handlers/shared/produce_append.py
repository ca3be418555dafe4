"""Appends of the batches of one Produce request, and the rows of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.named_nodes import add_endpoint, leader_to_name
from shareq.broker.foundation.loop.effort import (
    AT_ONCE,
    EFFORT,
    LOG_EFFORT,
    LOOK_EFFORT,
    elements_of,
)
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.admission import Checked, LargeBatch
from shareq.broker.log.partition_log import Origin, PartitionLog
from shareq.broker.network.frames import CloseConnection
from shareq.broker.security.rights import WRITE_TOPIC
from shareq.broker.topics.lookup import PRODUCE_IDS_FROM
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, Compression, attributes_of

if TYPE_CHECKING:
    from shareq.broker.data_folder_ground import FolderContext

ZSTD_FROM = 7
"""The version from which on a Produce request may carry batches compressed with Zstandard."""

LEADERS_FROM = 10
"""The version from which on an answer names the leaders of partitions that other brokers lead."""

_RECORD_ERRORS_FROM = 8
_OF_RECORDS = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)


class ProduceAppend:
    """The appends of one request, with the number of batches that are not durable yet.

    `refusals` are the errors of transactional batches, by topic and partition. `failed` is True once a batch was
    refused.
    """

    __slots__ = (
        "_acks",
        "_answer",
        "_ctx",
        "_leaders",
        "_logs",
        "_metadata",
        "_missing",
        "_now_ms",
        "_paused",
        "_refusals",
        "_response",
        "failed",
    )

    def __init__(self, ctx: FolderContext, acks: int, refusals: Mapping[tuple[str, int], ErrorCode]) -> None:
        self._ctx = ctx
        self._refusals = refusals
        self._metadata = ctx.services.metadata
        self._leaders = ctx.services.leaders
        self._logs = ctx.ground.logs
        self._acks = acks
        self._now_ms = ctx.services.env.clock.wall_ms()
        self._paused = False  # after a pause, earlier look-ups may be outdated
        self._missing = 0
        self._answer: Pending[ProduceResponse] | None = None
        self._response: ProduceResponse | None = None
        self.failed = False

    def answer(self, response: ProduceResponse) -> ProduceResponse | Pending[ProduceResponse]:
        """Return the response once every batch is durable. Call this once, after the last append."""
        if not self._missing:
            return response
        self._response = response
        self._answer = Pending(parks=False)
        return self._answer

    def image(self, data: TopicProduceData) -> TopicImage | ErrorCode:
        """Return the topic, or the error for all its partitions."""
        metadata = self._metadata
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
        if image.internal:  # regardless of the client: a forged record could change another group's state
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        return image

    async def breathe(self, due: int) -> int:
        """Pause if the turn is spent. `due` is the effort at which this call was due; return the effort at which the
        next one is due.
        """
        await self._ctx.breathe(elements_of(EFFORT.spent - due + LOOK_EFFORT))
        self._paused = True
        return EFFORT.spent + LOOK_EFFORT

    async def large(self, large: LargeBatch, image: TopicImage, data: PartitionProduceData) -> PartitionProduceResponse:
        """Append a batch that takes longer than a turn to check."""
        log, records = self._logs.get(image.name, data.index), data.records
        assert records is not None, "a batch was looked at"
        await self._ctx.breathe(elements_of(AT_ONCE))
        self._paused = True
        checked = await log.admission.check_large(records, large.header, self._now_ms, self._ctx.breathe)
        return self.partition(image, data, checked)

    def partition(
        self, image: TopicImage, data: PartitionProduceData, checked: Checked | None = None
    ) -> PartitionProduceResponse:
        """Append a batch and return its row, which may change until the batch is durable.

        Raise `LargeBatch` if the batch has to be `checked` first, by `large`.
        """
        deleted = self._paused and self._metadata.topic_by_id(image.topic_id) is None
        if deleted or not 0 <= data.index < image.partitions:
            return self.refuse(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._leaders.other_leader(image.name, data.index) is not None:
            return self.refuse(data, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        records = data.records
        error = ErrorCode.INVALID_RECORD if records is None else self._unacceptable(records)
        error = error or self._refusals.get((image.name, data.index), ErrorCode.NONE)
        if records is None or error is not ErrorCode.NONE:
            return self.refuse(data, error)
        response = PartitionProduceResponse(data.index)
        log = self._logs.get(image.name, data.index)
        on_durable = self._on_durable(response) if self._acks else None
        outcome = log.append(
            records,
            origin=Origin.CLIENT,
            now_wall_ms=self._now_ms,
            on_durable=on_durable,
            sender=self._ctx,
            at_once=True,
            checked=checked,
        )
        if isinstance(outcome, ErrorCode):
            return self._blame(self.refuse(data, outcome), log, records, checked)
        self._missing += 1
        response.base_offset = outcome.base_offset
        if outcome.base_offset == 0:
            EFFORT.spent += LOG_EFFORT
        response.log_append_time_ms = outcome.log_append_time_ms
        response.log_start_offset = log.log_start_offset
        return response

    def _blame(
        self,
        response: PartitionProduceResponse,
        log: PartitionLog,
        records: bytes | memoryview,
        checked: Checked | None,
    ) -> PartitionProduceResponse:
        """Add the faulty records to the row, so that producers try the others again."""
        if response.error_code in _OF_RECORDS and self._ctx.api_version >= _RECORD_ERRORS_FROM:
            errors = log.admission.record_errors(records, self._now_ms) if checked is None else checked.errors
            response.record_errors = [BatchIndexAndErrorMessage(index, reason) for index, reason in errors]
        return response

    def _unacceptable(self, records: bytes | memoryview) -> ErrorCode:
        """Return the error for records that this request's version does not allow, beyond the checks of every append,
        or NONE.
        """
        if len(records) <= ATTRIBUTES_AT:
            return ErrorCode.INVALID_RECORD
        if attributes_of(records) & CODEC_MASK == Compression.ZSTD and self._ctx.api_version < ZSTD_FROM:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.NONE

    def _on_durable(self, response: PartitionProduceResponse) -> Callable[[ErrorCode], None]:
        def on_durable(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                _refuse(response, error)
            self._missing -= 1
            if not self._missing and self._answer is not None and self._response is not None:
                self._answer.complete(self._response)

        return on_durable

    def refuse(self, data: PartitionProduceData, error: ErrorCode) -> PartitionProduceResponse:
        """Return the row of a batch that is not appended, and set `failed`."""
        self.failed = True
        return refused_partition(data, error)


async def name_leaders(ctx: RequestContext, response: ProduceResponse) -> None:
    """Add the leaders of partitions that other brokers lead (KIP-951)."""
    metadata = ctx.services.metadata
    for topic in response.responses:
        image = metadata.topic_by_id(topic.topic_id) if ctx.api_version >= PRODUCE_IDS_FROM else None
        name = topic.name if image is None else image.name
        for row in topic.partition_responses:
            leader = leader_to_name(ctx, name, row.index, row.error_code)
            if leader is not None:
                row.current_leader = LeaderIdAndEpoch(leader.node_id, leader.epoch)
                if leader.address is not None:
                    add_endpoint(response.node_endpoints, NodeEndpoint(*leader.address))
            await ctx.breathe()


def refused_partition(data: PartitionProduceData, error: ErrorCode) -> PartitionProduceResponse:
    """Return the row of a batch that is not appended."""
    response = PartitionProduceResponse(data.index)
    _refuse(response, error)
    return response


def _refuse(response: PartitionProduceResponse, error: ErrorCode) -> None:
    response.error_code = error
    response.error_message = text_of(error)
    response.base_offset = -1
    response.log_append_time_ms = -1
    response.log_start_offset = -1


def failed(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """Return the answer with the same error for every partition. Raise CloseConnection if acks is 0, which has no
    answer.
    """
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
