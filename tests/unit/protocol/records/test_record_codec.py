"""Records that brokers accept but no correct producer sends: each can be read, and written again unchanged."""

from __future__ import annotations

from random import Random

import pytest

from shareq.protocol.passes.records import KEYLESS, walk
from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, decode_records
from shareq.protocol.records.record_codec import header_key
from tests.support.bad_records.records import BadRecord, bad_records, batch_of

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\xff", "\ufffd"),
        (b"caf\xe9", "caf\ufffd"),
        (b"\xc3\x28", "\ufffd("),
        ("café".encode(), "café"),
        (b"", ""),
        (b"\xed\xa0\x80", "\ufffd" * 3),
    ],
)
def test_a_header_key_that_is_no_utf8_is_shown_as_java_shows_it(name: bytes, shown: str) -> None:
    batch = batch_of([BadRecord(b"k", b"v", [(name, b"h")], 1)])
    assert decode_records(batch)[0].headers == ((shown, b"h"),)


def test_an_exact_reading_writes_the_same_bytes_again() -> None:
    batch = batch_of(list(bad_records(Random(1), 60, NOW_MS, 1_000)))
    again = [
        RecordData(each.key, each.value, each.headers, each.timestamp) for each in decode_records(batch, exact=True)
    ]
    assert bytes(build_batch(again, timestamp_ms=0)) == batch


def test_every_bad_record_is_taken_by_the_broker_and_read_by_consumers() -> None:
    records = list(bad_records(Random(2), 300, NOW_MS, 1_000))
    batch = batch_of(records)
    found, _ = walk(batch, HEADER_SIZE, len(records), -(2**63) + 1, 2**63 - 1, 0)
    assert found in (0, KEYLESS)
    for made, read, exact in zip(records, decode_records(batch), decode_records(batch, exact=True), strict=True):
        assert (read.key, read.value, read.timestamp) == (made.key, made.value, made.timestamp)
        assert [(name, value) for name, value in read.headers] == [
            (name.decode("utf-8", "replace"), value) for name, value in made.headers
        ]
        assert [(header_key(name), value) for name, value in exact.headers] == made.headers
