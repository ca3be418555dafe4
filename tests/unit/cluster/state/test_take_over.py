"""Take-overs: first the owner's record, then the read; and the alternative when brokers do not fence."""

from __future__ import annotations

import logging

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.cluster.state.fencing import Producer, take_over_batch
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.slot import MOST_BYTES, Refused
from shareq.cluster.state.take_over import TakeOverSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.records.batch import stamp_producer
from tests.support.fakes.slot_owner import SlotOwner, batch_of, state_topic
from tests.support.fakes.small_cluster import SmallCluster


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster()


def owner_on(clock: VirtualClock, cluster: SmallCluster, node_id: int = 1) -> SlotOwner:
    owner = SlotOwner(clock, cluster.link(), node_id=node_id)
    owner.take_over()
    return owner


def test_the_record_comes_before_reading(clock: VirtualClock, cluster: SmallCluster) -> None:
    owner = owner_on(clock, cluster)
    assert [type(each) for each in cluster.seen] == [
        MetadataRequest,
        FindCoordinatorRequest,
        InitProducerIdRequest,
        ProduceRequest,
        FetchRequest,
    ]
    asked = cluster.seen[2]
    assert isinstance(asked, InitProducerIdRequest)
    assert asked.transactional_id == "shareq-__shareq_state-0"
    assert owner.log.owner is not None
    assert owner.log.owner.generation == 1


def test_what_was_confirmed_is_read_by_the_next_owner(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_on(clock, cluster)
    first.append(b"a")
    first.append(b"b", b"c")
    second = owner_on(clock, cluster, 2)
    assert second.values == [b"a", b"b", b"c"]
    assert second.log.owner is not None
    assert second.log.owner[:2] == (2, 2)
    first.append(b"late")
    clock.run_until_idle()
    assert first.outcomes == [ErrorCode.NONE, ErrorCode.NONE, LOG_IS_OVER]
    assert "INVALID_PRODUCER_EPOCH" in first.log.over.value


def test_without_a_right_to_transactional_ids_the_log_decides(
    clock: VirtualClock, cluster: SmallCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.transactional_ids = False
    first = owner_on(clock, cluster)
    first.append(b"a")
    second = owner_on(clock, cluster, 2)
    first.append(b"late")  # lands: nothing fences it
    clock.run_until_idle()
    assert first.outcomes == [ErrorCode.NONE, LOG_IS_OVER]
    assert "expected" in first.log.over.value
    second.append(b"b")
    clock.run_until_idle()
    assert second.outcomes == [LOG_IS_OVER]
    third = owner_on(clock, cluster, 3)
    assert third.values == [b"a", b"b"]  # the second owner had read all, but cannot know that this is still so
    assert third.log.skipped == 1
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in caplog.text


def test_a_coordinator_that_is_not_to_be_had_is_waited_for_a_while(clock: VirtualClock, cluster: SmallCluster) -> None:
    cluster.refuse_next(InitProducerIdRequest, *[ErrorCode.CONCURRENT_TRANSACTIONS] * 3)
    owner = SlotOwner(clock, cluster.link())
    taken = owner.begin_take_over()
    clock.advance(299)
    assert not taken.done
    clock.advance(1)
    assert isinstance(taken.value, SlotLog)


@pytest.mark.parametrize("silent", [False, True])
def test_a_take_over_goes_on_without_transactional_id_in_five_seconds(
    clock: VirtualClock, cluster: SmallCluster, silent: bool
) -> None:
    link = cluster.link()
    owner = SlotOwner(clock, link)
    if silent:
        link.held = True
        taken = owner.begin_take_over()
        link.answer_one()  # where the leader is
        assert isinstance(link.waiting.popleft().message, FindCoordinatorRequest)
        link.held = False
    else:
        cluster.refuse_next(FindCoordinatorRequest, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 100)
        taken = owner.begin_take_over()
    clock.advance(4_800)
    assert not taken.done
    clock.advance(200)
    assert isinstance(taken.value, SlotLog)
    asked = [each for each in cluster.seen if isinstance(each, InitProducerIdRequest)]
    assert [each.transactional_id for each in asked] == [None]


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT]
)
def test_a_record_without_a_good_answer_is_written_again_by_another_producer(
    clock: VirtualClock, cluster: SmallCluster, code: ErrorCode
) -> None:
    cluster.refuse_next(ProduceRequest, code)
    owner = SlotOwner(clock, cluster.link())
    taken = owner.begin_take_over()
    clock.advance(100)
    assert isinstance(taken.value, SlotLog)
    ids = [each for each in cluster.seen if isinstance(each, InitProducerIdRequest)]
    assert len(ids) == 2


def test_a_slot_that_is_given_to_another_node_meanwhile_is_not_taken(
    clock: VirtualClock, cluster: SmallCluster
) -> None:
    cluster.refuse_next(ProduceRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    owner = SlotOwner(clock, cluster.link())
    taken = owner.begin_take_over()
    owner.wanted = False
    clock.advance(1_000)
    assert isinstance(taken.value, Refused)
    assert len([each for each in cluster.seen if isinstance(each, ProduceRequest)]) == 1


def test_a_slot_that_is_given_to_another_node_before_the_record_is_not_taken(
    clock: VirtualClock, cluster: SmallCluster
) -> None:
    """The process was suspended while it asked for its producer id."""
    link = cluster.link()
    link.held = True
    owner = SlotOwner(clock, link)
    taken = owner.begin_take_over()
    for _ in range(2):  # leader, coordinator
        link.answer_one()
        clock.run_until_idle()
    owner.wanted = False
    link.answer_one()
    clock.run_until_idle()
    assert isinstance(taken.value, Refused)
    assert [type(each) for each in cluster.seen[-1:]] == [InitProducerIdRequest]
    assert not link.waiting


@pytest.mark.parametrize("code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_record_that_is_refused_for_good_ends_the_take_over(
    clock: VirtualClock, cluster: SmallCluster, code: ErrorCode
) -> None:
    cluster.refuse_next(ProduceRequest, code)
    taken = SlotOwner(clock, cluster.link()).begin_take_over()
    assert isinstance(taken.value, Refused)
    assert taken.value.error is code


def test_a_take_over_gives_up(clock: VirtualClock, cluster: SmallCluster) -> None:
    cluster.refuse_next(MetadataRequest, *[1] * 1000)  # no leader
    owner = SlotOwner(clock, cluster.link(), settings=TakeOverSettings(1, limit_ms=2_000))
    taken = owner.begin_take_over()
    clock.advance(1_999)
    assert not taken.done
    clock.advance(1)
    assert isinstance(taken.value, Refused)
    assert taken.value.error is ErrorCode.LEADER_NOT_AVAILABLE


# -- reading


def test_a_long_log_is_read_a_megabyte_at_a_time(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_on(clock, cluster)
    values = [bytes([at]) * 100_000 for at in range(40)]
    for value in values:
        first.append(value)
    second = owner_on(clock, cluster, 2)
    assert second.values == values
    fetches = [each for each in cluster.seen if isinstance(each, FetchRequest)]
    assert len(fetches) == 1 + 4
    assert all(each.max_bytes == MOST_BYTES for each in fetches)


def test_a_batch_larger_than_that_is_read_alone(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = SlotOwner(clock, cluster.link(), topic=state_topic(max_message_bytes=5 << 20))
    first.take_over()
    first.append(b"x" * (3 << 20))
    assert owner_on(clock, cluster, 2).values == [b"x" * (3 << 20)]


def test_stretches_that_do_not_count_are_passed_over(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_on(clock, cluster)
    first.append(b"a")
    for _ in range(30):
        cluster.append(batch_of([b"z" * 100_000]))
    second = owner_on(clock, cluster, 2)
    second.append(b"b")
    assert owner_on(clock, cluster, 3).values == [b"a", b"b"]


def test_a_long_read_pauses(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_on(clock, cluster)
    for at in range(1_000):
        first.append(b"%d" % at)
    second = SlotOwner(clock, cluster.link(), node_id=2)
    second.begin_take_over().on_complete(lambda log: setattr(second, "log_or_none", log))
    clock.run_until_idle()
    read = second.log.read(0, 1 << 20, upto=second.log.high_watermark)
    ticks = 0
    while not read.done:
        clock.run_tick()
        ticks += 1
    assert ticks >= 4


def test_a_leader_that_changes_while_the_log_is_read(clock: VirtualClock, cluster: SmallCluster) -> None:
    owner_on(clock, cluster).append(b"a")
    cluster.refuse_next(FetchRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    owner = SlotOwner(clock, cluster.link(), node_id=2)
    taken = owner.begin_take_over()
    assert isinstance(taken.value, SlotLog)
    read = taken.value.read(0, 1 << 20, upto=taken.value.high_watermark)
    assert not read.done
    clock.advance(100)
    assert not isinstance(read.value, ErrorCode)


def test_a_log_that_cannot_be_read_in_time_is_over(clock: VirtualClock, cluster: SmallCluster) -> None:
    cluster.refuse_next(FetchRequest, *[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 1_000)
    owner = SlotOwner(clock, cluster.link(), node_id=2)
    taken = owner.begin_take_over()
    assert isinstance(taken.value, SlotLog)
    read = taken.value.read(0, 1 << 20, upto=1)
    clock.advance(31_000)
    assert read.value is LOG_IS_OVER
    assert taken.value.is_over


@pytest.mark.parametrize("what", ["truncated", "deleted"])
def test_a_record_that_is_not_where_it_was_written_is_noticed(
    clock: VirtualClock, cluster: SmallCluster, what: str
) -> None:
    """An unclean election of a replica without the record has removed acknowledged records."""
    owner_on(clock, cluster).append(b"a")
    owner = SlotOwner(clock, cluster.link(), node_id=2)
    taken = owner.begin_take_over()
    log = taken.value
    assert isinstance(log, SlotLog)
    if what == "truncated":
        cluster.batches.pop()
        cluster.end -= 1
        other = take_over_batch(Producer(5, 0), node_id=9, sequence=0, now_wall_ms=1)
        cluster.append(other)
    else:
        cluster.start = 1
    owner.log_or_none = log
    owner.load()
    assert log.is_over


@pytest.mark.parametrize("times", [1, 2])
def test_a_batch_that_comes_damaged_is_fetched_again_then_left_out(
    clock: VirtualClock, cluster: SmallCluster, times: int
) -> None:
    first = owner_on(clock, cluster)
    for value in (b"a", b"b", b"c"):
        first.append(value)
    owner = SlotOwner(clock, cluster.link(), node_id=2)
    log = owner.begin_take_over().value
    assert isinstance(log, SlotLog)
    sound, broken = cluster.batches[2], bytearray(cluster.batches[2])
    broken[-1] ^= 1
    cluster.batches[2] = bytes(broken)
    read = log.read(0, 1 << 20, upto=log.high_watermark).value
    assert not isinstance(read, ErrorCode)
    assert [span.base_offset for span in read.batches] == [1]
    if times == 1:
        cluster.batches[2] = sound
        rest = log.read(2, 1 << 20, upto=log.high_watermark).value
        assert not isinstance(rest, ErrorCode)
        assert [span.base_offset for span in rest.batches] == [2, 3]
        return
    assert log.read(2, 1 << 20, upto=log.high_watermark).value is ErrorCode.CORRUPT_MESSAGE
    assert log.unreadable_range(2) == (2, 3)
    rest = log.read(3, 1 << 20, upto=log.high_watermark).value
    assert not isinstance(rest, ErrorCode)
    assert [span.base_offset for span in rest.batches] == [3]


def test_a_pruned_log_is_read_from_its_start(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_on(clock, cluster)
    first.append(b"a")
    marked = first.log.mark()
    first.append(b"b")
    cluster.start = marked.value
    cluster.batches = cluster.batches[2:]
    second = owner_on(clock, cluster, 2)
    assert second.values == [b"b"]
    assert second.log.owner is not None
    assert second.log.owner.generation == 2


def test_a_forged_batch_of_the_owners_producer_is_noticed_by_its_offset(
    clock: VirtualClock, cluster: SmallCluster, caplog: pytest.LogCaptureFixture
) -> None:
    first = owner_on(clock, cluster)
    forged = batch_of([b"forged"])
    stamp_producer(forged, 100, 0, 1)
    cluster.append(forged)
    with caplog.at_level(logging.WARNING):
        first.append(b"a")
        clock.run_until_idle()
    assert first.outcomes == [LOG_IS_OVER]
