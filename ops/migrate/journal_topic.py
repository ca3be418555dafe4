"""The journal in its topic: read at the start of a run, then written by this run alone. Pure.

A run trusts only an append at the offset that it expected: two runs at a time, even on two machines, cannot both
continue. Each writes with a producer of its own, so that none mistakes another's batch for a repetition of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from shareq.client.errors import ClientError
from shareq.ops.migrate import journal
from shareq.ops.migrate.batches import stamped, steps
from shareq.ops.migrate.errors import Conflict, may_pass
from shareq.ops.migrate.journal import Copied, Entry, Journal, NotAJournal
from shareq.ops.migrate.ports import Target, Topic
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import batch_headers, build_batch, decode_records
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import RecordData

CONFIGS: Final = {"cleanup.policy": "compact", "max.message.bytes": str(16 << 20)}
MOST_ENTRIES: Final = 500
MOST_BYTES: Final = 256 << 10
"""The limits of one batch before compression: this many entries, or this many bytes, which its last entry may
exceed."""
NOTED_BYTES: Final = 64 << 20
"""The bytes of copied records whose notes may be unwritten: after a kill, so much is found out again."""


class JournalTopic:
    """The journal of one source at its target. `known` is its content."""

    def __init__(self, target: Target, source_cluster_id: str) -> None:
        self._target = target
        self._source = source_cluster_id
        self.name = journal.name_of(source_cluster_id)
        self._partition = (self.name, 0)
        self._end = 0
        self._producer = (-1, -1)
        self._sequence = 0
        self._noted: list[Entry] = []
        self._noted_bytes = 0
        self.known = Journal()

    def read(self) -> bool:
        """Read the journal; return True if it exists and names its writer.

        Raises Conflict for a topic that is no journal.
        """
        if self.name not in self._target.topics([self.name]):
            return False
        self._end = self._target.ranges([self._partition])[self._partition].end
        self.known = Journal()
        try:
            for offset, key, value in self._records(0, self._end):
                self.known.replay(key, value, offset)
            self.known.check()
        except NotAJournal as error:
            raise Conflict(f"topic {self.name} at the target: {error}") from None
        if self._end and self.known.source != self._source:
            raise Conflict(f"topic {self.name} at the target is of another migration: of {self.known.source or '?'}")
        return self._end > 0

    def _records(self, first: int, end: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield offset, key and value of records from `first` on, below `end`. Raises Conflict for damage."""
        try:
            for fetched in self._target.fetch(self._partition, first, end):
                for step in steps(fetched, first):
                    records = decode_records(step.batch) if step.batch is not None else ()
                    for offset, record in zip(step.offsets or count(step.first), records, strict=False):
                        if offset < end:
                            yield offset, record.key or b"", record.value or b""
        except MalformedMessage as error:
            raise Conflict(f"topic {self.name} at the target: {error}") from None

    def runs(self, copied: Copied, number: int) -> Sequence[int]:
        """Return the runs before one of the syncs of a partition; those of kept syncs are read again."""
        if number == len(self.known.kept_of(copied)):
            return self.known.tail_of(copied)
        at = self.known.runs_at(copied, number)
        try:
            return next(journal.runs_in(value) for offset, _, value in self._records(at, at + 1) if offset == at)
        except (NotAJournal, StopIteration) as error:
            raise Conflict(f"topic {self.name} at the target: offset {at}: {error}") from None

    def open(self) -> None:
        """Create the journal, or continue it. The first entry names the producer of all moved topics, in every run."""
        self._producer = self._target.producer()
        if not self.read():
            refusal = self._target.create(Topic(self.name, "", 1, False, CONFIGS))
            if refusal is not None and not self._target.topics([self.name]):
                raise Conflict(f"topic {self.name} cannot be made at the target: {refusal}")
            if not self.read():
                self.write([journal.migration(self._source, self._target.producer())])

    def note(self, entry: Entry, size: int) -> None:
        """Queue an entry, to be written later with others: it may be missing after a kill.

        `size`: the bytes that it covers.
        """
        self._noted.append(entry)
        self._noted_bytes += size
        if self._noted_bytes >= NOTED_BYTES:
            self.write_notes()

    def write_notes(self) -> None:
        """Write the queued entries."""
        some, self._noted, self._noted_bytes = self._noted, [], 0
        self.write(some)

    def write(self, entries: Sequence[Entry]) -> None:
        """Write entries; they count once this returns. Raises Conflict if another run writes, too."""
        some: list[tuple[bytes, bytes]] = []
        size = 0
        for pair in map(journal.encoded, entries):
            some.append(pair)
            size += sum(map(len, pair))
            if len(some) == MOST_ENTRIES or size >= MOST_BYTES:
                self._write(some)
                some, size = [], 0
        if some:
            self._write(some)

    def _write(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        records = [RecordData(key, value) for key, value in pairs]
        batch = build_batch(records, timestamp_ms=-1, compression=Compression.GZIP)
        sent = stamped(batch, self._producer, self._sequence)
        is_again = False
        while True:
            try:
                was_taken = is_again and self._is_there()
                got = self._end if was_taken else self._target.send(self._partition, sent).appended()
            except ClientError as error:
                if not may_pass(error):
                    raise
                self._target.pause(error)
                is_again = True
            else:
                break
        if got != self._end:
            where = f"offset {got}, where {self._end} was due"
            raise Conflict(f"another shareq migrate writes to topic {self.name} at the target: {where}")
        self._target.progressed()
        for offset, (key, value) in enumerate(pairs, self._end):
            self.known.replay(key, value, offset)
        self._end += len(pairs)
        self._sequence += len(pairs)

    def _is_there(self) -> bool:
        """Return True if a batch without an answer was appended.

        A target that was killed meanwhile may not recognise it: Apache Kafka forgets producers whose batches have no
        time, or an old one.
        """
        end = self._target.ranges([self._partition])[self._partition].end
        for fetched in self._target.fetch(self._partition, self._end, end):
            for _, header in batch_headers(memoryview(fetched.data)):
                if header.base_offset == self._end:
                    found = header.producer_id, header.producer_epoch, header.base_sequence
                    return found == (*self._producer, self._sequence)
        return False
