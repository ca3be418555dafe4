"""Long requests whose client disconnects, or that end with a bug or at a limit."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Iterator

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.dispatch import rows
from shareq.broker.foundation.turn_budget import TURN_ELEMENTS
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.share import acknowledgements
from shareq.broker.topics.lookup import PartitionLookup
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.bounded_reading import BoundedReader
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_configs import DescribeConfigsResponse
from shareq.protocol.generated.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.support.long_requests import describe_groups, raw_request
from tests.support.worlds.counted_work import Work


def test_a_client_that_goes_away_is_not_worked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    monkeypatch.setattr(ConfigAdmin, "describe_group", work.count(ConfigAdmin.describe_group))
    stranger.send(describe_groups(5_000), 4)
    for _ in range(10):
        world.clock.run_tick()
    stranger.disconnect()
    work.run(world, neighbour)
    assert sum(work.ticks) < 1_000
    assert not world.services.turns


def test_a_client_that_goes_away_while_it_waits_leaves_nothing_behind(world: BrokerWorld) -> None:
    world.connect().call(describe_groups(1), 4, DescribeConfigsResponse)  # imports
    data = raw_request(ApiKey.METADATA, 12, 90_000, bytes(16) + b"\0\0", b"\0\0\0")
    world.connect().send(describe_groups(1_500), 4)
    budget = world.services.request_budget
    first = budget.held
    assert first > 0
    tracemalloc.start()
    try:
        for _ in range(20):
            stranger = world.connect()
            stranger.send_raw(data)
            assert budget.held == first + len(data)
            stranger.disconnect()
            assert budget.held == first
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < len(data)
    world.clock.run_until_idle()
    assert budget.held == 0
    assert len(world.services.turns) == 0


def test_a_request_whose_client_goes_away_while_it_is_handled_is_given_back_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Freed at once, the request's 200,000 elements would block the loop for 20 ms."""
    world, freed = BrokerWorld(), Work()
    stranger, neighbour = world.connect(), world.connect()
    world.create_topic("t")
    monkeypatch.setattr(ListOffsetsTopic, "__del__", freed.count(lambda _topic: None), raising=False)
    topics = [ListOffsetsTopic(f"t{at}", [ListOffsetsPartition(0, -1, -1)]) for at in range(20_000)]
    stranger.send(ListOffsetsRequest(-1, 0, topics), 7)
    del topics
    looked = Work()
    monkeypatch.setattr(PartitionLookup, "log", looked.count(PartitionLookup.log))
    while not looked.now:
        assert world.clock.run_tick()
    freed.now = 0
    stranger.disconnect()
    freed.run(world, neighbour)
    assert sum(freed.ticks) == 20_000
    assert max(freed.ticks) <= 2 * TURN_ELEMENTS
    assert looked.now < 2_000


def test_an_answer_of_too_many_bytes_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rows, "MOST_ANSWER_BYTES", 1_000_000)
    world = BrokerWorld()
    client = world.connect()
    client.send(describe_groups(5_000), 4)
    with caplog.at_level(logging.WARNING):
        world.clock.run_until_idle()
    assert client.closed
    assert "DescribeConfigsResponse v4 takes more than 1000000 bytes" in caplog.text


def test_a_defect_in_a_part_is_logged_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, world: BrokerWorld
) -> None:
    client = world.connect()
    calls = iter(range(2_000))

    def defect(*_: object) -> None:
        if next(calls) == 1_500:
            raise RuntimeError("a defect")

    monkeypatch.setattr(MetadataStore, "topic_by_id", defect)
    ids = [i.to_bytes(16, "big") for i in range(1, 2_001)]
    client.send(MetadataRequest([MetadataRequestTopic(each, None) for each in ids]), 12)
    world.clock.run_until_idle()
    assert client.closed
    assert not client.frames
    assert "a request that was handled in turns failed" in caplog.text
    assert "a defect" in caplog.text
    assert not world.services.turns


def test_a_defect_in_the_reading_is_logged_and_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> Iterator[None]:
        yield
        raise RuntimeError("a defect")

    monkeypatch.setattr(BoundedReader, "read_in_steps", failing)
    world = BrokerWorld()
    client = world.connect()
    client.send(describe_groups(5_000), 4)
    world.clock.run_until_idle()
    assert client.closed
    assert "a defect" in caplog.text


def test_a_defect_among_many_acknowledgements_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    checked = 0

    def failing(*_: object, **__: object) -> ErrorCode:
        nonlocal checked
        checked += 1
        if checked == pieces:
            raise RuntimeError("a defect")
        return ErrorCode.NONE

    world = BrokerWorld()
    client = world.connect()
    topic = world.create_topic("t", 30)
    joined = client.call(ShareGroupHeartbeatRequest("g", "m" * 22, 0, None, ["t"]), 1, ShareGroupHeartbeatResponse)
    assert not joined.error_code
    opened = client.call(ShareFetchRequest("g", "m" * 22, 0, max_records=1, batch_size=1), 1, ShareFetchResponse)
    assert not opened.error_code
    monkeypatch.setattr(acknowledgements, "validate_ack_batches", failing)
    partitions = [
        AcknowledgePartition(index, [AcknowledgementBatch(i, i, [1]) for i in range(1_000)]) for index in range(30)
    ]
    topics = [AcknowledgeTopic(topic.topic_id, partitions)]
    pieces = 30 * 1_000 // acknowledgements.FEW_BATCHES  # a defect in the first turn is answered
    client.send(ShareAcknowledgeRequest("g", "m" * 22, 1, topics=topics), 1)
    world.clock.run_until_idle()
    assert client.closed
    assert not client.frames
    assert "a defect" in caplog.text
