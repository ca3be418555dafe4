"""The records of a batch that are older than a time, in both forms of the walk, with compressed batches and damage."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, with_append_time
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.older import records_older
from shareq.protocol.records.retain import open_batch, retained
from tests.support.pass_forms import FORMS, RecordWalk

times = st.integers(0, 40)
records = st.builds(RecordData, st.none(), st.binary(max_size=5), st.just(()), times)


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(records, min_size=1, max_size=12), times)
@settings(max_examples=200, deadline=None)
def test_the_offsets_of_records_below_a_time(form: RecordWalk, data: list[RecordData], least: int) -> None:
    batch = bytes(build_batch(data, timestamp_ms=0))
    base = int.from_bytes(batch[27:35])
    found: list[int] = []
    assert form.older(batch, HEADER_SIZE, len(batch), len(data), 40, least - base, found)
    assert found == [40 + at for at, each in enumerate(data) if (each.timestamp_ms or 0) < least]


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(records, min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_damaged_records_raise_nothing(form: RecordWalk, data: list[RecordData], rng: Random) -> None:
    payload = bytearray(build_batch(data, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(rng.randint(1, 3)):
        payload[rng.randrange(len(payload))] = rng.randrange(256)
    found: list[int] = []
    form.older(bytes(payload), 0, rng.randint(0, len(payload)), len(data), 0, 20, found)
    assert len(found) <= len(data)


@pytest.mark.parametrize("codec", Compression)
@given(st.lists(times, min_size=1, max_size=12), times)
@settings(max_examples=50, deadline=None)
def test_a_batch_among_others(codec: Compression, of: list[int], least: int) -> None:
    """Count the first record's time for those behind it, if it and the largest are young enough."""
    data = [RecordData(None, b"v", (), each) for each in of]
    other = bytes(build_batch([RecordData(None, b"other")], timestamp_ms=0))
    batch = bytes(build_batch(data, timestamp_ms=0, base_offset=7, compression=codec))
    found = records_older(other + batch + other, len(other), least)
    offsets = [at for first, last in found for at in range(first, last + 1)]
    looked_at = of[0] < least
    assert offsets == [7 + at for at, each in enumerate(of) if looked_at and each < least]
    assert all(first[1] + 1 < second[0] for first, second in itertools.pairwise(found))


def test_with_append_time_all_records_are_as_old_as_the_batch() -> None:
    batch = build_batch([RecordData(None, b"v", (), each) for each in (5, 50)], timestamp_ms=0)
    stamped = bytes(with_append_time(batch, 30))
    assert (records_older(stamped, 0, 30), records_older(stamped, 0, 31)) == ((), [(0, 1)])


def test_a_batch_without_times_is_never_old() -> None:
    batch = bytes(build_batch([RecordData(None, b"v", (), -1)] * 2, timestamp_ms=0))
    assert records_older(batch, 0, 10) == ()


def test_what_cannot_be_opened_is_not_old() -> None:
    data = [RecordData(None, b"v" * 50, (), each) for each in (5, 50)]
    batch = build_batch(data, timestamp_ms=0, compression=Compression.ZSTD)
    batch[HEADER_SIZE:] = b"\xff" * (len(batch) - HEADER_SIZE)
    assert records_older(bytes(batch), 0, 20) == ()


@pytest.mark.parametrize("horizon", [None, 1_000])
def test_of_a_compacted_batch_only_records_that_are_there_are_old(horizon: int | None) -> None:
    """With a delete horizon, the header's first time is that horizon."""
    data = [RecordData(b"k", b"v", (), each) for each in (5, 6, 7, 50)]
    opened = open_batch(bytes(build_batch(data, timestamp_ms=0)))
    batch = bytes(retained(opened, [opened.records[at] for at in (0, 2, 3)], horizon))
    assert records_older(batch, 0, 20) == [(0, 0), (2, 2)]
    assert records_older(batch, 0, 60) == [(0, 0), (2, 3)]
