"""Delayed redelivery as clients see it, over frames: waiting, restarts, crashes, descriptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    Place,
    ShareClient,
    acquired_of,
    append,
    configure,
    from_the_start,
)

BACKOFF_MS = 10_000


def begin(records: int = 10) -> tuple[BrokerWorld, ShareClient, Place]:
    world = BrokerWorld({"share.coordinator.state.topic.num.partitions": "1", "log.flush.interval.messages": "1"})
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    configure(world, shareq_redelivery_backoff_ms=str(BACKOFF_MS))
    append(world, "t", 1, batches=records)
    member = ShareClient(world)
    member.join("t")
    assert sum(last - first + 1 for first, last, _ in member.acquire(place)) == records
    return world, member, place


def wait_for(world: BrokerWorld, member: ShareClient, place: Place, most_ms: int = 60_000) -> tuple[int, list[int]]:
    began = world.clock.now_ms()
    member.send_fetch(place, max_wait_ms=most_ms)
    while not member.connection.frames:
        due = world.clock.next_timer_ms()
        assert due is not None
        world.clock.advance(max(due - world.clock.now_ms(), 0))
    waited = world.clock.now_ms() - began
    ranges = acquired_of(member.fetch_answer())
    return waited, [offset for first, last, _ in ranges for offset in range(first, last + 1)]


def test_what_a_lost_connection_held_waits() -> None:
    world, member, place = begin()
    other = ShareClient(world, "other")
    other.join("t")
    assert other.acquire(place) == []
    member.connection.side.lost()
    assert wait_for(world, other, place) == (BACKOFF_MS, list(range(10)))


@pytest.mark.parametrize("how", ["stop", CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_restart_keeps_the_time(how: str | CrashModel) -> None:
    world, member, place = begin()
    member.acknowledge(place, (0, 4, RELEASE), (5, 9, ACCEPT))
    world.clock.advance(4_000)
    if isinstance(how, CrashModel):
        world.crash(how)
    else:
        world.restart()
    member.reconnect()
    assert wait_for(world, member, place) == (BACKOFF_MS - 4_000, [0, 1, 2, 3, 4])


def test_what_a_snapshot_has_outlasts_a_restart() -> None:
    world, member, place = begin()
    shard = world.services.share_states.partitions.get(0).shard
    shard.settings = replace(shard.settings, snapshot_update_records_per_snapshot=1)
    member.acknowledge(place, (0, 4, RELEASE))
    world.clock.advance(4_000)
    member.acknowledge(place, (5, 5, ACCEPT))
    member.acknowledge(place, (6, 9, ACCEPT))
    world.restart()
    member.reconnect()
    assert wait_for(world, member, place) == (BACKOFF_MS - 4_000, [0, 1, 2, 3, 4])


def test_the_lag_counts_what_waits() -> None:
    world, member, place = begin()
    member.acknowledge(place, (0, 4, RELEASE), (5, 9, ACCEPT))
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", None)])
    answer = world.connect().call(request, 1, DescribeShareGroupOffsetsResponse)
    (partition,) = answer.groups[0].topics[0].partitions
    assert (partition.start_offset, partition.lag) == (0, 5)


def test_altered_offsets_begin_without_waits() -> None:
    world, member, place = begin()
    member.acknowledge(place, (0, 9, RELEASE))
    member.leave()
    row = AlterShareGroupOffsetsRequestPartition(0, 0)
    request = AlterShareGroupOffsetsRequest("g", [AlterShareGroupOffsetsRequestTopic("t", [row])])
    answer = world.connect().call(request, 0, AlterShareGroupOffsetsResponse)
    assert answer.error_code == ErrorCode.NONE
    member = ShareClient(world, "next")
    member.join("t")
    assert wait_for(world, member, place) == (0, list(range(10)))
