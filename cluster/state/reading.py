"""The reading of a slot in order, by rule (a), about a megabyte at a time: only the current chunk is in memory."""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.cluster.state.fencing import Counting, Owner, Producer, Verdict
from shareq.cluster.state.overwritten import Overwritten
from shareq.cluster.state.slot import Fetched, Refused, Slot
from shareq.protocol.errors import ErrorCode, MalformedMessage, is_retriable
from shareq.protocol.records.batch import MAGIC, BatchHeader, RecordData, batch_headers, crc_matches

WAIT_MS: Final = 50
"""The pause between two tries."""
PATIENCE_MS: Final = 30_000
"""The time after which a read without any records fails. It allows for the replacement of the slot's leader."""

EMPTY: Final = ReadResult(b"", ())


class SlotReader:
    """An owner's reading of its slot: everything below its take-over record at `offset`, later its own batches.

    `owner` is the last take-over record that was read, `damaged` the offsets of the last damaged batch, the second
    exclusive.
    """

    def __init__(self, env: Environment, slot: Slot, producer: Producer, offset: int) -> None:
        self.is_loaded = False
        self.damaged: tuple[int, int] | None = None
        self._env = env
        self._slot = slot
        self._producer = producer
        self._taken_over_at = offset
        self._counting = Counting()
        self._next = -1  # to be fetched
        self._given = 0  # behind what was returned last
        self._suspected = -1  # base offset of a batch that came damaged once
        self._overwritten = Overwritten(slot.name)

    @property
    def owner(self) -> Owner | None:
        return self._counting.owner

    @property
    def skipped(self) -> int:
        return self._counting.skipped

    def _goes_on_at(self, offset: int) -> bool:
        """Return True if a read from `offset` continues where the last one ended; otherwise it has to begin at the
        log's start.
        """
        return self._next >= 0 and offset in (self._given, self._next)

    async def read(self, start: int, offset: int, upto: int) -> ReadResult | ErrorCode | Refused:
        """Return batches that count from `offset` on, below `upto`; none at the end.

        `start` is the log start offset: batches can only be judged from there on, so a read begins there unless it
        continues the last one. CORRUPT_MESSAGE: a damaged batch, at the offsets `damaged`, was skipped.
        """
        if not self._goes_on_at(offset):
            self._counting, self._next, self._given = Counting(), start, start
            self._overwritten = Overwritten(self._slot.name)
        while self._next < upto:
            fetched = await self._fetch(self._next)
            if isinstance(fetched, Refused):
                return fetched
            spans = await self._judge(fetched.records, upto)
            if isinstance(spans, ErrorCode | Refused):
                return spans
            if spans:
                self._given = spans[-1].last_offset + 1
                return ReadResult(fetched.records, spans)
        return self._at_end()

    def _at_end(self) -> ReadResult | Refused:
        """Return an empty read, or `Refused` if this owner's take-over record was not found at its offset."""
        if not self.is_loaded and self._next > self._taken_over_at:
            owner = self.owner
            if owner is None or owner[2:] != (self._producer, self._taken_over_at):
                at = f"{self._slot.name}: at offset {self._taken_over_at}"
                return Refused(f"{at}, no take-over record of {self._producer}; the last is {owner}")
            self.is_loaded = True
        return EMPTY

    async def _fetch(self, offset: int) -> Fetched | Refused:
        """Fetch records from an offset on, in several tries if necessary."""
        clock = self._env.clock
        give_up_ms = clock.now_ms() + PATIENCE_MS
        while True:
            answer = await self._slot.fetch(offset, 0)
            if isinstance(answer, Fetched):
                if answer.records:
                    return answer
            elif answer.error is not None and not is_retriable(answer.error):
                return answer  # OFFSET_OUT_OF_RANGE: another owner had it deleted, or it was truncated
            else:
                await self._slot.find_leader()
            if clock.now_ms() >= give_up_ms:
                text = f"{self._slot.name}: nothing came from offset {offset} on in {PATIENCE_MS} ms"
                return answer if isinstance(answer, Refused) else Refused(text)
            await sleep(clock, WAIT_MS)

    async def _judge(self, records: bytes, upto: int) -> list[BatchSpan] | ErrorCode | Refused:
        """Return the valid batches, and advance past all received ones."""
        spans: list[BatchSpan] = []
        view = memoryview(records)
        breathe = self._env.budget.breathe
        before = self._next
        try:
            for at, header in batch_headers(records):
                if header.last_offset < self._next:
                    continue  # a broker may begin before the offset that it was asked for
                if header.base_offset >= upto:
                    break
                if header.magic != MAGIC or not crc_matches(view, at, header):
                    return spans or self._pass_over(header)
                batch = view[at : at + header.size]
                verdict = self._counting.judge(header, batch)
                if verdict is Verdict.COUNTS:
                    spans.append(_span(at, header))
                if self._slot.topic.compacted:
                    self._note(verdict, batch)
                self._next = header.next_offset
                await breathe()
        except MalformedMessage as error:
            return spans or Refused(f"{self._slot.name}: from offset {self._next} on: {error}")
        if self._next == before:
            return Refused(f"{self._slot.name}: no whole batch came from offset {before} on")
        return spans

    def _note(self, verdict: Verdict, batch: memoryview) -> None:
        if verdict is Verdict.SKIPPED:
            self._overwritten.skipped(batch)
        elif verdict is Verdict.COUNTS:
            self._overwritten.counted(batch)

    async def overwritten(self, start: int) -> list[RecordData] | Refused:
        """Return the valid records of keys that invalid batches have overwritten. The log has to be loaded."""
        lost = self._overwritten
        if not lost:
            return []
        offset = start
        again = SlotReader(self._env, self._slot, self._producer, self._taken_over_at)
        while True:
            read = await again.read(start, offset, self._taken_over_at + 1)
            if isinstance(read, ErrorCode):
                offset = again.damaged[1] if again.damaged is not None else offset + 1
                continue
            if isinstance(read, Refused) or not read.batches:
                return read if isinstance(read, Refused) else lost.to_write()
            for span in read.batches:
                lost.collect(memoryview(read.records)[span.position : span.position + span.size])
                offset = span.last_offset + 1
                await self._env.budget.breathe()

    def _pass_over(self, header: BatchHeader) -> list[BatchSpan] | ErrorCode | Refused:
        """Have a damaged batch fetched once more; if it is damaged again, skip it."""
        if self._suspected != header.base_offset:
            self._suspected = header.base_offset
            return []
        if header.next_offset <= self._next:
            return Refused(f"{self._slot.name}: offset {self._next} cannot be read")
        self.damaged = (self._next, header.next_offset)
        self._next = self._given = header.next_offset
        return ErrorCode.CORRUPT_MESSAGE


def _span(position: int, header: BatchHeader) -> BatchSpan:
    return BatchSpan(
        header.base_offset, header.last_offset, position, header.size, header.attributes, header.producer_id
    )
