"""Converts rows in Arrow batches to records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shareq.protocol.records.record_codec import Headers, RecordData, header_key

if TYPE_CHECKING:
    import pyarrow

AT_ONCE: Final = 1000
"""The most rows that are Python values at the same time."""
_MASK: Final = (1 << 64) - 1


class RowError(ValueError):
    """A row that cannot be written. The message is one line that names the column; values are not shown."""


class Placed(NamedTuple):
    """A record with its topic and partition; None: its key, or the writer, decides."""

    topic: str
    partition: int | None
    record: RecordData


def placed(batches: Iterable[pyarrow.RecordBatch], topic: str | None, now_ms: int) -> Iterator[Placed]:
    """Yield the records of Arrow batches, with `now_ms` as their time. Raises RowError.

    `topic`: the topic of all rows; by default each row names its own.
    """
    for batch in batches:
        columns = {name: batch.column(at) for at, name in enumerate(batch.schema.names)}
        for begin in range(0, batch.num_rows, AT_ONCE):
            size = min(AT_ONCE, batch.num_rows - begin)

            def values(name: str, begin: int = begin, size: int = size, columns: Any = columns) -> list[Any]:
                column = columns.get(name)
                return [None] * size if column is None else column.slice(begin, size).to_pylist()

            topics = [topic] * size if topic is not None else values("topic")
            rows = zip(topics, values("partition"), values("key"), values("value"), values("headers"), strict=True)
            for name, partition, key, value, headers in rows:
                if name is None:
                    raise RowError(
                        "kafka-share: null topic present in the data. Use the topic option for setting a topic"
                    )
                record = RecordData(_bytes(key), _bytes(value), _headers(headers) if headers else (), now_ms)
                yield Placed(name, partition, record)


class Digest:
    """A count of records, and a sum that does not depend on their order, by which the same records are recognised."""

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0

    def add(self, placed: Placed) -> None:
        """Add a record to the count. Its time is ignored, and so is a partition that the row does not name."""
        topic, partition, record = placed
        made = blake2b(digest_size=8)
        parts = [topic.encode(), b"" if partition is None else b"%d" % partition, record.key, record.value]
        for name, value in record.headers:
            parts += (header_key(name), value)
        for part in parts:
            made.update(b"%d:" % (-1 if part is None else len(part)))
            made.update(part or b"")
        self.count += 1
        self._sum = (self._sum + int.from_bytes(made.digest())) & _MASK

    def counting(self, rows: Iterable[Placed]) -> Iterator[Placed]:
        """Yield the records, and count each."""
        for row in rows:
            self.add(row)
            yield row

    @property
    def text(self) -> str:
        """The count and the sum as text, for a mark."""
        return f"{self.count}:{self._sum:016x}"


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(rows: list[dict[str, Any] | None]) -> Headers:
    for row in rows:
        if row is None or row["key"] is None:
            raise RowError("kafka-share: headers: a header without a key is in the data")
    return tuple((row["key"], row["value"]) for row in rows if row is not None)
