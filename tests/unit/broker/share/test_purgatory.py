"""Fetches waiting for records: each record wakes the one that gets it, in order of arrival, and none is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.share.core.partition import AckBatch
from shareq.broker.share.fetch import FetchedPartition, ShareFetch
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.purgatory import LOOKS
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.share import AcknowledgeType, AcquireMode
from tests.support.fakes.share_leaders import Waiter
from tests.support.fakes.share_rig import LOCK_MS, ShareRig, ranges

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
WAIT_MS = 1_000_000
Answer = Pending[list[FetchedPartition]]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[ShareFetch]:
    looked: list[ShareFetch] = []
    look_again = ShareFetch.look_again

    def counted(fetch: ShareFetch, at: SharePartitionLeader | None = None) -> None:
        looked.append(fetch)
        look_again(fetch, at)

    monkeypatch.setattr(ShareFetch, "look_again", counted)
    return looked


def waiting(rig: ShareRig, members: int, *, max_records: int = 1, min_bytes: int = 1) -> list[Answer]:
    limit = AcquireMode.RECORD_LIMIT
    fetches = [
        rig.fetch(member=f"m{at}", wait_ms=WAIT_MS, mode=limit, max_records=max_records, min_bytes=min_bytes)
        for at in range(members)
    ]
    return [fetch.start() for fetch in fetches]


def fill(rig: ShareRig, records: int = 1) -> None:
    for _ in range(records):
        rig.source().fill(b"x")
    rig.manager.on_high_watermark(rig.source())
    rig.clock.run_until_idle()


def answered(answers: list[Answer]) -> list[int]:
    return [at for at, each in enumerate(answers) if each.done]


# -- work of the records, not of those that wait


def test_a_record_costs_one_look_however_many_wait(rig: ShareRig, looks: list[ShareFetch]) -> None:
    answers = waiting(rig, 500)
    fill(rig)
    assert (answered(answers), len(looks)) == ([0], 1)
    rig.acknowledge(0, 0, member="m0")
    rig.clock.run_until_idle()
    assert len(looks) == 1, "the start offset moved, and there is nothing for any of them"
    fill(rig, 3)
    assert (answered(answers), len(looks)) == ([0, 1, 2, 3], 4)


def test_those_that_came_first_are_served_first(rig: ShareRig, looks: list[ShareFetch]) -> None:
    answers = waiting(rig, 3)
    fill(rig)
    answers += waiting(rig, 1)
    fill(rig, 2)
    assert answered(answers) == [0, 1, 2]
    fill(rig)
    assert answered(answers) == [0, 1, 2, 3]


def test_one_that_cannot_take_passes_the_turn_on_and_keeps_its_place(rig: ShareRig) -> None:
    size = len(build_batch([RecordData(None, b"x")], timestamp_ms=1))
    answers = [*waiting(rig, 1, min_bytes=2 * size, max_records=2), *waiting(rig, 2)]
    fill(rig)
    assert answered(answers) == [1]
    fill(rig, 2)
    assert (answered(answers), ranges(answers[0].value)) == ([0, 1], [(1, 2, 1)])


def test_a_full_window_that_gets_room_is_looked_at(rig: ShareRig, looks: list[ShareFetch]) -> None:
    rig.settings.share = ShareGroupSettings(record_lock_duration_ms=LOCK_MS, partition_max_record_locks=1)
    answers = waiting(rig, 20)
    fill(rig, 2)
    assert (answered(answers), len(looks)) == ([0], 1)
    rig.acknowledge(0, 0, member="m0")
    rig.clock.run_until_idle()
    assert (answered(answers), len(looks)) == ([0, 1], 2)


def test_a_fetch_that_waits_for_no_records_is_answered_when_its_share_partition_is_open(rig: ShareRig) -> None:
    rig.settings.share = ShareGroupSettings(record_lock_duration_ms=LOCK_MS, partition_max_record_locks=1)
    fill(rig)
    assert rig.acquire(member="other") == [(0, 0, 1)]
    answers = waiting(rig, 2, min_bytes=0)
    assert answered(answers) == []
    rig.acknowledge(0, 0, member="other")
    rig.clock.run_until_idle()
    assert answered(answers) == [0, 1]


def test_what_takes_a_share_partition_away_is_looked_at_by_all(rig: ShareRig) -> None:
    answers = waiting(rig, 3 * LOOKS)
    rig.manager.topics_deleted([rig.topics.delete("t")])
    rig.clock.run_until_idle()
    assert len(answered(answers)) == 3 * LOOKS


def test_while_records_are_read_from_the_disk_one_fetch_has_looked_and_then_all_may(
    rig: ShareRig, looks: list[ShareFetch], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, arrived = rig.source(), Pending[None]()
    read = source.read
    first = rig.fetch(member="first", wait_ms=WAIT_MS)
    first.start()
    answers = waiting(rig, 20)
    monkeypatch.setattr(source, "read", lambda *args, **more: BeingRead(arrived))
    fill(rig, 2)
    assert looks == [first]
    first.cancel()
    monkeypatch.setattr(source, "read", read)
    arrived.complete(None)
    rig.clock.run_until_idle()
    assert answered(answers) == [0, 1], "not only the one for which they were read"


# -- many that look


@contextmanager
def passing(rig: ShareRig, count: int) -> Iterator[list[int]]:
    """Yield the order in which waiters, which never take a record, are asked."""
    looked: list[int] = []
    waiters = [Waiter() for _ in range(count)]
    for at, waiter in enumerate(waiters):
        waiter.on_look = lambda at=at: looked.append(at)  # type: ignore[misc]
        rig.manager.purgatory.park(waiter, [rig.leader()])
    yield looked
    for waiter in waiters:
        rig.manager.purgatory.unpark(waiter, [rig.leader()])


def test_many_look_in_turns_of_the_loop_each_once(rig: ShareRig) -> None:
    count = 2 * LOOKS + 1
    with passing(rig, count) as looked:
        rig.source().fill(b"x")
        rig.manager.on_high_watermark(rig.source())
        turns = [len(looked)]
        while rig.clock.run_tick():
            turns.append(len(looked))
    assert turns == [LOOKS, 2 * LOOKS, count]
    assert looked == list(range(count))


def test_what_comes_while_they_look_has_all_of_them_look_again(rig: ShareRig) -> None:
    count = 2 * LOOKS
    with passing(rig, count) as looked:
        rig.source().fill(b"x")
        rig.manager.on_high_watermark(rig.source())
        rig.manager.on_high_watermark(rig.source())
        rig.clock.run_until_idle()
    assert looked == [*range(count), *range(count)]


def test_many_records_are_taken_in_turns_of_the_loop(rig: ShareRig, looks: list[ShareFetch]) -> None:
    answers = waiting(rig, 2 * LOOKS + 10)
    for _ in range(2 * LOOKS + 5):
        rig.source().fill(b"x")
    rig.manager.on_high_watermark(rig.source())
    assert len(looks) == LOOKS
    rig.clock.run_until_idle()
    assert (answered(answers), len(looks)) == (list(range(2 * LOOKS + 5)), 2 * LOOKS + 5)


# -- no wake-up is lost


Step = Callable[["Model"], None]


class Model:
    """Members of one group over two partitions, acting at random.

    After each step every waiting fetch is checked once more, and must find nothing.
    """

    def __init__(self, *, ordered: bool, most: int) -> None:
        self.rig = ShareRig()
        self.rig.settings.share = ShareGroupSettings(
            record_lock_duration_ms=LOCK_MS,
            partition_max_record_locks=most,
            order_by_key=ordered,
            delivery_count_limit=3,
        )
        self.waiting: dict[str, ShareFetch] = {}
        self.held: list[tuple[int, str, int, int]] = []
        self.members = 0

    def fetch(self, partitions: tuple[int, ...], max_records: int, min_bytes: int) -> None:
        self.members += 1
        member = f"m{self.members}"
        fetch = self.rig.fetch(
            *partitions,
            member=member,
            wait_ms=WAIT_MS,
            min_bytes=min_bytes,
            max_records=max_records,
            mode=AcquireMode.RECORD_LIMIT,
        )
        self.waiting[member] = fetch
        fetch.start()

    def fill(self, partition: int, keys: list[int]) -> None:
        source = self.rig.source(partition)
        records = [RecordData(b"%d" % key, b"v") for key in keys]
        source.contents.add(build_batch(records, timestamp_ms=1))
        self.rig.manager.on_high_watermark(source)

    def acknowledge(self, which: int, kind: AcknowledgeType) -> None:
        if self.held:
            partition, member, first, last = self.held.pop(which % len(self.held))
            leader = self.rig.leader(partition)
            self.rig.manager.acknowledge(leader, member, [AckBatch(first, last, (kind,))])

    def cancel(self, which: int) -> None:
        if self.waiting:
            self.waiting.pop(list(self.waiting)[which % len(self.waiting)]).cancel()

    def settle(self) -> None:
        self.rig.clock.run_until_idle()
        for member, fetch in list(self.waiting.items()):
            if fetch.pending.done:
                del self.waiting[member]
                for each in fetch.pending.value:
                    self.held += [(each.partition, member, first, last) for first, last, _ in each.acquired]
        for fetch in self.waiting.values():
            fetch.look_again()
            assert not fetch.pending.done, "it waited for what was there"


_partitions = st.sampled_from([(0,), (1,), (0, 1), (1, 0)])
_steps = st.one_of(
    st.builds(
        lambda *given: lambda model: model.fetch(*given), _partitions, st.integers(1, 3), st.sampled_from([1, 1, 200])
    ),
    st.builds(
        lambda *given: lambda model: model.fill(*given),
        st.integers(0, 1),
        st.lists(st.integers(0, 2), min_size=1, max_size=4),
    ),
    st.builds(
        lambda *given: lambda model: model.acknowledge(*given), st.integers(0, 5), st.sampled_from([ACCEPT, RELEASE])
    ),
    st.builds(lambda ms: lambda model: model.rig.clock.advance(ms), st.sampled_from([1, LOCK_MS // 2, LOCK_MS])),
    st.builds(lambda which: lambda model: model.cancel(which), st.integers(0, 5)),
)


@given(steps=st.lists(_steps, min_size=5, max_size=40), ordered=st.booleans(), most=st.sampled_from([2, 5, 100]))
@settings(max_examples=150, deadline=None)
def test_nobody_waits_for_what_is_there(steps: list[Step], ordered: bool, most: int) -> None:
    model = Model(ordered=ordered, most=most)
    for step in steps:
        step(model)
        model.settle()
