"""One batch in the cleaner: unchanged, with fewer records, empty, or removed. Pure.

A batch that loses all its records stays as an empty one if it has the last sequence of its producer, which continues
from there (Apache Kafka: Cleaner.cleanInto). The first pass that meets a tombstone, or a marker that is no longer
needed, sets its delete horizon; the first pass after that time removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, NamedTuple, TypeVar, cast

from shareq.broker.log.cleaner.survivors import Newest, Took
from shareq.broker.log.cleaner.transactions import TransactionTrace
from shareq.protocol.records.batch import NO_PRODUCER_ID, BatchHeader
from shareq.protocol.records.compression import TooLargeToOpen
from shareq.protocol.records.retain import (
    OPENED_AT_ONCE,
    SLICE_RECORDS,
    KeptRecords,
    emptied,
    open_batch,
    open_in_steps,
    retained,
)

T = TypeVar("T")

_LATEST: Final = 2**63 - 1


async def paced(steps: Generator[int, None, T], took: Took) -> T:
    """Return the result of `steps`. The number of records of each step is reported to `took`, which may pause."""
    while True:
        try:
            records = next(steps)
        except StopIteration as end:
            return cast(T, end.value)
        await took(records)


class Cleaned(NamedTuple):
    """The outcome for a batch: its new bytes (None if it is dropped), and the number of records removed."""

    batch: bytes | bytearray | None
    removed: int


class BatchCleaner:
    """The cleaning of batches in one pass, from the log's start on. `newest` must be complete; each batch is added
    to `trace`.

    `is_last_of_producer` returns True if a batch has its producer's last sequence or, if the producer has none, its
    epoch. `now_ms` is the wall-clock time of the pass, `retention_ms` the topic's delete.retention.ms.
    """

    __slots__ = ("_horizon_ms", "_is_last_of_producer", "_newest", "_now_ms", "trace")

    def __init__(
        self,
        newest: Newest,
        trace: TransactionTrace,
        is_last_of_producer: Callable[[BatchHeader], bool],
        now_ms: int,
        retention_ms: int,
    ) -> None:
        self._newest = newest
        self._is_last_of_producer = is_last_of_producer
        self._now_ms = now_ms
        self._horizon_ms = min(now_ms + retention_ms, _LATEST)
        self.trace = trace

    async def clean(self, header: BatchHeader, batch: bytes, took: Took) -> Cleaned:
        """Return the cleaned form of one batch. `took` counts its records if the batch is large.

        Raise `MalformedMessage` if its records cannot be read.
        """
        if header.is_control:
            return self._clean_control(header, batch)
        aborted = self.trace.is_aborted(header)
        if header.base_offset >= self._newest.end_offset:
            return Cleaned(batch, 0)
        if aborted:
            return self._without_records(header, batch)
        if header.records_count > SLICE_RECORDS:
            return await self._clean_in_slices(header, batch, took)
        try:
            opened = open_batch(batch, OPENED_AT_ONCE)
        except TooLargeToOpen:
            return await self._clean_in_slices(header, batch, took)
        newest = self._newest
        over = self._is_over(header)
        kept = [record for record in opened.records if newest.keeps(record, over)]
        if not kept:
            return self._without_records(header, batch)
        removed = len(opened.records) - len(kept)
        horizon = None
        if not header.has_delete_horizon and any(newest.is_end(record) for record in kept):
            horizon = self._horizon_ms
        if not removed and horizon is None:
            return Cleaned(batch, 0)
        return Cleaned(retained(opened, kept, horizon), removed)

    async def _clean_in_slices(self, header: BatchHeader, batch: bytes, took: Took) -> Cleaned:
        """Return the cleaned form of a large batch."""
        opened, slices = await paced(open_in_steps(batch), took)
        newest = self._newest
        over = self._is_over(header)
        kept = KeptRecords(opened)
        horizon = None
        for records in slices:
            some = [record for record in records if newest.keeps(record, over)]
            if horizon is None and not header.has_delete_horizon and any(newest.is_end(record) for record in some):
                horizon = self._horizon_ms
            kept.add(some)
            await took(len(records))
        if not kept.count:
            return self._without_records(header, batch)
        removed = header.records_count - kept.count
        if not removed and horizon is None:
            return Cleaned(batch, 0)
        return Cleaned(await paced(kept.written(horizon), took), removed)

    def _clean_control(self, header: BatchHeader, batch: bytes) -> Cleaned:
        outlived = self.trace.is_outlived(header, batch)
        if header.base_offset >= self._newest.end_offset or not outlived:
            return Cleaned(batch, 0)
        if not header.records_count or self._is_over(header):
            is_last = self._is_last_of_producer(header)  # then only this batch has the producer's epoch
            return Cleaned(batch if is_last else None, 0 if is_last else header.records_count)
        if header.has_delete_horizon:
            return Cleaned(batch, 0)
        opened = open_batch(batch)
        return Cleaned(retained(opened, opened.records, self._horizon_ms), 0)

    def _without_records(self, header: BatchHeader, batch: bytes) -> Cleaned:
        if header.producer_id == NO_PRODUCER_ID or not self._is_last_of_producer(header):
            return Cleaned(None, header.records_count)
        return Cleaned(emptied(header) if header.records_count else batch, header.records_count)

    def _is_over(self, header: BatchHeader) -> bool:
        return header.has_delete_horizon and header.base_timestamp <= self._now_ms
