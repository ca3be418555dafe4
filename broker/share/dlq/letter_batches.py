"""The dead letters of one share partition, in the order of their deaths, and the choice of the next batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.broker.share.core.window.expiry import too_old
from shareq.broker.share.dlq.letters import (
    Origin,
    died_before_for,
    kept_letter,
    letter_bytes,
    plain_letter,
    with_reason,
)
from shareq.broker.share.dlq.rules import QueueTopic
from shareq.broker.share.dlq.source import read_dead, readable_from
from shareq.broker.share.leader import SharePartitionLeader
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import HEADER_SIZE, Record, RecordData

MOST_RECORDS: Final = 1_000
"""The most records of one batch, so that it can be made in one turn of the loop."""

Done = Callable[[int, int], None]


class Burial:
    """One range of dead records. The letters from `next_offset` on are still to be written."""

    __slots__ = ("done", "letter", "next_offset", "unread")

    def __init__(self, letter: DeadLetter, done: Done) -> None:
        self.letter = letter
        self.done = done
        self.next_offset = letter.first_offset
        self.unread = False  # the rest cannot be read: letters without content

    def finish(self, upto: int) -> None:
        """Report the offsets up to `upto` (exclusive) as done."""
        first, self.next_offset = self.next_offset, upto
        self.done(first, upto - 1)


class Part(NamedTuple):
    """The offsets of a burial up to `upto` (exclusive). `refused` is how many get no letter, `bare` how many get one
    without content.
    """

    burial: Burial
    upto: int
    refused: int
    bare: int


class Round(NamedTuple):
    """Letters to append together, and the part of each burial that they finish. `records` may be empty: then there is
    nothing to append.

    `error`: the first offset cannot be read now, in a group that keeps its dead records. With neither parts nor an
    error, the source records have to be fetched first; `arrived` is completed when they have come, None if that is not
    known.
    """

    records: Sequence[RecordData]
    parts: Sequence[Part]
    error: ErrorCode = ErrorCode.NONE
    arrived: Pending[None] | None = None


class Lane:
    """The dead letters of one share partition. Owned by `DeadLetterQueues`. `waiting` is the number of letters to be
    written.

    `attempts` counts failed attempts in a row. `trouble` is the kind of failure that was logged last. Three fields make
    letters fit a queue's limits: with `bare` the first letter is written without content, with `own_time` all letters
    have the broker's time, and `most_records` limits a batch. `fetches` is True while the lane waits for its first
    source record, which has to be fetched; `fetched_by_ms` is the deadline for that, by the monotonic clock.
    """

    __slots__ = (
        "attempts",
        "bare",
        "burials",
        "busy",
        "fetched_by_ms",
        "fetches",
        "leader",
        "most_records",
        "origin",
        "own_time",
        "trouble",
        "waiting",
    )

    def __init__(self, leader: SharePartitionLeader) -> None:
        self.leader = leader
        self.origin = Origin(leader.key.group_id, leader.topic, leader.key.partition)
        self.burials: deque[Burial] = deque()
        self.busy = False
        self.attempts = 0
        self.trouble = ""
        self.waiting = 0
        self.bare = False
        self.own_time = False
        self.most_records = MOST_RECORDS
        self.fetches = False
        self.fetched_by_ms: int | None = None

    def add(self, letters: Sequence[DeadLetter], done: Done) -> None:
        """Add ranges of dead records, behind the others."""
        self.burials.extend(Burial(letter, done) for letter in letters)
        self.waiting += sum(letter.last_offset - letter.first_offset + 1 for letter in letters)

    def bury(self, burial: Burial, upto: int) -> None:
        """Finish a burial up to `upto` (exclusive). The oldest burial must be finished first."""
        self.waiting -= upto - burial.next_offset
        if upto > burial.letter.last_offset:
            self.burials.popleft()
        burial.finish(upto)

    def next_round(self, settings: ShareGroupSettings, queue: QueueTopic, now_ms: int) -> Round:
        """Return the letters of one batch: as many as the queue accepts, but at least one. `now_ms` is wall time."""
        builder = _Builder(self, settings, queue, now_ms)
        for burial in self.burials:
            if not builder.add(burial):
                break
        return Round(builder.records, builder.parts, builder.error, builder.arrived)


class _Builder:
    """The records and parts of one round, while it is being filled."""

    def __init__(self, lane: Lane, settings: ShareGroupSettings, queue: QueueTopic, now_ms: int) -> None:
        self._lane = lane
        self._keeps = settings.keep_dead_records
        self._copies = settings.copy_dead_records
        self._queue = queue
        self._now_ms = now_ms
        self._left = queue.max_message_bytes - HEADER_SIZE
        self._seen = 0  # offsets
        self.records: list[RecordData] = []
        self.parts: list[Part] = []
        self.error = ErrorCode.NONE
        self.arrived: Pending[None] | None = None

    def add(self, burial: Burial) -> bool:
        """Add letters of a burial to the round. Return False if the round is full, or cannot continue."""
        first, last = burial.next_offset, burial.letter.last_offset
        sources, upto = self._sources(burial)
        if upto == first:
            return False
        refused = bare = 0
        at = first
        while at < upto:
            source = sources.get(at)
            if source is not None and self._keeps and died_before_for(source, self._queue.name):
                refused += 1
            else:
                is_bare = source is None or self._lane.bare
                record = self._record(burial.letter, at, source)
                if not self._fits(record):
                    break
                self.records.append(record)
                bare += is_bare and self._copies
            at += 1
            self._seen += 1
            if self._seen >= self._lane.most_records or self._lane.bare:
                break
        if at > first:
            self.parts.append(Part(burial, at, refused, bare))
        return at > last and self._seen < self._lane.most_records and not self._lane.bare

    def _fits(self, record: RecordData) -> bool:
        size = letter_bytes(record)
        if self.records and size > self._left:
            return False
        self._left -= size
        return True

    def _record(self, letter: DeadLetter, offset: int, source: Record | None) -> RecordData:
        leader = self._lane.leader
        reason = leader.reasons.get(offset)
        if reason is None and letter.cause is Cause.EXPIRED:
            reason = too_old(leader.core.settings.ttl)
        return with_reason(self._plain_or_kept(letter, offset, source), reason)

    def _plain_or_kept(self, letter: DeadLetter, offset: int, source: Record | None) -> RecordData:
        lane, now_ms = self._lane, self._now_ms
        if not self._keeps:
            return plain_letter(lane.origin, letter, offset, source if self._copies else None, now_ms)
        copies = self._copies
        if lane.bare:  # the letter is too large with content
            source, copies = None if source is None else source._replace(headers=()), False
        record = kept_letter(lane.origin, letter, offset, source, now_ms, copies=copies)
        return record._replace(timestamp_ms=now_ms) if lane.own_time else record

    def _sources(self, burial: Burial) -> tuple[dict[int, Record], int]:
        """Return the source records of the burial's next offsets, and the offset (exclusive) up to which they are
        known.

        That is the burial's next offset if nothing can be done with it now.
        """
        first, last = burial.next_offset, burial.letter.last_offset
        if burial.unread or not (self._copies or self._keeps):
            return {}, last + 1
        reading = read_dead(self._lane.leader.log, first, last, max(self._queue.max_message_bytes, 1))
        if not reading.error:
            self.arrived = reading.arrived
            return reading.records, reading.upto
        gone = self._lane.leader.is_gone  # the topic was deleted: no later try can read them
        if gone or not self._keeps:  # as in Apache Kafka, an unreadable record makes the rest of the range unreadable
            burial.unread = True
            return {}, last + 1
        readable = readable_from(self._lane.leader.log, first, reading.error)
        if readable is None:
            self.error = reading.error
            return {}, first
        return {}, min(readable, last + 1)
