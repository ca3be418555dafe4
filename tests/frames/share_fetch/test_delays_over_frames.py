"""Records with a delivery time, as clients see them, over frames: `shareq.delay.enable`."""

from __future__ import annotations

import pytest

from devtools.clients.requests import produce
from devtools.in_memory.mem_fs import CrashModel
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.ack_delays import MOST, Later, tags_of
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest
from shareq.protocol.generated.share_fetch import ShareFetchRequest
from shareq.protocol.names import NOT_BEFORE
from shareq.protocol.primitives import Tags
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.compression import Compression
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    Acquired,
    Place,
    ShareClient,
    acquired_of,
    append,
    configure,
    from_the_start,
)
from tests.support.worlds.dead_letters import DeadLetterWorld, header_of

DAY_MS = 86_400_000


class DelayWorld(BrokerWorld):
    """A broker with topic `t`, and group `g` with delays, which begins at its start."""

    def __init__(self, **properties: str) -> None:
        super().__init__({"share.coordinator.state.topic.num.partitions": "1", "log.flush.interval.messages": "1"})
        self.place: Place = (self.create_topic("t").topic_id, 0)
        from_the_start(self)
        configure(self, **{"shareq_delay_enable": "true", **properties})

    def member(self, member_id: str = "m") -> ShareClient:
        member = ShareClient(self, member_id)
        member.join("t")
        return member

    def send(self, *waits_ms: int | bytes | None, compression: Compression = Compression.NONE) -> None:
        """Produce one batch with a record for each value: its delay, the header's bytes, or None for no header."""
        wall = self.clock.wall_ms()
        values = [b"%d" % (wall + each) if isinstance(each, int) else each for each in waits_ms]
        records = [
            RecordData(None, b"v" * 40, () if value is None else ((NOT_BEFORE, value), ("other", b"1")))
            for value in values
        ]
        sent = bytes(build_batch(records, timestamp_ms=wall, compression=compression))
        assert produce(self.connect(), "t", sent).error_code == ErrorCode.NONE

    def wait_for(self, member: ShareClient, *, most_ms: int = 60_000) -> tuple[int, list[Acquired]]:
        """Return how long a fetch waits, in milliseconds, and what it acquires."""
        began = self.clock.now_ms()
        member.send_fetch(self.place, max_wait_ms=most_ms)
        self.clock.run_until_idle()
        while not member.connection.frames:
            due = self.clock.next_timer_ms()
            assert due is not None
            self.clock.advance(max(due - self.clock.now_ms(), 0))
        return self.clock.now_ms() - began, acquired_of(member.fetch_answer())

    def in_flight(self) -> str:
        (leader,) = self.services.share.partitions.of_group("g").values()
        return ", ".join(
            f"{each.first_offset}-{each.last_offset} {each.state.name}({each.delivery_count})"
            for each in leader.core.snapshot()
        )


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_a_waiting_fetch_is_answered_at_the_records_time(compression: Compression) -> None:
    """Two truncated clocks may differ by one millisecond."""
    world = DelayWorld()
    member = world.member()
    world.send(5_000, None, 300, compression=compression)
    assert member.acquire(world.place) == [(1, 1, 1)]
    waited, acquired = world.wait_for(member)
    assert acquired == [(2, 2, 1)]
    assert 300 <= waited <= 301
    assert world.wait_for(member) == (4_700, [(0, 0, 1)])


def test_a_group_that_does_not_ask_gets_everything_at_once() -> None:
    world = DelayWorld(shareq_delay_enable="false")
    world.send(5_000, b"never")
    assert world.member().acquire(world.place) == [(0, 1, 1)]


@pytest.mark.parametrize("how", ["stop", CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_restart_keeps_the_times_of_both_kinds(how: str | CrashModel) -> None:
    world = DelayWorld()
    member = world.member()
    world.send(10_000, None, None)
    assert member.acquire(world.place) == [(1, 2, 1)]
    assert give_back(member, world.place, (1, 2, RELEASE), later=[Later(1, 1, 7_000)]) is ErrorCode.NONE
    world.clock.advance(4_000)
    if isinstance(how, CrashModel):
        world.crash(how)
    else:
        world.restart()
    member.reconnect()
    assert member.acquire(world.place) == [(2, 2, 2)]
    waited, acquired = world.wait_for(member)
    assert (waited, acquired) == (3_000, [(1, 1, 2)])
    waited, acquired = world.wait_for(member)
    assert acquired == [(0, 0, 1)]
    assert 3_000 <= waited <= 3_001


def test_records_dated_to_the_year_33658_delay_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """Such records are rejected when found, whatever the window, so that they fill nothing."""
    world = DelayWorld(share_partition_max_record_locks="100")
    member = world.member()
    for _ in range(9):
        world.send(*[b"9" * 15] * 1_000)
    world.send(None, b"tomorrow", DAY_MS + 10_000, None)
    assert world.wait_for(member) == (0, [(9_000, 9_000, 1), (9_003, 9_003, 1)])
    assert member.acknowledge(world.place, (9_000, 9_000, ACCEPT), (9_003, 9_003, ACCEPT)) is ErrorCode.NONE
    (leader,) = world.services.share.partitions.of_group("g").values()
    assert leader.core.start_offset == 9_004
    assert leader.core.counters.acknowledged[3] == 9_002
    assert not caplog.records


def test_what_is_refused_gets_a_dead_letter_that_says_why() -> None:
    world = DeadLetterWorld(shareq_delay_enable="true", shareq_delay_max_ms="1000")
    late = b"%d" % (world.world.clock.wall_ms() + 1_001)
    world.produce(RecordData(b"k", b"late", ((NOT_BEFORE, late),)), RecordData(b"k", b"bad", ((NOT_BEFORE, None),)))
    assert world.take() == []
    world.settle()
    reasons = [header_of(letter, "__dlq.errors.shareq.error") for letter in world.letters()]
    assert reasons == [
        b"shareq.not.before.ms is " + late + b": more than shareq.delay.max.ms (1000) ahead",
        b"shareq.not.before.ms is no time in milliseconds since the epoch",
    ]


def test_an_acknowledgement_with_a_time_in_either_request() -> None:
    world = DelayWorld()
    member = world.member()
    append(world, "t", 4)
    assert member.acquire(world.place) == [(0, 3, 1)]
    assert give_back(member, world.place, (0, 1, RELEASE), later=[Later(0, 0, 900)]) is ErrorCode.NONE
    assert give_back(member, world.place, (2, 3, RELEASE), later=[Later(3, 3, 400)], fetch=True) is ErrorCode.NONE
    assert world.in_flight() == "0-0 AVAILABLE(1), 1-2 AVAILABLE(1), 3-3 AVAILABLE(1)"
    assert world.wait_for(member) == (0, [(1, 2, 2)])
    assert world.wait_for(member) == (400, [(3, 3, 2)])
    assert world.wait_for(member) == (500, [(0, 0, 2)])


@pytest.mark.parametrize(
    "later",
    [
        [Later(0, 0, 0)],
        [Later(0, 0, DAY_MS + 1)],
        [Later(1, 0, 5)],
        [Later(0, 1, 5), Later(1, 1, 5)],
        [Later(each, each, 5) for each in range(MOST + 1)],
    ],
    ids=["no time", "too long", "backwards", "twice", "too many"],
)
def test_a_time_that_cannot_be_is_refused_and_nothing_counts(later: list[Later]) -> None:
    world = DelayWorld()
    member = world.member()
    append(world, "t", 4)
    member.acquire(world.place)
    assert give_back(member, world.place, (0, 3, RELEASE), later=later) is ErrorCode.INVALID_REQUEST
    assert world.in_flight() == "0-3 ACQUIRED(1)"


def test_a_group_without_delays_refuses_times() -> None:
    world = DelayWorld(shareq_delay_enable="false")
    member = world.member()
    append(world, "t", 4)
    member.acquire(world.place)
    assert give_back(member, world.place, (0, 3, RELEASE), later=[Later(0, 0, 5)]) is ErrorCode.INVALID_REQUEST
    assert world.in_flight() == "0-3 ACQUIRED(1)"


def give_back(
    member: ShareClient, place: Place, *acks: tuple[int, int, int], later: list[Later], fetch: bool = False
) -> ErrorCode:
    """Release with times, by ShareAcknowledge or by a ShareFetch that acquires nothing."""
    tags: Tags = tags_of(later)
    if fetch:
        batches = [share_fetch.AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
        topic = share_fetch.FetchTopic(place[0], [share_fetch.FetchPartition(place[1], batches, unknown_tags=tags)])
        request = ShareFetchRequest(
            member.group, member.member_id, member.session_epoch, 0, 1, 1 << 20, 0, 1, topics=[topic]
        )
        member.connection.send(request, 2)
        answer = member.fetch_answer()
        errors = [each.acknowledge_error_code for topic_ in answer.responses for each in topic_.partitions]
        return ErrorCode(answer.error_code or next(iter(errors), 0))
    rows = [share_acknowledge.AcknowledgementBatch(first, last, [kind]) for first, last, kind in acks]
    partition = share_acknowledge.AcknowledgePartition(place[1], rows, unknown_tags=tags)
    topics = [share_acknowledge.AcknowledgeTopic(place[0], [partition])]
    sent = ShareAcknowledgeRequest(member.group, member.member_id, member.session_epoch, False, topics)
    member.connection.send(sent, 2)
    return member.acknowledge_answer()
