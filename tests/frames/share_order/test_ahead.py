"""The next fetch of a group with order by key, started ahead when the last was answered: its timing and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.ordered import ahead
from shareq.broker.share.ordered.ahead import Ahead
from shareq.coordinator.ports import IsolationLevel
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.share import AcquireMode, RecordState
from tests.frames.share_order.test_fetches import add, rig_of
from tests.frames.share_order.test_order_by_key import member_of, offsets_of, ordered_world, produce
from tests.support.clients.share_client import ACCEPT, acquired_of
from tests.support.fakes.share_rig import ShareRig, ranges

KEYS = [b"%d" % number for number in range(10)]


def rig_with(*batches: Sequence[bytes], limit: int = 40) -> ShareRig:
    rig = rig_of()
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=limit)
    for each in batches:
        add(rig, 0, each)
    return rig


def in_flight(rig: ShareRig) -> int:
    return rig.leader().core.in_flight_records


def take(rig: ShareRig, max_records: int = 10) -> list[tuple[int, int, int]]:
    return ranges(rig.fetch(max_records=max_records).start().value)


def read_offsets(rig: ShareRig) -> list[int]:
    return [offset for offset, *_ in rig.source().asked]


# -- when


def test_the_next_batch_enters_once_the_answer_was_given_and_the_next_fetch_finds_it_there() -> None:
    rig = rig_with(KEYS, [b"x%d" % number for number in range(10)])
    assert take(rig) == [(0, 9, 1)]
    assert (in_flight(rig), read_offsets(rig)) == (10, [0])
    rig.clock.run_until_idle()
    assert (in_flight(rig), read_offsets(rig)) == (20, [0, 10])
    assert [each.state for each in rig.leader().core.snapshot(10)] == [RecordState.AVAILABLE]
    assert take(rig) == [(10, 19, 1)]


def test_the_answer_is_with_the_socket_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world, place = ordered_world(share_partition_max_record_locks="100")
    member = member_of(world, place)
    produce(world, KEYS)
    assert offsets_of(member.acquire(place, max_records=10)) == [*range(10)]
    produce(world, [b"a%d" % number for number in range(10)])
    produce(world, [b"b%d" % number for number in range(10)])
    begun: list[int] = []
    enters = Ahead._enters

    def noted(given: Ahead, leader: SharePartitionLeader, fetch: ahead.NextFetch) -> bool:
        begun.append(leader.key.partition)
        return enters(given, leader, fetch)

    monkeypatch.setattr(Ahead, "_enters", noted)
    member.send_fetch(acks={place: [(0, 9, ACCEPT)]}, max_records=10, max_wait_ms=100)
    while not member.connection.frames:
        world.clock.run_tick()
    assert begun == []
    world.clock.run_tick()
    assert begun == []  # the socket's own writes come at the end of a turn
    assert offsets_of(acquired_of(member.fetch_answer())) == [*range(10, 20)]
    assert begun == [0]


def reads_by_turn() -> list[int]:
    """Return how often two share partitions were read, after each turn following a fetch of both."""
    rig = rig_of(KEYS, KEYS)
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=40)
    rig.fetch(0, 1, max_records=20).start()
    for partition in (0, 1):
        add(rig, partition, [b"x"])
    read: list[int] = []
    while rig.clock.run_tick():
        read.append(sum(len(rig.source(partition).asked) for partition in (0, 1)))
    return read


def test_share_partitions_have_a_turn_each() -> None:
    assert sorted(set(reads_by_turn())) == [2, 3, 4]


@pytest.mark.parametrize("waits", [False, True])
def test_one_with_nothing_to_do_takes_no_turn(*, waits: bool) -> None:
    """No turn is taken even while a fetch waits, because that fetch will look by itself."""
    rig = rig_of(KEYS, KEYS)
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=40)
    rig.fetch(0, 1, max_records=20).start()
    if waits:
        rig.fetch(0, member="other", wait_ms=1_000).start()
        add(rig, 0, [b"x"])
    add(rig, 1, [b"x"])
    ticks = 0
    while len(rig.source(1).asked) == 1:
        rig.clock.run_tick()
        ticks += 1
    assert ticks == ahead.TURNS_TO_LEAVE + 1


def test_a_read_that_comes_to_nothing_takes_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST_OFFSETS", 0)
    assert sorted(set(reads_by_turn())) == [2, 3, 4]


def test_it_happens_once_for_an_answer_and_never_for_a_fetch_that_got_nothing() -> None:
    rig = rig_with(KEYS, *[[b"x%d" % (number + 10 * batch) for number in range(10)] for batch in range(3)], limit=400)
    take(rig)
    for _ in range(3):
        rig.clock.run_until_idle()
    assert in_flight(rig) == 10 + 10
    rig = rig_with([b"k"] * 10, [b"k"] * 10, limit=400)
    assert take(rig, 1) == [(0, 0, 1)]
    rig.clock.run_until_idle()
    before = len(rig.source().asked)
    assert take(rig, 1) == []
    asked = len(rig.source().asked)
    rig.clock.run_until_idle()
    assert asked - before <= 1
    assert len(rig.source().asked) == asked


def test_while_answers_of_such_groups_leave_nothing_is_begun() -> None:
    rig = rig_with(KEYS, [b"x"])
    take(rig)
    for _ in range(5):
        rig.clock.run_tick()
        rig.manager.ahead().expect(rig.leader(), ahead.NextFetch(AcquireMode.BATCH_OPTIMIZED, 500, 10, 100))
    assert read_offsets(rig) == [0]
    rig.clock.run_until_idle()
    assert read_offsets(rig) == [0, 10]


def test_a_share_partition_that_others_wait_for_is_left_to_them() -> None:
    rig = rig_with(KEYS, limit=10)
    take(rig)
    waiting = rig.fetch(member="other", wait_ms=1_000).start()
    add(rig, 0, [b"x"])
    rig.settings.share = rig.settings.share._replace(partition_max_record_locks=40)
    rig.clock.run_until_idle()
    assert (read_offsets(rig), waiting.done) == ([0], False)
    rig.manager.on_high_watermark(rig.source())
    assert ranges(waiting.value) == [(10, 10, 1)]


# -- how much


def test_it_keeps_to_the_in_flight_limit() -> None:
    rig = rig_with(KEYS, KEYS, [b"x"], limit=20)
    take(rig)
    rig.clock.run_until_idle()
    assert in_flight(rig) == 20
    take(rig)
    rig.clock.run_until_idle()
    assert in_flight(rig) == 20


def test_not_more_than_a_fetch_would_enter() -> None:
    batches = [[b"%d %d" % (batch, number) for number in range(10)] for batch in range(20)]
    rig = rig_with(*batches, limit=1_000)
    take(rig, 20)
    rig.clock.run_until_idle()
    assert in_flight(rig) == 20 + 20


def test_little_room_is_left_to_the_fetch() -> None:
    """With a larger fetch ahead, the window would be split into many small in-flight batches."""
    rig = rig_with(KEYS, [b"x"], [b"y"], limit=12)
    take(rig)
    rig.clock.run_until_idle()
    assert in_flight(rig) == 10


def test_what_is_available_in_the_window_is_enough() -> None:
    rig = rig_with([b"%d" % number for number in range(30)], KEYS, limit=100)
    rig.fetch(max_records=10, mode=AcquireMode.RECORD_LIMIT).start()
    rig.clock.run_until_idle()
    assert (in_flight(rig), read_offsets(rig)) == (30, [0])


def test_at_the_end_of_the_log_nothing_is_read() -> None:
    rig = rig_with(KEYS)
    take(rig)
    rig.clock.run_until_idle()
    assert read_offsets(rig) == [0]


def test_a_record_batch_that_would_hold_up_the_loop_is_left_to_the_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST_OFFSETS", 15)
    for count, entered in ((15, 15), (16, 0)):
        rig = rig_with(KEYS, [b"x%d" % number for number in range(count)], limit=100)
        take(rig)
        rig.clock.run_until_idle()
        assert in_flight(rig) == 10 + entered
        assert take(rig) == [(10, 9 + count, 1)]


def test_where_a_compacted_log_has_nothing_more_nothing_enters() -> None:
    rig = rig_with(KEYS)
    rig.source().contents.end_offset = 15
    take(rig)
    rig.clock.run_until_idle()
    assert (in_flight(rig), read_offsets(rig)) == (10, [0, 10])


def test_without_order_by_key_nothing_is_done() -> None:
    rig = ShareRig()
    for _ in range(2):
        add(rig, 0, KEYS)
    take(rig)
    rig.clock.run_until_idle()
    assert (in_flight(rig), read_offsets(rig)) == (10, [0])


# -- what may happen before it


@pytest.mark.parametrize(
    "change",
    [
        lambda rig: rig.manager.topics_deleted([rig.topics.topics()[0]]),
        lambda rig: rig.manager.forget_all(),
        lambda rig: rig.manager.close(),
        lambda rig: setattr(rig.source(), "refusal", ErrorCode.KAFKA_STORAGE_ERROR),
        lambda rig: setattr(rig.source(), "missing_from", 10),
        lambda rig: setattr(rig.source(), "log_start_offset", 15),
        lambda rig: rig.source().contents.unreadable.append((10, 20)),
        lambda rig: setattr(rig.settings, "share", rig.settings.share._replace(order_by_key=False)),
        lambda rig: setattr(rig.settings, "share", rig.settings.share._replace(partition_max_record_locks=10)),
    ],
)
def test_what_ends_the_share_partition_or_the_log_or_the_order_ends_it(change: Callable[[ShareRig], None]) -> None:
    rig = rig_with(KEYS, KEYS, [b"x"])
    leader = rig.leader()
    take(rig)
    change(rig)
    rig.clock.run_until_idle()
    assert leader.core.in_flight_records == 10
    assert leader.unreadable is None


def test_it_goes_by_the_isolation_level_of_the_group_as_it_is_then() -> None:
    rig = rig_with(KEYS, [b"x%d" % number for number in range(10)])
    take(rig)
    rig.settings.share = rig.settings.share._replace(isolation_level=IsolationLevel.READ_COMMITTED)
    rig.source().unstable_from = 10
    rig.clock.run_until_idle()
    assert (in_flight(rig), take(rig)) == (10, [])
    rig.source().unstable_from = None
    assert take(rig) == [(10, 19, 1)]


@pytest.mark.parametrize("level", IsolationLevel)
def test_aborted_records_become_available_only_to_groups_that_read_uncommitted(level: IsolationLevel) -> None:
    rig = rig_with(KEYS)
    rig.settings.share = rig.settings.share._replace(isolation_level=level)
    for base, producer in ((10, 9), (20, -1)):
        records = [RecordData(b"x", b"v"), RecordData(b"y", b"v")]
        marked = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        extra = marked if producer > 0 else {}
        rig.source().contents.add(build_batch(records, timestamp_ms=1, base_offset=base, **extra))  # type: ignore[arg-type]
    rig.source().aborted = [AbortedTransaction(9, 10, 11, 12)]
    take(rig)
    rig.clock.run_until_idle()
    first = RecordState.ARCHIVED if level is IsolationLevel.READ_COMMITTED else RecordState.AVAILABLE
    batches = rig.leader().core.snapshot(10)
    states = {offset: each.state for each in batches for offset in range(each.first_offset, each.last_offset + 1)}
    assert [states[offset] for offset in range(10, 14)] == [first] * 2 + [RecordState.AVAILABLE] * 2
    assert take(rig) == ([(12, 13, 1)] if first is RecordState.ARCHIVED else [(10, 11, 1)])


# -- what it does not change


@pytest.mark.parametrize("seed", range(20))
def test_records_come_in_the_same_order_of_each_key_without_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def order_of(*, with_it: bool) -> dict[bytes, list[int]]:
        rng = Random(seed)
        keys = [b"%d" % rng.randrange(12) for _ in range(300)]
        rig = rig_with(*(keys[first : first + 20] for first in range(0, 300, 20)), limit=60)
        if not with_it:
            monkeypatch.setattr(Ahead, "expect", lambda *_given: None)
        found: dict[bytes, list[int]] = {key: [] for key in keys}
        while acquired := take(rig):
            for first, last, _ in acquired:
                for offset in range(first, last + 1):
                    found[keys[offset]].append(offset)
                rig.acknowledge(first, last)
            rig.clock.run_until_idle()
        return found

    assert order_of(with_it=True) == order_of(with_it=False)


def test_nothing_is_persisted_and_nothing_is_handed_out() -> None:
    rig = rig_with(KEYS, KEYS, [b"x"])
    take(rig)
    writes, deliveries = len(rig.states.writes), rig.leader().core.counters.deliveries
    rig.clock.run_until_idle()
    assert in_flight(rig) == 20
    assert (len(rig.states.writes), rig.leader().core.counters.deliveries) == (writes, deliveries)
