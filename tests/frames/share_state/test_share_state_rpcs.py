"""The five share-state RPCs called by an outsider, over frames: every version, every error, restarts and failures."""

from __future__ import annotations

from typing import Final

import pytest

from devtools.clients.state_rpcs import StateCaller, Stored
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.primitives import Message, uuid_to_text
from shareq.protocol.share import RecordState
from tests.support.clients.share_client import ShareClient, acquired_of, append, fetch_errors, from_the_start
from tests.support.fakes.host import ELSEWHERE

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
ARCHIVED: Final = RecordState.ARCHIVED
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
UNKNOWN_ID = bytes(range(16))
ALL = ("read", "write", "summary", "delete", "initialize")


class Outside:
    """A caller that has found the share coordinator of a group and a topic of two partitions."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        self.topic_id = self.world.create_topic("t", 2).topic_id
        self.connect()

    def connect(self) -> None:
        self.state = StateCaller(self.world.connect(), "g", self.topic_id)

    def restart(self) -> None:
        self.world.restart()
        self.connect()

    def find(self, version: int = 6) -> int:
        """Return FindCoordinator's answer for partition 0, which creates the state topic."""
        request = FindCoordinatorRequest(key_type=2, coordinator_keys=[f"g:{uuid_to_text(self.topic_id)}:0"])
        (found,) = self.state.client.call(request, version, FindCoordinatorResponse).coordinators
        return found.error_code


@pytest.fixture
def outside() -> Outside:
    outside = Outside()
    assert outside.find() == NONE
    return outside


def test_what_is_written_can_be_read_by_anybody_and_after_a_restart(outside: Outside) -> None:
    state = outside.state
    assert state.initialize(3, 100) == NONE
    assert state.read() == (NONE, 3, 100, [])
    assert state.write((100, 109, ACKNOWLEDGED, 1), (112, 112, AVAILABLE, 2), start=100, done=10) == NONE
    batches = [(100, 109, ACKNOWLEDGED, 1), (112, 112, AVAILABLE, 2)]
    assert state.read(leader_epoch=4) == (NONE, 3, 100, batches)
    assert state.summary() == (NONE, 3, 4, 100, 10)
    outside.restart()
    assert outside.state.read(leader_epoch=4) == (NONE, 3, 100, batches)
    assert outside.state.summary() == (NONE, 3, 4, 100, 10)
    assert outside.state.read(leader_epoch=3).error == ErrorCode.FENCED_LEADER_EPOCH


def test_counts_are_of_version_1(outside: Outside) -> None:
    state = outside.state
    state.initialize(1, 0)
    assert state.write((0, 3, ACKNOWLEDGED, 1), start=0, done=4, version=1) == NONE
    assert state.summary(version=1) == (NONE, 1, 0, 0, 4)
    assert state.summary(version=0) == (NONE, 1, 0, 0, -1)
    assert state.write((4, 4, ACKNOWLEDGED, 1), start=0, done=5, version=0) == NONE
    assert state.read().batches == [(0, 4, ACKNOWLEDGED, 1)]
    assert state.summary(version=1) == (NONE, 1, 0, 0, 4), "it does not fall"
    assert state.write((5, 5, ACKNOWLEDGED, 1), start=1, version=0) == NONE
    assert state.summary(version=1) == (NONE, 1, 0, 1, -1)


def test_fencing(outside: Outside) -> None:
    """Smaller epochs are refused, larger ones accepted; only reads store leader epochs."""
    state = outside.state
    state.initialize(5, 0)
    assert state.read(leader_epoch=7).error == NONE
    assert state.read(leader_epoch=6) == (ErrorCode.FENCED_LEADER_EPOCH, 0, 0, []), "an error has no start offset"
    for version in (0, 1):
        written = (0, 0, ACKNOWLEDGED, 1)
        assert state.write(written, leader_epoch=6, version=version) == ErrorCode.FENCED_LEADER_EPOCH
        assert state.write(written, leader_epoch=7, state_epoch=4, version=version) == ErrorCode.FENCED_STATE_EPOCH
        assert state.write(written, leader_epoch=8, state_epoch=6, version=version) == NONE
        assert state.write(written, version=version) == NONE
    assert state.summary()[1:3] == (5, 7)
    assert state.initialize(4, 0) == ErrorCode.FENCED_STATE_EPOCH
    assert state.read(leader_epoch=7).batches == [(0, 0, ACKNOWLEDGED, 1)]
    assert state.initialize(5, 3) == NONE
    assert state.read(leader_epoch=7) == (NONE, 5, 3, [])
    assert state.initialize(-1, 3) == ErrorCode.INVALID_REQUEST
    assert state.read(leader_epoch=-1).error == ErrorCode.INVALID_REQUEST
    assert state.write(leader_epoch=-1) == state.write(state_epoch=-1) == ErrorCode.INVALID_REQUEST
    assert state.delete() == NONE, "fences nobody"


def test_what_was_never_initialised(outside: Outside) -> None:
    state = outside.state
    refused = {name: INVALID_REQUEST if name in ("read", "write") else NONE for name in ALL}
    assert state.errors() == refused
    assert state.delete() == NONE
    assert state.errors() == refused, "forgotten again"
    assert state.delete() == NONE
    assert state.summary() == (NONE, 0, 0, -1, -1)


@pytest.mark.parametrize(
    ("partition", "topic_id", "unknown"),
    [
        (-1, None, INVALID_REQUEST),
        (2, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_does_not_exist(outside: Outside, partition: int, topic_id: bytes | None, unknown: ErrorCode) -> None:
    """Reads and writes look for the state first, and find none."""
    errors = outside.state.errors(partition, topic_id)
    assert errors == {name: INVALID_REQUEST if name in ("read", "write") else unknown for name in ALL}


@pytest.mark.parametrize("batch", [(5, 4, ACKNOWLEDGED, 1), (-1, 4, ACKNOWLEDGED, 1), (0, 0, 1, 1), (0, 0, 2, -1)])
def test_a_batch_that_means_nothing_is_refused(outside: Outside, batch: tuple[int, int, int, int]) -> None:
    outside.state.initialize(1, 0)
    assert outside.state.write(batch, start=0) == INVALID_REQUEST
    assert outside.state.read() == (NONE, 1, 0, [])


# -- the five at once: each with two topics, of which one does not exist, and a partition twice


def requests(topic_id: bytes) -> list[tuple[Message, type[Message], int]]:
    """Return each RPC in its newest version, for partitions 0, 9 and 0 of a topic and partition 0 of an unknown one."""
    one, two, three = initialize_share_group_state, read_share_group_state, write_share_group_state
    four, five = delete_share_group_state, read_share_group_state_summary
    ids = (topic_id, (0, 9, 0)), (UNKNOWN_ID, (0,))
    initialize = [one.InitializeStateData(id, [one.PartitionData(n, 1, 5) for n in wanted]) for id, wanted in ids]
    write = [three.WriteStateData(id, [three.PartitionData(n, 1, 0, 5, 0, []) for n in wanted]) for id, wanted in ids]
    read = [two.ReadStateData(id, [two.PartitionData(n, 0) for n in wanted]) for id, wanted in ids]
    summary = [five.ReadStateSummaryData(id, [five.PartitionData(n, 0) for n in wanted]) for id, wanted in ids]
    delete = [four.DeleteStateData(id, [four.PartitionData(n) for n in wanted]) for id, wanted in ids]
    return [
        (one.InitializeShareGroupStateRequest("g", initialize), one.InitializeShareGroupStateResponse, 0),
        (three.WriteShareGroupStateRequest("g", write), three.WriteShareGroupStateResponse, 1),
        (two.ReadShareGroupStateRequest("g", read), two.ReadShareGroupStateResponse, 0),
        (five.ReadShareGroupStateSummaryRequest("g", summary), five.ReadShareGroupStateSummaryResponse, 1),
        (four.DeleteShareGroupStateRequest("g", delete), four.DeleteShareGroupStateResponse, 0),
    ]


@pytest.mark.parametrize(
    ("number", "unknown"),
    [
        (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),  # initialize
        (1, INVALID_REQUEST),  # write: looks for the state first, and there is none
        (2, INVALID_REQUEST),  # read: the same
        (3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),  # summary
        (4, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),  # delete
    ],
)
def test_each_partition_has_its_own_row(outside: Outside, number: int, unknown: ErrorCode) -> None:
    """A repeated partition is answered once; only rows with an error have a message."""
    for request, response, version in requests(outside.topic_id)[: number + 1]:
        answer = outside.state.client.call(request, version, response)
    found = [
        (topic.topic_id, row.partition, row.error_code, bool(row.error_message))
        for topic in answer.results  # type: ignore[attr-defined]
        for row in topic.partitions
    ]
    expected = [
        (outside.topic_id, 0, NONE, False),
        (outside.topic_id, 9, unknown, True),
        (UNKNOWN_ID, 0, unknown, True),
    ]
    assert sorted(found) == sorted(expected)


def test_a_plain_assignment_initialises_without_a_start_offset(outside: Outside) -> None:
    """The start offset is -1 until records are acquired; the state epoch is the group epoch; there are no batches."""
    from_the_start(outside.world)
    for partition in (0, 1):
        append(outside.world, "t", 3, partition=partition)
    member = ShareClient(outside.world)
    assert member.join("t") == {"t": [0, 1]}
    unused = Stored(NONE, member.member_epoch, -1, [])
    assert [outside.state.read(partition=partition) for partition in (0, 1)] == [unused, unused]
    assert member.acquire((outside.topic_id, 0)) == [(0, 2, 1)]
    assert outside.state.read(partition=0) == (NONE, member.member_epoch, 0, [])
    assert outside.state.read(partition=1) == unused


def test_a_leader_that_begins_elsewhere_ends_this_one_before_it_hands_out_more(outside: Outside) -> None:
    """Delivery stops at once, not only at a refused write: the other leader's members may have finished records."""
    place = outside.topic_id, 0
    from_the_start(outside.world)
    append(outside.world, "t", 3)
    member = ShareClient(outside.world)
    member.join("t")
    assert member.acquire(place) == [(0, 2, 1)]
    append(outside.world, "t", 3)
    assert outside.state.read(leader_epoch=0).error == NONE  # of the leader that there is
    assert member.acquire(place) == [(3, 5, 1)]
    append(outside.world, "t", 3)
    assert outside.state.read(leader_epoch=9).error == NONE
    answer = member.fetch(place)
    assert (acquired_of(answer), fetch_errors(answer)) == ([], {place: ErrorCode.NOT_LEADER_OR_FOLLOWER})


def test_a_leader_gives_up_a_state_that_is_wiped_or_deleted(outside: Outside) -> None:
    """Equal epochs do not fence the leader, so it drops its memory of the state."""
    place = outside.topic_id, 0
    from_the_start(outside.world)
    append(outside.world, "t", 3)
    member = ShareClient(outside.world)
    member.join("t")
    assert member.acquire(place) == [(0, 2, 1)]
    assert outside.state.initialize(member.member_epoch, 1) == NONE
    assert member.acquire(place) == [(1, 2, 1)]
    assert outside.state.delete() == NONE
    append(outside.world, "t", 1)
    assert acquired_of(member.fetch(place)) == []


@pytest.mark.parametrize("number", range(5))
def test_nothing_asked_is_nothing_answered(outside: Outside, number: int) -> None:
    request, response, version = requests(outside.topic_id)[number]
    for nothing in ("no group", "no topics", "a topic without partitions"):
        if nothing == "no group":
            request.group_id = ""  # type: ignore[attr-defined]
        elif nothing == "no topics":
            request.group_id, request.topics = "g", []  # type: ignore[attr-defined]
        else:
            request, _, _ = requests(outside.topic_id)[number]
            request.topics[1].partitions = []  # type: ignore[attr-defined]
        assert outside.state.client.call(request, version, response).results == []  # type: ignore[attr-defined]


# -- coordinators that cannot answer


def test_before_there_is_a_coordinator() -> None:
    assert set(Outside().state.errors().values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


def test_a_coordinator_that_cannot_be_had() -> None:
    """More replicas are required than there are brokers, so not even FindCoordinator can create the topic."""
    outside = Outside(share_coordinator_state_topic_replication_factor="3")
    assert outside.find() == ErrorCode.INVALID_REPLICATION_FACTOR
    assert set(outside.state.errors().values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


def test_a_coordinator_elsewhere(outside: Outside) -> None:
    """Only the state partition that another broker leads is refused."""
    key = SharePartitionKey("g", outside.topic_id, 0)
    at = [share_partition_for(key._replace(partition=partition), 50) for partition in (0, 1)]
    assert at[0] != at[1]
    outside.state.initialize(1, 0)
    outside.world.leaders.move(SHARE_GROUP_STATE, at[0], ELSEWHERE)
    assert set(outside.state.errors().values()) == {ErrorCode.NOT_COORDINATOR}
    assert outside.state.initialize(1, 0, partition=1) == NONE
    outside.world.leaders.move(SHARE_GROUP_STATE, at[0], None)
    assert outside.state.read() == (NONE, 1, 0, [])
