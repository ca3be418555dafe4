"""Records that wait to be sent, gathered into batches by partition. Pure: times are the caller's, in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.client.errors import ClientError
from shareq.protocol.records.batch import Compression, build_batch
from shareq.protocol.records.record_codec import RecordData, header_key

OVERHEAD: Final = 32
"""More bytes than a record takes besides key, value and headers."""
_LAST_SEQUENCE: Final = (1 << 31) - 1
_LAST_TIME: Final = (1 << 63) - 1
_BYTES: Final = (bytes, bytearray, memoryview)


class Appended(NamedTuple):
    """The place of a record. `offset` is -1 if the broker does not say: it had the batch already.

    `timestamp` in ms since the epoch: the record's own, or the time of the append if the topic is set so.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int


Outcome = Callable[[int, int, ClientError | None], None]
"""Offset (-1: not known), append time (ms, -1: the record's own) and None, or the error with -1 and -1. Called once."""


class Batch:
    """Records of one partition that go together. `encoded` is made once, so that a retry is the same bytes."""

    __slots__ = ("began", "encoded", "outcomes", "producer", "records", "sequence", "size")

    def __init__(self, began: float) -> None:
        self.began = began
        self.size = 0
        self.records: list[RecordData] = []
        self.outcomes: list[Outcome] = []
        self.encoded: bytes | None = None
        self.producer = (-1, -1)
        self.sequence = -1

    def add(self, record: RecordData, size: int, outcome: Outcome) -> None:
        self.records.append(record)
        self.outcomes.append(outcome)
        self.size += size

    def appended(self, base_offset: int, append_time_ms: int) -> None:
        """Note that all records are in the log from `base_offset` on; -1: at unknown offsets."""
        for at, outcome in enumerate(self.outcomes):
            outcome(base_offset + at if base_offset >= 0 else -1, append_time_ms, None)

    def failed(self, error: ClientError) -> None:
        for outcome in self.outcomes:
            outcome(-1, -1, error)

    def halves(self) -> tuple[Batch, Batch]:
        """Return two batches of at least one record each, not encoded."""
        middle = len(self.records) // 2
        found = Batch(self.began), Batch(self.began)
        for half, part in zip(found, (slice(0, middle), slice(middle, None)), strict=True):
            half.records, half.outcomes = self.records[part], self.outcomes[part]
            half.size = sum(size_of(record) for record in half.records)
        return found


class Lane:
    """One partition's batches, in the order of their records; the first may have been sent."""

    __slots__ = ("_next_sequence", "_producer", "batches", "partition", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self._producer = (-1, -1)
        self._next_sequence = 0

    def add(self, record: RecordData, size: int, outcome: Outcome, now: float, batch_bytes: int) -> bool:
        """Put a record into the last batch, or a new one. Returns whether a batch before it is full now."""
        last = self.batches[-1] if self.batches else None
        full = last is None or last.encoded is not None or last.size + size > batch_bytes
        if full:
            last = Batch(now)
            self.batches.append(last)
        assert last is not None
        last.add(record, size, outcome)
        return full and len(self.batches) > 1

    def encode(
        self,
        batch: Batch,
        producer: tuple[int, int],
        compression: Compression,
        now_ms: int,
        *,
        transactional: bool = False,
    ) -> bytes:
        """Return the bytes of the first batch, the same at each retry. `producer`: id and epoch, (-1, -1) without
        idempotence.
        """
        if batch.encoded is None:
            if producer != self._producer:
                self._producer, self._next_sequence = producer, 0
            batch.producer = producer
            batch.sequence = self._next_sequence if producer[0] >= 0 else -1
            batch.encoded = bytes(
                build_batch(
                    batch.records,
                    timestamp_ms=now_ms,
                    producer_id=producer[0],
                    producer_epoch=producer[1],
                    base_sequence=batch.sequence,
                    compression=compression,
                    transactional=transactional,
                )
            )
            if producer[0] >= 0:
                self._next_sequence = (batch.sequence + len(batch.records)) & _LAST_SEQUENCE
        return batch.encoded

    def split(self, batch: Batch) -> None:
        """Replace the first batch, which was refused as a whole, by two halves with the same sequences."""
        assert self.batches[0] is batch
        self.batches.popleft()
        if batch.producer == self._producer and batch.sequence >= 0:
            self._next_sequence = batch.sequence
        self.batches.extendleft(reversed(batch.halves()))


def check(record: RecordData) -> None:
    """Raise TypeError or ValueError for a record that cannot be written: in a batch it would fail the others, too."""
    for what, part in (("key", record.key), ("value", record.value), *record.headers):
        if part is not None and not isinstance(part, _BYTES):
            raise TypeError(f"{what} is {type(part).__name__}: must be bytes or None")
    for name, _ in record.headers:
        header_key(name)
    if record.timestamp_ms is not None and not -1 <= record.timestamp_ms <= _LAST_TIME:
        raise ValueError(f"timestamp_ms is {record.timestamp_ms}: must be from -1 to {_LAST_TIME}")


def size_of(record: RecordData) -> int:
    """Return at least the record's size in a batch that is not compressed."""
    size = OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 10 + 4 * len(name) + len(value or b"")
    return size
