"""Requests of a stranger that are refused for their size before memory is allocated for them."""

from __future__ import annotations

import logging
import struct
import tracemalloc

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.element_limits import MOST_ELEMENTS, RESOURCES, largest_frame, most_elements
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.groups.share import ShareGroupService
from shareq.broker.network.request_limits import RequestLimits
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.bounded_reading import STEP_ELEMENTS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.support.long_requests import raw_request
from tests.support.worlds.counted_work import Work

ATTACKS = {
    "DescribeConfigs of 10.4 M groups": (ApiKey.DESCRIBE_CONFIGS, 4, 10_400_000, b"\x20\x06aaaaa\0\0", b"\0\0\0"),
    "Metadata by 5.2 M ids": (ApiKey.METADATA, 12, 5_200_000, b"i" * 16 + b"\0\0", b"\1\0\0"),
    "ListGroups with 47 M filters": (ApiKey.LIST_GROUPS, 5, 47_000_000, b"\2a", b"\1\0"),
    "ListGroups with 5,000 filters": (ApiKey.LIST_GROUPS, 5, 5_000, b"\2a", b"\1\0"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_request_of_too_many_elements_is_refused_before_memory_is_taken(
    name: str, caplog: pytest.LogCaptureFixture, world: BrokerWorld
) -> None:
    stranger = world.connect()
    stranger.send_raw(raw_request(ApiKey.METADATA, 12, 20_000, bytes(16) + b"\0\0", b"\0\0\0"))  # imports
    world.clock.run_until_idle()
    data = raw_request(*ATTACKS[name])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with caplog.at_level(logging.WARNING):
            stranger.send_raw(data)
            world.clock.run_until_idle()
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * len(data) + 100_000  # the frame itself, without its size, and what handles it
    assert stranger.closed
    (line,) = (each.getMessage() for each in caplog.records)
    assert f"more than {most_elements(ATTACKS[name][0])} elements" in line


def test_every_limit_is_that_of_an_rpc_that_is_served() -> None:
    assert set(MOST_ELEMENTS) <= set(HANDLERS)
    assert most_elements(ApiKey.DESCRIBE_CONFIGS) == RESOURCES
    assert min(MOST_ELEMENTS.values()) + 1 > STEP_ELEMENTS


def test_a_list_of_groups_takes_the_filters_there_are() -> None:
    answer = BrokerWorld().connect().call(ListGroupsRequest(["Stable"] * 500, []), 5, ListGroupsResponse)
    assert answer.error_code == ErrorCode.NONE


def test_a_million_topic_names_in_a_heartbeat_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names too large for a record are refused by size, and more names than a turn takes by number."""
    world, work = BrokerWorld(), Work()
    monkeypatch.setattr(ShareGroupService, "heartbeat", work.count(ShareGroupService.heartbeat))
    for count in (5_000, 5_001, 100_000, 1_000_000):
        client = world.connect()
        names = [f"{i % 1000:03}" for i in range(count)]
        client.send(ShareGroupHeartbeatRequest("g", f"m{count}", 0, None, names), 1)
        world.clock.run_until_idle()
        if client.frames:
            expected = ErrorCode.NONE if count == 5_000 else ErrorCode.UNKNOWN_SERVER_ERROR
            assert client.receive(ShareGroupHeartbeatResponse).error_code == expected
        else:
            assert client.closed
    assert work.now == 1


def limited(world: BrokerWorld) -> MockConnection:
    return world.connect(limits=RequestLimits(largest_of=largest_frame))


@pytest.mark.parametrize("pieces", [[8], [4, 4], [5, 3], [4, 1, 1]], ids=str)
def test_a_frame_that_no_request_of_its_kind_has_is_refused_by_its_beginning(
    pieces: list[int], world: BrokerWorld
) -> None:
    stranger = limited(world)
    begin = struct.pack(">ihh", 95_000_000, ApiKey.LIST_GROUPS, 5)
    for size in pieces:
        assert not stranger.closed
        stranger.send_raw(begin[:size])
        begin = begin[size:]
        world.clock.run_until_idle()
    assert stranger.closed


def test_frames_of_records_are_as_large_as_ever(world: BrokerWorld) -> None:
    client = limited(world)
    client.send_raw(struct.pack(">ihh", 95_000_000, ApiKey.PRODUCE, 9) + bytes(100_000))
    world.clock.run_until_idle()
    assert not client.closed
    assert client.side.buffered_input == 100_008


def test_a_large_frame_that_comes_in_pieces_is_put_together(world: BrokerWorld) -> None:
    ids = [i.to_bytes(16, "big") for i in range(1, 10_001)]
    request = MetadataRequest([MetadataRequestTopic(each, None) for each in ids])
    expected = world.connect().call(request, 12, MetadataResponse)
    client = limited(world)
    data = client.requests.frame_of(request, 12)
    for end, start in ((5, 0), (6, 5), (100_000, 6), (len(data), 100_000)):
        client.send_raw(data[start:end])
    assert client.receive(MetadataResponse) == expected


def test_what_clients_send_at_most_fits_into_the_frames_there_are() -> None:
    """A commit of 200,000 partitions in 1,000 topics is accepted."""
    partitions = [OffsetCommitRequestPartition(i, i, 0, "m" * 50) for i in range(199)]
    topics = [OffsetCommitRequestTopic("t" * 249, partitions=partitions) for _ in range(1_000)]
    size = len(OffsetCommitRequest("g", topics=topics).encode(9))
    assert size < largest_frame(ApiKey.OFFSET_COMMIT)
    names = MetadataRequest([MetadataRequestTopic(bytes(16), "t" * 200) for _ in range(100_000)])
    assert len(names.encode(12)) < largest_frame(ApiKey.METADATA)
    assert largest_frame(999) < 32 * 1024 * 1024
