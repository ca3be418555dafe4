"""Open files and the maps in memory, limited over all segments."""

from __future__ import annotations

from random import Random

from devtools.in_memory.mem_fs import MemFs
from shareq.broker.log.segments.files import SEALED_MAPS, FilePool, Segment
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from tests.support.worlds.log_world import LogWorld, batch_of

SIZE = len(batch_of(b"0"))


def pool_of(limit: int, segments: int) -> tuple[MemFs, list[Segment]]:
    fs = MemFs(lambda call: call())
    fs.make_dirs("log")
    pool = FilePool(fs, limit)
    return fs, [Segment(pool, "log", base, 0, 4096) for base in range(segments)]


def test_files_that_are_used_stay_open() -> None:
    fs, segments = pool_of(3, 10)
    for segment in segments:
        segments[0].file()
        segment.file()
        assert fs.open_files <= 3
    opened = [path for kind, path in fs.history if kind == "create"]
    assert len(opened) == 10
    reads_before = len(fs.history)
    segments[0].file()
    assert len(fs.history) == reads_before


def test_files_that_are_being_synced_stay_open_beyond_the_limit() -> None:
    fs, segments = pool_of(2, 6)
    files = []
    for segment in segments[:4]:
        segment.pins += 1
        files.append(segment.file())
    segments[4].file()
    assert not any(file.closed for file in files)  # type: ignore[attr-defined]
    for segment in segments[:4]:
        segment.pins -= 1
    segments[5].file()
    assert fs.open_files == 2


def test_maps_of_sealed_segments_are_bounded_and_come_back() -> None:
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE))
    for at in range(300):
        world.produce(b"%d" % (at % 10))
    rng = Random(0)
    for _ in range(300):
        offset = rng.randrange(300)
        result = world.log.read(offset, 1, upto=300)
        assert isinstance(result, ReadResult)
        assert result.batches[0].base_offset == offset
    in_memory = sum(segment._map is not None for segment in world.log.segments)  # what no caller can see
    assert in_memory <= SEALED_MAPS + 1
