"""Logs in memory that coordinators write and load, and that transactions and fetches read.

Nothing is durable until the test says so: `MemoryLogs.flush` for all logs, `make_durable` and `lose` for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import AppendInfo, Batch, Ends, OnDurable, Origin, Traffic
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.segments.reader import BatchSpan, Found, ReadResult
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.log.settings import LogSettings
from shareq.broker.topics.leaders import LeaderMap
from shareq.broker.topics.lookup import PartitionLookup
from shareq.broker.topics.ports import NOT_HERE_YET, NotHereYet
from shareq.coordinator.ports import MetadataImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    Record,
    RecordData,
    build_batch,
    decode_records,
    read_header,
    stamp,
    validate_batch,
)

T = TypeVar("T")


class _Queued(NamedTuple):
    end_offset: int
    on_durable: OnDurable | None


class MemoryBatches:
    """Batches by offset. `unreadable` are ranges (end exclusive) that cannot be read."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.end_offset = 0
        self.unreadable: list[tuple[int, int]] = []

    def add(self, batch: Batch, base_offset: int | None = None) -> BatchHeader:
        """Append a batch, or add it after a gap, and return its header as stored."""
        assert isinstance(validate_batch(bytes(batch)), BatchHeader), "only sound batches are appended"
        stored = bytearray(batch)
        base = self.end_offset if base_offset is None else base_offset
        assert base >= self.end_offset
        stamp(stored, base, 0)
        self.batches.append(bytes(stored))
        header = read_header(stored)
        self.end_offset = header.next_offset
        return header

    def truncate(self, end_offset: int) -> None:
        self.batches = [each for each in self.batches if read_header(each).base_offset < end_offset]
        self.end_offset = end_offset

    def read(
        self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True, max_records: int | None = None
    ) -> ReadResult | ErrorCode:
        """Return whole batches below `upto`, from the one that contains `offset`."""
        if not 0 <= offset <= self.end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if self.unreadable_range(offset) is not None:
            return ErrorCode.CORRUPT_MESSAGE
        data, spans = b"", list[BatchSpan]()
        for batch in self.batches:
            header = read_header(batch)
            if header.next_offset <= offset:
                continue
            first = min_one_batch and not spans
            enough = max_records is not None and spans and header.base_offset >= offset + max_records
            if header.next_offset > upto or enough or (len(data) + len(batch) > max_bytes and not first):
                break
            if self.unreadable_range(header.base_offset) is not None:
                break
            span = BatchSpan(
                header.base_offset,
                header.last_offset,
                len(data),
                len(batch),
                header.attributes,
                header.producer_id,
            )
            spans.append(span)
            data += batch
        return ReadResult(data, spans)

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        return next((each for each in self.unreadable if each[0] <= offset < each[1]), None)

    def next_header(self, offset: int) -> BatchHeader | None:
        headers = map(read_header, self.batches)
        return next((header for header in headers if header.next_offset > offset), None)

    def size_between(self, offset: int, upto: int) -> int:
        """Return the size in bytes of the batches from the one that contains `offset` up to `upto` (exclusive)."""
        headers = [read_header(batch) for batch in self.batches]
        return sum(header.size for header in headers if header.next_offset > offset and header.next_offset <= upto)


class MemoryLog:
    """A `CoordinatorLog`, `TransactionLog` and `FetchedLog`. Ends are exclusive.

    `refuse` is the error of appends, `unreadable_with` what every read returns or raises; `written` the origins of the
    appends.
    """

    def __init__(
        self, topic: str, partition: int, topic_id: bytes, waiting: list[Callable[[], None]] | None = None
    ) -> None:
        """Start an empty log; `waiting` receives the callbacks given to `before_append`."""
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.waiting: list[Callable[[], None]] = [] if waiting is None else waiting
        self.leader_epoch = 0
        self.log_start_offset = 0
        self.high_watermark = 0
        self.settings = LogSettings()
        self.producers = ProducerStates()
        self.traffic = Traffic()
        self.contents = MemoryBatches()
        self.refuse = ErrorCode.NONE
        self.unreadable_with: ErrorCode | OSError | None = None
        self.missing_from: int | None = None
        self.appends: list[bytes] = []
        self._queued: list[_Queued] = []

    @property
    def log_end_offset(self) -> int:
        return self.contents.end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.producers.first_unstable_offset(self.high_watermark)

    @property
    def max_message_bytes(self) -> int:
        return self.settings.max_message_bytes

    def before_append(self, callback: Callable[[], None]) -> None:
        assert callback not in self.waiting, "asked twice for one append"
        self.waiting.append(callback)

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode:
        assert now_wall_ms > 0
        assert origin is Origin.COORDINATOR or self.topic[:2] != "__", "clients do not write here"
        if self.refuse:
            return self.refuse
        header = self.contents.add(batch)
        assert header.max_timestamp == now_wall_ms
        self.appends.append(bytes(batch))
        if header.producer_id != NO_PRODUCER_ID:
            error = self.producers.check_append(header, batch, trusted=origin is Origin.COORDINATOR)
            if isinstance(error, ErrorCode) and error:
                self.contents.truncate(header.base_offset)
                return error
            self.producers.appended(header, batch, header.base_offset, now_wall_ms)
        self._queued.append(_Queued(header.next_offset, on_durable))
        return AppendInfo(header.base_offset, header.last_offset, -1, self.log_start_offset, False)

    def fill(self, *values: bytes, producer_id: int = -1, epoch: int = -1) -> None:
        """Append one durable batch, in a producer's transaction if one is given."""
        transactional = producer_id >= 0
        batch = build_batch(
            [RecordData(b"k", value) for value in values],
            timestamp_ms=1_000,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0 if transactional else -1,
            transactional=transactional,
        )
        header = self.contents.add(batch)
        if transactional:
            self.producers.append(header, header.base_offset, 1_000)
        self.high_watermark = header.next_offset

    @property
    def queued(self) -> int:
        return len(self._queued)

    def make_durable(self, count: int | None = None) -> int:
        done, self._queued = self._queued[:count], self._queued[len(self._queued[:count]) :]
        for queued in done:
            self.high_watermark = queued.end_offset
            if queued.on_durable is not None:
                queued.on_durable(ErrorCode.NONE)
        return len(done)

    def lose(self, error: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        lost, self._queued = self._queued, []
        self.contents.truncate(self.high_watermark)
        self.producers.roll_back(self.high_watermark)
        for queued in lost:
            if queued.on_durable is not None:
                queued.on_durable(error)

    def read(self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True) -> ReadResult | ErrorCode:
        assert upto <= self.high_watermark, "only what is durable is read"
        if self.missing_from is not None and offset >= self.missing_from:
            return NOT_HERE_YET  # type: ignore[return-value]  # a `FetchedLog` may, a `CoordinatorLog` never does
        if isinstance(self.unreadable_with, OSError):
            raise self.unreadable_with
        if self.unreadable_with is not None:
            return self.unreadable_with
        return self.contents.read(offset, max_bytes, upto=upto, min_one_batch=min_one_batch)

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        return self.contents.unreadable_range(offset)

    def next_header(self, offset: int) -> BatchHeader | None:
        if isinstance(self.unreadable_with, OSError):
            raise self.unreadable_with
        return self.contents.next_header(offset)

    def available_bytes(self, offset: int, upto: int) -> int:
        return self.contents.size_between(offset, upto)

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        return self.producers.aborted.overlapping(first_offset, upper_bound)

    def records(self) -> list[Record]:
        return [record for batch in self.contents.batches for record in decode_records(batch)]


class MemoryLogs:
    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata
        self._logs: dict[tuple[str, int], MemoryLog] = {}
        self._before_append: list[Callable[[], None]] = []

    def get(self, topic: str, partition: int) -> MemoryLog:
        image = self._metadata.topic(topic)
        assert image is not None, f"{topic} does not exist"
        assert 0 <= partition < image.partitions
        found = self._logs.get((topic, partition))
        if found is None or found.topic_id != image.topic_id:
            found = self._logs[topic, partition] = MemoryLog(topic, partition, image.topic_id, self._before_append)
        return found

    def forget(self, topic: str, partition: int) -> None:
        del self._logs[topic, partition]

    def collect(self) -> None:
        callbacks = self._before_append.copy()
        self._before_append.clear()
        for callback in callbacks:
            callback()

    def flush(self) -> int:
        """End ticks until nothing is left to write; return the number of appends that became durable."""
        durable, more = 0, True
        while more:
            self.collect()
            done = sum(log.make_durable() for log in list(self._logs.values()))
            durable += done
            more = bool(done or self._before_append)
        return durable

    def lose_all(self, error: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        self.collect()
        for log in list(self._logs.values()):
            log.lose(error)

    def lookup(self, leaders: LeaderMap | None = None) -> PartitionLookup[MemoryLog]:
        return PartitionLookup(self._metadata, self, leaders or LeaderMap())


class MemorySource:
    """A `RecordSource` of one partition. Reads from `missing_from` on return NOT_HERE_YET.

    With `holds`, ends and offsets by time wait for `answer`. `asked` are the offsets read so far; `refusal` is the
    error of reads.
    """

    def __init__(self, topic: str, partition: int, topic_id: bytes) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.leader_epoch = 3
        self.log_start_offset = 0
        self.refusal = ErrorCode.NONE
        self.traffic = Traffic()
        self.contents = MemoryBatches()
        self.missing_from: int | None = None
        self.segment_ends: tuple[int, ...] = ()
        self.unstable_from: int | None = None
        self.aborted: list[AbortedTransaction] = []
        self.times: dict[int, int] = {}  # offset by timestamp
        self.asked: list[tuple[int, int, int, int | None]] = []
        self.holds = False
        self._held: list[Callable[[ErrorCode], None]] = []

    @property
    def high_watermark(self) -> int:
        return self.contents.end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark if self.unstable_from is None else self.unstable_from

    def fill(self, *values: bytes, base_offset: int | None = None) -> None:
        batch = build_batch([RecordData(None, value) for value in values], timestamp_ms=1_000)
        self.contents.add(batch, base_offset)

    def read(
        self, offset: int, max_bytes: int, *, upto: int, max_records: int | None = None
    ) -> ReadResult | ErrorCode | NotHereYet:
        assert upto <= self.high_watermark
        assert max_bytes >= 0
        self.asked.append((offset, max_bytes, upto, max_records))
        if self.refusal:
            return self.refusal
        if not self.log_start_offset <= offset <= self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if self.missing_from is not None and offset >= self.missing_from:
            return NOT_HERE_YET
        upto = upto if self.missing_from is None else min(upto, self.missing_from)
        return self.contents.read(offset, max_bytes, upto=upto, max_records=max_records)

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        return self.contents.unreadable_range(offset)

    def available_bytes(self, offset: int, upto: int) -> int:
        return self.contents.size_between(offset, upto)

    def in_one_segment(self, offset: int, upto: int) -> bool:
        return not any(offset < end < upto for end in self.segment_ends)

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        assert first_offset < upper_bound
        return [each for each in self.aborted if each.last_offset >= first_offset and each.first_offset < upper_bound]

    def ends(self) -> Ends | Pending[Ends | ErrorCode]:
        return self._answered(lambda: Ends(self.log_start_offset, self.high_watermark))

    def offset_for_timestamp(self, timestamp_ms: int) -> Found | Pending[Found | ErrorCode | None] | None:
        at = min((time for time in self.times if time >= timestamp_ms), default=None)
        return self._answered(lambda: None if at is None else Found(at, self.times[at]))

    def answer(self, error: ErrorCode = ErrorCode.NONE) -> None:
        due, self._held = self._held, []
        for each in due:
            each(error)

    def _answered(self, value: Callable[[], T]) -> T | Pending[T | ErrorCode]:
        if not self.holds:
            return value()
        pending: Pending[T | ErrorCode] = Pending()
        self._held.append(lambda error: pending.complete(error or value()))
        return pending


class MemorySources:
    believes_absence = True

    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata
        self._sources: dict[tuple[str, int], MemorySource] = {}

    def get(self, topic: str, partition: int) -> MemorySource:
        image = self._metadata.topic(topic)
        assert image is not None, f"{topic} does not exist"
        assert 0 <= partition < image.partitions
        return self._sources.setdefault((topic, partition), MemorySource(topic, partition, image.topic_id))
