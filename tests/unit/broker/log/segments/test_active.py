from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.segments.active import BY_REFERENCE_BYTES, ActiveSegment
from shareq.broker.log.segments.files import FilePool, Segment
from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET
from shareq.broker.log.settings import LogSettings
from shareq.protocol.records.batch import PREFIX_SIZE, batch_headers, read_header
from tests.support.worlds.log_world import batch_of

FOLDER = "data/orders-0"
BASE = 100
ONE = batch_of(b"x" * 50, b"y" * 50)


def fs() -> MemFs:
    made = MemFs(VirtualClock().call_soon, Random(0))
    made.make_dirs(FOLDER)
    return made


def active(settings: LogSettings | None = None, disk: MemFs | None = None, since_ms: int = 0) -> ActiveSegment:
    segment = Segment(FilePool(disk or fs()), FOLDER, BASE, 0, 4096)
    segment.set_map(segment.new_map(), proven=True)
    return ActiveSegment(segment, settings or LogSettings(), since_ms)


def add(tip: ActiveSegment, batch: bytearray, base_offset: int, now_ms: int = 0) -> bool:
    return tip.add(batch, len(batch), read_header(batch), base_offset, 7, now_ms)


def file_of(tip: ActiveSegment) -> bytes:
    return tip.segment.read_at(0, tip.segment.size)


def test_batches_are_buffered_then_written_with_their_offsets_and_epoch() -> None:
    tip = active()
    assert add(tip, ONE, BASE)
    assert add(tip, ONE, BASE + 2)
    assert (tip.position, tip.buffered_bytes, tip.segment.exists) == (2 * len(ONE), 2 * len(ONE), False)
    tip.write()
    assert (tip.position, tip.buffered_bytes) == (2 * len(ONE), 0)
    data = file_of(tip)
    assert [header.base_offset for _, header in batch_headers(data)] == [BASE, BASE + 2]
    assert [data[at + 12 : at + 16] for at, _ in batch_headers(data)] == [(7).to_bytes(4, "big")] * 2


def test_large_batches_keep_their_place_between_small_ones() -> None:
    large = batch_of(b"z" * BY_REFERENCE_BYTES)
    tip = active()
    for base, batch in ((BASE, ONE), (BASE + 2, large), (BASE + 3, ONE), (BASE + 5, large)):
        assert add(tip, batch, base)
    tip.write()
    assert [header.base_offset for _, header in batch_headers(file_of(tip))] == [BASE, BASE + 2, BASE + 3, BASE + 5]
    start = len(ONE)
    assert file_of(tip)[start + PREFIX_SIZE : start + len(large)] == large[PREFIX_SIZE:]


@pytest.mark.parametrize(("segment_bytes", "fits"), [(2 * len(ONE), True), (2 * len(ONE) - 1, False)])
def test_it_takes_batches_up_to_segment_bytes(segment_bytes: int, fits: bool) -> None:
    tip = active(LogSettings(segment_bytes=segment_bytes))
    assert add(tip, ONE, BASE)
    assert add(tip, ONE, BASE + 2) is fits
    assert tip.position == (2 if fits else 1) * len(ONE)


@pytest.mark.parametrize(("after_ms", "fits"), [(999, True), (1000, False)])
def test_it_takes_batches_until_segment_ms(after_ms: int, fits: bool) -> None:
    tip = active(LogSettings(segment_ms=1000), since_ms=50)
    assert add(tip, ONE, BASE, 50)
    assert tip.is_old(50 + after_ms) is not fits
    assert add(tip, ONE, BASE + 2, 50 + after_ms) is fits


@pytest.mark.parametrize(("last", "fits"), [(MAX_RELATIVE_OFFSET, True), (MAX_RELATIVE_OFFSET + 1, False)])
def test_it_takes_offsets_that_an_index_can_hold(last: int, fits: bool) -> None:
    tip = active()
    assert add(tip, ONE, BASE)
    assert add(tip, ONE, BASE + last - 1) is fits  # two offsets


def test_the_first_batch_may_be_of_any_size_and_sets_the_age() -> None:
    tip = active(LogSettings(segment_bytes=10, segment_ms=1000))
    assert add(tip, ONE, BASE, 5000)
    assert not tip.is_old(5999)
    assert tip.is_old(6000)
    assert not add(tip, ONE, BASE + 2, 5000)


def test_a_segment_whose_index_is_full_takes_no_more() -> None:
    tip = active(LogSettings(segment_index_bytes=8, index_interval_bytes=1))
    base = BASE
    while not len(tip.segment.map.offsets):
        assert add(tip, ONE, base)
        tip.write()
        base += 2
    assert tip.segment.size < 2 * 4096
    assert not add(tip, ONE, base)


def test_new_settings_count_at_once_and_age_goes_on() -> None:
    tip = active(LogSettings(segment_ms=10_000), since_ms=100)
    assert add(tip, ONE, BASE, 100)
    tip.apply(LogSettings(segment_bytes=3 * len(ONE), segment_ms=1000))
    assert add(tip, ONE, BASE + 2, 1099)
    assert not add(tip, ONE, BASE + 4, 1100)
    assert add(tip, ONE, BASE + 4, 1099)
    assert not add(tip, ONE, BASE + 6, 1099)


def test_after_a_failed_write_it_is_what_it_was() -> None:
    disk = fs()
    tip = active(disk=disk)
    add(tip, ONE, BASE)
    tip.write()
    before, timestamp = file_of(tip), read_header(ONE).max_timestamp
    assert tip.written_timestamp == timestamp
    add(tip, batch_of(b"late", timestamp_ms=timestamp + 5), BASE + 2)
    assert tip.written_timestamp == timestamp  # what is buffered does not count
    disk.fail = lambda kind, _path: OSError(28, "full") if kind == "write" else None
    with pytest.raises(OSError, match="full"):
        tip.write()
    disk.fail = None
    tip.take_back(BASE + 2)
    tip.segment.cut_back()
    assert (tip.position, tip.buffered_bytes, tip.written_timestamp) == (len(before), 0, timestamp)
    assert (tip.segment.map.last_offset(), tip.segment.map.max_timestamp) == (BASE + 1, timestamp)
    assert add(tip, ONE, BASE + 2)
    tip.write()
    data = disk.read_bytes(tip.segment.log_path)
    assert data[: len(before)] == before
    assert data[len(before) + PREFIX_SIZE :] == ONE[PREFIX_SIZE:]
    assert [header.base_offset for _, header in batch_headers(data)] == [BASE, BASE + 2]
    assert tip.segment.map.last_offset() == BASE + 3


def test_a_map_from_index_files_is_made_again_only_when_all_is_written() -> None:
    tip = active()
    add(tip, ONE, BASE)
    tip.write()
    assert not tip.map_was_wrong()  # made from the batches themselves
    tip.segment.map_proven = False
    add(tip, ONE, BASE + 2)
    assert not tip.map_was_wrong()
    tip.write()
    assert tip.map_was_wrong()
    assert tip.segment.map_proven
    assert add(tip, ONE, BASE + 4)
    assert tip.segment.map.last_offset() == BASE + 5
