"""Records as commands print them, and the reading of records up to an end."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, NamedTuple

from shareq.client.admin.calls import Partition
from shareq.client.admin.sent_back import SentBack, sent_back
from shareq.client.reader import Reader, ReadRecord
from shareq.ops.cli.output.printing import printable
from shareq.ops.cli.shared.where import iso
from shareq.protocol.records.record_codec import Record

ROUND_MS: Final = 500


class HeaderRow(NamedTuple):
    name: Annotated[str, "Its name; names repeat."]
    value: Annotated[str | None, "Its value, in its encoding."]
    encoding: Annotated[str | None, "utf-8 or base64; null of a null value."]


class SentBackRow(NamedTuple):
    queue: Annotated[str, "The dead-letter queue."]
    partition: Annotated[int, "The partition's number in the queue."]
    offset: Annotated[int, "The letter's offset there."]
    times: Annotated[int | None, "How often the record was sent back, this time included."]
    redrive: Annotated[str | None, "The redrive's name."]
    group: Annotated[str | None, "The share group in which it died."]


class RecordRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    offset: Annotated[int, "The record's offset."]
    timestamp: Annotated[int, "Its time in milliseconds since the epoch; -1 without one."]
    key: Annotated[str | None, "Its key, in its encoding."]
    key_encoding: Annotated[str | None, "utf-8, or base64 where the bytes are no UTF-8; null of a null key."]
    value: Annotated[str | None, "Its value, in its encoding."]
    value_encoding: Annotated[str | None, "utf-8 or base64; null of a null value."]
    headers: Annotated[tuple[HeaderRow, ...], "Its headers, in their order."]
    sent_back: Annotated[SentBackRow | None, "The letter that a redrive made it of; null of other records."]


def text_of(data: bytes | None) -> tuple[str | None, str | None]:
    """Return bytes as text, and the encoding of the text."""
    if data is None:
        return None, None
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def record_row(topic: str, partition: int, record: Record) -> RecordRow:
    """Return a record as a row."""
    headers = tuple(HeaderRow(name, *text_of(value)) for name, value in record.headers)
    key, value = text_of(record.key), text_of(record.value)
    return RecordRow(topic, partition, record.offset, record.timestamp, *key, *value, headers, sent_back_row(record))


def sent_back_row(record: Record) -> SentBackRow | None:
    """Return the trace of a redrive in the record's headers, as a row."""
    said = sent_back(record.headers)
    return None if said is None else SentBackRow(*said)


def sent_back_text(row: SentBackRow) -> str:
    """Return the row as a sentence."""
    return printable(str(SentBack(*row)))


def line_of(row: RecordRow, *more: str) -> str:
    """Return place, time, key and value, `more`, and the trace of a redrive, separated by tabs.

    Invisible characters are escaped.
    """
    cells = (f"{row.topic}-{row.partition}:{row.offset}", iso(row.timestamp) or "-", _cell(row.key), _cell(row.value))
    again = () if row.sent_back is None else (sent_back_text(row.sent_back),)
    return "\t".join((*cells, *more, *again))


def _cell(text: str | None) -> str:
    return "-" if text is None else printable(text)


def read_to_end(reader: Reader, ends: Mapping[Partition, int], limit: int | None = None) -> Iterator[ReadRecord]:
    """Yield records below `ends`, exclusive, starting at the reader's positions; at most `limit` of each partition."""
    counts = dict.fromkeys(ends, 0)

    def wanted(partition: Partition) -> bool:
        return limit is None or counts[partition] < limit

    for found in reader.read_towards(ends, ROUND_MS, wanted):
        partition = found.topic, found.partition
        if found.record.offset < ends[partition] and wanted(partition):
            counts[partition] += 1
            yield found
