"""Order by key over frames, on virtual time: twelve members and fifty keys, waking, full windows, switching."""

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
    member.reconnect()
    member.join("t")
    member.fetch(place, max_records=0)


def offsets_of(acquired: Sequence[tuple[int, int, int]]) -> list[int]:
    return [offset for first, last, _ in acquired for offset in range(first, last + 1)]


class TwelveMembers:
    """Twelve members of a group with order by key, fifty keys, and the outcome of each record."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        limits = {"share_record_lock_duration_ms": str(LOCK_MS), "share_delivery_count_limit": str(LIMIT)}
        self.world, self.place = ordered_world(**limits)
        self.keys = [rng.choice([None, *(b"key %d" % number for number in range(50))]) for _ in range(400)]
        for first in range(0, len(self.keys), 30):
            produce(self.world, self.keys[first : first + 30], rng.choice((Compression.NONE, Compression.LZ4)))
        self.members = [member_of(self.world, self.place, f"m{number}") for number in range(12)]
        self.held: dict[int, ShareClient] = {}  # by offset
        self.counts: dict[int, int] = {}
        self.ended: set[int] = set()
        self.latest: dict[bytes, int] = {}

    def fetch(self) -> None:
        member = self.rng.choice(self.members)
        for first, last, count in acquired_of(member.fetch(max_records=self.rng.choice((1, 7, 500)))):
            for offset in range(first, last + 1):
                self._judge(offset)
                self.counts[offset] = count
                self.held[offset] = member

    def _judge(self, offset: int) -> None:
        key = self.keys[offset]
        assert offset not in self.held
        assert offset not in self.ended
        if key is not None:
            assert all(self.keys[other] != key for other in self.held), (offset, key)
            earlier = [other for other in range(offset) if self.keys[other] == key and other not in self.ended]
            assert not earlier, (offset, earlier)
            assert offset >= self.latest.get(key, -1)
            self.latest[key] = offset

    def acknowledge(self) -> None:
        member = self.rng.choice(self.members)
        mine = sorted(offset for offset, holder in self.held.items() if holder is member)
        kinds = {offset: self.rng.choice((ACCEPT, ACCEPT, RELEASE, REJECT)) for offset in mine}
        if mine:
            acks = [(offset, offset, kind) for offset, kind in kinds.items()]
            assert member.acknowledge(self.place, *acks) is ErrorCode.NONE
        self._free(mine, [offset for offset, kind in kinds.items() if kind != RELEASE])

    def lose_a_connection(self) -> None:
        member = self.rng.choice(self.members)
        member.connection.disconnect()
        self.world.clock.run_until_idle()
        back_again(member, self.place)
        self._free([offset for offset, holder in self.held.items() if holder is member])

    def crash(self) -> None:
        self.world.crash()
        self.held.clear()
        for member in self.members:
            back_again(member, self.place)

    def let_the_locks_run_out(self) -> None:
        self.world.clock.advance(LOCK_MS + 1)
        self._free(list(self.held))
        for member in self.members:
            member.heartbeat()

    def _free(self, offsets: Sequence[int], ended: Sequence[int] = ()) -> None:
        self.ended.update(ended, (offset for offset in offsets if self.counts[offset] == LIMIT))
        for offset in offsets:
            del self.held[offset]


@pytest.mark.parametrize("seed", range(2))
def test_twelve_members_take_fifty_keys_in_order_whatever_becomes_of_them(seed: int) -> None:
    """Whatever acknowledgements, lost connections, expired locks and crashes come, a key's records end in order."""
    group = TwelveMembers(seed)
    rare = [group.lose_a_connection] * 4 + [group.let_the_locks_run_out] * 4 + [group.crash]
    for _ in range(6_000):
        group.rng.choice((group.fetch, group.acknowledge) if group.rng.random() < 0.95 else rare)()
        if len(group.ended) == len(group.keys):
            return
    pytest.fail(f"{len(group.keys) - len(group.ended)} records have not ended")


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
