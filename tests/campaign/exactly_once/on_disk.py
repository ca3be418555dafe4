"""The progress of a transactional job, and the state of its transaction, read from its broker's files.

Only whole batches count; a stopped or dead broker is between two of them. The files have Apache Kafka's format, so
either broker may have written them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from shareq.coordinator.group.offsets.records import OFFSET_RECORD_TYPES, committed_of
from shareq.coordinator.record_serde import TypedRecordSerde
from shareq.coordinator.transaction.metadata import PREPARING, TopicPartition, TransactionState
from shareq.coordinator.transaction.records import TRANSACTION_SERDE, transaction_of
from shareq.protocol.generated.offset_commit import OffsetCommitKey
from shareq.protocol.generated.transaction_log import TransactionLogKey, TransactionLogValue
from shareq.protocol.records.batch import BatchHeader, batch_headers, decode_records, read_header
from shareq.protocol.records.control import ControlType, read_control_record

TRANSACTIONS = TopicPartition("__transaction_state", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)
_OFFSET_SERDE = TypedRecordSerde(OFFSET_RECORD_TYPES)


class Moment(Enum):
    """The state of a transactional id in its transaction. The value is its name in tables."""

    BETWEEN = "between two transactions"
    OPEN = "in an open transaction"
    DECIDED = "end decided, no marker written"
    MARKING = "some of the markers written"
    MARKED = "all markers written, end not noted"
    ENDED = "end noted a moment ago, answer on its way"


ENDING = (Moment.DECIDED, Moment.MARKING, Moment.MARKED, Moment.ENDED)
"""The moments within EndTxn, as the files show them. In all other moments an EndTxn may wait in a socket."""


class Look(NamedTuple):
    """The state of the job by its files. `records_in`: the group's committed offset in the source. `records_out`: the
    committed records in the target.

    `commits` and `aborts` count ended transactions; `aborting` is True if the one that is being ended aborts.
    """

    moment: Moment
    aborting: bool
    commits: int
    aborts: int
    records_in: int
    records_out: int

    @property
    def ended(self) -> int:
        return self.commits + self.aborts

    @property
    def is_ending(self) -> bool:
        """True if the outcome is decided but its end is not yet written."""
        return self.moment in (Moment.DECIDED, Moment.MARKING, Moment.MARKED)


@dataclass(slots=True)
class LogTail:
    """The batches of a partition's log, each returned once."""

    folder: Path
    _segment: str = ""
    _position: int = 0

    def read(self) -> Iterator[tuple[BatchHeader, bytes]]:
        if not self.folder.exists():
            return
        for file in sorted(self.folder.glob("*.log")):
            if file.name < self._segment:
                continue
            if file.name > self._segment:
                self._segment, self._position = file.name, 0
            with file.open("rb") as log:
                log.seek(self._position)
                data = log.read()
            for start, header in batch_headers(data):
                self._position += header.size
                yield header, data[start : start + header.size]


@dataclass(slots=True)
class Committed:
    """The transactional batches of one partition, returned when their transactions commit."""

    tail: LogTail
    _open: dict[int, list[bytes]] = field(default_factory=dict)

    def read(self) -> Iterator[bytes]:
        for header, batch in self.tail.read():
            if header.is_control:
                batches = self._open.pop(header.producer_id, [])
                if read_control_record(batch).type is ControlType.COMMIT:
                    yield from batches
            elif header.is_transactional:
                self._open.setdefault(header.producer_id, []).append(batch)

    def is_open(self, producer_id: int) -> bool:
        """Return whether the producer has written here, up to the last `read`, without a marker since."""
        return producer_id in self._open


class JobOnDisk:
    """A job that copies partition 0 of a topic to all of another, under one name as transactional id and group.

    `__transaction_state` and `__consumer_offsets` have to have one partition each.
    """

    def __init__(self, data_dir: Path, name: str, target: str, partitions: int) -> None:
        def tail(at: TopicPartition) -> LogTail:
            return LogTail(data_dir / f"{at.topic}-{at.partition}")

        self._name = name
        self._transactions = tail(TRANSACTIONS)
        self._targets = [TopicPartition(target, partition) for partition in range(partitions)]
        self._logs: Mapping[TopicPartition, Committed] = {at: Committed(tail(at)) for at in (*self._targets, OFFSETS)}
        self._written = {TransactionState.COMPLETE_COMMIT: 0, TransactionState.COMPLETE_ABORT: 0}
        self._state = TransactionState.EMPTY
        self._producer_id = -1
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._records_in = self._records_out = 0

    def look(self) -> Look:
        """Look at the files. ENDED is for a caller that looks twice: an end may pass between two calls.

        A partition in a transaction that was never written counts as having its marker.
        """
        self._read_transactions()
        for at in self._targets:
            self._records_out += sum(read_header(batch).records_count for batch in self._logs[at].read())
        for batch in self._logs[OFFSETS].read():
            self._read_offsets(batch)
        commits, aborts = self._written.values()
        aborting = self._state is TransactionState.PREPARE_ABORT
        return Look(self._moment(), aborting, commits, aborts, self._records_in, self._records_out)

    def hanging(self) -> list[TopicPartition]:
        """Return partitions of a finished transaction without a marker, whose records stay unreadable.

        As of the last look, at a stopped broker. Kafka calls it a hanging transaction (KIP-664).
        """
        if self._state is TransactionState.ONGOING or self._state in PREPARING:
            return []
        return [at for at, log in self._logs.items() if log.is_open(self._producer_id)]

    def _read_transactions(self) -> None:
        for _, batch in self._transactions.read():
            for record in decode_records(batch):
                decoded = TRANSACTION_SERDE.decode(record.key or b"", record.value)
                if decoded is None or not isinstance(decoded.value, TransactionLogValue):
                    continue
                assert isinstance(decoded.key, TransactionLogKey)
                if decoded.key.transactional_id == self._name:
                    transaction = transaction_of(self._name, decoded.value)
                    self._state, self._producer_id = transaction.state, transaction.producer_id
                    self._partitions = transaction.partitions
                    if self._state in self._written:
                        self._written[self._state] += 1

    def _read_offsets(self, batch: bytes) -> None:
        for record in decode_records(batch):
            decoded = _OFFSET_SERDE.decode(record.key or b"", record.value)
            if decoded is not None and isinstance(decoded.key, OffsetCommitKey) and decoded.key.group == self._name:
                committed = committed_of(decoded.value, record.offset)
                self._records_in = self._records_in if committed is None else committed.offset

    def _moment(self) -> Moment:
        if self._state is TransactionState.ONGOING:
            return Moment.OPEN
        if self._state not in PREPARING:
            return Moment.BETWEEN
        unmarked = [self._logs[at].is_open(self._producer_id) for at in self._partitions]
        if all(unmarked):
            return Moment.DECIDED
        return Moment.MARKING if any(unmarked) else Moment.MARKED
