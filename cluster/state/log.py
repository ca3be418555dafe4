"""The log of a slot while this node owns it: a `CoordinatorLog` by Produce.

Rule (b): an append counts if its base offset is the expected one. Any other answer, or none, ends the incarnation:
pending appends fail, and the log is closed. Whether they were appended need not be known: the next owner reads the
valid records (`fencing.py`). A closed log never reopens, even if the same node takes the slot over again.

At most two appends are under way. Operations that are decided meanwhile share the next append: the coordinator is
called when there is room (`before_append`). Sequence numbers continue from batch to batch, so that brokers detect
duplicates.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from shareq.broker.coordinator_runtime.batches import MAX_BATCH_BYTES, parts_of
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.append import AppendInfo, Batch, OnDurable, Origin
from shareq.broker.log.segments.reader import ReadResult
from shareq.cluster.state.fencing import Owner, Producer, alive_batch, take_over_batch
from shareq.cluster.state.reading import SlotReader
from shareq.cluster.state.slot import Produced, Refused, Slot
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    BatchHeader,
    build_batch,
    last_sequence,
    read_header,
    stamp_producer,
)

logger = logging.getLogger(__name__)

MOST_UNDER_WAY: Final = 2
_NO_TIME: Final = -1

Attempt = Callable[[], Callable[[], None]]
"""A function that is called before an append is sent. The function that it returns is called if the append got its
expected offset, which proves that this node owned the slot at some time after the first call.
"""


class Owned(NamedTuple):
    """The result of a take-over: the owner's producer, the offset of its take-over record, and the log start offset."""

    producer: Producer
    offset: int
    log_start_offset: int


@dataclass(slots=True)
class _Append:
    """A batch that is queued or under way. `producer` is set if the batch has another producer than the one before
    it.
    """

    batch: bytearray
    base_offset: int  # the one that is expected
    last_offset: int
    on_durable: OnDurable | None
    producer: Producer | None = None
    proved: Callable[[], None] | None = None


class SlotLog:
    """One incarnation of a slot's owner. `over` is completed with the reason when it ends.

    `last_append_ms` is in milliseconds of the monotonic clock. The owner's own records belong to no coordinator and
    shift the offsets of decided records that are not appended yet: a coordinator may expect lower offsets than it gets,
    never higher.
    """

    def __init__(
        self,
        env: Environment,
        slot: Slot,
        owned: Owned,
        *,
        node_id: int,
        attempt: Attempt,
        append_timeout_ms: int = 30_000,
    ) -> None:
        self.over: Final[Pending[str]] = Pending()
        self.log_start_offset = owned.log_start_offset
        self.high_watermark = owned.offset + 1
        self.log_end_offset = owned.offset + 1
        self.last_append_ms = env.clock.now_ms()
        self.appends = 0
        self._env = env
        self._slot = slot
        self._node_id = node_id
        self._attempt = attempt
        self._append_timeout_ms = append_timeout_ms
        self._begin = beginner(env.budget, in_ticks(env.clock.call_soon))
        self._reader = SlotReader(env, slot, owned.producer, owned.offset)
        self._producer = owned.producer  # of what was sent last
        self._last_producer = owned.producer  # of what was queued last
        self._sequence = 1  # behind the take-over record
        self._is_over = False
        self._queue: deque[_Append] = deque()
        self._under_way: deque[_Append] = deque()
        self._ready: deque[Callable[[], None]] = deque()
        self._asks_soon = False
        self._settling: list[Pending[None]] = []

    def __repr__(self) -> str:
        return f"SlotLog({self._slot.name}, producer {self._producer})"

    # -- CoordinatorLog

    @property
    def topic(self) -> str:
        return self._slot.topic.name

    @property
    def partition(self) -> int:
        return self._slot.partition

    @property
    def max_message_bytes(self) -> int:
        """The most bytes of a batch with its header, as the cluster's topic allows them."""
        return self._slot.topic.max_message_bytes

    def before_append(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, in a later turn, when there is room for an append or the log is over."""
        self._ready.append(callback)
        self._ask_soon()

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode:
        """Queue a batch; see the port. Raises ValueError for a transactional batch, one with a producer id, or a
        marker.
        """
        header = read_header(batch)
        if header.producer_id != NO_PRODUCER_ID or header.is_control:
            raise ValueError(
                f"{self._slot.name}: a batch of producer {header.producer_id} in the log of a slot's owner"
            )
        if not self._is_over and len(batch) > self.max_message_bytes:  # the limit was lowered since the caller looked
            self._end(f"{self._slot.name}: a batch of {len(batch)} bytes, {self.max_message_bytes} are allowed")
        if self._is_over:
            return LOG_IS_OVER
        return self._put(bytearray(batch), header.last_offset_delta + 1, on_durable)

    def read(
        self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True
    ) -> Pending[ReadResult | ErrorCode]:
        """Return the next batches that count, about a megabyte whatever `max_bytes` is. Reads go in the order of the
        log: `offset` is its start, or where the last call ended. LOG_IS_OVER if the log cannot be read.
        """
        if self._is_over:
            return completed(LOG_IS_OVER)
        return self._begin(self._read(offset, upto))

    async def _read(self, offset: int, upto: int) -> ReadResult | ErrorCode:
        if self.under_way and self._reader.is_loaded:
            await self._settled()  # what is read again must have what is under way
            if self._is_over:
                return LOG_IS_OVER
            upto = max(upto, self.high_watermark)
        was_loaded = self._reader.is_loaded
        read: ReadResult | ErrorCode | Refused = await self._reader.read(self.log_start_offset, offset, upto)
        if self._reader.is_loaded and not was_loaded:
            read = await self._mend() or read
        if isinstance(read, Refused):
            self._end(read.text)
        return LOG_IS_OVER if self._is_over or isinstance(read, Refused) else read

    async def _mend(self) -> Refused | None:
        """Append again, before anything else, the valid records of keys that a zombie has overwritten."""
        records = await self._reader.overwritten(self.log_start_offset)
        if isinstance(records, Refused):
            return records
        if records and not self._is_over:
            logger.warning("%s: %d keys are written again", self._slot.name, len(records))
            room = min(MAX_BATCH_BYTES, self.max_message_bytes - HEADER_SIZE)
            for part in parts_of(records, room):
                batch = build_batch(part, timestamp_ms=self._env.clock.wall_ms())
                self._put(batch, len(part), None)
        return None

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        """Return the offsets of the last damaged batch, the second exclusive; None if there was none."""
        return self._reader.damaged

    def next_header(self, offset: int) -> BatchHeader | None:
        """Return None: a read returns the first batch whatever its size."""
        return None

    # -- the owner's own

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def owner(self) -> Owner | None:
        """This incarnation's take-over record, which has the generation; None until the log was read up to it."""
        owner = self._reader.owner
        return owner if self._reader.is_loaded else None

    @property
    def skipped(self) -> int:
        """The number of batches that did not count."""
        return self._reader.skipped

    @property
    def under_way(self) -> int:
        """The number of appends without an answer, including those that are not sent yet."""
        return len(self._under_way) + len(self._queue)

    def say_alive(self) -> None:
        """Append an alive record, unless a pending append will prove the ownership."""
        if not self._is_over and not self.under_way:
            self._put(alive_batch(self._last_producer, sequence=0, now_wall_ms=self._env.clock.wall_ms()), 1, None)

    def go_on_as(self, producer: Producer) -> Pending[ErrorCode]:
        """Append a take-over record of the same generation with a new producer, which all later batches have, too."""
        return self._take_over_again(producer).then(lambda answer: answer if isinstance(answer, ErrorCode) else _NONE)

    def mark(self) -> Pending[int | ErrorCode]:
        """Append a take-over record of the same generation, so that the log may begin with it. Return its offset once
        it is written.

        Raises ValueError in a compacted topic, where the record would have the key of the one before it.
        """
        if self._slot.topic.compacted:
            raise ValueError(f"{self._slot.name}: two take-over records of one key in a compacted topic")
        return self._take_over_again(self._last_producer)

    def end(self, reason: str) -> None:
        """Close the log, because the slot belongs to another node or this one stops. Appends under way fail."""
        self._end(reason)

    def _take_over_again(self, producer: Producer) -> Pending[int | ErrorCode]:
        owner = self.owner
        if self._is_over or owner is None:
            return completed(LOG_IS_OVER)
        done: Pending[int | ErrorCode] = Pending()
        batch = take_over_batch(
            producer,
            node_id=self._node_id,
            sequence=0,
            now_wall_ms=self._env.clock.wall_ms(),
            generation=owner.generation,
        )
        offset = self.log_end_offset
        self._last_producer = producer
        self._put(batch, 1, lambda error: done.complete(error or offset), producer)
        return done

    # -- sending

    def _put(
        self, batch: bytearray, count: int, on_durable: OnDurable | None, producer: Producer | None = None
    ) -> AppendInfo:
        first = self.log_end_offset
        self.log_end_offset = first + count
        self._queue.append(_Append(batch, first, first + count - 1, on_durable, producer))
        self._send()
        return AppendInfo(first, first + count - 1, _NO_TIME, self.log_start_offset, duplicate=False)

    def _send(self) -> None:
        while self._queue and len(self._under_way) < MOST_UNDER_WAY:
            append = self._queue.popleft()
            if append.producer is not None and append.producer != self._producer:
                self._producer, self._sequence = append.producer, 0
            stamp_producer(append.batch, *self._producer, self._sequence)
            self._sequence = last_sequence(self._sequence, append.last_offset - append.base_offset + 1)
            append.proved = self._attempt()
            self._under_way.append(append)
            self._slot.produce(append.batch, self._append_timeout_ms).on_complete(partial(self._answered, append))

    def _answered(self, append: _Append, answer: Produced | Refused) -> None:
        if self._is_over:
            return
        if isinstance(answer, Refused):
            if answer.is_large:  # the limit was lowered: what is as large will not be sent again
                self._slot.topic.max_message_bytes = min(self.max_message_bytes, len(append.batch) - 1)
            self._end(answer.text)
            return
        if answer.base_offset != append.base_offset:
            self._end(f"{self._slot.name}: base offset {answer.base_offset}, expected {append.base_offset}")
            return
        self._under_way.popleft()  # answers come in the order of the requests
        self.high_watermark = append.last_offset + 1
        self.log_start_offset = max(self.log_start_offset, answer.log_start_offset)
        self.last_append_ms = self._env.clock.now_ms()
        self.appends += 1
        if append.proved is not None:
            append.proved()
        if append.on_durable is not None:
            append.on_durable(ErrorCode.NONE)
        self._send()
        self._ask_soon()
        if not self.under_way:
            self._tell_settled()

    def _settled(self) -> Pending[None]:
        """Return a `Pending` that is completed when no append is pending."""
        self._settling.append(Pending())
        return self._settling[-1]

    def _tell_settled(self) -> None:
        settling, self._settling = self._settling, []
        for settled in settling:
            settled.complete(None)

    def _ask_soon(self) -> None:
        if self._ready and not self._asks_soon and self._takes_more:
            self._asks_soon = True
            self._env.clock.call_soon(self._ask)

    @property
    def _takes_more(self) -> bool:
        return self._is_over or self.under_way < MOST_UNDER_WAY

    def _ask(self) -> None:
        self._asks_soon = False
        while self._ready and self._takes_more:
            self._ready.popleft()()

    def _end(self, reason: str) -> None:
        """End the incarnation. Callbacks are called in a later turn, never inside a call of their own part."""
        if self._is_over:
            return
        self._is_over = True
        failed = [*self._under_way, *self._queue]
        self._under_way.clear()
        self._queue.clear()
        logger.debug("%s: over, with %d appends under way: %s", self._slot.name, len(failed), reason)

        def fail() -> None:
            for append in failed:
                if append.on_durable is not None:
                    append.on_durable(LOG_IS_OVER)
            self.over.complete(reason)
            self._tell_settled()

        self._env.clock.call_soon(fail)
        self._ask_soon()


_NONE: Final = ErrorCode.NONE
