"""Reading for consumers' fetches: one partition after the other, within the fetch's limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.fetch.large_reads import LARGE_READ, LargeReads
from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.fetch.wait import FetchLimits
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import Breath
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import MOST_BATCHES
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import NotHereYet
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import AbortedTransaction, PartitionData

if TYPE_CHECKING:
    from shareq.broker.fetch.ports import FetchedLog

PIECE_BYTES: Final = 1024 * 1024
"""The bytes read before the turn's budget is checked again; the partition that exceeds it is still read."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of one partition in an answer, even if the client accepts more. A larger batch is returned whole.
"""

ELEMENT_BYTES: Final = 16 * 1024
"""The bytes that count as one element of the budget."""

Results = list[tuple[SessionPartition, PartitionData]]


class FetchRead:
    """One pass over the partitions of a fetch, piece by piece.

    `refuse` returns the error for a partition that may not be read, or NONE.

    If memory has no room for records (`has_room`), none are read, and the read has to be repeated. `not_here` are
    the logs that still have to fetch the records: their rows are empty, and they notify when the records have
    arrived. `wants_turn`: the next partition has a large read, which needs its own turn. `being_read` is a pending
    for bytes that threads are reading from the disk; it completes when the first thread has finished. `paused`: the
    read was paused, so that the rows may lack new records.
    """

    __slots__ = (
        "_answer_budget",
        "_elements",
        "_has_turn",
        "_is_cut",
        "_large_reads",
        "_limits",
        "_lookup",
        "_max_bytes",
        "_reads",
        "_refuse",
        "being_read",
        "bytes_read",
        "has_error",
        "has_room",
        "logs",
        "not_here",
        "paused",
        "results",
        "wants_turn",
    )

    def __init__(
        self,
        lookup: PartitionLookup[FetchedLog],
        answer_budget: AnswerBudget,
        large_reads: LargeReads,
        limits: FetchLimits,
        refuse: Callable[[SessionPartition], ErrorCode] | None = None,
    ) -> None:
        self._lookup = lookup
        self._answer_budget = answer_budget
        self._large_reads = large_reads
        self._limits = limits
        self._refuse = refuse
        self.results: Results = []
        self.logs: dict[FetchedLog, SessionPartition] = {}
        self.not_here: set[FetchedLog] = set()
        self.being_read: Pending[None] | None = None
        self.paused = False
        self.wants_turn = False
        self._has_turn = False
        self._elements = 0
        self._is_cut = False  # there is more of a partition than one read gives
        self.bytes_read = 0
        self.has_error = False
        self._reads: list[tuple[FetchedLog, int]] = []
        self.has_room = answer_budget.has_room()
        self._max_bytes = min(limits.max_bytes, answer_budget.grant()) if self.has_room else 0

    def go_on(self, partitions: Sequence[SessionPartition]) -> Sequence[SessionPartition]:
        """Read the next partitions. Return those that remain for another turn."""
        lookup, limits, refuse, before = self._lookup, self._limits, self._refuse, self.bytes_read
        left: Sequence[SessionPartition] = ()
        for at, partition in enumerate(partitions, 1):
            refused = refuse(partition) if refuse is not None else ErrorCode.NONE
            log = refused or lookup.log(partition.topic, partition.partition, partition.current_leader_epoch)
            if isinstance(log, ErrorCode):
                self._add_error(partition, log)
            else:
                if self._must_wait(partition, log):
                    self._elements += at - 1
                    self.wants_turn, left = True, partitions[at - 1 :]
                    break
                self.logs[log] = partition
                self._read(partition, log, limits)
                self._has_turn = False
                if self.bytes_read - before >= PIECE_BYTES:
                    self._elements += at
                    left = partitions[at:]
                    break
        else:
            self._elements += len(partitions)
        read = self.bytes_read - before
        self._elements += read // ELEMENT_BYTES
        self._answer_budget.note_read(read)
        self._large_reads.note(read)
        return left

    def take_elements(self) -> int:
        """Return how many elements of a turn's budget were handled since the last call."""
        elements, self._elements = self._elements, 0
        return elements

    async def turn(self) -> None:
        """Wait for the turn that the next partition needs."""
        await self.pause(self._large_reads.turn())
        self.wants_turn, self._has_turn = False, True

    async def pause(self, breath: Breath) -> None:
        """Continue in a later turn, with the memory granted then, because others may have read in the meantime."""
        self.paused = True
        budget, size = self._answer_budget, self.bytes_read
        budget.collect(size)
        try:
            await breath
        finally:
            budget.collect(-size)
        budget.note_read(size)
        self._max_bytes = min(self._max_bytes, size + (budget.grant() if budget.has_room() else 0))

    def is_enough(self, limits: FetchLimits) -> bool:
        """Return True if the answer may be sent before the fetch's time is up."""
        if self.has_error or self._is_cut or not self.results:
            return True
        return self.has_room and self.bytes_read >= min(limits.min_bytes, self._max_bytes)

    def answered(self) -> None:
        """Count the read bytes as sent."""
        for log, size in self._reads:
            log.traffic.bytes_out += size

    def _must_wait(self, partition: SessionPartition, log: FetchedLog) -> bool:
        """Return True if a partition has a large read that has to wait."""
        if self._has_turn or not self._large_reads.must_wait():
            return False
        offset, room = partition.fetch_offset, min(partition.max_bytes, self._max_bytes - self.bytes_read)
        if room <= LARGE_READ or offset < log.log_start_offset:
            return False
        return log.available_bytes(offset, log.high_watermark) > LARGE_READ

    def _read(self, partition: SessionPartition, log: FetchedLog, limits: FetchLimits) -> None:
        upto = log.last_stable_offset if limits.read_committed else log.high_watermark
        records: bytes | memoryview = b""
        aborted: list[AbortedTransaction] | None = [] if limits.read_committed else None
        room = min(partition.max_bytes, self._max_bytes - self.bytes_read)
        first = (
            self.has_room and self.bytes_read == 0
        )  # one batch must always be returned, or a consumer with small limits never continues
        if partition.fetch_offset < log.log_start_offset:
            self._add_error(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
            return
        is_beyond = partition.fetch_offset > log.log_end_offset
        if is_beyond or (partition.fetch_offset < upto and (room > 0 or first)):
            most = min(max(room, 0), PIECE_BYTES if self._has_turn else MOST_BYTES)
            read = log.read(partition.fetch_offset, most, upto=upto, min_one_batch=first)
            if isinstance(read, ErrorCode):
                self._add_error(partition, read)
                return
            if isinstance(read, NotHereYet):
                self.not_here.add(log)
            elif isinstance(read, BeingRead):
                self.being_read = self.being_read or read.arrived
            else:
                records = read.records
                if read.batches and read.batches[-1].last_offset + 1 < upto:
                    self._is_cut = self._is_cut or most < room or len(read.batches) >= MOST_BATCHES
                self.bytes_read += len(records)
                self._reads.append((log, len(records)))
                if limits.read_committed and read.batches:
                    transactions = log.aborted_transactions(partition.fetch_offset, read.batches[-1].last_offset + 1)
                    aborted = [AbortedTransaction(one.producer_id, one.first_offset) for one in transactions]
        data = PartitionData(
            partition.partition,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )
        self.results.append((partition, data))

    def _add_error(self, partition: SessionPartition, error: ErrorCode) -> None:
        self.has_error = True
        # Records are empty, never null: librdkafka drops the whole answer otherwise.
        data = PartitionData(partition.partition, error, high_watermark=-1, aborted_transactions=None, records=b"")
        self.results.append((partition, data))
