"""A broker on a ground of fakes: without a folder, and with another table of handlers."""

from __future__ import annotations

import pytest

from devtools.clients.requests import batch, fetch_request, produce_request
from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metadata.store import NewTopic
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from tests.support.clients.share_client import ACCEPT, ShareClient, acquired_of, from_the_start
from tests.support.fakes.memory_ground import SERVED, GroundWorld
from tests.support.worlds.metrics import scraped


@pytest.fixture
def world() -> GroundWorld:
    world = GroundWorld()
    world.stands_on.metadata.create_topic(NewTopic("t", 1))
    from_the_start(world)
    return world


def records_in(world: GroundWorld, topic: str) -> int:
    image = world.stands_on.metadata.topic(topic)
    count = 0 if image is None else image.partitions
    return sum(len(world.stands_on.logs.get(topic, partition).records()) for partition in range(count))


def test_a_share_group_works_without_a_data_folder(world: GroundWorld) -> None:
    """KIP-932: heartbeat, fetch and acknowledge, with groups and states in the ground's coordinator logs."""
    ground, client = world.stands_on, ShareClient(world)
    ground.sources.get("t", 0).fill(b"a", b"b", b"c")
    place = (ground.sources.get("t", 0).topic_id, 0)

    assert client.join("t") == {"t": [0]}
    assert records_in(world, CONSUMER_OFFSETS)
    assert client.acquire(place) == [(0, 2, 1)]
    before = records_in(world, SHARE_GROUP_STATE)
    assert client.acknowledge(place, (0, 2, ACCEPT)) is ErrorCode.NONE
    assert records_in(world, SHARE_GROUP_STATE) == before + 1
    assert acquired_of(client.fetch(place)) == []


def test_an_acknowledgement_that_its_log_loses_is_not_confirmed(world: GroundWorld) -> None:
    ground, client = world.stands_on, ShareClient(world)
    ground.sources.get("t", 0).fill(b"a")
    place = (ground.sources.get("t", 0).topic_id, 0)
    client.join("t")
    assert client.acquire(place) == [(0, 0, 1)]
    client.send_acknowledge(place, (0, 0, ACCEPT))
    assert not client.connection.frames
    ground.logs.lose_all()
    assert client.acknowledge_answer() is not ErrorCode.NONE


def test_a_share_fetch_that_waits_hears_of_records_from_the_ground(world: GroundWorld) -> None:
    ground, client = world.stands_on, ShareClient(world)
    source = ground.sources.get("t", 0)
    client.join("t")
    place = (source.topic_id, 0)
    assert client.acquire(place) == []
    client.send_fetch(place, max_wait_ms=10_000)
    world.clock.run_until_idle()
    assert not client.connection.frames
    source.fill(b"a")
    ground.sources.announce("t", 0)
    assert acquired_of(client.fetch_answer()) == [(0, 0, 1)]


def test_a_fetch_that_waits_hears_of_records_from_the_ground(world: GroundWorld) -> None:
    log, connection = world.stands_on.fetched.get("t", 0), world.connect()
    connection.send(fetch_request("t", max_wait_ms=10_000, min_bytes=1), 11)
    world.clock.run_until_idle()
    assert not connection.frames
    log.fill(b"a")
    world.stands_on.fetched.announce(log)
    answer = connection.receive(FetchResponse)
    assert answer.responses[0].partitions[0].high_watermark == 1


def test_api_versions_are_those_of_the_grounds_table(world: GroundWorld) -> None:
    answer = world.connect().call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
    shown = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    rows = {key: HANDLERS[key].advertised for key in SERVED}
    expected = {int(key): (row.first, row.last) for key, row in rows.items()}
    expected[ApiKey.FETCH] = (rows[ApiKey.FETCH].first, 11)
    expected[ApiKey.API_VERSIONS] = (0, 3)
    assert shown == expected


def test_a_version_beyond_the_table_is_answered_with_what_the_table_has(world: GroundWorld) -> None:
    """KIP-511: the answer has version 0, and the one entry needed to retry."""
    connection = world.connect()
    connection.send(ApiVersionsRequest("test", "1"), 4)
    world.clock.run_until_idle()
    answer, _ = ApiVersionsResponse.decode(connection.frames.popleft()[4:], 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.max_version) for row in answer.api_keys] == [(ApiKey.API_VERSIONS, 3)]


def test_what_the_table_does_not_have_closes_the_connection(
    world: GroundWorld, caplog: pytest.LogCaptureFixture
) -> None:
    for request, version, why in (
        (produce_request(batch(b"v"), topic="t"), 9, "(PRODUCE) is not served"),
        (fetch_request("t"), 12, "FETCH version 12 is not served, only 4 to 11"),
    ):
        connection = world.connect()
        connection.send(request, version)
        world.clock.run_until_idle()
        assert connection.closed
        assert why in caplog.text


def test_a_scrape_has_the_metrics_of_all_brokers_and_those_of_the_ground(world: GroundWorld) -> None:
    client = ShareClient(world)
    client.join("t")
    reported = scraped(world)
    assert reported.value("kafka_server_group_coordinator_metrics_group_count", protocol="share") == 1
    assert not [name for name in reported.types if name.startswith(("kafka_log_", "shareq_disk_", "shareq_redrive"))]


@pytest.mark.parametrize("clean", [True, False])
def test_the_ground_is_opened_and_closed_once(world: GroundWorld, clean: bool) -> None:
    ShareClient(world).join("t")
    world.broker.stop_waiting()
    assert world.stands_on.life == ["open"]
    world.broker.close(clean=clean)
    assert world.stands_on.life == ["open", "closed" if clean else "left as it was"]


def test_what_a_data_folder_alone_has_is_not_found_elsewhere(world: GroundWorld) -> None:
    with pytest.raises(AssertionError, match="memory is no data folder"):
        data_folder_of(world.services)
