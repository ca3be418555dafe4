"""Limits of the batches that a coordinator appends, so that everything appended can be loaded again.

An operation's records go into one batch of at most the topic's `max.message.bytes`, compressed as they are stored
(Apache Kafka: CoordinatorRuntime). An operation with more records fails, and no other one does. Readers of the log
accept at most `MAX_DECOMPRESSED_BYTES` of records in a batch, which limits a larger property.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from shareq.coordinator.shard import CoordinatorRecord, RecordSerde, Steps
from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch
from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, Compression

MAX_BATCH_BYTES: Final = 900_000  # operations that share a batch; below the 1 MiB that readers of such topics expect
RECORD_OVERHEAD: Final = 32  # varints and deltas around one key and value, rounded up
LOAD_BUFFER_BYTES: Final = 5_242_880  # the default of share.coordinator.load.buffer.size

MOST_BYTES_TO_COMPRESS: Final = 16 * 1024 * 1024
"""Records larger than both this and a batch are refused without compressing them, which would delay all other
requests.
"""


class CoordinatorLogSettings(NamedTuple):
    """Settings for a coordinator's topic: the codec of its batches, the bytes loaded at a time, and a batch size
    that is allowed even if it exceeds the topic's `max.message.bytes`.

    The properties are read once, at the start.
    """

    compression: Compression = Compression.NONE
    load_buffer_bytes: int = LOAD_BUFFER_BYTES
    least_max_batch_bytes: int = 0


class BatchLimit(NamedTuple):
    """The limit of one batch. `max_bytes` counts bytes as stored, including the header."""

    max_bytes: int
    compression: Compression

    @classmethod
    def of(cls, settings: CoordinatorLogSettings, max_message_bytes: int) -> BatchLimit:
        """Return the limit for the topic's present `max.message.bytes`."""
        wanted = max(max_message_bytes, settings.least_max_batch_bytes)
        return cls(min(wanted, MAX_DECOMPRESSED_BYTES), settings.compression)

    @property
    def shared_bytes(self) -> int:
        """The size, by `encoded_bytes`, up to which operations share a batch."""
        return min(MAX_BATCH_BYTES, self.max_bytes - HEADER_SIZE)

    @property
    def most_bytes(self) -> int:
        """The most bytes of keys and values; more are refused, even if they could be compressed to less."""
        compressed = self.compression is not Compression.NONE
        return max(MOST_BYTES_TO_COMPRESS, self.max_bytes) if compressed else self.max_bytes

    def takes(self, records: Sequence[RecordData], size: int | None = None) -> bool:
        """Return True if the records fit into one batch. `size` is their `encoded_bytes`, if known."""
        most = encoded_bytes(records) if size is None else size
        if most + HEADER_SIZE <= self.max_bytes:
            return True
        least = most - RECORD_OVERHEAD * len(records)
        if least > self.most_bytes:
            return False
        return len(build_batch(records, timestamp_ms=0, compression=self.compression)) <= self.max_bytes


class LogBatchRoom:
    """A `LogRoom` of one coordinator's topic. `limit` returns the present limit."""

    def __init__(self, serde: RecordSerde, limit: Callable[[], BatchLimit]) -> None:
        self._serde = serde
        self._limit = limit

    def room_bytes(self) -> int:
        return self._limit().shared_bytes

    def most_bytes(self) -> int:
        return self._limit().most_bytes

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        limit = self._limit()
        limit = limit._replace(max_bytes=limit.max_bytes - spare_bytes)
        return limit.takes([RecordData(*self._serde.encode(record)) for record in records])

    def encoded(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...] | None]:
        written: list[RecordData] = []
        for record in records:
            written.append(RecordData(*self._serde.encode(record)))
            yield
        return tuple(written) if self._limit().takes(written) else None

    def written(self, records: Sequence[CoordinatorRecord]) -> Steps[tuple[RecordData, ...]]:
        written: list[RecordData] = []
        for record in records:
            data = yield from self._serde.encode_in_steps(record)
            written.append(RecordData(*data))
        return tuple(written)


def encoded_bytes(records: Sequence[RecordData]) -> int:
    """Return the size of the records in a batch without compression, rounded up."""
    size = RECORD_OVERHEAD * len(records)
    for key, value, _, _ in records:
        if key is not None:
            size += len(key)
        if value is not None:
            size += len(value)
    return size


def parts_of(records: Sequence[RecordData], max_bytes: int) -> list[Sequence[RecordData]]:
    """Return the records, in order, in parts of at most `max_bytes` by `encoded_bytes`; a larger record has a part
    of its own.
    """
    parts: list[Sequence[RecordData]] = []
    first, size = 0, 0
    for at, data in enumerate(records):
        of_this = encoded_bytes((data,))
        if at > first and size + of_this > max_bytes:
            parts.append(records[first:at])
            first, size = at, 0
        size += of_this
    parts.append(records[first:])
    return parts
