"""Order by key over frames, on virtual time: twelve members and fifty keys, waking, full windows, compression, switching."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from devtools.clients.requests import produce_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.log.partition_log import PartitionLog
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.support.clients.share_client import ACCEPT, REJECT, RELEASE, Place, ShareClient, acquired_of, configure

LOCK_MS, LIMIT = 15_000, 4


def produce(world: BrokerWorld, keys: Sequence[bytes | None], codec: Compression = Compression.NONE) -> None:
    """One batch with a record for each of the keys."""
    data = build_batch([RecordData(key, b"v") for key in keys], timestamp_ms=1, compression=codec)
    answer = world.connect().call(produce_request(bytes(data), topic="t"), 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def ordered_world(**properties: str) -> tuple[BrokerWorld, Place]:
    world = BrokerWorld()
    place = (world.create_topic("t").topic_id, 0)
    settings = {"share_auto_offset_reset": "earliest", "shareq_order": "key"} | properties
    configure(world, **settings)
    return world, place


def member_of(world: BrokerWorld, place: Place, name: str = "m") -> ShareClient:
    member = ShareClient(world, name)
    member.join("t")
    member.fetch(place, max_records=0)
    return member


def back_again(member: ShareClient, place: Place) -> None:
    """On a new connection, with nothing in hand."""
    member.reconnect()
    member.join("t")
    member.fetch(place, max_records=0)


def offsets_of(acquired: Sequence[tuple[int, int, int]]) -> list[int]:
    return [offset for first, last, _ in acquired for offset in range(first, last + 1)]


@pytest.mark.parametrize("seed", range(2))
def test_twelve_members_take_fifty_keys_in_order_whatever_they_say_of_them(seed: int) -> None:
    """Random acknowledgements, closed connections, locks that run out, crashes; each record ends, after the one before."""
    rng = random.Random(seed)
    world, place = ordered_world(share_record_lock_duration_ms=str(LOCK_MS), share_delivery_count_limit=str(LIMIT))
    keys = [rng.choice([None, *(b"key %d" % number for number in range(50))]) for _ in range(400)]
    for first in range(0, len(keys), 30):
        produce(world, keys[first : first + 30], rng.choice((Compression.NONE, Compression.LZ4)))
    members = [member_of(world, place, f"m{number}") for number in range(12)]
    held: dict[int, tuple[ShareClient, int]] = {}  # by offset, with the time its lock runs out
    counts: dict[int, int] = {}
    ended: set[int] = set()
    latest: dict[bytes | None, int] = {}
    for _ in range(6_000):
        member = rng.choice(members)
        mine = [offset for offset, (holder, _) in held.items() if holder is member]
        if rng.random() < 0.02:
            member.connection.disconnect()
            world.clock.run_until_idle()
            back_again(member, place)
            for offset in mine:
                del held[offset]
                ended.update([offset] if counts[offset] == LIMIT else ())
        elif rng.random() < 0.5 and mine:
            kinds = {offset: rng.choice((ACCEPT, ACCEPT, RELEASE, REJECT)) for offset in sorted(mine)}
            if member.acknowledge(place, *((offset, offset, kind) for offset, kind in kinds.items())) is ErrorCode.NONE:
                ended.update(offset for offset, kind in kinds.items() if kind != RELEASE or counts[offset] == LIMIT)
            for offset in mine:
                held.pop(offset, None)
        else:
            for first, last, count in acquired_of(member.fetch(max_records=rng.choice((1, 7, 500)))):
                for offset in range(first, last + 1):
                    key = keys[offset]
                    assert offset not in held
                    counts[offset] = count
                    if key is not None:
                        assert all(keys[other] != key for other in held), (offset, key)
                        earlier = [other for other in range(offset) if keys[other] == key and other not in ended]
                        assert not earlier, (offset, earlier)
                        assert offset >= latest.get(key, -1)
                        latest[key] = offset
                    held[offset] = (member, world.clock.now_ms() + LOCK_MS)
        if rng.random() < 0.005:
            world.crash()
            held.clear()
            for one in members:
                back_again(one, place)
        if rng.random() < 0.02:
            world.clock.advance(LOCK_MS + 1)
            ended.update(offset for offset in held if counts[offset] == LIMIT)
            held.clear()
            for one in members:
                one.heartbeat()
        if len(ended) == len(keys):
            return
    pytest.fail(f"{len(keys) - len(ended)} records have not ended")


def test_a_fetch_that_waits_gets_the_next_record_of_a_key_in_the_tick_the_one_before_is_accepted() -> None:
    world, place = ordered_world()
    first, second = member_of(world, place, "m1"), member_of(world, place, "m2")
    produce(world, [b"k", b"k", None])
    assert offsets_of(first.acquire(place)) == [0, 2]
    second.send_fetch(max_wait_ms=1_000)
    world.clock.run_until_idle()
    assert not second.connection.frames
    assert first.acknowledge(place, (0, 0, ACCEPT)) is ErrorCode.NONE
    assert acquired_of(second.fetch_answer()) == [(1, 1, 1)]


def test_a_window_full_of_one_key_is_not_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, place = ordered_world(share_partition_max_record_locks="100")
    member, other = member_of(world, place, "m1"), member_of(world, place, "m2")
    for _ in range(10):
        produce(world, [b"k"] * 20)
    assert offsets_of(member.acquire(place, max_records=1)) == [0]
    other.send_fetch(max_wait_ms=100)
    world.clock.advance(101)
    assert acquired_of(other.fetch_answer()) == []
    reads: list[int] = []
    original = PartitionLog.read

    def read(self: PartitionLog, offset: int, *arguments: int, **options: int) -> object:
        if self.topic == "t":
            reads.append(offset)
        return original(self, offset, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PartitionLog, "read", read)
    for _ in range(20):
        assert acquired_of(other.fetch(max_wait_ms=0)) == []
    assert reads == []
    assert member.acknowledge(place, (0, 0, REJECT)) is ErrorCode.NONE
    assert offsets_of(other.acquire(place)) == [1]


def test_the_config_takes_effect_with_the_next_fetch_in_both_directions() -> None:
    world, place = ordered_world(shareq_order="none")
    member = member_of(world, place)
    produce(world, [b"a", b"a", b"b", b"b"])
    assert offsets_of(member.acquire(place, max_records=1)) == [0]
    configure(world, shareq_order="key")
    assert offsets_of(member.acquire(place)) == [2]
    configure(world, shareq_order="none")
    assert offsets_of(member.acquire(place)) == [1, 3]


def test_after_a_release_the_same_record_comes_first() -> None:
    world, place = ordered_world()
    member = member_of(world, place)
    produce(world, [b"a", b"a", b"b"])
    assert offsets_of(member.acquire(place)) == [0, 2]
    assert member.acknowledge(place, (0, 0, RELEASE), (2, 2, ACCEPT)) is ErrorCode.NONE
    assert acquired_of(member.fetch(max_records=10)) == [(0, 0, 2)]


def test_a_poisoned_key_is_given_up_by_the_limit_and_stops_nobody() -> None:
    world, place = ordered_world(share_delivery_count_limit="2")
    member = member_of(world, place)
    produce(world, [b"poison", b"poison", b"b", b"b"])
    order = []
    while acquired := offsets_of(member.acquire(place)):
        order += acquired
        acks = [(offset, offset, RELEASE if offset == 0 else ACCEPT) for offset in acquired]
        assert member.acknowledge(place, *acks) is ErrorCode.NONE
    assert order == [0, 2, 0, 3, 1]
