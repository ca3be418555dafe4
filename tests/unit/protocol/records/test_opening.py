"""Opening a large batch piece by piece gives the same result as at once."""

from __future__ import annotations

import gzip
import random

import pytest

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.passes.records import LOWEST_DELTA, OUT_OF_ORDER, UNREADABLE, largest, walk
from shareq.protocol.records.batch import HEADER_SIZE, RecordData, build_batch, find_record, read_header
from shareq.protocol.records.compression import Compression, TooLargeToOpen, compress
from shareq.protocol.records.opening import PIECE_BYTES, Run, Step, find_in_steps, pieces, record_runs
from tests.support.kafka.raw_batches import raw_record

CODECS = list(Compression)
ALWAYS = (-(2**62), 2**62, 0)
LIMIT = 64 * 1024 * 1024


def payload_of(records: list[RecordData]) -> bytes:
    return bytes(build_batch(records, timestamp_ms=1_000)[HEADER_SIZE:])


def runs_of(codec: Compression, payload: bytes, count: int, limit: int = LIMIT) -> list[Run]:
    return list(record_runs(pieces(codec, memoryview(compress(codec, payload)), limit), count))


def walked(runs: list[Run]) -> tuple[int, int, int]:
    """Return the bits that `walk` finds in all runs together, the newest time delta, and the number of records."""
    found, newest, first = 0, LOWEST_DELTA, 0
    for run in runs:
        if run.records:
            seen, latest = walk(run.data, 0, run.records, *ALWAYS, first)
            found, newest, first = found | seen, max(newest, latest), first + run.records
    return found, newest, first


def mixed(seed: int) -> list[RecordData]:
    """Return short and long records, some longer than several pieces by their value, key or headers."""
    chance = random.Random(seed)
    records = []
    for number in range(2_000):
        size = chance.choice([0, 3, 50, 700]) if chance.random() < 0.99 else chance.randrange(400_000)
        key = chance.choice([None, b"", b"k" * chance.randrange(300), b"k" * (200_000 * (chance.random() < 0.003))])
        headers = (("h", b"v" * 150_000),) if chance.random() < 0.002 else ()
        value = None if chance.random() < 0.1 else chance.randbytes(min(size, 40)) * (size // 40 + 1)
        records.append(RecordData(key, value, headers, 1_000 + number % 77))
    return records


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_pieces_have_what_the_whole_has(codec: Compression) -> None:
    for seed in range(4):
        records = mixed(seed)
        payload = payload_of(records)
        runs = runs_of(codec, payload, len(records))
        whole = walk(payload, 0, len(records), *ALWAYS)
        assert walked(runs) == (*whole, len(records))
        longest = max(max(run.longest, largest(run.data, 0, run.records)) for run in runs)
        assert longest == largest(payload, 0, len(records))
        assert sum(run.opened for run in runs) == len(payload)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_one_long_value_is_never_in_memory(codec: Compression) -> None:
    """A record of 8 MB takes 300 bytes on the wire."""
    payload = payload_of([RecordData(b"k", bytes(8_000_000), (("h", b"x"),))])
    runs = runs_of(codec, payload, 1)
    assert max(run.opened for run in runs) <= PIECE_BYTES
    assert sum(len(run.data) for run in runs) < 100
    assert (walked(runs), max(run.longest for run in runs)) == ((0, 0, 1), largest(payload, 0, 1))


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_bytes_that_no_records_are_found(codec: Compression) -> None:
    payload = payload_of([RecordData(b"k", b"v" * 100)] * 5_000)
    for broken, count in [
        (payload[:-1], 5_000),
        (payload + b"\0", 5_000),
        (payload, 4_999),
        (payload, 5_001),
        (payload[:300_000] + b"\xff" * len(payload[300_000:]), 5_000),
    ]:
        assert walk(broken, 0, count, *ALWAYS)[0] & (UNREADABLE | OUT_OF_ORDER)
        try:
            runs = runs_of(codec, broken, count)
        except MalformedMessage:
            continue
        assert walked(runs)[0] & (UNREADABLE | OUT_OF_ORDER)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_more_than_the_limit_is_not_opened(codec: Compression) -> None:
    payload = payload_of([RecordData(None, bytes(1_000_000))] * 8)
    runs, seen = record_runs(pieces(codec, memoryview(compress(codec, payload)), 3_000_000), 8), list[Run]()
    with pytest.raises(TooLargeToOpen):
        seen.extend(runs)
    assert sum(run.opened for run in seen) <= 3_000_000


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.ZSTD], ids=lambda codec: codec.name)
def test_frames_behind_each_other_are_one_payload_and_what_is_cut_is_refused(codec: Compression) -> None:
    records = [RecordData(b"k", b"v" * 1_000)] * 1_000
    payload = payload_of(records)
    first, second = compress(codec, payload[:400_000]), compress(codec, payload[400_000:])
    runs = list(record_runs(pieces(codec, memoryview(first + second), LIMIT), 1_000))
    assert walked(runs) == (0, 0, 1_000)
    for broken in (first, first + second + b"junk", b"junk" + first):
        with pytest.raises(MalformedMessage):
            list(record_runs(pieces(codec, memoryview(broken), LIMIT), 1_000))
    with pytest.raises(MalformedMessage, match=f"^{codec.name.lower()} data cut short$"):
        list(record_runs(pieces(codec, memoryview(first + second[:-5]), LIMIT), 1_000))


def test_a_small_gzip_stays_small() -> None:
    data = gzip.compress(bytes(20_000_000))
    with pytest.raises(MalformedMessage):
        list(record_runs(pieces(Compression.GZIP, memoryview(data), LIMIT), 1))


BASE = 7_000_000_000


def searched(batch: bytes, timestamp: int, start_offset: int, upto: int, limit: int = LIMIT) -> list[Step]:
    return list(find_in_steps(read_header(batch), batch, timestamp, start_offset, upto, limit))


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_time_is_found_run_by_run_as_in_the_whole(codec: Compression) -> None:
    records = [RecordData(b"k", b"v" * 60, (), 1_000 + number) for number in range(6_000)]
    batch = bytes(build_batch(records, timestamp_ms=0, base_offset=BASE, compression=codec))
    for timestamp, start, upto in [
        (-(2**62), 0, 2**62),  # the first record, whatever its time
        (1_000, BASE, BASE + 1),
        (1_001, BASE, BASE + 1),
        (1_000, BASE + 1, BASE + 6_000),
        (4_500, 0, BASE + 3_501),
        (4_500, 0, BASE + 3_500),
        (4_500, BASE + 5_999, BASE + 9_000),
        (6_999, BASE, BASE + 6_000),
        (7_000, BASE, BASE + 6_000),
        (2**63 - 1, 0, 2**62),
    ]:
        steps = searched(batch, timestamp, start, upto)
        found = [step.found for step in steps if step.found is not None]
        whole = find_record(batch, timestamp, start, upto)
        assert found[:1] == ([] if whole is None else [whole]), (timestamp, start, upto)
        assert sum(step.records for step in steps) == 6_000
        assert 0 < max(step.opened for step in steps) <= PIECE_BYTES


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_search_ends_with_what_cannot_be_opened_or_read(codec: Compression) -> None:
    records = [RecordData(b"k", b"v" * 60, (), 1_000)] * 6_000
    batch = bytes(build_batch(records, timestamp_ms=0, compression=codec))
    with pytest.raises(TooLargeToOpen):
        searched(batch, 1_001, 0, 6_000, 100_000)
    two = bytes(build_batch(records[:2], timestamp_ms=0, compression=codec))[:HEADER_SIZE]
    payload = raw_record(0) + raw_record(1, time_delta=b"\x80" * 10 + b"\0")
    with pytest.raises(MalformedMessage, match=r"^records that cannot be read$"):
        searched(two + compress(codec, payload), 1_001, 0, 2)
