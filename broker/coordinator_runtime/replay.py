"""Loading of a coordinator's log: every record that can be read is replayed, and nothing in the log stops the load.

A record is replayed if the CRC of its batch is right, if this release knows its type and version, and if it is valid
by itself (`RecordSerde.decode`) and after the records before it (`replay`). Anything else is skipped, with a line in
the broker's log: damaged bytes, batches that cannot be decompressed, records without a key, records that no
coordinator writes. (Apache Kafka skips records of unknown types and gives the partition up for the others.) It is
not checked that the coordinator wrote a record: clients cannot write to these topics, but could in earlier releases.
If records are missing, the shard makes its state consistent (`on_loaded`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from shareq.broker.coordinator_runtime.batches import LOAD_BUFFER_BYTES
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER, CoordinatorLog, Read
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK, Breathe
from shareq.broker.log.aborted_transactions import transaction_marker
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.coordinator.shard import (
    CoordinatorRecord,
    CoordinatorShard,
    InconsistentRecords,
    RecordSerde,
    TransactionalShard,
)
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.records.batch import NO_PRODUCER_ID, BatchHeader, Record, decode_records, read_header
from shareq.protocol.records.control import ControlType

logger = logging.getLogger(__name__)

ShardT = TypeVar("ShardT", bound=CoordinatorShard)

LARGEST_BATCH_BYTES: Final = 256 * 1024 * 1024
"""The size above which a batch is skipped, compressed or not. Earlier releases wrote batches of clients of up to 100
MiB.
"""

ELEMENT_BYTES: Final = 512
"""The bytes of a value that count as one element of the turn's budget. Each record counts as one more."""

MOST_READ_BYTES: Final = 256 * 1024
"""The most bytes read at a time, if no batch is larger. A read makes the spans of all its batches before the first
is replayed; for 5 MB of small batches that took 50 ms.
"""

MOST_LINES: Final = 10
"""The most log lines of one load about what it skipped; further ones are counted."""


class CoordinatorLoadError(Exception):
    """Error: a coordinator's log cannot be read at all now. The text names the topic, the partition and the offset."""

    def __init__(self, message: str, *, log_is_over: bool = False) -> None:
        super().__init__(message)
        self.log_is_over = log_is_over


class Loaded(NamedTuple):
    """The result of a load: the number of records replayed, and of places skipped, each of which is a record or a
    range of records.
    """

    records: int
    skipped: int


async def replay_log(
    log: CoordinatorLog,
    shard: CoordinatorShard,
    serde: RecordSerde,
    breathe: Breathe,
    load_buffer_bytes: int = LOAD_BUFFER_BYTES,
) -> Loaded:
    """Replay every readable record of the log into the shard, including records that become durable during the replay.

    Read `load_buffer_bytes` at a time, at most `MOST_READ_BYTES`; a larger batch is read by itself, up to
    `LARGEST_BATCH_BYTES`. Raise CoordinatorLoadError if a read of the log is refused.
    """
    return await _Load(log, shard, serde, breathe, load_buffer_bytes).run()


def replay_one(shard: CoordinatorShard, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
    """Replay a record, during operation or at a load.

    `producer_id`: the producer of the transaction that the record is part of, or NO_PRODUCER_ID. Raise
    InconsistentRecords.
    """
    if producer_id == NO_PRODUCER_ID:
        shard.replay(record, offset)
        return
    # A TransactionalShard. An `isinstance` check for each record would take longer than the rest of its replay.
    replay: Callable[[CoordinatorRecord, int, int], None] | None = getattr(shard, "replay_transactional", None)
    if replay is None:
        raise InconsistentRecords(f"a transaction in the log of a {type(shard).__name__}, which knows of none")
    replay(record, offset, producer_id)


class _Load(Generic[ShardT]):
    """One load of one log."""

    def __init__(
        self, log: CoordinatorLog, shard: ShardT, serde: RecordSerde, breathe: Breathe, buffer_bytes: int
    ) -> None:
        self._log = log
        self._shard = shard
        self._serde = serde
        self._breathe = breathe
        self._buffer_bytes = min(buffer_bytes, MOST_READ_BYTES)
        self._elements = 0  # since the last breath
        self._replayed = 0
        self._skipped = 0

    async def run(self) -> Loaded:
        offset = self._log.log_start_offset
        while offset < self._end:
            offset = await self._read_on(offset)
        if self._skipped > MOST_LINES:
            logger.error(
                "%s: %d more records or ranges were skipped while loading", self._name, self._skipped - MOST_LINES
            )
        return Loaded(self._replayed, self._skipped)

    @property
    def _end(self) -> int:
        return self._log.high_watermark

    @property
    def _name(self) -> str:
        return f"{self._log.topic}-{self._log.partition}"

    def _skip(self, first: int, end: int, why: object, *, level: int = logging.ERROR) -> None:
        """Count a skip of the offsets `first` to `end` (exclusive), and log `MOST_LINES` of them."""
        self._skipped += 1
        if self._skipped > MOST_LINES:
            return
        if end == first + 1:
            logger.log(level, "%s: record at offset %d skipped: %s", self._name, first, why)
        else:
            logger.log(level, "%s: offsets %d to %d skipped: %s", self._name, first, end - 1, why)

    # -- batches

    async def _read_on(self, offset: int) -> int:
        """Replay some batches starting at `offset`; return the offset at which to continue."""
        read = await self._read(offset, min_one_batch=False)
        if not isinstance(read, ErrorCode) and not read.batches:
            header = self._next_header(offset)
            if header is not None and header.size > LARGEST_BATCH_BYTES:
                end = min(max(header.last_offset, offset) + 1, self._end)
                self._skip(offset, end, f"a batch of {header.size} bytes")
                return end
            read = await self._read(offset)
        if read is ErrorCode.CORRUPT_MESSAGE:
            lost = self._log.unreadable_range(offset)
            end = offset + 1 if lost is None else min(max(lost[1], offset + 1), self._end)
            self._skip(offset, end, "damaged")
            return end
        if isinstance(read, ErrorCode):
            message = f"{self._name}: reading offset {offset} gave {read.name}"
            raise CoordinatorLoadError(message, log_is_over=read is LOG_IS_OVER)
        return await self._replay_batches(read) or self._end

    async def _read(self, offset: int, *, min_one_batch: bool = True) -> Read:
        while True:
            read = self._log.read(offset, self._buffer_bytes, upto=self._end, min_one_batch=min_one_batch)
            if not isinstance(read, BeingRead):
                return await read if isinstance(read, Pending) else read
            await read.arrived

    def _next_header(self, offset: int) -> BatchHeader | None:
        try:
            return self._log.next_header(offset)
        except OSError as error:
            raise CoordinatorLoadError(f"{self._name}: reading offset {offset}: {error}") from error

    async def _replay_batches(self, read: ReadResult) -> int:
        """Replay the batches; return the offset behind them, 0 if there are none."""
        end = 0
        for span in read.batches:
            data = read.records[span.position : span.position + span.size]
            end = span.last_offset + 1
            try:
                await self._replay_batch(data, is_control=span.is_control)
            except MalformedMessage as error:
                self._skip(span.base_offset, end, error)
        return end

    async def _replay_batch(self, data: bytes | memoryview, *, is_control: bool) -> None:
        if is_control:
            _replay_marker(data, self._shard)
            return
        header = read_header(data)
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        elements = self._elements
        for record in decode_records(data, LARGEST_BATCH_BYTES):
            self._replay_record(record, producer_id)
            elements += 1 + len(record.value or b"") // ELEMENT_BYTES
            if elements >= LOOK:
                await self._breathe(elements)
                elements = 0
        self._elements = elements

    # -- records

    def _replay_record(self, record: Record, producer_id: int) -> None:
        offset = record.offset
        if record.key is None:
            self._skip(offset, offset + 1, "it has no key")
            return
        try:
            decoded = self._serde.decode(record.key, record.value)
            if decoded is None:  # of a later release, or left by one
                self._skip(offset, offset + 1, "record of an unknown type", level=logging.WARNING)
                return
            replay_one(self._shard, decoded, offset, producer_id)
        except (MalformedMessage, InconsistentRecords) as error:
            self._skip(offset, offset + 1, error)
        except Exception as error:  # our own fault: other groups and states must not be lost because of it
            logger.exception("%s: record at offset %d", self._name, offset)
            self._skip(offset, offset + 1, repr(error))
        else:
            self._replayed += 1


def _replay_marker(data: bytes | memoryview, shard: CoordinatorShard) -> None:
    """End a transaction; ignore other control batches, and markers whose record compaction has removed."""
    marker = transaction_marker(data)
    if marker is not None and isinstance(shard, TransactionalShard):
        shard.end_transaction(read_header(data).producer_id, commit=marker.type is ControlType.COMMIT)
