"""Hashes of the keys of a record batch, in both forms of the walk, with compressed and control batches and damage."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, decode_records
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.keys import KeyHashes, add_key_hashes
from tests.support.kafka.raw_batches import raw_record
from tests.support.pass_forms import FORMS, RecordWalk

nullable = st.none() | st.binary(max_size=200)
records = st.tuples(nullable, nullable).map(lambda pair: RecordData(*pair))
batches = st.lists(records, min_size=1, max_size=12)


def by_offset(found: KeyHashes) -> dict[int, int]:
    return dict(zip(*found, strict=True))


def hashes(data: list[RecordData], base: int = 0) -> dict[int, int]:
    return {base + index: hash(record.key) for index, record in enumerate(data) if record.key is not None}


@pytest.mark.parametrize("form", FORMS)
@given(batches)
@settings(max_examples=100, deadline=None)
def test_every_key_is_hashed_and_no_null(form: RecordWalk, data: list[RecordData]) -> None:
    batch, found = bytes(build_batch(data, timestamp_ms=0)), KeyHashes([], [])
    assert form.key_hashes(batch, HEADER_SIZE, len(batch), len(data), 40, *found)
    assert by_offset(found) == hashes(data, 40)
    assert found.offsets == sorted(found.offsets)


@pytest.mark.parametrize("form", FORMS)
@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_damaged_records_have_no_key_and_raise_nothing(form: RecordWalk, data: list[RecordData], rng: Random) -> None:
    payload = bytearray(build_batch(data, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    end, found = rng.randint(0, len(payload)), KeyHashes([], [])
    form.key_hashes(bytes(payload), 0, end, len(data), 0, *found)
    assert len(found.offsets) == len(found.hashes) <= len(data)
    assert found.offsets == sorted(set(found.offsets))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(10),
        raw_record(longer=1),
        raw_record(key=20),  # beyond its record, if not beyond the double of it
        raw_record(key=2**31 - 1),
    ],
)
def test_a_key_that_is_not_all_in_its_record_is_none(form: RecordWalk, data: bytes) -> None:
    found = KeyHashes([], [])
    assert not form.key_hashes(data, 0, len(data), 1, 0, *found)
    assert found == ([], [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", [0, 2])
def test_offsets_that_do_not_ascend_have_no_key(form: RecordWalk, base: int) -> None:
    two = b"".join(raw_record(offset_delta=each, key=1) for each in (0, 1))
    found = KeyHashes([2], [7])
    assert form.key_hashes(two + two, 0, 2 * len(two), 4, base, *found)
    assert found.offsets == ([2] if not base else [2, 3])
    assert len(found.hashes) == len(found.offsets)


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_among_others_is_opened(codec: Compression) -> None:
    data = [RecordData(b"a", b"1"), RecordData(None, b"2"), RecordData(b"", None), RecordData(b"a", b"3")]
    before = bytes(build_batch([RecordData(b"other", b"")], timestamp_ms=0))
    batch = bytes(build_batch(data, timestamp_ms=0, base_offset=7, compression=codec))
    found = KeyHashes([], [])
    add_key_hashes(before + batch + before, len(before), found)
    assert by_offset(found) == hashes(data, 7)
    assert found.hashes[0] == found.hashes[2] != found.hashes[1]


def test_markers_have_no_keys() -> None:
    found = KeyHashes([], [])
    marker = bytes(
        build_end_transaction_marker(commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0)
    )
    assert decode_records(marker)[0].key is not None
    add_key_hashes(marker, 0, found)
    assert found == ([], [])


def test_what_cannot_be_decompressed_has_no_keys() -> None:
    batch = build_batch([RecordData(b"k" * 50, b"v" * 50)], timestamp_ms=0, compression=Compression.ZSTD)
    batch[HEADER_SIZE:] = b"\xff" * (len(batch) - HEADER_SIZE)
    found = KeyHashes([], [])
    add_key_hashes(bytes(batch), 0, found)
    assert found == ([], [])
