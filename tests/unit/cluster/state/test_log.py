"""Appends of an owner: at most two in flight, each of which must get its expected offset."""

from __future__ import annotations

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.broker.log.append import AppendInfo, Origin
from shareq.broker.log.segments.reader import ReadResult
from shareq.cluster.state.fencing import Producer
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.records.batch import RecordData, build_batch, producer_of
from tests.support.fakes.slot_owner import SlotOwner, batch_of, state_topic
from tests.support.fakes.small_cluster import SmallCluster, SmallLink


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster()


@pytest.fixture
def link(cluster: SmallCluster) -> SmallLink:
    return cluster.link()


@pytest.fixture
def owner(clock: VirtualClock, link: SmallLink) -> SlotOwner:
    """Return an owner that has read its slot, and hold its requests back from now on."""
    owner = SlotOwner(clock, link)
    owner.take_over()
    link.held = True
    return owner


def test_an_append_counts_when_it_got_its_offset(owner: SlotOwner, link: SmallLink) -> None:
    assert owner.append(b"a", b"b") == AppendInfo(1, 2, -1, 0, duplicate=False)
    assert (owner.log.log_end_offset, owner.log.high_watermark, owner.outcomes) == (3, 1, [])
    link.answer_all()
    assert (owner.log.high_watermark, owner.outcomes) == (3, [ErrorCode.NONE])
    link.held = False
    assert owner.load() == [b"a", b"b"]


def test_batches_carry_the_owners_producer_and_sequences_in_a_row(
    owner: SlotOwner, link: SmallLink, cluster: SmallCluster
) -> None:
    for values in ((b"a",), (b"b", b"c"), (b"d",)):
        owner.append(*values)
    link.answer_all()
    assert [producer_of(batch) for batch in cluster.batches] == [(100, 0, 0), (100, 0, 1), (100, 0, 2), (100, 0, 4)]


def test_two_are_under_way_and_the_others_wait(owner: SlotOwner, link: SmallLink) -> None:
    for value in (b"a", b"b", b"c"):
        owner.append(value)
    assert (len(link.waiting), owner.log.under_way) == (2, 3)
    link.answer_one()
    assert (len(link.waiting), owner.log.under_way) == (2, 2)
    link.answer_all()
    assert owner.outcomes == [ErrorCode.NONE] * 3


def test_the_next_batch_is_asked_for_when_there_is_room(owner: SlotOwner, link: SmallLink, clock: VirtualClock) -> None:
    """Decisions made while two batches are in flight share the next batch (group commit)."""
    asked: list[str] = []
    owner.log.before_append(lambda: asked.append("first"))
    assert asked == []
    clock.run_until_idle()
    assert asked == ["first"]
    owner.append(b"a")
    owner.append(b"b")
    owner.log.before_append(lambda: asked.append("second"))
    clock.run_until_idle()
    assert asked == ["first"]
    link.answer_one()
    clock.run_until_idle()
    assert asked == ["first", "second"]


def test_another_offset_ends_the_incarnation(
    owner: SlotOwner, link: SmallLink, cluster: SmallCluster, clock: VirtualClock
) -> None:
    owner.append(b"a")
    owner.append(b"b")
    owner.append(b"c")
    cluster.append(batch_of([b"of another program"]))
    link.answer_one()
    assert owner.log.is_over
    assert owner.outcomes == []  # no callback runs inside the call that delivered the answer
    clock.run_until_idle()
    assert owner.outcomes == [LOG_IS_OVER] * 3
    assert "base offset 2, expected 1" in owner.log.over.value
    link.answer_all()  # the second one is appended, but does not count
    assert owner.outcomes == [LOG_IS_OVER] * 3
    assert owner.append(b"d") is LOG_IS_OVER
    read = owner.log.read(0, 1, upto=1)
    assert read.value is LOG_IS_OVER
    assert link.waiting == type(link.waiting)()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        999,
    ],
)
def test_an_error_ends_the_incarnation(
    owner: SlotOwner, link: SmallLink, cluster: SmallCluster, clock: VirtualClock, code: int
) -> None:
    cluster.refuse_next(ProduceRequest, code)
    owner.append(b"a")
    owner.append(b"b")
    link.answer_all()
    clock.run_until_idle()
    assert owner.outcomes == [LOG_IS_OVER] * 2


@pytest.mark.parametrize("handled", [False, True])
def test_no_answer_ends_the_incarnation(
    owner: SlotOwner, link: SmallLink, clock: VirtualClock, cluster: SmallCluster, handled: bool
) -> None:
    owner.append(b"a")
    owner.append(b"b")
    link.lose_one(handled=handled)
    link.answer_all()
    clock.run_until_idle()
    assert owner.outcomes == [LOG_IS_OVER] * 2
    assert owner.log.high_watermark == 1
    again = SlotOwner(clock, cluster.link())
    again.take_over()
    assert again.values == ([b"a", b"b"] if handled else [b"b"])


def test_those_who_wait_for_room_are_called_when_the_log_is_over(
    owner: SlotOwner, link: SmallLink, clock: VirtualClock
) -> None:
    owner.append(b"a")
    owner.append(b"b")
    called: list[object] = []
    owner.log.before_append(lambda: called.append(owner.append(b"c")))
    link.lose_one()
    clock.run_until_idle()
    assert called == [LOG_IS_OVER]


def test_a_batch_that_the_topic_would_not_take_is_not_sent(clock: VirtualClock, cluster: SmallCluster) -> None:
    owner = SlotOwner(clock, cluster.link(), topic=state_topic(max_message_bytes=200))
    owner.take_over()
    assert owner.log.max_message_bytes == 200
    seen = len(cluster.seen)
    assert owner.append(b"x" * 200) is LOG_IS_OVER
    assert len(cluster.seen) == seen


def test_a_limit_that_was_lowered_is_heard_of_once(clock: VirtualClock, cluster: SmallCluster) -> None:
    """The same operation would otherwise end one incarnation after another."""
    owner = SlotOwner(clock, cluster.link())
    owner.take_over()
    cluster.refuse_next(ProduceRequest, ErrorCode.MESSAGE_TOO_LARGE)
    owner.append(b"x" * 500)
    clock.run_until_idle()
    assert owner.outcomes == [LOG_IS_OVER]
    assert owner.log.max_message_bytes == len(batch_of([b"x" * 500])) - 1


@pytest.mark.parametrize("control", [False, True])
def test_transactions_are_no_business_of_a_slot(owner: SlotOwner, control: bool) -> None:
    batch = build_batch([RecordData(b"k", b"v")], timestamp_ms=1, producer_id=3 if not control else -1, control=control)
    with pytest.raises(ValueError, match="in the log of a slot's owner"):
        owner.log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=1)


def test_an_append_proves_ownership_at_the_time_it_was_sent(
    owner: SlotOwner, link: SmallLink, clock: VirtualClock
) -> None:
    """The process may have stopped while the answer lay in a socket."""
    taken_over = owner.proofs[0]
    clock.advance(5)
    owner.append(b"a")
    sent = clock.now_ms()
    clock.advance(60_000)
    link.answer_all()
    assert owner.proofs == [taken_over, sent]
    owner.append(b"b")
    link.lose_one()
    assert owner.proofs == [taken_over, sent]


def test_the_owners_own_records_are_appended_among_the_others(
    owner: SlotOwner, link: SmallLink, cluster: SmallCluster
) -> None:
    owner.log.say_alive()
    owner.append(b"a")
    owner.log.say_alive()  # what is under way says it
    renewed = owner.log.go_on_as(Producer(400, 0))
    marked = owner.log.mark()
    owner.append(b"b", b"c")
    link.answer_all()
    assert (renewed.value, marked.value) == (ErrorCode.NONE, 4)
    assert [producer_of(each) for each in cluster.batches[1:]] == [
        (100, 0, 1),
        (100, 0, 2),
        (400, 0, 0),
        (400, 0, 1),
        (400, 0, 2),
    ]
    link.held = False
    assert owner.load() == [b"a", b"b", b"c"]
    assert owner.log.owner is not None
    assert owner.log.owner[0:3] == (1, 1, Producer(400, 0))


def test_no_take_over_record_has_the_key_of_another_where_that_is_compacted(
    clock: VirtualClock, cluster: SmallCluster
) -> None:
    owner = SlotOwner(clock, cluster.link(), topic=state_topic(compacted=True))
    owner.take_over()
    with pytest.raises(ValueError, match="of one key"):
        owner.log.mark()


def test_the_owners_records_are_not_appended_once_it_is_over(owner: SlotOwner, clock: VirtualClock) -> None:
    owner.log.end("the node stops")
    owner.log.say_alive()
    assert owner.log.go_on_as(Producer(400, 0)).value is LOG_IS_OVER
    assert owner.log.mark().value is LOG_IS_OVER
    clock.run_until_idle()
    assert owner.log.over.value == "the node stops"


def test_a_log_that_is_read_again_has_what_was_under_way(
    owner: SlotOwner, link: SmallLink, clock: VirtualClock
) -> None:
    """After a fault of its own the runtime discards its shard and replays the log, which has to include batches in
    flight.
    """
    owner.append(b"a")
    owner.append(b"b")
    read = owner.log.read(0, 1 << 20, upto=1)
    clock.run_until_idle()
    assert not read.done
    link.answer_all()
    assert isinstance(read.value, ReadResult)
    assert [span.base_offset for span in read.value.batches] == [1, 2]


def test_a_log_that_ends_while_it_is_read_again(owner: SlotOwner, link: SmallLink, clock: VirtualClock) -> None:
    owner.append(b"a")
    read = owner.log.read(0, 1 << 20, upto=1)
    link.lose_one()
    clock.run_until_idle()
    assert read.value is LOG_IS_OVER
