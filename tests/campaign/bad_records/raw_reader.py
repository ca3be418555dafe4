"""Records as bytes of a log, read without the product's codec, which is under test here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devtools.clients.requests import fetch, fetch_request
from devtools.clients.wire import WireClient
from shareq.protocol.records.batch import read_header, records_view
from tests.campaign.bad_records.scene import RawRecord

MAX_BYTES: Final = 8 << 20


def raw_records(client: WireClient, topic: str, end: int) -> Iterator[RawRecord]:
    """Yield the records of partition 0 up to `end` (exclusive), in order."""
    offset = 0
    while offset < end:
        asked = fetch_request(topic, offset, partition_max_bytes=MAX_BYTES, max_bytes=MAX_BYTES)
        data = bytes(fetch(client, asked).records or b"")
        assert data, f"{topic}: nothing at offset {offset}, where {end} is the end"
        at = 0
        while at < len(data):
            header = read_header(data, at)
            for record in _records(bytes(records_view(data, at, header)), header.records_count, header.base_timestamp):
                if offset <= header.base_offset + record[0]:
                    yield record[1]
            at += header.size
            offset = header.base_offset + header.last_offset_delta + 1


def _records(data: bytes, count: int, base_ms: int) -> Iterator[tuple[int, RawRecord]]:
    at = 0
    for _ in range(count):
        _, at = _number(data, at)
        time_delta, at = _number(data, at + 1)
        offset_delta, at = _number(data, at)
        key, at = _bytes(data, at)
        value, at = _bytes(data, at)
        header_count, at = _number(data, at)
        headers = []
        for _ in range(header_count):
            name, at = _bytes(data, at)
            content, at = _bytes(data, at)
            headers.append((name or b"", content))
        yield offset_delta, RawRecord(key, value, headers, base_ms + time_delta)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _number(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)
