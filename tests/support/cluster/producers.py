"""One partition's producer state: epochs, sequences, open and aborted transactions.

Written separately from `broker/log/producer_state.py`, because nodes depend on exactly these rules: a test that shares
their code finds nothing. The rules are those of Apache Kafka's ProducerStateManager and ProducerAppendInfo:

    an unknown producer                  accepted, whatever its sequence (it may have been forgotten)
    an older epoch                       INVALID_PRODUCER_EPOCH
    a newer epoch                        its first sequence is 0, or OUT_OF_ORDER_SEQUENCE_NUMBER
    one of the last five batches again   a duplicate: the answer has the first offset of the original
    anything but the next sequence       OUT_OF_ORDER_SEQUENCE_NUMBER
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader

REMEMBERED: Final = 5
LARGEST_SEQUENCE: Final = 2**31 - 1


class Appended(NamedTuple):
    """A batch of a producer in the log; ends are inclusive."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    timestamp: int


class Aborted(NamedTuple):
    """An aborted transaction in one partition; `last_offset` is its marker's."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Producer:
    """A producer id in one partition. `open_from`: the first offset of its open transaction.

    `heard_ms` is the timestamp of its newest batch: a producer of old timestamps is forgotten at the next check
    (ProducerAppendInfo.appendDataBatch, ProducerStateManager.isProducerExpired).
    """

    epoch: int
    heard_ms: int
    batches: list[Appended] = field(default_factory=list)
    open_from: int | None = None
    coordinator_epoch: int = -1


@dataclass(slots=True)
class Producers:
    """The producers of one partition, owned by its log. A truncated log replays its batches into new ones."""

    known: dict[int, Producer] = field(default_factory=dict)
    aborted: list[Aborted] = field(default_factory=list)
    ended: list[tuple[int, int]] = field(default_factory=list)
    """First offset and marker of each transaction that has ended: unstable until the marker may be read."""

    def check(self, header: BatchHeader) -> Appended | ErrorCode:
        """Return the batch if it is a duplicate, an error, or NONE for a batch to append."""
        producer = self.known.get(header.producer_id)
        if producer is None:
            return ErrorCode.NONE
        if header.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if header.producer_epoch > producer.epoch:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if header.base_sequence else self._fits(producer, header)
        for batch in producer.batches:
            if (batch.first_sequence, batch.last_sequence) == (header.base_sequence, header.last_sequence):
                return batch
        expected = _next(producer.batches[-1].last_sequence) if producer.batches else 0
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return self._fits(producer, header)

    @staticmethod
    def _fits(producer: Producer, header: BatchHeader) -> ErrorCode:
        inside = producer.open_from is not None and not header.is_transactional
        return ErrorCode.INVALID_TXN_STATE if inside else ErrorCode.NONE

    def append(self, header: BatchHeader) -> None:
        producer = self.known.get(header.producer_id)
        if producer is None:
            producer = self.known[header.producer_id] = Producer(header.producer_epoch, header.max_timestamp)
        if producer.epoch != header.producer_epoch:
            producer.epoch, producer.batches = header.producer_epoch, []
        producer.heard_ms = header.max_timestamp
        producer.batches = [
            *producer.batches[1 - REMEMBERED :],
            Appended(header.base_sequence, header.last_sequence, header.base_offset, header.max_timestamp),
        ]
        if header.is_transactional and producer.open_from is None:
            producer.open_from = header.base_offset

    def end(self, header: BatchHeader, *, commit: bool, coordinator_epoch: int) -> None:
        producer = self.known.setdefault(header.producer_id, Producer(header.producer_epoch, header.max_timestamp))
        if producer.epoch != header.producer_epoch:
            producer.epoch, producer.batches = header.producer_epoch, []
        producer.heard_ms, producer.coordinator_epoch = header.max_timestamp, coordinator_epoch
        if producer.open_from is not None:
            self.ended.append((producer.open_from, header.base_offset))
            if not commit:
                self.aborted.append(Aborted(header.producer_id, producer.open_from, header.base_offset))
                self.aborted.sort(key=lambda each: each.last_offset)
            producer.open_from = None

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the start of the first transaction whose end is not yet readable, or the high watermark."""
        self.ended = [each for each in self.ended if each[1] >= high_watermark]
        under_way = [each.open_from for each in self.known.values() if each.open_from is not None]
        return min([high_watermark, *under_way, *(first for first, _ in self.ended)])

    def forget(self, producer_ids: Collection[int], end: int) -> None:
        """Forget producers and their aborted transactions, and every transaction end at or after `end`."""
        self.known = {each: producer for each, producer in self.known.items() if each not in producer_ids}
        self.aborted = [each for each in self.aborted if each.producer_id not in producer_ids]
        self.ended = [each for each in self.ended if each[1] < end]

    def expire(self, now_ms: int, after_ms: int) -> None:
        for producer_id, producer in list(self.known.items()):
            if producer.open_from is None and now_ms - producer.heard_ms >= after_ms:
                del self.known[producer_id]


def _next(sequence: int) -> int:
    return 0 if sequence == LARGEST_SEQUENCE else sequence + 1
