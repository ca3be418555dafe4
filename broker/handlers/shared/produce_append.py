"""Appending the batches of one Produce request, and the rows of its answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.loop.effort import BATCH_EFFORT, EFFORT, LOG_EFFORT, MOST_EFFORT, REFUSED_EFFORT
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.admission import Checked, LargeBatch
from shareq.broker.log.partition_log import Origin, PartitionLog
from shareq.broker.security.rights import WRITE_TOPIC
from shareq.broker.topics.lookup import PRODUCE_IDS_FROM
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, Compression, attributes_of

ZSTD_FROM = 7
"""The version from which on a Produce request may carry batches compressed with Zstandard."""

_RECORD_ERRORS_FROM = 8
_OF_RECORDS = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)


class ProduceAppend:
    """The appends of one request; counts the batches that are not durable yet (`missing`).

    `refusals` are the errors of transactional batches, by topic and partition. `failed`: an append was refused here.
    `pending` is completed with `response` when nothing is missing any more; both are set by the caller.
    """

    __slots__ = (
        "_acks",
        "_ctx",
        "_now_ms",
        "_paused",
        "_refusals",
        "_services",
        "failed",
        "missing",
        "pending",
        "response",
    )

    def __init__(self, ctx: RequestContext, acks: int, refusals: Mapping[tuple[str, int], ErrorCode]) -> None:
        self._ctx = ctx
        self._refusals = refusals
        self._services = ctx.services
        self._acks = acks
        self._now_ms = ctx.services.env.clock.wall_ms()
        self._paused = False  # so that what was looked up may not be as it was
        self.failed = False
        self.missing = 0
        self.response: ProduceResponse | None = None
        self.pending: Pending[ProduceResponse] | None = None

    def append(self, topics: Sequence[TopicProduceData], rows: list[TopicProduceResponse]) -> Iterator[None]:
        """Append the batches of the topics; `rows` gets those of the answer, which may still change until the batches
        are durable. Pauses where what was opened is enough for one turn.
        """
        for data in topics:
            image = self._image(data)
            parts: list[PartitionProduceResponse] = []
            rows.append(TopicProduceResponse(data.name, data.topic_id, parts))
            if isinstance(image, ErrorCode):
                self.failed = True
                for part in data.partition_data:
                    if EFFORT.spent > MOST_EFFORT:
                        yield
                    EFFORT.spent += REFUSED_EFFORT
                    parts.append(refused_partition(part, image))
                continue
            for part in data.partition_data:
                if EFFORT.spent > MOST_EFFORT:
                    self._paused = True
                    yield
                EFFORT.spent += BATCH_EFFORT
                try:
                    parts.append(self._partition(image, part))
                except LargeBatch as large:
                    parts.append((yield from self._in_steps(large, image, part)))

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

    def _in_steps(
        self, large: LargeBatch, image: TopicImage, data: PartitionProduceData
    ) -> Generator[None, None, PartitionProduceResponse]:
        """Append a batch that takes longer than a turn to check."""
        log, records = self._services.logs.get(image.name, data.index), data.records
        assert records is not None, "a batch was looked at"
        self._paused = True
        yield
        checked = yield from log.admission.check_in_steps(records, large.header, self._now_ms)
        return self._partition(image, data, checked)

    def _partition(
        self, image: TopicImage, data: PartitionProduceData, checked: Checked | None = None
    ) -> PartitionProduceResponse:
        """Append a batch, if need be when it was `checked`. Raises `LargeBatch` where it has to be."""
        deleted = self._paused and self._services.metadata.topic_by_id(image.topic_id) is None
        if deleted or not 0 <= data.index < image.partitions:
            return self._refuse(data, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._services.leaders.other_leader(image.name, data.index) is not None:
            return self._refuse(data, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        records = data.records
        error = ErrorCode.INVALID_RECORD if records is None else self._unacceptable(records)
        error = error or self._refusals.get((image.name, data.index), ErrorCode.NONE)
        if records is None or error is not ErrorCode.NONE:
            return self._refuse(data, error)
        response = PartitionProduceResponse(data.index)
        log = self._services.logs.get(image.name, data.index)
        on_durable = self._durable(response) if self._acks else None
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
            return self._blame(self._refuse(data, outcome), log, records, checked)
        self.missing += 1
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
        """Name the records that are at fault; producers try the others again."""
        if response.error_code in _OF_RECORDS and self._ctx.api_version >= _RECORD_ERRORS_FROM:
            errors = log.admission.record_errors(records, self._now_ms) if checked is None else checked.errors
            response.record_errors = [BatchIndexAndErrorMessage(index, reason) for index, reason in errors]
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
        return refused_partition(data, error)


def refused_partition(data: PartitionProduceData, error: ErrorCode) -> PartitionProduceResponse:
    """The row of a batch that is not appended."""
    response = PartitionProduceResponse(data.index)
    _refuse(response, error)
    return response


def _refuse(response: PartitionProduceResponse, error: ErrorCode) -> None:
    response.error_code = error
    response.error_message = text_of(error)
    response.base_offset = -1
    response.log_append_time_ms = -1
    response.log_start_offset = -1
