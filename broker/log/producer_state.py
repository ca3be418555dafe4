"""The state of one partition's producers: sequences, by which duplicates and gaps are found, and transactions. Pure.

Rules as in Apache Kafka 4.3.1 (ProducerStateManager, ProducerAppendInfo). A `.snapshot` file is Kafka's, version 1:

    0  int16   version, 1
    2  uint32  CRC-32C of everything after this field
    6  int32   number of producers, for each of them 48 bytes:
         int64 producerId, int16 epoch, int32 lastSequence (-1 none), int64 lastOffset (-1 none), int32 offsetDelta,
         int64 timestamp (ms), int32 coordinatorEpoch (-1 none), int64 currentTxnFirstOffset (-1 none)

lastOffset and offsetDelta are of the last data batch, offsetDelta its last record's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.log.aborted_transactions import AbortedTransactions, transaction_marker
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    CONTROL,
    MAX_SEQUENCE,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    last_sequence,
)
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.control import ControlRecord, ControlType

REMEMBERED_BATCHES: Final = 5  # max.in.flight.requests.per.connection of an idempotent producer
NONE: Final = -1

_new: Final = tuple.__new__  # what AppendedBatch(...) does, at half its price
_VERSION: Final = 1
_PREFIX: Final = struct.Struct(">hI")
_COUNT: Final = struct.Struct(">i")
_ENTRY: Final = struct.Struct(">qhiqiqiq")


class AppendedBatch(NamedTuple):
    """One data batch of a producer in the log. `last_offset` is inclusive."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 else first + MAX_SEQUENCE + 1


class Producer:
    """The state of one producer id. `batches` has its last batches in this epoch, oldest first. Owned by its
    `ProducerStates`.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "transaction_first_offset")

    def __init__(
        self,
        epoch: int,
        coordinator_epoch: int,
        last_timestamp: int,
        transaction_first_offset: int,
        batches: tuple[AppendedBatch, ...],
    ) -> None:
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches = batches

    def copy(self) -> Producer:
        return Producer(
            self.epoch, self.coordinator_epoch, self.last_timestamp, self.transaction_first_offset, self.batches
        )


class ProducerStates:
    """The producers of one partition. Owned by its log.

    `appended` takes effect at once so that batches of one tick see each other; `written` makes the changes so far
    final, `roll_back` undoes everything since the last `written`. `aborted` has the aborted transactions.
    """

    __slots__ = ("_ending", "_open", "_producers", "_undo", "aborted")

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}  # producer id -> first offset of its open transaction
        self._ending: list[tuple[int, int]] = []  # (marker's offset, first offset) until readers may see the marker
        self._undo: dict[int, Producer | None] = {}
        self.aborted = AbortedTransactions()

    def __len__(self) -> int:
        return len(self._producers)

    def get(self, producer_id: int) -> Producer | None:
        return self._producers.get(producer_id)

    def producer_ids(self) -> list[int]:
        return sorted(self._producers)

    def check_append(
        self, header: BatchHeader, batch: bytes | bytearray | memoryview, *, trusted: bool
    ) -> ErrorCode | AppendedBatch | None:
        """Check a batch with a producer id before its append: with `check`, or with `check_marker` if it is a
        marker.

        Batches of the broker itself (`trusted`) are not checked by `check`.
        """
        if header.attributes & CONTROL:
            marker = transaction_marker(batch)
            return ErrorCode.NONE if marker is None else self.check_marker(header, marker.coordinator_epoch)
        return ErrorCode.NONE if trusted else self.check(header)

    def check(self, header: BatchHeader) -> ErrorCode | AppendedBatch | None:
        """Check a client's batch with a producer id before its append.

        Return NONE if it may be appended. Return None if it may, and its producer is new here; a new producer may
        start with any sequence, since its earlier records may have been deleted. Return an `AppendedBatch` if it
        repeats that one, among the last five. Errors: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
        INVALID_TXN_STATE (a batch outside the producer's open transaction).
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        first = header.base_sequence
        if header.producer_epoch != producer.epoch:
            if header.producer_epoch < producer.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
            if first != 0:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        else:
            latest = producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE
            if first != (latest + 1 if latest != MAX_SEQUENCE else 0):
                return _repeated(header, producer) or ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer.transaction_first_offset != NONE and not header.attributes & TRANSACTIONAL:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def may_come_again(self, header: BatchHeader, known: AppendedBatch) -> bool:
        """Return True if a batch may be appended again, because the earlier one (`known`, from `check`) was lost.

        That is so if no batch of its producer follows it, and its transaction, if any, is still open.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None or producer.batches[-1] is not known:
            return False
        return not header.attributes & TRANSACTIONAL or producer.transaction_first_offset != NONE

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Return True if the producer has an open transaction here, in this epoch."""
        producer = self._producers.get(producer_id)
        return producer is not None and producer.epoch == epoch and producer.transaction_first_offset != NONE

    def has_ended(self, producer_id: int, epoch: int) -> bool:
        producer = self._producers.get(producer_id)
        return producer is not None and producer.epoch == epoch and producer.transaction_first_offset == NONE

    def check_marker(self, header: BatchHeader, coordinator_epoch: int) -> ErrorCode:
        """Check a transaction marker before its append: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, or
        NONE.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return ErrorCode.NONE
        if header.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < producer.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def appended(
        self, header: BatchHeader, batch: bytes | bytearray | memoryview, base_offset: int, timestamp: int
    ) -> None:
        """Note a batch with a producer id, which was appended at `base_offset`, at `timestamp` (ms since the epoch)."""
        if not header.attributes & CONTROL:
            self.append(header, base_offset, timestamp)
            return
        marker = transaction_marker(batch)
        if marker is not None:
            self.end_transaction(header, base_offset, marker, timestamp)

    def append(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Note a data batch with a producer id, which was appended at `base_offset`, at `timestamp` (ms since the
        epoch).
        """
        producer_id = header.producer_id
        delta = header.last_offset_delta
        last = last_sequence(header.base_sequence, delta)
        batch = _new(AppendedBatch, (last, base_offset + delta, delta, timestamp))
        producer = self._producers.get(producer_id)
        if producer_id not in self._undo:
            self._undo[producer_id] = None if producer is None else producer.copy()
        if producer is None:
            producer = Producer(header.producer_epoch, NONE, timestamp, NONE, (batch,))
            self._producers[producer_id] = producer
        elif producer.epoch == header.producer_epoch:
            producer.batches = (*producer.batches[1 - REMEMBERED_BATCHES :], batch)
            producer.last_timestamp = timestamp
        else:
            producer.epoch = header.producer_epoch
            producer.batches = (batch,)
            producer.last_timestamp = timestamp
        if header.attributes & TRANSACTIONAL and producer.transaction_first_offset == NONE:
            producer.transaction_first_offset = self._open[producer_id] = base_offset

    def end_transaction(self, header: BatchHeader, offset: int, marker: ControlRecord, timestamp: int) -> None:
        """Note a transaction marker, which was appended at `offset`."""
        producer_id = header.producer_id
        producer = self._producers.get(producer_id)
        if producer_id not in self._undo:
            self._undo[producer_id] = None if producer is None else producer.copy()
        same = producer is not None and producer.epoch == header.producer_epoch
        batches = producer.batches if producer is not None and same else ()
        epoch = marker.coordinator_epoch
        self._producers[producer_id] = Producer(header.producer_epoch, epoch, timestamp, NONE, batches)
        first_offset = self._open.pop(producer_id, NONE)
        if first_offset == NONE:
            return  # a transaction without a record here
        self._ending.append((offset, first_offset))
        if marker.type is ControlType.ABORT:
            last_stable_offset = min(self._open.values(), default=offset + 1)
            self.aborted.add(AbortedTransaction(producer_id, first_offset, offset, last_stable_offset))

    def replay(self, header: BatchHeader, batch: Callable[[], bytes]) -> None:
        """Note a batch that is in the log already. `batch` returns its bytes, which are read only of a control
        batch.
        """
        self.appended(header, batch() if header.attributes & CONTROL else b"", header.base_offset, header.max_timestamp)

    def written(self) -> None:
        """Note that everything appended so far has been written to the file."""
        self._undo.clear()

    def roll_back(self, log_end_offset: int) -> None:
        """Undo the appends since `written`; the log ends at `log_end_offset` (exclusive) again."""
        for producer_id, producer in self._undo.items():
            self._open.pop(producer_id, None)
            if producer is None:
                self._producers.pop(producer_id, None)
                continue
            self._producers[producer_id] = producer
            if producer.transaction_first_offset != NONE:
                self._open[producer_id] = producer.transaction_first_offset
        self._ending = [ending for ending in self._ending if ending[0] < log_end_offset]
        self.aborted.truncate(log_end_offset)
        self._undo.clear()

    def first_unstable_offset(self, high_watermark: int) -> int:
        """Return the last stable offset: the start of the first transaction whose end is not visible, or the high
        watermark.
        """
        if not self._open and not self._ending:
            return high_watermark
        self._ending = [ending for ending in self._ending if ending[0] >= high_watermark]
        return min([high_watermark, *self._open.values(), *(first for _, first in self._ending)])

    def oldest_open_timestamp(self) -> int | None:
        """Return the time of the last append (ms since the epoch) by the producer with the oldest open transaction,
        or None.
        """
        if not self._open:
            return None
        return self._producers[min(self._open, key=self._open.__getitem__)].last_timestamp

    def remove_expired(self, now_wall_ms: int, expiration_ms: int) -> None:
        """Forget producers that were silent for `expiration_ms` and have no open transaction."""
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if now_wall_ms - producer.last_timestamp >= expiration_ms and producer_id not in self._open
        ]
        for producer_id in expired:
            del self._producers[producer_id]

    def forget_silent(self, producer_id: int, before_wall_ms: int) -> None:
        """Forget a producer, if it exists, that has no open transaction and has written nothing since
        `before_wall_ms`.
        """
        producer = self._producers.get(producer_id)
        if producer is not None and producer.last_timestamp < before_wall_ms and producer_id not in self._open:
            del self._producers[producer_id]

    def to_snapshot(self) -> bytes:
        """Return the content of a `.snapshot` file."""
        body = bytearray(_COUNT.pack(len(self._producers)))
        for producer_id, producer in self._producers.items():
            last = producer.batches[-1] if producer.batches else AppendedBatch(NO_SEQUENCE, NONE, 0, NONE)
            body += _ENTRY.pack(
                producer_id,
                producer.epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                producer.last_timestamp,
                producer.coordinator_epoch,
                producer.transaction_first_offset,
            )
        return _PREFIX.pack(_VERSION, crc32c(body)) + body

    @classmethod
    def from_snapshot(cls, data: bytes) -> ProducerStates | None:
        """Return the producers in a `.snapshot` file's content; None if the file is not valid."""
        if len(data) < _PREFIX.size + _COUNT.size:
            return None
        version, crc = _PREFIX.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, _PREFIX.size)
        entries = memoryview(data)[_PREFIX.size + _COUNT.size :]
        if version != _VERSION or crc32c(memoryview(data)[_PREFIX.size :]) != crc:
            return None
        if count * _ENTRY.size != len(entries):
            return None
        states = cls()
        for producer_id, epoch, sequence, offset, delta, time, coordinator_epoch, first in _ENTRY.iter_unpack(entries):
            batches = (AppendedBatch(sequence, offset, delta, time),) if offset >= 0 else ()
            states._producers[producer_id] = Producer(epoch, coordinator_epoch, time, first, batches)
            if first != NONE:
                states._open[producer_id] = first
        return states


def _repeated(header: BatchHeader, producer: Producer) -> AppendedBatch | None:
    """Return the batch in the log that this one repeats, or None."""
    delta = header.last_offset_delta
    last = last_sequence(header.base_sequence, delta)
    for batch in reversed(producer.batches):
        if batch.last_sequence == last and batch.offset_delta == delta:
            return batch
    return None
