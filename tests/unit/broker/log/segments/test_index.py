"""Sparse indexes: Apache Kafka's bytes, and lookups that never miss a batch."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.log.segments.index import MOST_HINTS, OffsetIndex, SegmentMap, TimeIndex

BASE = 5_000_000_000  # beyond 32 bits, as real base offsets are

# (offsets in the batch, bytes, gap before it, timestamp) of each batch of a segment
layouts = st.lists(
    st.tuples(st.integers(1, 9), st.integers(61, 3_000), st.integers(0, 3), st.integers(-1, 50)),
    min_size=1,
    max_size=60,
)


class Batches:
    def __init__(self, layout: list[tuple[int, int, int, int]]) -> None:
        self.map = SegmentMap(BASE, 4096)
        self.rows: list[tuple[int, int, int, int]] = []  # first offset, last offset, position, end position
        offset, position = BASE, 0
        for count, size, gap, timestamp in layout:
            offset += gap
            self.map.add(offset + count - 1, position, size, timestamp)
            self.rows.append((offset, offset + count - 1, position, position + size))
            offset += count
            position += size

    def start_of(self, offset: int) -> int | None:
        return next((position for _, last, position, _ in self.rows if last >= offset), None)


def test_bytes_are_apache_kafkas() -> None:
    offsets, times = OffsetIndex(100), TimeIndex(100)
    offsets.add(107, 0)
    offsets.add(130, 4_500)
    times.maybe_add(1_700_000_000_000, 105)
    times.maybe_add(1_700_000_000_001, 130)
    assert offsets.to_bytes() == struct.pack(">iiii", 7, 0, 30, 4_500)
    assert times.to_bytes() == struct.pack(">qiqi", 1_700_000_000_000, 5, 1_700_000_000_001, 30)


@given(layouts)
@settings(max_examples=60, deadline=None)
def test_indexes_come_back_from_their_files(layout: list[tuple[int, int, int, int]]) -> None:
    batches = Batches(layout)
    batches.map.finish_times()
    size = batches.rows[-1][3]
    offsets = OffsetIndex.from_bytes(batches.map.offsets.to_bytes(), BASE, size)
    times = TimeIndex.from_bytes(batches.map.times.to_bytes(), BASE)
    assert offsets is not None
    assert times is not None
    assert offsets.positions == batches.map.offsets.positions
    assert offsets.last_offsets == batches.map.offsets.last_offsets
    assert times.timestamps == batches.map.times.timestamps
    assert times.offsets == batches.map.times.offsets
    assert SegmentMap(BASE, 4096, offsets, times).max_timestamp == batches.map.max_timestamp


@given(layouts, st.booleans())
@settings(max_examples=80, deadline=None)
def test_looking_up_an_offset_never_starts_behind_its_batch(
    layout: list[tuple[int, int, int, int]], sealed: bool
) -> None:
    batches = Batches(layout)
    if sealed:
        batches.map.forget_tail()
    boundaries = {position for _, _, position, _ in batches.rows}
    for offset in range(BASE, batches.rows[-1][1] + 1):
        position, exact = batches.map.start_of(offset)
        right = batches.start_of(offset)
        assert right is not None
        assert position == right if exact else position <= right
        assert position in boundaries
        end = batches.map.end_after(offset)
        if end is not None:
            assert end in boundaries
            assert end > right
    end_position = batches.rows[-1][3]
    for limit in range(0, end_position, 97):
        boundary = batches.map.boundary_before(limit)
        assert boundary in boundaries
        assert boundary <= limit


def test_every_batch_of_the_tail_is_known_and_the_tail_is_bounded() -> None:
    segment_map = SegmentMap(0, 4096)
    for at in range(10_000):
        segment_map.add(at, at * 100, 100, -1)
    assert segment_map.start_of(9_999) == (999_900, True)
    assert segment_map.start_of(9_000) == (900_000, True)
    position, exact = segment_map.start_of(1_000)
    assert not exact
    assert 100_000 - 4_300 <= position <= 100_000
    assert segment_map.ends_before(10_000)
    assert not segment_map.ends_before(9_999)


@given(layouts, layouts)
@settings(max_examples=40, deadline=None)
def test_reset_forgets_what_came_after_the_mark(
    kept: list[tuple[int, int, int, int]], lost: list[tuple[int, int, int, int]]
) -> None:
    batches, only_kept = Batches(kept), Batches(kept)
    mark = batches.map.mark()
    end = batches.rows[-1][1] + 1
    offset, position = end, batches.rows[-1][3]
    for count, size, gap, timestamp in lost:
        offset += gap
        batches.map.add(offset + count - 1, position, size, timestamp)
        offset += count
        position += size
    batches.map.reset(mark, end)
    assert batches.map.mark() == only_kept.map.mark()
    assert batches.map.offsets.to_bytes() == only_kept.map.offsets.to_bytes()
    assert batches.map.times.to_bytes() == only_kept.map.times.to_bytes()
    assert all(batches.map.start_of(at) == only_kept.map.start_of(at) for at in range(BASE, end))


def test_files_that_break_the_rules_are_not_believed() -> None:
    def offsets(*numbers: int) -> OffsetIndex | None:
        return OffsetIndex.from_bytes(struct.pack(f">{len(numbers)}i", *numbers), BASE, 1_000)

    assert offsets() is not None
    assert offsets(0, 0) is not None  # one record, the first of the segment
    assert offsets(1, 0, 5, 999) is not None
    assert offsets(1, 0, 5, 1_000) is None  # behind the end of the log
    assert offsets(5, 0, 1, 500) is None  # offsets shrink
    assert offsets(1, 500, 5, 100) is None  # positions shrink
    assert offsets(1, 0, 0, 0) is None  # zeros, as a preallocated file has them
    assert offsets(-1, 0) is None
    assert OffsetIndex.from_bytes(b"\0" * 12, BASE, 1_000) is None
    assert TimeIndex.from_bytes(struct.pack(">qiqi", 0, 0, 1, 0), BASE) is not None  # in one batch
    assert TimeIndex.from_bytes(struct.pack(">qiqi", 7, 1, 7, 2), BASE) is None
    assert TimeIndex.from_bytes(struct.pack(">qi", -1, 0), BASE) is None
    assert TimeIndex.from_bytes(struct.pack(">qiqi", 7, 2, 8, 1), BASE) is None
    assert TimeIndex.from_bytes(b"\0" * 8, BASE) is None


@given(layouts)
@settings(max_examples=60, deadline=None)
def test_looking_up_a_time_never_starts_behind_its_first_record(layout: list[tuple[int, int, int, int]]) -> None:
    batches = Batches(layout)
    for timestamp in range(51):
        first = next((row[0] for row, spec in zip(batches.rows, layout, strict=True) if spec[3] >= timestamp), None)
        if first is not None:
            assert batches.map.times.offset_before(timestamp) <= first


def test_between_entries_the_nearest_one_counts() -> None:
    index = OffsetIndex(BASE)
    assert not index.ends_with(BASE)
    for last, position in ((4, 100), (9, 500), (14, 900)):
        index.add(BASE + last, position)
    starts = [index.start_before(BASE + at) for at in (3, 4, 5, 9, 14)]
    assert starts == [(0, False), (100, True), (100, False), (500, True), (900, True)]
    assert [index.end_after(BASE + at) for at in (0, 4, 5, 9, 10, 14, 15)] == [500, 500, 900, 900, None, None, None]
    assert [index.boundary_before(at) for at in (99, 100, 499, 500, 900, 2_000)] == [0, 100, 100, 500, 900, 900]
    assert index.ends_with(BASE + 14)
    assert not index.ends_with(BASE + 9)


def test_an_entry_contradicts_another_end_of_its_batch() -> None:
    index = OffsetIndex(BASE)
    index.add(BASE + 4, 0)
    index.add(BASE + 9, 500)
    assert index.agrees(BASE + 4, 0)
    assert index.agrees(BASE + 9, 500)
    assert not index.agrees(BASE + 5, 0)
    assert not index.agrees(BASE + 8, 500)
    assert index.agrees(BASE + 8, 499)  # nothing is entered there
    assert index.agrees(BASE + 8, 501)


def test_each_boundary_of_the_tail_is_known() -> None:
    segment_map = SegmentMap(BASE, 4096)
    for at in range(3):
        segment_map.add(BASE + 10 * at + 9, 300 + 100 * at, 100, -1)  # what came before was not walked
    assert [segment_map.end_after(BASE + at) for at in (9, 10, 19, 20)] == [400, 500, 500, None]
    assert [segment_map.boundary_before(at) for at in (299, 300, 399, 400, 999)] == [0, 300, 300, 400, 500]
    assert segment_map.agrees(BASE + 9, 300)
    assert segment_map.agrees(BASE + 29, 500)
    assert not segment_map.agrees(BASE + 8, 300)
    assert not segment_map.agrees(BASE + 28, 500)
    assert segment_map.agrees(BASE + 8, 350)
    assert segment_map.agrees(BASE + 8, 600)  # behind all that is known
    assert segment_map.agrees(BASE + 8, 200)


def test_a_file_of_an_index_is_of_its_segment() -> None:
    data = struct.pack(">ii", 4, 1)
    index = OffsetIndex.from_bytes(data, BASE, 2)
    assert index is not None
    assert index.start_before(BASE + 4) == (1, True)
    assert OffsetIndex.from_bytes(data, BASE, 1) is None  # at the end of the log
    assert OffsetIndex.from_bytes(bytes(8), BASE, 0) is not None


def test_a_segment_without_batches_has_no_time() -> None:
    segment_map = SegmentMap(BASE, 4096)
    assert (segment_map.max_timestamp, segment_map.max_timestamp_offset) == (-1, BASE)


def test_so_many_hints_are_kept() -> None:
    segment_map = SegmentMap(BASE, 4096)
    for at in range(MOST_HINTS):
        segment_map.hint(BASE + at, 100 + at)
    assert segment_map.start_of(BASE) == (100, True)
    assert segment_map.start_of(BASE + MOST_HINTS - 1) == (99 + MOST_HINTS, True)
    segment_map.hint(BASE + MOST_HINTS, 7)  # there is no room for it beside the others
    assert segment_map.start_of(BASE + MOST_HINTS) == (7, True)
    assert segment_map.start_of(BASE) == (0, False)


def test_entries_that_are_known_to_be_sound_are_not_looked_at() -> None:
    """The check takes a tenth of a second for a million entries; it is skipped if the file's checksum is right."""
    falling = OffsetIndex(BASE)
    falling.add(BASE + 5, 100)
    falling.add(BASE + 3, 50)
    assert OffsetIndex.from_bytes(falling.to_bytes(), BASE, 1_000) is None
    taken = OffsetIndex.from_bytes(falling.to_bytes(), BASE, 1_000, sound=True)
    assert taken is not None
    assert taken.to_bytes() == falling.to_bytes()
    assert OffsetIndex.from_bytes(falling.to_bytes(), BASE, 10, sound=True) is None, "of a longer log"
    times = TimeIndex(BASE)
    times.maybe_add(7, BASE + 1)
    times.timestamps.append(3)
    times.offsets.append(2)
    assert TimeIndex.from_bytes(times.to_bytes(), BASE) is None
    assert TimeIndex.from_bytes(times.to_bytes(), BASE, sound=True) is not None
