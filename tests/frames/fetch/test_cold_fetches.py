"""Fetch, ShareFetch and starts whose data is only on disk: they wait, and no other request does."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from devtools.clients.requests import batch, fetch, fetch_request, only_partition, produce
from devtools.in_memory.disk.page_cache import PageCache
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.fetch.read import PIECE_BYTES
from shareq.broker.log.append import Origin
from shareq.broker.log.segments.reader import MOST_BATCHES
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from tests.support.clients.share_client import ShareClient, acquired_of, append, from_the_start


def cold(world: BrokerWorld, **chances: float) -> PageCache:
    """Keep nothing in memory until the test ends the started loads."""
    cache = world.fs.page_cache = PageCache(**chances)  # type: ignore[arg-type]
    cache.held = []
    return cache


def arrive(world: BrokerWorld, cache: PageCache) -> None:
    held, cache.held = cache.held or [], []
    for end in held:
        end()
    world.clock.run_until_idle()


def written(world: BrokerWorld, *topics: str) -> MockConnection:
    producer = world.connect()
    for topic in topics:
        world.create_topic(topic)
        assert produce(producer, topic, batch(topic.encode())).error_code == ErrorCode.NONE
    return producer


@pytest.mark.parametrize("max_wait_ms", [0, 500])
def test_a_fetch_waits_for_the_disk_while_others_are_answered(world: BrokerWorld, max_wait_ms: int) -> None:
    producer = written(world, "old", "t")
    cache = cold(world)
    consumer = world.connect()
    consumer.send(fetch_request("old", max_wait_ms=max_wait_ms), 12)
    world.clock.advance(10 * max_wait_ms + 1)
    assert not consumer.frames
    assert produce(producer, "t", batch(b"x")).error_code == ErrorCode.NONE
    arrive(world, cache)
    assert b"old" in bytes(only_partition(consumer.receive(FetchResponse)).records or b"")


def test_what_is_in_memory_is_answered_at_once(world: BrokerWorld) -> None:
    """The other partition is loaded meanwhile: the next fetch has its bytes."""
    written(world, "old", "t")
    cache = cold(world)
    log = world.folder.logs.get("t", 0).segments[0]
    cache.loaded(log.log_path, 0, log.size)
    consumer = world.connect()
    topics = [
        FetchTopic(name, partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=1_000)])
        for name in ("old", "t")
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=topics)
    first = consumer.call(request, 12, FetchResponse)
    assert [len(topic.partitions[0].records or b"") > 0 for topic in first.responses] == [False, True]
    arrive(world, cache)
    second = consumer.call(request, 12, FetchResponse)
    assert all(topic.partitions[0].records for topic in second.responses)


def test_a_client_that_leaves_leaves_nothing_behind(world: BrokerWorld) -> None:
    written(world, "old")
    cache = cold(world)
    consumer, member = world.connect(), world.connect()
    for client in (consumer, member):
        client.send(fetch_request("old"), 12)
    world.clock.run_until_idle()
    assert len(cache.loads) == 1, "for both of them"
    consumer.disconnect()
    arrive(world, cache)
    assert only_partition(member.receive(FetchResponse)).records
    assert not consumer.frames


def test_a_topic_is_deleted_while_a_fetch_waits_for_the_disk(world: BrokerWorld) -> None:
    written(world, "old")
    cache = cold(world)
    consumer = world.connect()
    consumer.send(fetch_request("old"), 12)
    world.clock.run_until_idle()
    world.folder.metadata.delete_topics(["old"])
    world.clock.run_until_idle()
    arrive(world, cache)
    error = only_partition(consumer.receive(FetchResponse)).error_code
    assert error in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("max_wait_ms", [0, 500])
def test_a_share_fetch_waits_for_the_disk_whatever_its_time(world: BrokerWorld, max_wait_ms: int) -> None:
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    member.fetch(place)
    append(world, "t", 3)
    cache = cold(world)
    member.send_fetch(max_wait_ms=max_wait_ms)
    world.clock.advance(10 * max_wait_ms + 1)
    assert not member.connection.frames
    append(world, "t", 1)  # it looks again, for the same bytes
    arrive(world, cache)
    arrive(world, cache)
    answer = member.fetch_answer()
    assert isinstance(answer, ShareFetchResponse)
    assert acquired_of(answer)[0][0] == 0


def test_a_member_that_leaves_while_its_share_fetch_waits_acquires_nothing(world: BrokerWorld) -> None:
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    gone, other = ShareClient(world, member_id="gone"), ShareClient(world, member_id="other")
    for member in (gone, other):
        member.join("t")
        member.fetch(place)
    append(world, "t", 3)
    cache = cold(world)
    gone.send_fetch(max_wait_ms=500)
    world.clock.run_until_idle()
    gone.connection.disconnect()
    arrive(world, cache)
    assert acquired_of(other.fetch()) == [(0, 2, 1)]


def test_a_start_waits_and_a_later_load_does_not(world: BrokerWorld) -> None:
    """A start loads at once, because no client is served yet; a reload runs in turns."""
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    append(world, "t", 3)
    assert acquired_of(member.fetch(place)) == [(0, 2, 1)]
    assert member.acknowledge(place, (0, 1, 1)) is ErrorCode.NONE
    world.fs.page_cache = PageCache(Random(5), evicts=0.2)
    world.restart()
    loads, waits = len(world.fs.page_cache.loads), len(world.fs.waits)
    partition = next(iter(world.services.share_states.partitions))
    partition.load()
    world.clock.run_until_idle()
    assert partition.loaded.done
    assert len(world.fs.page_cache.loads) > loads
    assert len(world.fs.waits) == waits
    again = ShareClient(world, member_id="again")
    again.join("t")
    assert acquired_of(again.fetch(place)) == [(2, 2, 1)]


def test_large_partitions_are_read_in_several_turns(world: BrokerWorld) -> None:
    """One partition's records are read in one turn, those of many in several."""
    producer = world.connect()
    world.create_topic("t", partitions=8)
    for partition in range(8):
        produce(producer, "t", batch(b"x" * (PIECE_BYTES - 1_000)), partition=partition)
    consumer = world.connect()
    parts = [FetchPartition(at, fetch_offset=0, partition_max_bytes=1 << 21) for at in range(8)]
    request = FetchRequest(max_wait_ms=0, max_bytes=1 << 25, topics=[FetchTopic("t", partitions=parts)])
    consumer.send(request, 12)
    ticks = 0
    while not consumer.frames:
        assert world.clock.run_tick()
        ticks += 1
    assert ticks > 3
    (topic,) = consumer.receive(FetchResponse).responses
    assert [len(part.records or b"") > PIECE_BYTES - 1_000 for part in topic.partitions] == [True] * 8
    assert fetch(consumer, fetch_request("t", partition=3)).records


def test_a_read_that_is_cut_for_its_many_batches_is_answered(world: BrokerWorld) -> None:
    """The fetch is answered whatever its `min_bytes`: more bytes exist, so it need not wait."""
    world.create_topic("t")
    log = world.folder.logs.get("t", 0)
    for _ in range(MOST_BATCHES + 10):
        log.append(batch(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.clock.run_until_idle()
    consumer = world.connect()
    request = fetch_request("t", min_bytes=1 << 20, max_wait_ms=60_000)
    consumer.send(request, 12)
    world.clock.run_until_idle()
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") == MOST_BATCHES * len(batch(b"x"))
    assert fetch(consumer, fetch_request("t", MOST_BATCHES)).records


def test_a_partition_gives_so_many_bytes_in_an_answer(world: BrokerWorld) -> None:
    """A client that accepts more gets what one turn may read; the rest comes with its next fetch."""
    world.create_topic("t")
    producer, consumer = world.connect(), world.connect()
    for _ in range(6):
        produce(producer, "t", batch(b"x" * 1_000_000))
    wide = partial(fetch_request, "t", max_bytes=1 << 26, partition_max_bytes=1 << 26)
    consumer.send(wide(min_bytes=1 << 25, max_wait_ms=60_000), 12)
    world.clock.run_until_idle()
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") // 1_000_000 == 4
    consumer.send(wide(4, min_bytes=1 << 25, max_wait_ms=60_000), 12)
    world.clock.run_until_idle()
    assert not consumer.frames, "all there is is less than it waits for"
    world.clock.advance(60_000)
    assert len(only_partition(consumer.receive(FetchResponse)).records or b"") // 1_000_000 == 2


@pytest.mark.parametrize("leaves", [False, True])
def test_what_is_read_in_turns_is_held_until_it_is_answered(world: BrokerWorld, leaves: bool) -> None:
    producer, consumer = world.connect(), world.connect()
    world.create_topic("t", partitions=12)
    for partition in range(12):
        produce(producer, "t", batch(b"x" * (PIECE_BYTES - 1_000)), partition=partition)
    parts = [FetchPartition(at, fetch_offset=0, partition_max_bytes=1 << 21) for at in range(12)]
    consumer.send(FetchRequest(max_wait_ms=0, max_bytes=1 << 25, topics=[FetchTopic("t", partitions=parts)]), 12)
    budget, held = world.services.answer_budget, 0
    while not consumer.frames and not (leaves and held):
        assert world.clock.run_tick()
        held = max(held, budget.held)
    assert held > PIECE_BYTES
    if leaves:
        consumer.disconnect()
    world.clock.run_until_idle()
    assert budget.held == 0
