"""Segments of which no record survives are replaced like all others; otherwise deleted records would return."""

from __future__ import annotations

from shareq.broker.log.partition_log import AppendInfo, Origin
from shareq.broker.log.settings import LogSettings
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.worlds.log_world import LogWorld, read_all, values_of


def put(world: LogWorld, key: bytes, value: bytes | None) -> None:
    now = world.clock.wall_ms()
    info = world.log.append(
        build_batch([RecordData(key, value)], timestamp_ms=now), origin=Origin.COORDINATOR, now_wall_ms=now
    )
    assert isinstance(info, AppendInfo), info
    world.tick()


def test_a_tombstone_outlives_all_that_it_deletes() -> None:
    world = LogWorld(
        LogSettings(segment_bytes=70, index_interval_bytes=10, compact=True, delete=False, delete_retention_ms=0)
    )
    put(world, b"a", b"deleted")
    put(world, b"a", None)
    for number in range(4):
        put(world, b"other", b"%d" % number)
        world.clock.advance(20_000)
    assert b"deleted" not in values_of(read_all(world.log))
