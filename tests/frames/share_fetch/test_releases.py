"""Share groups switched off and on, records of other releases, deleted internal topics (KIP-932)."""

from __future__ import annotations

import logging
import re
from struct import pack

import pytest

from devtools.in_memory.mem_fs import SimulatedCrash
from devtools.in_memory.mock_transport import DATA, BrokerWorld
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.log.partition_log import Origin
from shareq.coordinator.routing import group_partition_for, share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start

OFF, ON = {"group.share.enable": "false"}, {"group.share.enable": "true"}
ONE_SHARD = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION
Place = tuple[bytes, int]


def half_done(properties: dict[str, str] | None = None) -> tuple[BrokerWorld, ShareClient, Place]:
    world = BrokerWorld(properties)
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    append(world, "t", 10)
    member = ShareClient(world)
    member.join("t")
    assert member.acquire(place) == [(0, 9, 1)]
    assert member.acknowledge(place, (0, 4, ACCEPT)) is ErrorCode.NONE
    return world, member, place


def restart_with(world: BrokerWorld, properties: dict[str, str]) -> None:
    world.config = BrokerConfig.load({"log.dirs": DATA, **properties})
    world.restart()


def write_record(world: BrokerWorld, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
    now = world.clock.wall_ms()
    log = world.folder.logs.get(topic, partition)
    batch = build_batch([RecordData(key, value)], timestamp_ms=now)
    log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=now, on_durable=None)
    world.clock.run_until_idle()


# -- share.version


def test_share_groups_that_are_off_answer_unsupported_version() -> None:
    world = BrokerWorld(OFF)
    place = (world.create_topic("t").topic_id, 0)
    member = ShareClient(world)
    refused = member.heartbeat("t", epoch=0)
    assert (refused.error_code, refused.error_message) == (UNSUPPORTED, None)  # Kafka's ShareGroupHeartbeatRequestTest
    assert member.describe().error_code == UNSUPPORTED
    assert member.fetch(place).error_code == UNSUPPORTED
    assert member.acknowledge(place, (0, 0, ACCEPT)) is UNSUPPORTED


def test_the_state_rpcs_do_not_ask_whether_they_are_on() -> None:
    world = BrokerWorld(OFF)
    topic_id = world.create_topic("t").topic_id
    request = ReadShareGroupStateRequest("g", [ReadStateData(topic_id, [PartitionData(0)])])
    answer = world.connect().call(request, 0, ReadShareGroupStateResponse)
    assert answer.results[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_everything_is_there_again_when_they_are_switched_on_again() -> None:
    world, member, place = half_done()
    before = member.describe()
    restart_with(world, OFF)
    member.reconnect()
    assert member.heartbeat().error_code == UNSUPPORTED
    restart_with(world, ON)
    member.reconnect()
    assert member.describe() == before
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == [(5, 9, 1)]


def test_the_list_of_rebalance_protocols_plays_no_part() -> None:
    world, member, place = half_done({"group.coordinator.rebalance.protocols": "classic"})
    assert member.acknowledge(place, (5, 9, ACCEPT)) is ErrorCode.NONE
    assert world.services.metadata.share_groups_enabled


# -- records of other releases

STRANGE = pack(">h", 999) + b"whatever a later release keeps"


def test_records_of_unknown_types_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """For example, another release's committed offsets and consumer-group members are skipped."""
    world, member, place = half_done()
    before = member.describe()
    groups = group_partition_for("g", 50)
    states = share_partition_for(SharePartitionKey("g", *place), 50)
    write_record(world, "__consumer_offsets", groups, STRANGE, b"\x00\x07 anything")
    write_record(world, "__consumer_offsets", groups, pack(">h", 998), None)
    write_record(world, "__share_group_state", states, STRANGE, b"")
    with caplog.at_level(logging.WARNING):
        world.restart()
    assert caplog.text.count("record of an unknown type") == 3
    member.reconnect()
    assert member.describe() == before
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == [(5, 9, 1)]


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__share_group_state"])
def test_a_known_record_in_an_unknown_version_is_skipped_and_logged(
    topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Apache Kafka would stop all groups of that partition."""
    world, member, place = half_done()
    key = SharePartitionKey("g", *place)
    if topic == "__consumer_offsets":
        partition, bytes_of_key = group_partition_for("g", 50), pack(">hh", 11, 1) + b"g"
    else:
        partition = share_partition_for(key, 50)
        bytes_of_key = pack(">hh", 0, 1) + b"g" + key.topic_id + pack(">i", key.partition)
    write_record(world, topic, partition, bytes_of_key, pack(">h", 9) + b"what nobody knows yet")
    world.restart()
    (line,) = (each.getMessage() for each in caplog.records if each.levelno == logging.ERROR)
    assert re.fullmatch(rf"{topic}-{partition}: record at offset \d+ skipped: \w+ has no version 9", line)
    member.reconnect()
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == [(5, 9, 1)]


# -- internal topics that were removed


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_state_topic_may_be_removed_when_share_groups_are_off(end: str) -> None:
    """KIP-932: it is unused after a downgrade. Its content is lost, so the group starts over."""
    world, member, place = half_done()
    restart_with(world, OFF)
    if end == "stop":
        assert delete_topic(world, "__share_group_state") is ErrorCode.NONE
    else:
        world.db.after_commit = die
        with pytest.raises(SimulatedCrash):
            delete_topic(world, "__share_group_state")
        world.db.after_commit = None
        world.crash()
    restart_with(world, ON)
    member.reconnect()
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == [(0, 9, 1)]


def die(_changes: object) -> None:
    raise SimulatedCrash


def delete_topic(world: BrokerWorld, name: str) -> ErrorCode:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1_000)
    answer = world.connect().call(request, 6, DeleteTopicsResponse)
    return ErrorCode(answer.responses[0].error_code)


def test_a_state_topic_that_is_removed_at_work_is_made_again() -> None:
    """The topic's content is lost, but new records are kept: the group starts over with its next heartbeat."""
    world, member, place = half_done(ONE_SHARD)
    assert delete_topic(world, "__share_group_state") is ErrorCode.NONE
    assert member.acknowledge(place, (5, 9, ACCEPT)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # forgotten
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.acquire(place) == [(0, 9, 1)]
    assert member.acknowledge(place, (0, 6, ACCEPT)) is ErrorCode.NONE
    world.restart()
    member.reconnect()
    assert member.acquire(place) == [(7, 9, 1)]


def test_a_group_topic_that_is_removed_at_work_takes_the_groups_with_it() -> None:
    world, member, place = half_done(ONE_SHARD)
    assert delete_topic(world, "__consumer_offsets") is ErrorCode.NONE
    assert member.heartbeat().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert member.join("t") == {"t": [0]}
    world.restart()
    member.reconnect()
    assert member.heartbeat().error_code == ErrorCode.NONE
    assert member.describe().members[0].assignment.topic_partitions[0].topic_id == place[0]
