from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)
from tests.support.clients.share_client import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    Place,
    ShareClient,
    acquired_of,
    append,
    from_the_start,
)

NONE = ErrorCode.NONE
BATCH_OPTIMIZED = 0


class Work:
    """Topic t of two partitions with ten records each; group g begins at the first; two members of it."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        topic_id = self.world.create_topic("t", 2).topic_id
        self.first: Place = (topic_id, 0)
        self.second: Place = (topic_id, 1)
        from_the_start(self.world)
        for partition in (0, 1):
            append(self.world, "t", 10, partition=partition)
        self.one, self.two = ShareClient(self.world, "one"), ShareClient(self.world, "two")
        self.one.join("t")
        self.two.join("t")

    def state(self, place: Place | None = None) -> tuple[int, list[tuple[int, int, int, int]]]:
        """Return the stored start offset, and first and last offset, state and delivery count of each batch."""
        topic_id, partition = place or self.first
        request = ReadShareGroupStateRequest("g", [ReadStateData(topic_id, [PartitionData(partition, 0)])])
        answer = self.world.connect().call(request, 0, ReadShareGroupStateResponse).results[0].partitions[0]
        assert answer.error_code == NONE
        return answer.start_offset, [
            (one.first_offset, one.last_offset, one.delivery_state, one.delivery_count) for one in answer.state_batches
        ]

    def described(self) -> dict[int, int]:
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", None)])
        answer = self.world.connect().call(request, 1, DescribeShareGroupOffsetsResponse).groups[0]
        return {one.partition_index: one.start_offset for topic in answer.topics for one in topic.partitions}


@pytest.fixture
def work() -> Work:
    return Work()


# -- the session's partitions


def test_the_session_remembers_its_partitions(work: Work) -> None:
    """A listed partition is fetched until it is forgotten; others may be added."""
    assert acquired_of(work.one.fetch(work.first, max_records=4)) == [(0, 3, 1)]
    work.one.fetch(work.second, max_records=0)
    got = work.one.fetch()
    assert {(p.partition_index, len(p.acquired_records)) for t in got.responses for p in t.partitions} == {
        (0, 1),
        (1, 1),
    }
    work.one.fetch(forgotten=[work.first])
    append(work.world, "t", 1, partition=0)
    append(work.world, "t", 1, partition=1)
    answer = work.one.fetch()
    assert [p.partition_index for t in answer.responses for p in t.partitions] == [1]


def test_the_leader_picks_the_records_and_takes_released_ones_first(work: Work) -> None:
    """The request has no offset to choose by."""
    assert work.one.acquire(work.first, max_records=6) == [(0, 5, 1)]
    assert work.one.acknowledge(work.first, (1, 2, RELEASE)) is NONE
    assert acquired_of(work.one.fetch(max_records=3)) == [(1, 2, 2), (6, 6, 1)]


def test_a_session_has_its_epochs(work: Work) -> None:
    """KIP-932: 0 opens, -1 ends, and every other request of either RPC adds one."""
    assert work.one.fetch(work.first, epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert work.one.fetch(work.first, epoch=-1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert work.one.acknowledge(work.first, epoch=5) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    assert work.one.acknowledge(work.first, (0, 4, ACCEPT)) is NONE
    due = work.one.session_epoch
    for wrong in (due - 1, due + 1):
        assert work.one.fetch(epoch=wrong).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert work.one.acknowledge(work.first, (5, 9, ACCEPT), epoch=wrong) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert work.one.acknowledge(work.first, (5, 9, ACCEPT), epoch=0) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert work.one.acknowledge(work.first, (5, 9, ACCEPT), epoch=due) is NONE


def test_one_session_too_many_is_refused_after_the_clients_own_wait() -> None:
    work = Work(group_share_max_size="2", group_share_max_share_sessions="2")
    work.one.fetch(work.first)
    work.two.fetch(work.first)
    third = ShareClient(work.world, "three")
    third.send_fetch(work.first, max_wait_ms=500)
    work.world.clock.advance(499)
    assert not third.connection.frames
    work.world.clock.advance(1)
    assert third.fetch_answer().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


@pytest.mark.parametrize("wait_ms", [0, -1])
def test_one_session_too_many_that_would_not_wait_is_refused_at_once(wait_ms: int) -> None:
    work = Work(group_share_max_size="2", group_share_max_share_sessions="2")
    work.one.fetch(work.first)
    work.two.fetch(work.first)
    timer = work.world.clock.next_timer_ms()
    third = ShareClient(work.world, "three")
    third.send_fetch(work.first, max_wait_ms=wait_ms)
    assert third.fetch_answer().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert work.world.clock.next_timer_ms() == timer


def test_a_client_that_is_gone_is_refused_no_more() -> None:
    work = Work(group_share_max_size="2", group_share_max_share_sessions="2")
    work.one.fetch(work.first)
    work.two.fetch(work.first)
    timer = work.world.clock.next_timer_ms()
    third = ShareClient(work.world, "three")
    third.send_fetch(work.first, max_wait_ms=1)
    assert work.world.clock.next_timer_ms() != timer
    third.connection.close()
    work.world.clock.run_until_idle()
    assert work.world.clock.next_timer_ms() == timer


# -- the end of a session


def by_share_fetch(member: ShareClient, _place: Place) -> None:
    assert member.fetch(epoch=-1).error_code == NONE


def by_share_acknowledge(member: ShareClient, place: Place) -> None:
    assert member.acknowledge(place, epoch=-1) is NONE


def by_losing_the_connection(member: ShareClient, _place: Place) -> None:
    member.connection.disconnect()


@pytest.mark.parametrize("end", [by_share_fetch, by_share_acknowledge, by_losing_the_connection])
def test_what_a_member_holds_goes_to_others_when_its_session_ends(
    end: Callable[[ShareClient, Place], None], work: Work
) -> None:
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    assert work.two.acquire(work.first) == []
    end(work.one, work.first)
    work.world.clock.run_until_idle()
    assert acquired_of(work.two.fetch()) == [(0, 9, 2)]


@pytest.mark.parametrize("fetch", [True, False])
def test_the_last_request_of_a_session_may_acknowledge(fetch: bool, work: Work) -> None:
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    if fetch:
        assert work.one.fetch(epoch=-1, acks={work.first: [(0, 6, ACCEPT)]}).error_code == NONE
    else:
        assert work.one.acknowledge(work.first, (0, 6, ACCEPT), epoch=-1) is NONE
    assert work.two.acquire(work.first) == [(7, 9, 2)]


def test_the_last_request_of_a_session_fetches_nothing(work: Work) -> None:
    """KIP-932: the final epoch only acknowledges; records fetched then would count as delivered."""
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    append(work.world, "t", 5)
    answer = work.one.fetch(epoch=-1, acks={work.first: [(0, 9, ACCEPT)]})
    assert (answer.error_code, acquired_of(answer)) == (NONE, [])
    assert work.two.acquire(work.first) == [(10, 14, 1)]


def test_an_idle_group_is_forgotten_by_the_leader_and_its_offsets_are_known(work: Work) -> None:
    """KIP-932: the share coordinator answers administrators, without loading the share partition."""
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    assert work.one.acknowledge(work.first, (0, 4, ACCEPT)) is NONE
    assert work.one.acknowledge(work.first, (5, 5, ACCEPT)) is NONE
    work.one.connection.disconnect()
    work.world.clock.run_until_idle()
    leader = work.world.services.share.partitions
    key = SharePartitionKey("g", *work.first)
    assert leader.get(key) is None
    assert work.described() == {0: 6, 1: -1}
    assert leader.get(key) is None
    assert work.two.acquire(work.first) == [(6, 9, 2)]


# -- acknowledgements by either RPC


def test_both_ways_to_acknowledge_leave_the_same_state(work: Work) -> None:
    acks = [(0, 1, ACCEPT), (2, 3, RELEASE), (4, 5, REJECT), (6, 6, GAP)]
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    assert work.one.acknowledge(work.first, *acks) is NONE
    assert work.two.acquire(work.second) == [(0, 9, 1)]
    answer = work.two.fetch(max_records=0, acks={work.second: acks})
    assert [p.acknowledge_error_code for t in answer.responses for p in t.partitions] == [NONE]
    assert work.state(work.first) == work.state(work.second) == (0, [(0, 1, 2, 1), (2, 3, 0, 1), (4, 6, 4, 1)])


def test_a_session_cannot_be_opened_with_acknowledgements(work: Work) -> None:
    refused = work.one.fetch(acks={work.first: [(0, 1, ACCEPT)]})
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert work.one.acknowledge(work.first, (0, 1, ACCEPT), epoch=0) is ErrorCode.INVALID_SHARE_SESSION_EPOCH


# -- the window


def test_members_share_a_partition_record_by_record(work: Work) -> None:
    """KIP-932: no member owns a partition; a record acquired by one is not delivered to another."""
    got = [work.one.acquire(work.first, max_records=3), work.two.acquire(work.first, max_records=3)]
    got += [acquired_of(member.fetch(max_records=3)) for member in (work.one, work.two)]
    assert got == [[(0, 2, 1)], [(3, 5, 1)], [(6, 8, 1)], [(9, 9, 1)]]


def test_a_full_window_takes_no_more_until_its_front_is_finished() -> None:
    work = Work(group_share_min_partition_max_record_locks="100", group_share_partition_max_record_locks="100")
    append(work.world, "t", 1, batches=200)
    assert work.one.acquire(work.first) == [(0, 99, 1)]
    assert acquired_of(work.one.fetch()) == []
    assert work.one.acknowledge(work.first, (50, 99, ACCEPT)) is NONE
    assert acquired_of(work.one.fetch()) == []
    assert work.one.acknowledge(work.first, (0, 9, ACCEPT)) is NONE
    assert acquired_of(work.one.fetch()) == [(100, 109, 1)]


def test_a_full_window_goes_on_when_the_records_that_a_restart_gave_back_are_finished() -> None:
    """The window is overfull by a batch; all records are finished but those held at the restart."""
    work = Work(group_share_min_partition_max_record_locks="100", group_share_partition_max_record_locks="100")
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    append(work.world, "t", 150)
    assert acquired_of(work.one.fetch(mode=BATCH_OPTIMIZED)) == [(10, 159, 1)]
    assert work.one.acknowledge(work.first, (10, 159, ACCEPT)) is NONE
    work.world.restart()
    append(work.world, "t", 5)
    work.one.reconnect()
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    assert acquired_of(work.one.fetch()) == []
    assert work.one.acknowledge(work.first, (0, 9, ACCEPT)) is NONE
    assert acquired_of(work.one.fetch()) == [(160, 164, 1)]


def test_the_delivery_count_rises_with_every_delivery_and_is_stored_when_a_record_comes_back(work: Work) -> None:
    assert work.one.acquire(work.first, max_records=2) == [(0, 1, 1)]
    assert work.state()[1] == []  # what is acquired is written nowhere
    assert work.one.acknowledge(work.first, (0, 0, RELEASE)) is NONE
    work.world.clock.advance(30_000)
    assert work.state()[1] == [(0, 1, 0, 1)]
    assert acquired_of(work.one.fetch(max_records=2)) == [(0, 1, 2)]
    work.world.restart()
    work.one.reconnect()
    assert work.one.acquire(work.first, max_records=2) == [(0, 1, 2)]


def test_the_start_offset_is_the_first_that_is_not_finished(work: Work) -> None:
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    for acks, start in (([(2, 3, ACCEPT)], 0), ([(0, 0, REJECT)], 0), ([(1, 1, ACCEPT)], 1), ([(4, 4, GAP)], 4)):
        assert work.one.acknowledge(work.first, *acks) is NONE
        assert work.described()[0] == start  # as of the write before, as in Apache Kafka 4.3.1


def test_a_session_that_was_lost_is_reported_by_its_error(work: Work) -> None:
    assert work.one.acquire(work.first) == [(0, 9, 1)]
    work.world.restart()
    work.one.connection = work.world.connect()
    assert work.one.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    work.one.session_epoch = 0
    assert work.one.acquire(work.first) == [(0, 9, 1)]
