"""The short path for a Produce request that differs from an earlier one of its connection only in its batch.

A producer's requests to a partition repeat everything in front of the records: client id, acks, timeout, topic,
partition. Those bytes are compared instead of parsed, and the answer is a template with the offsets filled in. Any
other request, and every error, takes the ordinary path through the codecs; a test sends the same requests on both
paths.

    frame    key, version, correlation id | head: the rest up to the records | length, records | no tags
    answer   size, correlation id | middle | base offset, log append time, log start offset | end
    end      ..., time to wait | no tags
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.dispatch.route import BoundRoute, Route
from shareq.broker.handlers.shared.produce_append import ZSTD_FROM
from shareq.broker.log.admission import LargeBatch
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.network.answers import FALL_BACK, AnswerSlot, Buffer, FallBack
from shareq.broker.security.rights import WRITE_TOPIC, WRITE_TRANSACTION
from shareq.broker.topics.lookup import PRODUCE_IDS_FROM
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.batch import ATTRIBUTES_AT, HEADER_SIZE, TRANSACTIONAL, Compression, producer_of

MOST_LEARNED: Final = 256  # the most requests that one connection ever remembers
MOST_HEAD_BYTES: Final = 1024  # the most bytes of a remembered head; the longest topic name has 249

_HEAD_AT: Final = 8
_FLEXIBLE_FROM: Final = 9
_LOG_START_FROM: Final = 5
_NO_TAGS: Final = b"\0\0\0"  # partition, topic, request
_SMALL: Final = 16 * 1024  # smaller batches are cut as bytes, larger ones as views
# Base offset, log append time and log start offset as they stand in an encoded answer.
_MARK_NUMBERS: Final = (0x5AA5_1234_8765_C33C, -1, 0)
_MARK: Final = Struct(">qqq").pack(*_MARK_NUMBERS)


_THROTTLE: Final = Struct(">i")
_int32: Final = _THROTTLE.unpack_from


class ProduceFastPath:
    """The templates learned from the Produce requests of one version on one connection. Belongs to a `BoundRoute`."""

    __slots__ = (
        "_authorizer",
        "_bound",
        "_generation",
        "_head_end",
        "_known",
        "_leaders",
        "_learned",
        "_sender",
        "_wall_ms",
    )

    def __init__(self, bound: BoundRoute) -> None:
        self._bound = bound
        self._known: dict[bytes, _Template] = {}  # by head; all heads have one length, as those of one topic have
        self._head_end = _HEAD_AT
        self._learned = 0
        context = bound.context
        assert isinstance(context, FolderContext), "the one that Produce asks for"
        self._sender = context
        self._wall_ms = context.services.env.clock.wall_ms
        self._authorizer = context.services.authorizer
        self._leaders = context.services.leaders
        self._generation = 0  # of the access control lists when the templates were learned

    def handle(self, frame: bytes, correlation_id: int) -> AnswerSlot | FallBack | None:
        """Append the frame's batch if the request is like an earlier one. Return the answer, None with acks=0, or
        FALL_BACK if the ordinary path must handle it.
        """
        if self._authorizer is not None and self._authorizer.generation != self._generation:
            self._known.clear()
            return FALL_BACK
        if not self._leaders.is_alone:
            return FALL_BACK
        head_end = self._head_end
        known = self._known.get(frame[_HEAD_AT:head_end])
        if known is None:
            return FALL_BACK
        records = known.records_at(frame, head_end)
        if len(records) <= ATTRIBUTES_AT:
            return FALL_BACK
        unusual = records[ATTRIBUTES_AT] & known.refused_attributes
        if unusual and not (unusual == TRANSACTIONAL and known.continues_open_transaction(records)):
            return FALL_BACK
        slot = _Slot(self._bound, known) if known.acks else None
        on_durable = None if slot is None else slot.on_durable
        try:
            outcome = known.log.append(
                records,
                origin=Origin.CLIENT,
                now_wall_ms=self._wall_ms(),
                on_durable=on_durable,
                sender=self._sender,
                at_once=True,
            )
        except LargeBatch:
            return FALL_BACK
        if isinstance(outcome, ErrorCode):
            self._known.clear()  # the topic may be gone
            return FALL_BACK  # nothing was appended: the ordinary path finds the same error, and its text
        if slot is not None:
            slot.frame = known.answer(correlation_id, outcome)
        else:
            self._bound.requests.unanswered += 1
        return slot

    def say_throttled(self, slot: AnswerSlot, throttle_ms: int) -> None:
        frame = bytearray(slot.frame or b"")
        _THROTTLE.pack_into(frame, _throttle_at(frame, self._bound.route.version), throttle_ms)
        slot.frame = frame

    def learn(self, frame: bytes, request: ProduceRequest) -> None:
        """Remember a request that was handled on the ordinary path, if it has one batch and the usual encoding."""
        if self._learned >= MOST_LEARNED or len(request.topic_data) != 1:
            return
        topic = request.topic_data[0]
        if len(topic.partition_data) != 1 or not topic.partition_data[0].records:
            return
        if self._authorizer is not None:
            self._generation = self._authorizer.generation
        known = _learned(self._bound.route, self._sender, request, topic)
        if known is None:
            return
        records = topic.partition_data[0].records
        head_end = len(frame) - len(records) - known.bytes_around(len(records))
        if head_end - _HEAD_AT > MOST_HEAD_BYTES or known.records_at(frame, head_end) != records:
            return
        if head_end != self._head_end:
            self._known.clear()
            self._head_end = head_end
        self._learned += 1
        self._known[frame[_HEAD_AT:head_end]] = known


class _Template:
    """A request without its batch, and its answer. `example` is the answer's frame with `_MARK` in place of the
    offsets.
    """

    __slots__ = (
        "_end",
        "_flexible",
        "_has_log_start",
        "_middle",
        "_pack",
        "_size",
        "_transactional",
        "acks",
        "log",
        "refused_attributes",
    )

    def __init__(self, log: PartitionLog, acks: int, version: int, example: bytes, *, transactional: bool) -> None:
        self.log = log
        self.acks = acks
        self._transactional = transactional
        # Zstandard's codec bit; the codecs above it do not exist.
        self.refused_attributes = TRANSACTIONAL | (Compression.ZSTD if version < ZSTD_FROM else 0)
        self._flexible = version >= _FLEXIBLE_FROM
        self._has_log_start = version >= _LOG_START_FROM
        mark = _MARK if self._has_log_start else _MARK[:16]
        middle, _, self._end = example[_HEAD_AT:].partition(mark)
        self._middle = middle
        self._size = len(example) - 4
        offsets = "qqq" if self._has_log_start else "qq"
        self._pack = Struct(f">ii{len(middle)}s{offsets}{len(self._end)}s").pack

    def continues_open_transaction(self, records: bytes | memoryview) -> bool:
        """Return True if the batch belongs to a transaction that is open in the log, so that no coordinator need be
        asked.
        """
        if not self._transactional or len(records) < HEADER_SIZE:
            return False
        producer_id, epoch, _ = producer_of(records)
        return self.log.producers.is_open(producer_id, epoch)

    def bytes_around(self, records_size: int) -> int:
        """Return the number of bytes behind the head that are not part of the records."""
        if not self._flexible:
            return 4
        return len(_NO_TAGS) + ((records_size + 1).bit_length() + 6) // 7

    def records_at(self, frame: bytes, at: int) -> bytes | memoryview:
        """Return the records whose length field is at `at`; empty bytes unless the request ends right behind them."""
        if len(frame) < at + HEADER_SIZE:
            return b""
        if self._flexible:
            size = frame[at]
            at += 1
            if size > 127:
                more = frame[at]
                if more < 128:
                    size += (more - 1) << 7
                    at += 1
                else:
                    size, at = _length(frame, at - 1)
            end = at + size - 1
            if frame[end:] != _NO_TAGS:
                return b""
        else:
            (size,) = _int32(frame, at)
            at += 4
            end = at + size
            if end != len(frame):
                return b""
        return frame[at:end] if size < _SMALL else memoryview(frame)[at:end]

    def answer(self, correlation_id: int, appended: AppendInfo) -> bytes:
        """Return the whole frame of the answer."""
        base_offset, _, append_time, log_start, _ = appended
        if self._has_log_start:
            return self._pack(self._size, correlation_id, self._middle, base_offset, append_time, log_start, self._end)
        return self._pack(self._size, correlation_id, self._middle, base_offset, append_time, self._end)


class _Slot(AnswerSlot):
    """The place of an answer in the connection's order. The answer is already written, and is sent once the batch is
    durable.
    """

    __slots__ = ("_bound", "_known")

    def __init__(self, bound: BoundRoute, known: _Template) -> None:
        # AnswerSlot's attributes are set here, without a call, because a slot is made for each request.
        self._connection = bound.context.connection
        self.parks = False
        self.filled = False
        self.frame = None
        self.requests = bound.requests
        self._bound = bound
        self._known = known

    def on_durable(self, error: ErrorCode) -> None:
        """Release the answer, now that the batch is durable, or replace it by the error."""
        if error:
            self.frame = self._refusal(error)
        self.filled = True
        self._connection.on_filled()

    def _refusal(self, error: ErrorCode) -> bytearray:
        route, log = self._bound.route, self._known.log
        frame = self.frame or bytes(_HEAD_AT + _THROTTLE.size)
        (correlation_id,) = _int32(frame, 4)
        refused = PartitionProduceResponse(
            log.partition, error, base_offset=-1, log_start_offset=-1, error_message=text_of(error)
        )
        response = _response(log, route.version, refused)
        (response.throttle_time_ms,) = _THROTTLE.unpack_from(frame, _throttle_at(frame, route.version))
        return route.frame(response, correlation_id)


def _throttle_at(answer: Buffer, version: int) -> int:
    """Return the position of the throttle time in an answer's frame, counted from its end."""
    return len(answer) - _THROTTLE.size - (version >= _FLEXIBLE_FROM)


def _learned(route: Route, ctx: FolderContext, request: ProduceRequest, topic: TopicProduceData) -> _Template | None:
    """Return the template of a request to one partition; None if such requests must always take the ordinary path."""
    name_or_id = topic.topic_id if route.version >= PRODUCE_IDS_FROM else topic.name
    log = ctx.ground.lookup.log(name_or_id, topic.partition_data[0].index)
    if isinstance(log, ErrorCode) or log.topic in INTERNAL_TOPICS or not ctx.may(WRITE_TOPIC, log.topic):
        return None
    base_offset, append_time, log_start = _MARK_NUMBERS
    marked = PartitionProduceResponse(log.partition, ErrorCode.NONE, base_offset, append_time, log_start)
    example = bytes(route.frame(_response(log, route.version, marked), 0))
    if example.count(_MARK if route.version >= _LOG_START_FROM else _MARK[:16]) != 1:
        return None
    transactional_id = request.transactional_id
    transactional = transactional_id is not None and ctx.may(WRITE_TRANSACTION, transactional_id)
    return _Template(log, request.acks, route.version, example, transactional=transactional)


def _response(log: PartitionLog, version: int, part: PartitionProduceResponse) -> ProduceResponse:
    topic_id = log.topic_id if version >= PRODUCE_IDS_FROM else ZERO_UUID
    return ProduceResponse(responses=[TopicProduceResponse(log.topic, topic_id, [part])])


def _length(frame: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned varint at `at` and the position after it. A varint of more than 28 bits gives a length that
    is always too large.
    """
    size = shift = 0
    while shift < 28:
        byte = frame[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size, at
        shift += 7
    return len(frame), at
