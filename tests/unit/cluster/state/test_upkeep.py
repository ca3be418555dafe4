from __future__ import annotations

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.pending import Pending, completed
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.pruning import Pruning, PruningSettings
from shareq.cluster.state.upkeep import ALIVE_INTERVAL_MS, PRODUCER_INTERVAL_MS, Upkeep
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import DeleteRecordsRequest
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest
from shareq.protocol.records.batch import producer_of
from tests.support.fakes.slot_owner import SlotOwner, batch_of
from tests.support.fakes.small_cluster import SmallCluster

INTERVAL_MS = 60_000


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster()


@pytest.fixture
def owner(clock: VirtualClock, cluster: SmallCluster) -> SlotOwner:
    owner = SlotOwner(clock, cluster.link())
    owner.take_over()
    return owner


def upkeep_of(owner: SlotOwner) -> Upkeep:
    return Upkeep(owner.clock, owner.log, lambda: owner.begin(owner.take_overs.new_producer()))


def test_an_idle_owner_says_that_it_is_alive(owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock) -> None:
    upkeep_of(owner)
    clock.advance(3 * ALIVE_INTERVAL_MS)
    assert len(cluster.batches) == 4
    assert owner.load() == []
    assert not owner.log.is_over


def test_an_owner_at_work_says_nothing(owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock) -> None:
    upkeep_of(owner)
    for _ in range(4):
        clock.advance(ALIVE_INTERVAL_MS // 2)
        owner.append(b"a")
    assert len(cluster.batches) == 5


def test_an_idle_owner_notices_that_it_was_deposed(
    owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock
) -> None:
    upkeep_of(owner)
    SlotOwner(clock, cluster.link(), node_id=2).take_over()
    clock.advance(ALIVE_INTERVAL_MS)
    assert owner.log.is_over
    seen = len(cluster.seen)
    clock.advance(2 * PRODUCER_INTERVAL_MS)
    assert len(cluster.seen) == seen
    assert clock.next_timer_ms() is None


@pytest.mark.parametrize("transactional_ids", [True, False])
def test_an_owner_goes_on_as_a_new_producer_once_a_day(
    owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock, transactional_ids: bool
) -> None:
    cluster.transactional_ids = transactional_ids
    owner.append(b"a")
    upkeep_of(owner)
    clock.advance(PRODUCER_INTERVAL_MS)
    renewed = (100, 1) if transactional_ids else (101, 0)
    assert producer_of(cluster.batches[-1]) == (*renewed, 0)
    owner.append(b"b")
    assert producer_of(cluster.batches[-1]) == (*renewed, 1)
    second = SlotOwner(clock, cluster.link(), node_id=2)
    second.take_over()
    assert second.values == [b"a", b"b"]
    assert second.log.owner is not None
    assert second.log.owner.generation == 2


def test_a_producer_that_is_not_to_be_had_is_asked_for_again(
    owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock
) -> None:
    upkeep_of(owner)
    clock.advance(PRODUCER_INTERVAL_MS - 1)
    cluster.refuse_next(
        InitProducerIdRequest, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR
    )
    clock.advance(1)
    assert producer_of(cluster.batches[-1])[:2] == (100, 0)
    clock.advance(ALIVE_INTERVAL_MS)
    assert producer_of(cluster.batches[-1])[:2] == (100, 1)
    assert not owner.log.is_over


# -- pruning


class Snapshots:
    """A coordinator that needs the log from a given offset on."""

    def __init__(self) -> None:
        self.needed: int | None = 0
        self.asked = 0

    def __call__(self) -> Pending[int | None]:
        self.asked += 1
        return completed(self.needed)


def pruning_of(owner: SlotOwner, log: SlotLog, needed: Snapshots, least: int = 3) -> Pruning:
    return Pruning(owner.clock, owner.slot, log, needed, PruningSettings(INTERVAL_MS, least))


def test_a_log_is_deleted_up_to_its_owners_mark_when_nobody_needs_what_lies_before(
    owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock
) -> None:
    needed = Snapshots()
    pruning = pruning_of(owner, owner.log, needed)
    owner.append(b"a")
    owner.append(b"b")
    clock.advance(INTERVAL_MS)  # a mark at 3
    owner.append(b"c")
    for too_low in (0, 2, 3, None):
        needed.needed = too_low
        clock.advance(INTERVAL_MS)
        assert cluster.start == 0
    needed.needed = 4
    clock.advance(INTERVAL_MS)
    assert (cluster.start, pruning.deleted_to, owner.log.log_start_offset) == (3, 3, 3)
    assert owner.load() == [b"c"]
    second = SlotOwner(clock, cluster.link(), node_id=2)
    second.take_over()
    assert second.values == [b"c"]
    assert second.log.owner is not None
    assert second.log.owner.generation == 2


def test_a_short_log_is_left_alone(owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock) -> None:
    needed = Snapshots()
    pruning_of(owner, owner.log, needed, least=5)
    owner.append(b"a", b"b", b"c")
    clock.advance(3 * INTERVAL_MS)
    assert (len(cluster.batches), needed.asked) == (2, 0)
    owner.append(b"d")
    clock.advance(INTERVAL_MS)
    assert len(cluster.batches) == 4


def test_a_log_whose_records_may_not_be_deleted_grows(
    owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    needed = Snapshots()
    pruning_of(owner, owner.log, needed, least=1)
    cluster.refuse_next(
        DeleteRecordsRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.NONE
    )
    needed.needed = 9
    clock.advance(10 * INTERVAL_MS)
    asked = [each for each in cluster.seen if isinstance(each, DeleteRecordsRequest)]
    assert len(asked) == 2
    assert caplog.text.count("TOPIC_AUTHORIZATION_FAILED; the log is not pruned") == 1


def test_a_deposed_owner_deletes_nothing_more(owner: SlotOwner, cluster: SmallCluster, clock: VirtualClock) -> None:
    needed = Snapshots()
    pruning_of(owner, owner.log, needed, least=1)
    clock.advance(INTERVAL_MS)
    cluster.append(batch_of([b"of another program"]))
    owner.append(b"a")
    needed.needed = 9
    clock.advance(10 * INTERVAL_MS)
    assert cluster.start == 0
    assert clock.next_timer_ms() is None
