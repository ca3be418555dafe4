"""Flipped bits in index files, which have no checksums of their own, must change no answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.segments.index_checksums import format_checksums, parse_checksums
from shareq.broker.log.settings import LogSettings
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld

FOLDER = f"{DATA}/{TOPIC}-0"
INDEX = f"{FOLDER}/00000000000000000000.index"
TIMES = f"{FOLDER}/00000000000000000000.timeindex"
CHECKSUMS = f"{FOLDER}/00000000000000000000.checksums"
HOUR_MS = 3_600_000


@given(st.dictionaries(st.sampled_from([".index", ".timeindex", ".txnindex"]), st.integers(0, 2**32 - 1)))
def test_what_was_formatted_is_parsed(checksums: dict[str, int]) -> None:
    assert parse_checksums(format_checksums(checksums)) == checksums


@given(st.data())
def test_a_flipped_bit_is_noticed(data: st.DataObject) -> None:
    content = bytearray(format_checksums({".index": 1, ".timeindex": 2**32 - 1}))
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ValueError, match=r".*"):
        parse_checksums(bytes(content))


def world_with_a_sealed_segment() -> LogWorld:
    """Return four batches an hour apart in the first segment and a fifth in the next, each with an index entry."""
    world = LogWorld(LogSettings(segment_bytes=800, index_interval_bytes=1, retention_ms=10 * HOUR_MS))
    for _ in range(5):
        world.produce(bytes(100))
        world.clock.advance(HOUR_MS)
    world.restart()
    assert [segment.base_offset for segment in world.log.segments] == [0, 4]
    return world


@pytest.mark.parametrize("path", [INDEX, TIMES])
def test_no_flipped_bit_in_an_index_changes_what_is_found(path: str) -> None:
    size = len(world_with_a_sealed_segment().fs.content(path))
    for at in range(size):
        world = world_with_a_sealed_segment()
        world.restart(clean=True)
        begin = world.clock.wall_ms() - 5 * HOUR_MS
        world.fs.content(path)[at] ^= 0x40
        found = [world.log.offset_for_timestamp(begin + hour * HOUR_MS) for hour in range(5)]
        assert [None if each is None else each.offset for each in found] == [0, 1, 2, 3, 4]


def test_an_older_index_is_rebuilt() -> None:
    world = world_with_a_sealed_segment()
    older = bytes(world.fs.content(TIMES)[:12])
    world.restart()
    world.fs.content(TIMES)[:] = older
    newest = result_of(world.log.seek_max_timestamp(unpaused))
    assert newest is not None
    assert newest.offset == 4
    assert world.log.segments[0].map.max_timestamp == world.clock.wall_ms() - 2 * HOUR_MS
    assert len(world.fs.content(TIMES)) > len(older)


def test_retention_does_not_believe_a_flipped_timestamp() -> None:
    """A flipped timestamp would delete records long before their time."""
    world = world_with_a_sealed_segment()
    times = world.fs.content(TIMES)
    for at in range(2, len(times), 12):
        times[at] ^= 0x01  # about 50 days
    world.logs.upkeep.apply_retention()
    assert world.log.log_start_offset == 0


@pytest.mark.parametrize("content", [None, b"", b"index 00000000\n", b"\0" * 40])
def test_without_checksums_the_indexes_are_believed(content: bytes | None) -> None:
    """The data folders of earlier releases have no checksums."""
    world = world_with_a_sealed_segment()
    if content is None:
        world.fs.remove(CHECKSUMS)
    else:
        world.fs.content(CHECKSUMS)[:] = content
    reads = world.fs.reads
    assert len(world.log.segments[0].map.times) == 3
    assert world.fs.reads - reads <= 4, "the log was read"
