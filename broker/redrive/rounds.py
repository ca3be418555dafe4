"""The choice of letters for the next round of a redrive, and the outcomes of the other letters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.redrive.letter import Letter, is_meant, letter_of, redriven
from shareq.broker.redrive.ports import RedriveWorld
from shareq.broker.redrive.progress import STAYS, PartitionProgress, Place, Ranges, What
from shareq.broker.redrive.reading import DeadRecords, read_page
from shareq.broker.redrive.spec import RedriveSpec, target_topic
from shareq.broker.security.rights import READ_TOPIC, WRITE_TOPIC
from shareq.broker.share.dlq.letters import letter_bytes
from shareq.broker.share.dlq.rules import partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record, RecordData

MOST_RECORDS: Final = 100
MOST_BYTES: Final = 524_288
MOST_LOOKED_AT: Final = 200  # letters in one turn
MOST_SOURCES: Final = 2  # batches of dead records that are opened in one turn
MOST_PLACES: Final = 850  # characters of the names of logs that one round writes to: they are committed before it

_PLACE_OVERHEAD: Final = 32  # partition, offset and punctuation


class Round:
    """The letters sent back together: `batches` by target log, of the letters below `upto` (exclusive).

    `counts`: the outcomes of all letters of the round if every batch is appended. `stayed`: the ranges of letters
    that the filter accepts but that are not sent back; letters that it does not accept may be among them.
    """

    __slots__ = ("_apart", "_bytes", "_places", "_record", "batches", "counts", "records", "stayed", "upto")

    def __init__(self, upto: int) -> None:
        self.upto = upto
        self.batches: dict[Place, list[RecordData]] = {}
        self.counts: dict[What, int] = {}
        self.records = 0
        self.stayed: Ranges = []
        self._apart = True  # a letter was sent back since the last one that stayed
        self._record = -1  # the last letter that is sent back
        self._bytes = 0
        self._places = 0

    def add(self, offset: int, outcome: tuple[Place, RecordData] | What) -> bool:
        """Add the next letter with its outcome. Return False if the round is full, so that the letter belongs to the
        next one.
        """
        if isinstance(outcome, What):
            self.count(outcome)
            if outcome in STAYS:
                self._stay(offset)
            self._apart = self._apart or outcome is What.REDRIVEN or outcome is What.ALREADY_SENT
        else:
            place, data = outcome
            self._bytes += letter_bytes(data)
            self._places += 0 if place in self.batches else len(place[0]) + _PLACE_OVERHEAD
            if self.records and (self._bytes > MOST_BYTES or self._places > MOST_PLACES):
                return False
            self.batches.setdefault(place, []).append(data)
            self.records += 1
            self.count(What.REDRIVEN)
            self._apart, self._record = True, offset
        self.upto = offset + 1
        return True

    def leave(self, what: What) -> None:
        """Leave the only record of the round in the queue after all."""
        self.count(What.REDRIVEN, -1)
        self.count(what)
        self.stayed = sorted([*self.stayed, (self._record, self._record)])

    def _stay(self, offset: int) -> None:
        if self._apart:
            self.stayed.append((offset, offset))
        else:
            self.stayed[-1] = self.stayed[-1][0], offset
        self._apart = False

    def count(self, what: What, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number


SentBefore = Callable[[int, Letter], bool]
"""A function that returns True if another redrive has sent back the letter from this partition of the queue."""


def _nothing(_partition: int, _letter: Letter) -> bool:
    return False


class RoundMaker:
    """The reader of one redrive's queue, one page ahead. Owned by its redrive.

    `sent_before` knows the letters that other redrives have sent back.
    """

    def __init__(self, spec: RedriveSpec, world: RedriveWorld, sent_before: SentBefore = _nothing) -> None:
        self._spec = spec
        self._sent_before = sent_before
        self._world = world
        self._sources = DeadRecords(world)
        self._partition = -1
        self._page: deque[Record] = deque()
        self._counts: dict[What, int] = {}
        self._upto = -1
        self._begun: Round | None = None

    def forget(self) -> None:
        """Forget the letters that were read but not sent back, so that they are read again."""
        self._begun = None
        self._partition = -1
        self._page.clear()

    def next_round(
        self, progress: PartitionProgress, sent: Collection[int], most_records: int, now_ms: int
    ) -> Round | ErrorCode | BeingRead | None:
        """Return the next letters of a partition: at most `most_records` to send back, and few enough for one turn.

        Letters with offsets in `sent` have been sent back already. `now_ms` is wall-clock time. Return None if work
        remains for the next turn, and BeingRead if records have to be read first.
        """
        if self._partition != progress.partition or not self._page:
            error = self._read(progress)
            if error:
                return error
            if self._page:
                return None
        made, self._begun = self._begun or Round(progress.next_offset), None
        turn = _Turn(self._world, self._spec, self._sources, self._sent_before)
        looked_at = 0
        while self._page and made.records < most_records:
            if looked_at >= MOST_LOOKED_AT or self._sources.reads - turn.reads_before >= MOST_SOURCES:
                self._begun = made
                return None
            record = self._page[0]
            outcome = What.REDRIVEN if record.offset in sent else turn.judge(record, progress.partition, now_ms)
            if isinstance(outcome, BeingRead):
                self._begun = made
                return outcome
            if not made.add(record.offset, outcome):
                break
            self._page.popleft()
            looked_at += 1
        if not self._page:
            made.upto = self._upto
            for what, number in self._counts.items():
                made.count(what, number)
        return made

    def _read(self, progress: PartitionProgress) -> ErrorCode | BeingRead:
        self.forget()
        log = self._world.log(self._spec.queue, progress.partition)
        if isinstance(log, ErrorCode):
            return log
        page = read_page(log, progress.next_offset, progress.end_offset)
        if isinstance(page, ErrorCode | BeingRead):
            return page
        self._partition = progress.partition
        self._page.extend(page.records)
        self._counts, self._upto = page.counts, page.upto
        return ErrorCode.NONE


class _Turn:
    """The decisions about letters in one turn. Each right is looked up once."""

    def __init__(self, world: RedriveWorld, spec: RedriveSpec, sources: DeadRecords, sent_before: SentBefore) -> None:
        self._world = world
        self._sent_before = sent_before
        self._spec = spec
        self._sources = sources
        self._writes: dict[str, bool] = {}
        self._reads: dict[str, bool] = {}
        self.reads_before = sources.reads

    def judge(self, record: Record, queue_partition: int, now_ms: int) -> tuple[Place, RecordData] | What | BeingRead:
        """Return the destination and content of a letter, or the reason why it stays."""
        letter = letter_of(record)
        if letter is None:
            return What.NOT_A_LETTER
        if not is_meant(self._spec.letters, letter):
            return What.FILTERED
        if not self._spec.again and self._sent_before(queue_partition, letter):
            return What.ALREADY_SENT
        topic = letter.topic
        if self._spec.target:
            topic = target_topic(self._spec) or ""
        partitions = None if topic.startswith("__") else self._world.partitions(topic)
        if partitions is None:
            return What.NO_TOPIC
        if not self._may_write(topic):
            return What.NOT_AUTHORIZED
        source = self._source(letter)
        if isinstance(source, BeingRead):
            return source
        if source is None and letter.is_bare:
            return What.WITHOUT_CONTENT
        data = redriven(self._spec, queue_partition, letter, source, now_ms)
        return (topic, partition_for(letter.partition, partitions)), data

    def _may_write(self, topic: str) -> bool:
        if self._spec.target:  # the right on the group has been checked, and its topic belongs to the group
            return True
        allowed = self._writes.get(topic)
        if allowed is None:
            allowed = self._writes[topic] = self._world.may(self._spec.owner, WRITE_TOPIC, topic)
        return allowed

    def _source(self, letter: Letter) -> Record | BeingRead | None:
        """Return the dead record from its topic, if the letter lacks a part of it: the content, or the headers,
        which Apache Kafka's letters do not have.
        """
        if letter.kept and not letter.is_bare:
            return None
        allowed = self._reads.get(letter.topic)
        if allowed is None:
            allowed = self._world.may(self._spec.owner, READ_TOPIC, letter.topic)
            self._reads[letter.topic] = allowed
        return self._sources.find(letter) if allowed else None
