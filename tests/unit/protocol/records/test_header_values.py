"""The values of one header of a batch's records, in both forms of the walk, with compressed batches and damage."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.header_values import HeaderValues, add_header_values
from tests.support.pass_forms import FORMS, RecordWalk

NAME = b"a.name"
texts = st.sampled_from(["a.name", "a.nam", "a.name.", "other", ""])
nullable = st.none() | st.binary(max_size=20) | st.just(NAME)
headers = st.lists(st.tuples(texts, nullable), max_size=3).map(tuple)
records = st.builds(RecordData, nullable, nullable, headers, st.integers(-5, 2**45))
batches = st.lists(records, min_size=1, max_size=12)


def first_values(data: list[RecordData], base: int = 0) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for index, record in enumerate(data):
        for name, value in record.headers:
            if name.encode() == NAME:
                found.setdefault(base + index, value or b"")
    return found


@pytest.mark.parametrize("form", FORMS)
@given(batches)
@settings(max_examples=200, deadline=None)
def test_the_first_value_of_each_record_that_has_the_header(form: RecordWalk, data: list[RecordData]) -> None:
    """Name and value also occur in keys, values and other headers."""
    batch, found = bytes(build_batch(data, timestamp_ms=0)), HeaderValues([], [])
    assert form.header_values(batch, HEADER_SIZE, len(batch), len(data), 40, NAME, *found)
    assert dict(zip(*found, strict=True)) == first_values(data, 40)
    assert found.offsets == sorted(found.offsets)


@pytest.mark.parametrize("form", FORMS)
@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_damaged_records_raise_nothing(form: RecordWalk, data: list[RecordData], rng: Random) -> None:
    payload = bytearray(build_batch(data, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    end, found = rng.randint(0, len(payload)), HeaderValues([], [])
    form.header_values(bytes(payload), 0, end, len(data), 0, NAME, *found)
    assert len(found.offsets) == len(found.values) <= len(data)
    assert found.offsets == sorted(set(found.offsets))


@pytest.mark.parametrize("form", FORMS)
def test_a_record_without_the_header_is_passed_by_its_length(form: RecordWalk) -> None:
    data = [RecordData(None, b"x" * 300), RecordData(None, b"", (("a.name", b"7"),)), RecordData(None, NAME)]
    batch, found = bytes(build_batch(data, timestamp_ms=0)), HeaderValues([], [])
    assert form.header_values(batch, HEADER_SIZE, len(batch), len(data), 0, NAME, *found)
    assert found == ([1], [b"7"])
    cut = HeaderValues([], [])
    assert not form.header_values(batch, HEADER_SIZE, len(batch) - 1, len(data), 0, NAME, *cut)
    assert cut == ([1], [b"7"])


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_among_others_is_opened(codec: Compression) -> None:
    data = [
        RecordData(b"a", b"1", (("a.name", b"5"),)),
        RecordData(b"a", b"2"),
        RecordData(None, None, (("a.name", None),)),
    ]
    before = bytes(build_batch([RecordData(b"other", b"", (("a.name", b"0"),))], timestamp_ms=0))
    batch = bytes(build_batch(data, timestamp_ms=0, base_offset=7, compression=codec))
    found = HeaderValues([], [])
    add_header_values(before + batch + before, len(before), NAME, found)
    assert found == ([7, 9], [b"5", b""])


def test_markers_and_what_cannot_be_opened_have_no_headers() -> None:
    found = HeaderValues([], [])
    marker = bytes(
        build_end_transaction_marker(commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0)
    )
    add_header_values(marker, 0, NAME, found)
    batch = build_batch([RecordData(b"k", b"v", (("a.name", b"1"),))], timestamp_ms=0, compression=Compression.ZSTD)
    batch[HEADER_SIZE:] = b"\xff" * (len(batch) - HEADER_SIZE)
    add_header_values(bytes(batch), 0, NAME, found)
    assert found == ([], [])
