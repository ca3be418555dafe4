"""Copies the records of a partition, each once, whichever process ends in between. Pure.

Sent batches need not be remembered: the end of the target's log shows which ones it has, since the same records of the
source become the same batches each time. A batch of a killed run that is still on its way then comes too late: its
sequence was used (`batches.stamped`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from shareq.client.errors import ClientError, Unintelligible
from shareq.ops.migrate import journal
from shareq.ops.migrate.batches import Step, checksum, stamped, steps
from shareq.ops.migrate.errors import Conflict, may_pass
from shareq.ops.migrate.journal_topic import JournalTopic
from shareq.ops.migrate.offset_syncs import OffsetSync, Runs, is_due
from shareq.ops.migrate.ports import LogRange, Partition, SentBatch, Source, Target
from shareq.protocol.errors import MalformedMessage

MOST_IN_FLIGHT: Final = 5
"""The most batches of one partition in flight: a broker recognises so many batches of a producer.

The first batch of a pass goes alone: a broker that does not know the producer accepts any sequence, so it would accept
the second batch without the first.
"""


class _InFlight(NamedTuple):
    """A step in progress: the batch sent for it, if any, and the position of the copy after it.

    `step` itself no longer has the batch.
    """

    step: Step
    sent: SentBatch | None
    expected: int
    after: OffsetSync


class PartitionCopy:
    """The copy of one partition. `position` is the known position at the target.

    `progress` is called with the bytes of each batch at the target.
    """

    def __init__(
        self, source: Source, target: Target, topic: JournalTopic, partition: Partition, progress: Callable[[int], None]
    ) -> None:
        self._source = source
        self._target = target
        self._journal = topic
        self.partition = partition
        self._progress = progress
        self._copied = topic.known.copied(*partition)
        self._kept = topic.known.kept_of(self._copied)
        self.position = (topic.known.syncs_of(self._copied) or [OffsetSync(0)])[-1]
        self._runs = Runs((self._kept or [self.position])[-1].upstream, topic.known.tail_of(self._copied))
        self._in_flight: deque[_InFlight] = deque()
        self._window = 1

    @property
    def name(self) -> str:
        return f"partition {self.partition[0]}-{self.partition[1]}"

    def is_done(self, end: int, there: int) -> bool:
        """Return True if the target's log, which ends at `there`, is known to have all records of the source below
        `end`.
        """
        known = self._journal.known.positions.get(self._copied)
        return known is not None and known.upstream >= end and known.downstream == there

    @property
    def kept(self) -> OffsetSync:
        """The last kept sync: everything before it can be compared."""
        return self._kept[-1]

    def work(self, found: LogRange, there: int) -> Iterator[None]:
        """Copy the range found at the source, and note the progress.

        The target's log ended at `there`. Yields from time to time, so that other partitions are copied, too.

        Raise Conflict for a target with records that are not of this migration, and the errors of the clusters.
        """
        start, end = found
        if not self._kept:
            if self._copied not in self._journal.known.positions:
                self.position = OffsetSync(start)
            self._keep(self.position)
        begun = self.position
        self._go_back(there)
        went_back = self.position != begun
        while self.position.upstream < end:
            try:
                yield from self._pass(end, there)
            except ClientError as error:
                if not may_pass(error):
                    raise
                self._target.pause(error)
                there = self._target.ranges([self.partition])[self.partition].end
        if went_back or self.position != begun or self._copied not in self._journal.known.positions:
            size = max(self.position.size - begun.size, 0)
            entry = journal.position(self._copied, self.position, len(self._kept), self._runs.numbers)
            self._journal.note(entry, size)

    def check(self, there: int) -> None:
        """Raise Conflict unless the target's log ends where the copy does."""
        if there != self.position.downstream:
            raise Conflict(f"{self.name} ends at offset {there} at the target, the copy at {self.position.downstream}")

    def _pass(self, end: int, there: int) -> Iterator[None]:
        """Copy until the end, or until an error."""
        self._in_flight.clear()
        self._window = 1
        self._go_back(there)
        ahead = self.position
        try:
            for fetched in self._source.fetch(self.partition, ahead.upstream, end):
                for step in steps(fetched, ahead.upstream):
                    if step.first >= end:
                        break
                    ahead = self._take(step, ahead, there)
                yield
        except MalformedMessage as error:
            raise Unintelligible(f"{self.name} at the source: {error}") from None
        while self._in_flight:
            self._settle()
        if self.position.upstream < end:  # what is left below the end was removed meanwhile
            self.position = self.position._replace(upstream=end)

    def _take(self, step: Step, ahead: OffsetSync, there: int) -> OffsetSync:
        """Send the batch of a step, unless the target has it; return the position of the copy after it."""
        after = ahead._replace(upstream=step.following)
        sent = None
        if step.batch is not None:
            downstream = ahead.downstream + step.records
            after = OffsetSync(
                step.following, downstream, ahead.size + len(step.batch), checksum(step.batch, ahead.checksum)
            )
            if ahead.downstream < there < downstream:
                raise Conflict(
                    f"{self.name} has records at the target that are not of this migration: it ends in {there}"
                )
            if downstream > there:
                while len(self._in_flight) >= self._window:
                    self._settle()
                batch = stamped(step.batch, self._journal.known.producer, ahead.downstream)
                sent = self._target.send(self.partition, batch)
        self._in_flight.append(_InFlight(step._replace(batch=None), sent, ahead.downstream, after))
        while self._in_flight and self._in_flight[0].sent is None:
            self._settle()
        return after

    def _settle(self) -> None:
        """Wait for the first batch in flight."""
        step, sent, expected, after = self._in_flight.popleft()
        if sent is not None:
            got = sent.appended()
            if got is not None and got != expected:
                raise Conflict(
                    f"{self.name}: something else writes to it at the target: {got}, where {expected} was due"
                )
            self._target.progressed()
            self._window = MOST_IN_FLIGHT
        self._progress(after.size - self.position.size)
        self.position = after
        for first, records in step.runs():
            self._runs.add(first, records)
        if is_due(self._kept[-1], after, self._runs):
            self._keep(after)

    def _keep(self, sync: OffsetSync) -> None:
        self._journal.write([journal.kept(self._copied, len(self._kept), sync, self._runs.numbers)])
        self._kept.append(sync)
        self._runs = Runs(sync.upstream)

    def _go_back(self, there: int) -> None:
        """If the target has lost confirmed records, begin again at the last sync that it has."""
        if there >= self.position.downstream:
            return
        found = [sync for sync in self._kept if sync.downstream <= there]
        if not found:
            raise Conflict(f"{self.name} is shorter at the target than what was copied: {there}")
        self.position = found[-1]
        self._kept = found
        self._runs = Runs(self.position.upstream)
