"""Reading for consumers: every partition of a fetch in turn, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shareq.broker.fetch.sessions import SessionPartition
from shareq.broker.fetch.wait import FetchLimits
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import NotHereYet
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import AbortedTransaction, PartitionData

if TYPE_CHECKING:
    from shareq.broker.fetch.ports import FetchedLog

Results = list[tuple[SessionPartition, PartitionData]]


class FetchRead:
    """One pass over the partitions of a fetch, piece by piece. `refuse` returns why one may not be read, or NONE.

    Without `has_room` for records in memory none are read, and it is not enough: it is to be tried again. `not_here`
    are the logs that have to fetch what was asked for: their rows are empty, and they announce what has come.
    """

    __slots__ = (
        "_answer_budget",
        "_limits",
        "_lookup",
        "_max_bytes",
        "_reads",
        "_refuse",
        "bytes_read",
        "has_error",
        "has_room",
        "logs",
        "not_here",
        "results",
    )

    def __init__(
        self,
        lookup: PartitionLookup[FetchedLog],
        answer_budget: AnswerBudget,
        limits: FetchLimits,
        refuse: Callable[[SessionPartition], ErrorCode] | None = None,
    ) -> None:
        self._lookup = lookup
        self._answer_budget = answer_budget
        self._limits = limits
        self._refuse = refuse
        self.results: Results = []
        self.logs: dict[FetchedLog, SessionPartition] = {}
        self.not_here: set[FetchedLog] = set()
        self.bytes_read = 0
        self.has_error = False
        self._reads: list[tuple[FetchedLog, int]] = []
        self.has_room = answer_budget.has_room()
        self._max_bytes = min(limits.max_bytes, answer_budget.grant()) if self.has_room else 0

    def go_on(self, partitions: Sequence[SessionPartition]) -> None:
        """Read some partitions, behind those that were read before."""
        lookup, limits, refuse, before = self._lookup, self._limits, self._refuse, self.bytes_read
        for partition in partitions:
            refused = refuse(partition) if refuse is not None else ErrorCode.NONE
            log = refused or lookup.log(partition.topic, partition.partition, partition.current_leader_epoch)
            if isinstance(log, ErrorCode):
                self._add_error(partition, log)
            else:
                self.logs[log] = partition
                self._read(partition, log, limits)
        self._answer_budget.note_read(self.bytes_read - before)

    def is_enough(self, limits: FetchLimits) -> bool:
        """Return True if the answer may go out before the time is up."""
        if self.has_error or not self.results:
            return True
        return self.has_room and self.bytes_read >= min(limits.min_bytes, self._max_bytes)

    def answered(self) -> None:
        """Count the read bytes as sent."""
        for log, size in self._reads:
            log.traffic.bytes_out += size

    def _read(self, partition: SessionPartition, log: FetchedLog, limits: FetchLimits) -> None:
        upto = log.last_stable_offset if limits.read_committed else log.high_watermark
        records: bytes | memoryview = b""
        aborted: list[AbortedTransaction] | None = [] if limits.read_committed else None
        room = min(partition.max_bytes, self._max_bytes - self.bytes_read)
        first = (
            self.has_room and self.bytes_read == 0
        )  # one batch must come through, or a consumer with small limits never goes on
        if partition.fetch_offset < log.log_start_offset:
            self._add_error(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
            return
        is_beyond = partition.fetch_offset > log.log_end_offset
        if is_beyond or (partition.fetch_offset < upto and (room > 0 or first)):
            read = log.read(partition.fetch_offset, max(room, 0), upto=upto, min_one_batch=first)
            if isinstance(read, ErrorCode):
                self._add_error(partition, read)
                return
            if isinstance(read, NotHereYet):
                self.not_here.add(log)
            else:
                records = read.records
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
