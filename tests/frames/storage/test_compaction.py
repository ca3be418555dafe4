"""Compaction over frames: internal topics stay small, compacted user topics read correctly."""

from __future__ import annotations

import pytest

from devtools.clients.ack_storm import AckStorm
from devtools.clients.requests import batch, fetch, fetch_request, produce
from devtools.clients.state_rpcs import StateCaller
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.records.batch import Compression, Record, RecordData, build_batch, decode_records
from tests.support.clients.share_client import ShareClient, acquired_of, from_the_start

KIB = 1024
SEGMENT = {"internal_segment_bytes": "2000", "cleanup_policy": "compact"}


def logs_of(world: BrokerWorld, topic: str, partition: int = 0) -> list[str]:
    return [
        path for path in world.fs.paths() if path.startswith(f"data/{topic}-{partition}/") and path.endswith(".log")
    ]


def test_share_state_stays_small_whatever_is_acknowledged() -> None:
    """10,000 records are acknowledged singly, with alternating types: there are never more than 4 segments."""
    world = BrokerWorld(
        {
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.segment.bytes": str(128 * KIB),
        }
    )
    topic = world.create_topic("t")
    client = world.connect()
    for _ in range(16):
        produce(client, "t", batch(*[b"v"] * 1_000))
    from_the_start(world)
    storm = AckStorm(world.connect(), "t", topic.topic_id, "g")
    most = 0

    def look() -> None:
        nonlocal most
        world.clock.advance(1)
        log = world.folder.logs.get(SHARE_GROUP_STATE, 0)
        most = max(most, len(log.segments), len(logs_of(world, SHARE_GROUP_STATE)))

    storm.run(10_000, look)
    log = world.folder.logs.get(SHARE_GROUP_STATE, 0)
    assert log.log_end_offset > 10_000
    assert world.folder.logs.cleaner.passes > 5
    assert most <= 4
    state = StateCaller(client, "g", topic.topic_id).read()
    assert state.error == ErrorCode.NONE
    assert state.start_offset > 5_000
    for clean in (True, False):
        world.restart(clean=clean)
        assert StateCaller(world.connect(), "g", topic.topic_id).read() == state
    again = ShareClient(world, "other")
    again.join("t")
    left = {offset for first, last, _ in again.acquire((topic.topic_id, 0)) for offset in range(first, last + 1)}
    assert left.isdisjoint(storm.settled)


def test_groups_stay_small_though_members_come_and_go() -> None:
    """400 members join and leave: there are never more than 4 segments."""
    world = BrokerWorld({"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": str(32 * KIB)})
    world.create_topic("t", 8)
    stays = ShareClient(world, "stays")
    stays.join("t")
    most = 0
    for number in range(400):
        member = ShareClient(world, f"member-{number}")
        member.join("t")
        member.leave()
        stays.heartbeat()
        world.clock.advance(10)
        most = max(most, len(logs_of(world, CONSUMER_OFFSETS)))
    assert world.folder.logs.get(CONSUMER_OFFSETS, 0).log_end_offset > 4_000
    assert world.folder.logs.cleaner.passes > 5
    assert most <= 4
    before = stays.describe()
    world.restart(clean=False)
    stays.reconnect()
    assert stays.describe() == before


def test_a_deleted_groups_share_state_goes_from_the_log_in_time() -> None:
    """Tombstones delete the state; a day later no record of the group is left."""
    world = BrokerWorld(
        {
            "share.coordinator.state.topic.num.partitions": "1",
            "offsets.topic.num.partitions": "1",
            "log.roll.ms": "60000",
            "log.cleaner.min.cleanable.ratio": "0",
        }
    )
    topic_id = world.create_topic("t").topic_id
    for group in ("gone", "stays"):
        from_the_start(world, group)
        member = ShareClient(world, "m", group)
        member.join("t")
        member.leave()
    deleted = world.connect().call(DeleteGroupsRequest(["gone"]), 2, DeleteGroupsResponse)
    assert deleted.results[0].error_code == ErrorCode.NONE
    day_ms = 24 * 3_600_000

    def content(topic: str) -> bytes:
        return b"".join(bytes(world.fs.content(path)) for path in logs_of(world, topic))

    for number in range(4):
        # Something has to be written now and then, or there is nothing to clean.
        member = ShareClient(world, "m", "stays")
        member.join("t")
        member.leave()
        assert StateCaller(world.connect(), "stays", topic_id).write(start=number) == ErrorCode.NONE
        world.clock.advance(day_ms // 2 + 120_000)
    for topic in (SHARE_GROUP_STATE, CONSUMER_OFFSETS):
        assert len(logs_of(world, topic)) <= 2
        assert b"gone" not in content(topic)
        assert b"stays" in content(topic)


# -- compacted user topics


def keyed(*rows: tuple[bytes, bytes | None], compression: Compression = Compression.NONE, sequence: int = -1) -> bytes:
    return bytes(
        build_batch(
            [RecordData(key, value) for key, value in rows],
            timestamp_ms=1_700_000_000_000,
            compression=compression,
            producer_id=-1 if sequence < 0 else 9,
            producer_epoch=-1 if sequence < 0 else 0,
            base_sequence=sequence,
        )
    )


def everything(client: MockConnection, topic: str, offset: int = 0) -> list[Record]:
    found: list[Record] = []
    while True:
        answer = fetch(client, fetch_request(topic, offset, partition_max_bytes=500))
        assert answer.error_code == ErrorCode.NONE
        data = bytes(answer.records or b"")
        if not data:
            return found
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
            found += [record for record in decode_records(data[at : at + size]) if record.offset >= offset]
            base, delta = int.from_bytes(data[at : at + 8], "big"), int.from_bytes(data[at + 23 : at + 27], "big")
            at += size
        offset = base + delta + 1


@pytest.fixture
def compacted() -> tuple[BrokerWorld, MockConnection]:
    """Return a topic with twelve keys whose sealed segments hold only their last values."""
    world = BrokerWorld()
    world.create_topic("t", 1, **SEGMENT)
    client = world.connect()
    for number in range(200):
        codec = (Compression.NONE, Compression.LZ4)[number % 2]
        answer = produce(client, "t", keyed((b"k%d" % (number % 12), b"v%d" % number), compression=codec))
        assert answer.error_code == ErrorCode.NONE
    world.clock.advance(20_000)
    return world, client


def test_a_consumer_reads_the_last_value_of_every_key(compacted: tuple[BrokerWorld, MockConnection]) -> None:
    world, client = compacted
    records = everything(client, "t")
    assert len(records) < 60
    assert [record.offset for record in records] == sorted(record.offset for record in records)
    assert {record.key: record.value for record in records} == {b"k%d" % (n % 12): b"v%d" % n for n in range(188, 200)}
    assert all(record.value == b"v%d" % record.offset for record in records)
    world.restart()
    assert everything(world.connect(), "t") == records


def test_a_consumer_goes_on_from_an_offset_that_is_gone(compacted: tuple[BrokerWorld, MockConnection]) -> None:
    _, client = compacted
    records = everything(client, "t")
    for offset in range(0, 200, 9):
        assert everything(client, "t", offset) == [record for record in records if record.offset >= offset]


def test_list_offsets_of_a_compacted_topic(compacted: tuple[BrokerWorld, MockConnection]) -> None:
    _, client = compacted

    def listed(timestamp: int) -> tuple[int, int]:
        asked = ListOffsetsTopic("t", [ListOffsetsPartition(0, timestamp=timestamp)])
        answer = client.call(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse)
        row = answer.topics[0].partitions[0]
        assert row.error_code == ErrorCode.NONE
        return row.timestamp, row.offset

    first = everything(client, "t")[0]
    assert listed(-2) == (-1, 0)  # earliest: where the log begins, be there a record or not
    assert listed(-1) == (-1, 200)
    assert listed(1_700_000_000_000) == (1_700_000_000_000, first.offset)
    assert listed(-3) == (1_700_000_000_000, first.offset)
    assert listed(1_700_000_000_001) == (-1, -1)


def test_an_idempotent_producer_goes_on_after_all_its_records_were_superseded(world: BrokerWorld) -> None:
    """The producer's last batch stays, empty, for the sequence, also if the state is rebuilt from the log."""
    world.create_topic("t", 1, **SEGMENT)
    client = world.connect()
    for sequence in range(3):
        mine = keyed((b"k", b"mine%d" % sequence), sequence=sequence)
        assert produce(client, "t", mine).error_code == ErrorCode.NONE
    for number in range(100):
        assert produce(client, "t", keyed((b"k", b"v%d" % number), (b"l", b"w"))).error_code == ErrorCode.NONE
    world.clock.advance(20_000)
    assert b"mine" not in b"".join(bytes(world.fs.content(path)) for path in logs_of(world, "t"))
    world.crash()
    for path in world.fs.paths():
        if path.endswith(".snapshot"):
            world.fs.remove(path)
    world.crash()
    client = world.connect()
    gap = keyed((b"k", b"no"), sequence=5)
    assert produce(client, "t", gap).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    again = keyed((b"k", b"mine2"), sequence=2)
    repeated = produce(client, "t", again)
    assert (repeated.error_code, repeated.base_offset) == (ErrorCode.NONE, 2)
    following = keyed((b"k", b"next"), sequence=3)
    assert produce(client, "t", following).base_offset == 203


def test_a_share_group_consumes_over_the_gaps(compacted: tuple[BrokerWorld, MockConnection]) -> None:
    """KIP-932, and Apache Kafka 4.3.1: compacted offsets belong to no member; others are delivered once."""
    world, client = compacted
    topic = world.services.metadata.topic("t")
    assert topic is not None
    left = {record.offset for record in everything(client, "t")}
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    place = (topic.topic_id, 0)
    delivered: list[int] = []
    while len(delivered) < len(left):
        acquired = member.acquire(place, max_records=7)
        assert acquired
        for first, last, count in acquired:
            assert count == 1
            for offset in range(first, last + 1):
                kind = 1 if offset in left else 0
                delivered += [offset] if offset in left else []
                assert member.acknowledge(place, (offset, offset, kind)) is ErrorCode.NONE
    assert delivered == sorted(left)
    assert acquired_of(member.fetch(place)) == []
    assert StateCaller(client, "g", topic.topic_id).read().start_offset >= 199


def test_available_records_that_are_compacted_away_are_not_waited_for(world: BrokerWorld) -> None:
    """Released records whose segment is cleaned are archived, and the start offset moves on."""
    world.create_topic("t", 1, **SEGMENT)
    client = world.connect()
    for number in range(10):
        produce(client, "t", keyed((b"k", b"v%d" % number)))
    topic = world.services.metadata.topic("t")
    assert topic is not None
    place = (topic.topic_id, 0)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    assert [row[:2] for row in member.acquire(place)] == [(0, 9)]
    assert member.acknowledge(place, (0, 9, 2)) is ErrorCode.NONE
    for number in range(100):
        produce(client, "t", keyed((b"k", b"w%d" % number)))
    world.clock.advance(20_000)
    left = [record.offset for record in everything(client, "t")]
    assert left[0] > 10
    seen: list[int] = []
    while len(seen) < len(left):
        for first, last, _ in member.acquire(place):
            seen += [offset for offset in range(first, last + 1) if offset in left]
            assert member.acknowledge(place, (first, last, 1)) is ErrorCode.NONE
    assert seen == left
    assert StateCaller(client, "g", topic.topic_id).read().start_offset >= 109


# -- retention

MINUTE = 60_000


def timed(world: BrokerWorld, key: bytes, value: bytes) -> bytes:
    return bytes(build_batch([RecordData(key, value)], timestamp_ms=world.clock.wall_ms()))


def test_compact_and_delete_does_both(world: BrokerWorld) -> None:
    """Old segments are deleted whole, keys or not; young ones keep the last value of each key."""
    world.create_topic(
        "t", 1, internal_segment_bytes="2000", cleanup_policy="compact,delete", retention_ms=str(30 * MINUTE)
    )
    client = world.connect()
    for number in range(60):
        assert produce(client, "t", timed(world, b"k%d" % (number % 4), b"v%d" % number)).error_code == ErrorCode.NONE
    produce(client, "t", timed(world, b"once", b"old"))
    world.clock.advance(20 * MINUTE)
    records = everything(client, "t")
    assert len(records) < 40
    assert b"once" in {record.key for record in records}
    for number in range(60, 120):
        assert produce(client, "t", timed(world, b"k%d" % (number % 4), b"v%d" % number)).error_code == ErrorCode.NONE
    world.clock.advance(20 * MINUTE)
    values = {record.key: record.value for record in everything(client, "t")}
    # What shares a segment with younger records lives as long as they do.
    assert values == {b"once": b"old", **{b"k%d" % (n % 4): b"v%d" % n for n in range(116, 120)}}
    world.clock.advance(40 * MINUTE)
    log = world.folder.logs.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset) == (121, 121)


def test_a_share_group_that_retention_overtakes_goes_on_at_the_log_start(world: BrokerWorld) -> None:
    """Apache Kafka 4.3.1: available records below the log start are archived; the start offset follows."""
    topic = world.create_topic("t", 1, internal_segment_bytes="1000", retention_ms=str(30 * MINUTE))
    place = (topic.topic_id, 0)
    client = world.connect()
    for number in range(20):
        produce(client, "t", timed(world, b"k", b"old%d" % number))
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    assert [row[:2] for row in member.acquire(place, max_records=5)] == [(0, 4)]
    assert member.acknowledge(place, (0, 1, 1), (2, 4, 2)) is ErrorCode.NONE
    world.clock.advance(20 * MINUTE)
    for number in range(20):
        produce(client, "t", timed(world, b"k", b"new%d" % number))
    world.clock.advance(20 * MINUTE)
    start = world.folder.logs.get("t", 0).log_start_offset
    assert 4 < start <= 20
    member.join("t")
    member.reconnect()
    seen: list[int] = []
    while not seen or seen[-1] < 39:
        for first, last, count in member.acquire(place):
            assert count == 1
            seen += range(first, last + 1)
            assert member.acknowledge(place, (first, last, 1)) is ErrorCode.NONE
    assert seen == list(range(start, 40))
    assert StateCaller(client, "g", topic.topic_id).read().start_offset >= 39
