"""Records that expire, as clients see them, over frames: `shareq.ttl.ms` and `shareq.not.after.enable`."""

from __future__ import annotations

from itertools import starmap

import pytest

from devtools.clients.requests import produce
from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import NOT_AFTER, NOT_BEFORE
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    Acquired,
    Place,
    ShareClient,
    acquired_of,
    configure,
    from_the_start,
)
from tests.support.worlds.dead_letters import DeadLetterWorld, header_of

TTL_MS = 10_000


class ExpiryWorld(BrokerWorld):
    """A broker with topic `t`, and group `g`, whose records live ten seconds, or as their header says."""

    def __init__(self, **properties: str) -> None:
        super().__init__({"share.coordinator.state.topic.num.partitions": "1", "log.flush.interval.messages": "1"})
        self.place: Place = (self.create_topic("t").topic_id, 0)
        from_the_start(self)
        configure(self, **{"shareq_ttl_ms": str(TTL_MS), "shareq_not_after_enable": "true", **properties})

    def member(self, member_id: str = "m") -> ShareClient:
        member = ShareClient(self, member_id)
        member.join("t")
        return member

    def send(
        self,
        *records: int | bytes | None,
        compression: Compression = Compression.NONE,
        not_before_ms: int = 0,
        key: bytes | None = None,
    ) -> None:
        """Produce one batch with a record for each value: its age, its header's bytes, or None for a new record."""
        wall = self.clock.wall_ms()
        sent = bytes(
            build_batch(
                [self._record(each, wall, not_before_ms, key) for each in records],
                timestamp_ms=wall,
                compression=compression,
            )
        )
        assert produce(self.connect(), "t", sent).error_code == ErrorCode.NONE

    @staticmethod
    def _record(what: int | bytes | None, wall: int, not_before_ms: int, key: bytes | None) -> RecordData:
        headers: list[tuple[str, bytes | None]] = [("other", b"1")]
        if isinstance(what, bytes):
            headers.append((NOT_AFTER, what))
        if not_before_ms:
            headers.append((NOT_BEFORE, b"%d" % (wall + not_before_ms)))
        return RecordData(key, b"v" * 40, tuple(headers), wall - what if isinstance(what, int) else wall)

    def after(self, ms: int) -> bytes:
        return b"%d" % (self.clock.wall_ms() + ms)

    def take(self, member: ShareClient, *, most_ms: int = 500) -> list[Acquired]:
        """Return what a fetch acquires that waits for at most so long."""
        member.send_fetch(self.place, max_wait_ms=most_ms)
        self.clock.run_until_idle()
        while not member.connection.frames:
            due = self.clock.next_timer_ms()
            assert due is not None
            self.clock.advance(max(due - self.clock.now_ms(), 0))
        return acquired_of(member.fetch_answer())

    def counters(self) -> tuple[int, int, int]:
        """Return how many records were delivered, how many have expired, and the start offset."""
        (leader,) = self.services.share.partitions.of_group("g").values()
        counted = leader.core.counters
        return counted.deliveries, counted.expired, leader.core.start_offset


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_what_is_too_old_or_past_its_time_is_handed_to_nobody(compression: Compression) -> None:
    """The old ones come first, in the middle and last; exactly at its time a record is still handed out."""
    world = ExpiryWorld()
    member = world.member()
    world.send(TTL_MS + 1, None, TTL_MS, TTL_MS + 1, compression=compression)
    world.send(world.after(0), world.after(-1), b"soon", None, world.after(-1), compression=compression)
    world.send(TTL_MS + 1, TTL_MS + 5, world.after(100), compression=compression)
    assert world.take(member) == [(1, 2, 1), (4, 4, 1), (7, 7, 1), (11, 11, 1)]
    acks = starmap(lambda first, last: (first, last, ACCEPT), [(1, 2), (4, 4), (7, 7), (11, 11)])
    assert member.acknowledge(world.place, *acks) is ErrorCode.NONE
    assert world.counters() == (5, 7, 12)


def test_a_group_that_does_not_ask_gets_everything() -> None:
    world = ExpiryWorld(shareq_ttl_ms="0", shareq_not_after_enable="false")
    world.send(TTL_MS + 1, world.after(-1), b"never")
    assert world.take(world.member()) == [(0, 2, 1)]


def test_each_of_the_two_properties_counts_alone() -> None:
    by_age, by_header = ExpiryWorld(shareq_not_after_enable="false"), ExpiryWorld(shareq_ttl_ms="0")
    for world in (by_age, by_header):
        world.send(TTL_MS + 1, world.after(-1), None)
    assert by_age.take(by_age.member()) == [(1, 2, 1)]
    assert by_header.take(by_header.member()) == [(0, 0, 1), (2, 2, 1)]


def test_a_batch_that_is_young_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both times of its header are young enough, so its records are neither unpacked nor read."""
    world = ExpiryWorld(shareq_not_after_enable="false")
    member = world.member()
    world.send(TTL_MS, None, compression=Compression.ZSTD)
    monkeypatch.setattr("shareq.protocol.records.older.older", lambda *_: pytest.fail("it was looked at"))
    monkeypatch.setattr("shareq.protocol.records.older.records_view", lambda *_: pytest.fail("it was unpacked"))
    assert world.take(member) == [(0, 1, 1)]


def test_a_large_backlog_that_has_expired_ends_without_a_delivery() -> None:
    """It is larger than the window, and than what a fetch may acquire."""
    world = ExpiryWorld(share_partition_max_record_locks="100")
    member = world.member()
    for _ in range(20):
        world.send(*[None] * 1_000)
    world.clock.advance(TTL_MS + 1)
    world.send(None)
    assert world.take(member, most_ms=5_000) == [(20_000, 20_000, 1)]
    assert member.acknowledge(world.place, (20_000, 20_000, ACCEPT)) is ErrorCode.NONE
    assert world.counters() == (1, 20_000, 20_001)


def test_a_record_given_back_expires_and_keeps_its_count() -> None:
    world = ExpiryWorld()
    member = world.member()
    world.send(None, None)
    assert world.take(member) == [(0, 1, 1)]
    world.clock.advance(TTL_MS + 1)
    assert member.acknowledge(world.place, (0, 0, ACCEPT), (1, 1, RELEASE)) is ErrorCode.NONE
    assert world.take(member) == []
    assert world.counters() == (2, 1, 2)


def test_a_member_may_accept_what_expires_in_its_hands() -> None:
    world = ExpiryWorld()
    member = world.member()
    world.send(None)
    assert world.take(member) == [(0, 0, 1)]
    world.clock.advance(TTL_MS + 1)
    assert member.acknowledge(world.place, (0, 0, ACCEPT)) is ErrorCode.NONE
    assert world.counters() == (1, 0, 1)


def test_a_record_that_waits_for_its_time_expires_meanwhile() -> None:
    world = ExpiryWorld(shareq_delay_enable="true")
    member = world.member()
    world.send(None, not_before_ms=TTL_MS + 50)
    world.send(None, not_before_ms=TTL_MS - 50)
    assert world.take(member, most_ms=TTL_MS) == [(1, 1, 1)]
    assert world.take(member) == []
    assert world.counters()[:2] == (1, 1)


@pytest.mark.parametrize("ahead", ["0", "100"])
def test_a_record_that_waits_for_its_key_expires_meanwhile(ahead: str) -> None:
    """The next one of the key is free then."""
    world = ExpiryWorld(shareq_order="key", shareq_order_look_ahead=ahead)
    member = world.member()
    world.send(None, key=b"k")
    world.send(TTL_MS - 1, None, key=b"k")
    assert world.take(member) == [(0, 0, 1)]
    world.clock.advance(100)
    assert member.acknowledge(world.place, (0, 0, ACCEPT)) is ErrorCode.NONE
    assert world.take(member) == [(2, 2, 1)]
    assert world.counters()[:2] == (2, 1)


@pytest.mark.parametrize("how", ["stop", CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_restart_finds_what_has_expired(how: str | CrashModel) -> None:
    world = ExpiryWorld()
    member = world.member()
    world.send(None, None, world.after(1_000))
    assert world.take(member) == [(0, 2, 1)]
    world.clock.advance(2_000)
    if isinstance(how, CrashModel):
        world.crash(how)
    else:
        world.restart()
    member.reconnect()
    assert world.take(member) == [(0, 1, 1)]
    assert world.counters()[1] == 1


def test_expired_records_have_letters_that_say_why() -> None:
    """Each has its delivery count: nobody had the first two. The breaker does not count them."""
    world = DeadLetterWorld(shareq_ttl_ms="60000", shareq_not_after_enable="true", shareq_breaker_letters="2")
    wall = world.world.clock.wall_ms()
    past = b"%d" % (wall - 1)
    world.produce(
        RecordData(b"k", b"past", ((NOT_AFTER, past),)),
        RecordData(b"k", b"bad", ((NOT_AFTER, None),)),
        RecordData(b"k", b"old", (), wall),
    )
    assert world.take() == [(2, 2, 1)]
    world.settle(60_001)
    assert world.take() == []
    world.settle()
    letters = world.letters()
    assert [header_of(each, "__dlq.errors.message") for each in letters] == [b"Record expired."] * 3
    assert [header_of(each, "__dlq.errors.delivery.count") for each in letters] == [b"0", b"0", b"1"]
    assert [header_of(each, "__dlq.errors.shareq.error") for each in letters] == [
        b"expired: shareq.not.after.ms is " + past,
        b"shareq.not.after.ms is no time in milliseconds since the epoch",
        b"expired: older than shareq.ttl.ms, or past its shareq.not.after.ms",
    ]
    assert [each.value for each in letters] == [b"past", b"bad", b"old"]
    world.produce(b"new")
    assert world.take() == [(3, 3, 1)]


def test_many_letters_of_one_batch_all_say_why() -> None:
    world = DeadLetterWorld(shareq_ttl_ms="1000", shareq_dlq_keep="true")
    world.produce(*[b"v"] * 900)
    world.settle(1_001)
    assert world.take() == []
    world.settle(1_000)
    letters = world.letters()
    assert len(letters) == 900
    assert {header_of(each, "__dlq.errors.shareq.error") for each in letters} == {
        b"expired: older than shareq.ttl.ms (1000)"
    }
    assert {header_of(each, "__dlq.errors.disposition") for each in letters} == {b"EXPIRED"}
