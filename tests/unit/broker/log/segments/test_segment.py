from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.log.segments.segment import BatchWalk, ReadAt, file_name, offset_of_file, valid_batch_after
from shareq.protocol.records.batch import RecordData, build_batch, read_header, stamp


def reader(data: bytes | bytearray) -> ReadAt:
    return lambda position, size: bytes(data[position : position + size])


def batch_at(offset: int, *values: bytes) -> bytes:
    batch = build_batch([RecordData(None, value) for value in values], timestamp_ms=5)
    stamp(batch, offset, 0)
    return bytes(batch)


def log_of(*sizes: int, base: int = 0) -> tuple[bytes, list[int]]:
    """Return a log of one-record batches with values of these sizes, and each batch's position."""
    data, starts = b"", []
    for at, size in enumerate(sizes):
        starts.append(len(data))
        data += batch_at(base + at, bytes([at + 1]) * size)
    return data, starts


def walk_to_end(data: bytes | bytearray, *, base: int = 0, check_crc: bool = True) -> tuple[BatchWalk, list[int]]:
    walk = BatchWalk(reader(data), len(data), next_offset=base, check_crc=check_crc)
    return walk, [position for position, _ in walk]


def test_file_names_are_twenty_digits() -> None:
    assert file_name(12, ".log") == "00000000000000000012.log"
    assert offset_of_file("00000000000000000012.log", ".log") == 12
    for other in ("12.log", "00000000000000000012.index", "0000000000000000001x.log", "00000000000000000012", ".log"):
        assert offset_of_file(other, ".log") is None


@given(st.lists(st.integers(0, 400), max_size=12), st.booleans())
@settings(max_examples=50, deadline=None)
def test_walking_a_sound_log_finds_every_batch(sizes: list[int], check_crc: bool) -> None:
    data, starts = log_of(*sizes, base=7)
    walk, found = walk_to_end(data, base=7, check_crc=check_crc)
    assert found == starts
    assert (walk.position, walk.next_offset, walk.fault) == (len(data), 7 + len(sizes), None)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_walking_a_cut_log_gives_the_longest_valid_prefix(sizes: list[int], seed: int) -> None:
    data, starts = log_of(*sizes)
    cut = Random(seed).randint(0, len(data))
    ends = [*starts[1:], len(data)]
    whole = [end for end in ends if end <= cut]
    walk, found = walk_to_end(data[:cut])
    assert found == starts[: len(whole)]
    assert walk.position == (whole[-1] if whole else 0)
    assert (walk.fault is None) == (walk.position == cut)
    assert valid_batch_after(reader(data[:cut]), cut, walk.position, walk.next_offset) is None


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_is_found_and_what_follows_it_is_too(sizes: list[int], seed: int) -> None:
    data, starts = log_of(*sizes)
    rng = Random(seed)
    hit = rng.randrange(len(data))
    damaged = bytearray(data)
    damaged[hit] ^= 1 << rng.randrange(8)
    victim = max(at for at, start in enumerate(starts) if start <= hit)
    within = hit - starts[victim]
    if 12 <= within < 16:
        return  # the leader epoch is outside the CRC
    walk, found = walk_to_end(damaged)
    last = victim == len(sizes) - 1
    if within < 8 and read_header(damaged, starts[victim]).base_offset >= victim:
        return  # a base offset that grew is outside the CRC; the batch after it shows that, if there is one
    assert found == starts[:victim]
    assert walk.fault is not None
    follows = valid_batch_after(reader(damaged), len(damaged), walk.position, walk.next_offset)
    assert follows == (None if last else starts[victim + 1])


def test_a_base_offset_that_grew_shows_at_the_next_batch() -> None:
    data, starts = log_of(10, 10, 10)
    damaged = bytearray(data)
    damaged[7] = 9
    walk, found = walk_to_end(damaged)
    assert found == starts[:1]
    assert walk.fault == "base offset 1 after offset 9"


def test_several_damaged_batches_do_not_hide_the_sound_one_behind_them() -> None:
    data, starts = log_of(*[50] * 10)
    damaged = bytearray(data)
    damaged[starts[3] + 20 : starts[8] + 20] = bytes(starts[8] - starts[3])
    walk, _ = walk_to_end(damaged)
    assert valid_batch_after(reader(damaged), len(damaged), walk.position, walk.next_offset) == starts[9]


def test_a_torn_batch_that_holds_a_batch_as_its_value_is_a_torn_tail() -> None:
    """A producer that sends batches as record values could otherwise stop a broker's start."""
    inner = batch_at(1_000, b"inner")
    outer = batch_at(0, b"before", inner, b"after" * 100)
    at = outer.index(inner)
    torn = outer[: at + len(inner) + 20]
    assert valid_batch_after(reader(torn), len(torn), 0, 0) is None
    # No torn write explains the same bytes behind an invalid header.
    damaged = b"\xff" * 8 + torn[8:]
    assert valid_batch_after(reader(damaged), len(damaged), 0, 0) == at


def test_a_length_that_grew_beyond_the_end_does_not_hide_what_follows() -> None:
    data, starts = log_of(40, 40, 40)
    damaged = bytearray(data)
    damaged[starts[1] + 8] = 0x10  # the length is now more than 256 MiB
    walk, _ = walk_to_end(damaged)
    assert walk.position == starts[1]
    assert valid_batch_after(reader(damaged), len(damaged), walk.position, walk.next_offset) == starts[2]


@pytest.mark.parametrize("tail", [bytes(5), bytes(100), bytes(10_000), b"\xff" * 500, b"\x02" * 500])
def test_a_tail_of_nothing_is_no_batch(tail: bytes) -> None:
    data, _ = log_of(10, 10)
    walk, found = walk_to_end(data + tail)
    assert len(found) == 2
    assert walk.position == len(data)
    assert valid_batch_after(reader(data + tail), len(data + tail), walk.position, walk.next_offset) is None


def test_batches_larger_than_a_chunk_are_checked_too() -> None:
    large = batch_at(0, Random(0).randbytes(3_000_000))
    data = large + batch_at(1, b"x")
    assert walk_to_end(data)[0].fault is None
    damaged = bytearray(data)
    damaged[2_500_000] ^= 1
    walk, found = walk_to_end(damaged)
    assert found == []
    assert walk.fault == "CRC does not match"
    assert valid_batch_after(reader(damaged), len(damaged), 0, 0) == len(large)


def test_random_bytes_are_searched_in_reasonable_time() -> None:
    noise = Random(3).randbytes(4_000_000)
    assert valid_batch_after(reader(noise), len(noise), 0, 0) is None


def test_walking_headers_only_reads_little_of_large_batches() -> None:
    data = b"".join(batch_at(at, bytes(500_000)) for at in range(10))
    read = 0

    def read_at(position: int, size: int) -> bytes:
        nonlocal read
        chunk = data[position : position + size]
        read += len(chunk)
        return chunk

    assert len(list(BatchWalk(read_at, len(data), check_crc=False))) == 10
    assert read < 400_000
