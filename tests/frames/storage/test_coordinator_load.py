"""Loading a coordinator's log with large batches, damaged ones, and a failing disk."""

from __future__ import annotations

import logging

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.coordinator_runtime import replay as coordinator_load
from shareq.broker.coordinator_runtime.replay import replay_log
from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.groups.coordinator import group_coordinator_settings
from shareq.broker.log.partition_log import Origin
from shareq.coordinator.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from shareq.coordinator.group.classic.records import group_record
from shareq.coordinator.group.serde import GROUP_SERDE
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.routing import group_partition_for
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.support.clients.classic_client import ClassicClient, form
from tests.support.clients.share_client import ShareClient

NONE = ErrorCode.NONE
ONE_SHARD = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
FIRST_SEGMENT = f"data/{CONSUMER_OFFSETS}-0/{0:020}.log"


def classic_group(group_id: str, metadata: bytes) -> RecordData:
    """Return the record of a group with one member, of any size, as an earlier release wrote it."""
    group = ClassicGroup(group_id, 0)
    group.add(ClassicMember("m", None, "c", "/127.0.0.1", 60_000, 60_000, (("range", metadata),)), "consumer")
    group.protocol_name, group.generation, group.state = "range", 1, ClassicState.STABLE
    return RecordData(*GROUP_SERDE.encode(group_record(group, {})))


def append(world: BrokerWorld, *records: RecordData, compression: Compression = Compression.NONE) -> None:
    now = world.clock.wall_ms()
    batch = build_batch(records, timestamp_ms=now, compression=compression)
    world.folder.logs.get(CONSUMER_OFFSETS, 0).append(batch, origin=Origin.COORDINATOR, now_wall_ms=now)
    world.clock.run_until_idle()


def with_groups(**properties: str) -> BrokerWorld:
    world = BrokerWorld(ONE_SHARD | {name.replace("_", "."): value for name, value in properties.items()})
    world.create_topic("t")
    ShareClient(world, group="before").join("t")
    return world


def groups(world: BrokerWorld) -> set[str]:
    shard: GroupCoordinatorShard = world.services.groups.coordinator.partitions.get(0).shard
    return {listed.group_id for listed in shard.list_groups().response}


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_a_batch_of_68_mb_that_an_earlier_release_wrote_is_loaded(
    compression: Compression, caplog: pytest.LogCaptureFixture
) -> None:
    world = with_groups()
    append(world, classic_group("huge", bytes(68 * 1024 * 1024)), compression=compression)
    append(world, classic_group("behind", b""))
    with caplog.at_level(logging.WARNING):
        world.restart()
    assert groups(world) == {"before", "huge", "behind"}
    assert not [line for line in caplog.messages if CONSUMER_OFFSETS in line]
    world.clock.advance(120_000)  # nobody is heard of: the group becomes empty, by a small record
    world.restart()
    assert groups(world) == {"before", "huge", "behind"}


def loaded_from(world: BrokerWorld, buffer_bytes: int = 1_000) -> set[str]:
    broker, settings = world.broker, group_coordinator_settings(world.services.started_with)
    shard = GroupCoordinatorShard(broker.services.metadata, broker.services.configs, world.clock.wall_ms, settings)
    log = data_folder_of(broker.services).logs.get(CONSUMER_OFFSETS, 0)
    result_of(replay_log(log, shard, GROUP_SERDE, unpaused, buffer_bytes))
    return {listed.group_id for listed in shard.list_groups().response}


@pytest.mark.parametrize("buffer_bytes", [1_000, 5_000_000])
def test_a_batch_that_is_larger_still_is_skipped(
    buffer_bytes: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_load, "LARGEST_BATCH_BYTES", 100_000)
    world = with_groups()
    large = classic_group("large", bytes(100_000))
    append(world, classic_group("first", b""), large, classic_group("last", b""))
    append(world, classic_group("behind", bytes(50_000)))
    append(world, large, compression=Compression.GZIP)
    end = world.folder.logs.get(CONSUMER_OFFSETS, 0).log_end_offset
    assert loaded_from(world, buffer_bytes) == {"before", "behind"}
    whole, compressed = (line for line in caplog.messages if line.startswith(CONSUMER_OFFSETS))
    assert whole.startswith(f"{CONSUMER_OFFSETS}-0: offsets {end - 5} to {end - 3} skipped: ")
    assert compressed.startswith(f"{CONSUMER_OFFSETS}-0: record at offset {end - 1} skipped: records are larger than")


def test_damaged_batches_are_skipped_and_the_load_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    world = with_groups()
    positions = {}
    for name in ("one", "two", "three", "four"):
        positions[name] = world.folder.logs.get(CONSUMER_OFFSETS, 0).size_bytes
        append(world, classic_group(name, b"x" * 100), classic_group(f"{name}-too", b""))
    for name in ("two", "three"):
        world.fs.flip_bit(FIRST_SEGMENT, positions[name] + 80, 3)
    assert loaded_from(world) == {"before", "one", "one-too", "four", "four-too"}
    assert f"{CONSUMER_OFFSETS}-0: offsets " in caplog.text
    assert "skipped: damaged" in caplog.text


def test_a_log_that_cannot_be_read_costs_its_partition_alone(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld({"offsets.topic.num.partitions": "2"})
    ids = {"t": world.create_topic("t").topic_id}
    client = OffsetsClient(world.connect(), ids)
    names = [f"g{n}" for n in range(20)]
    for group in names:
        client.committed({("t", 0): 1}, group=group)
    lost = {group for group in names if group_partition_for(group, 2) == 0}
    assert 0 < len(lost) < 20
    world.services.groups.coordinator.partitions.resign(0)
    world.folder.logs.get(CONSUMER_OFFSETS, 0).go_offline(OSError("gone"))
    for group in names:
        expected = ErrorCode.NOT_COORDINATOR if group in lost else NONE
        assert client.fetch(None, group=group)[0] is expected
        assert client.commit({("t", 0): 99}, group=group) == {("t", 0): expected}
    (line,) = (each for each in caplog.messages if "operations are refused until the broker starts again" in each)
    assert f"{CONSUMER_OFFSETS}-0" in line


def test_bytes_that_the_disk_does_not_read_are_damage(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld(ONE_SHARD | {"offsets.topic.segment.bytes": "300"})
    client = OffsetsClient(world.connect(), {"t": world.create_topic("t").topic_id})
    for n in range(20):
        client.committed({("t", 0): n}, group=f"g{n}")
    world.fs.make_unreadable(FIRST_SEGMENT, 100, 101)
    world.restart()
    client = OffsetsClient(world.connect(), client.ids)
    found = {n for n in range(20) if client.all(f"g{n}") == {("t", 0): n}}
    assert {*range(10, 20)} <= found < {*range(20)}
    assert "skipped: damaged" in caplog.text
    for n in range(20):
        client.committed({("t", 0): 100}, group=f"g{n}")


def test_share_state_alone_may_be_larger_than_a_message() -> None:
    """A window of a million offsets has so large a state: see `MAX_STATE_BYTES`."""
    world = with_groups()
    coordinator = world.services.share_states.partitions.room
    assert coordinator.most_bytes() > 32 * 1024 * 1024
    assert world.services.groups.coordinator.partitions.room.most_bytes() == 1024 * 1024 + 12
    log = world.folder.logs.get(SHARE_GROUP_STATE, 0)
    assert log.settings.max_message_bytes == 1024 * 1024 + 12


def test_the_limit_follows_the_topic(caplog: pytest.LogCaptureFixture) -> None:
    world = with_groups()
    log = world.folder.logs.get(CONSUMER_OFFSETS, 0)
    member = ClassicClient(world, instance="i")
    metadata = {"range": bytes(3_000_000)}
    member.send_join(protocols=metadata)
    assert member.joined().error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    log.settings = log.settings._replace(max_message_bytes=4_000_000)
    form([member], protocols=metadata)
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        world.restart()
    assert "g" in groups(world)
    assert not caplog.records
