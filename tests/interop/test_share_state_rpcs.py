"""The five RPCs of the share coordinator, straight: what they store, fence and refuse, as Apache Kafka 4.3.1 does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    NOT_READY,
    StateBatch,
    append,
    eventually,
    find_group,
)
from tests.support.requests import create_topic
from tests.support.wire import WireClient

UNKNOWN_ID = bytes(range(16))
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST


class Stored(NamedTuple):
    """What a read answers."""

    error: int
    state_epoch: int
    start_offset: int
    batches: list[StateBatch]


class Summary(NamedTuple):
    """What a read of the summary answers."""

    error: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


@dataclass(slots=True)
class Coordinator:
    """One group and one topic of two partitions."""

    client: WireClient
    group: str
    topic_id: bytes

    def initialize(self, state_epoch: int, start_offset: int, partition: int = 0, topic_id: bytes | None = None) -> int:
        rpc = initialize_share_group_state
        data = rpc.InitializeStateData(
            self.topic_id if topic_id is None else topic_id, [rpc.PartitionData(partition, state_epoch, start_offset)]
        )
        request = rpc.InitializeShareGroupStateRequest(self.group, [data])
        answer = self.client.call(request, 0, rpc.InitializeShareGroupStateResponse)
        return answer.results[0].partitions[0].error_code

    def write(
        self,
        *batches: tuple[int, int, int, int],
        start: int = -1,
        done: int = -1,
        state_epoch: int = -1,
        leader_epoch: int = -1,
        partition: int = 0,
        topic_id: bytes | None = None,
    ) -> int:
        rpc = write_share_group_state
        one = rpc.PartitionData(
            partition, state_epoch, leader_epoch, start, done, [rpc.StateBatch(*batch) for batch in batches]
        )
        data = rpc.WriteStateData(self.topic_id if topic_id is None else topic_id, [one])
        request = rpc.WriteShareGroupStateRequest(self.group, [data])
        answer = self.client.call(request, 1, rpc.WriteShareGroupStateResponse)
        return answer.results[0].partitions[0].error_code

    def read(self, leader_epoch: int = -1, partition: int = 0, topic_id: bytes | None = None) -> Stored:
        rpc = read_share_group_state
        data = rpc.ReadStateData(
            self.topic_id if topic_id is None else topic_id, [rpc.PartitionData(partition, leader_epoch)]
        )
        answer = self.client.call(
            rpc.ReadShareGroupStateRequest(self.group, [data]), 0, rpc.ReadShareGroupStateResponse
        )
        result = answer.results[0].partitions[0]
        batches = [
            StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
            for one in result.state_batches
        ]
        return Stored(result.error_code, result.state_epoch, result.start_offset, batches)

    def summary(self, partition: int = 0, topic_id: bytes | None = None) -> Summary:
        rpc = read_share_group_state_summary
        data = rpc.ReadStateSummaryData(
            self.topic_id if topic_id is None else topic_id, [rpc.PartitionData(partition, -1)]
        )
        request = rpc.ReadShareGroupStateSummaryRequest(self.group, [data])
        one = self.client.call(request, 1, rpc.ReadShareGroupStateSummaryResponse).results[0].partitions[0]
        return Summary(one.error_code, one.state_epoch, one.leader_epoch, one.start_offset, one.delivery_complete_count)

    def delete(self, partition: int = 0, topic_id: bytes | None = None) -> int:
        rpc = delete_share_group_state
        data = rpc.DeleteStateData(self.topic_id if topic_id is None else topic_id, [rpc.PartitionData(partition)])
        request = rpc.DeleteShareGroupStateRequest(self.group, [data])
        return self.client.call(request, 0, rpc.DeleteShareGroupStateResponse).results[0].partitions[0].error_code


@pytest.fixture
def coordinator(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Coordinator]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        topic, group = unique("topic"), unique("group")
        coordinator = Coordinator(client, group, create_topic(client, topic, partitions=2))
        append(client, topic, 1)

        def ready() -> bool | None:
            find_group(client, f"{group}:{'A' * 22}:0", share=True)  # makes Apache Kafka create __share_group_state
            return None if coordinator.summary().error in NOT_READY else True

        eventually(ready)
        yield coordinator


def test_initialized_then_read(coordinator: Coordinator) -> None:
    assert coordinator.initialize(3, 100) == NONE
    assert coordinator.read() == (NONE, 3, 100, [])
    assert coordinator.summary() == (NONE, 3, 0, 100, 0)
    assert coordinator.initialize(3, -1, partition=1) == NONE
    assert coordinator.read(partition=1) == (NONE, 3, -1, [])
    assert coordinator.summary(partition=1) == (NONE, 3, 0, -1, -1)


def test_written_then_read(coordinator: Coordinator) -> None:
    """Batches are combined; of two that disagree the higher delivery count wins, then the higher state."""
    coordinator.initialize(1, 0)
    assert coordinator.write((0, 9, AVAILABLE, 1), (20, 29, ARCHIVED, 1), start=0, done=10, state_epoch=1) == NONE
    assert coordinator.write((10, 19, AVAILABLE, 1), (5, 6, ACKNOWLEDGED, 2), state_epoch=1, done=12) == NONE
    assert coordinator.write((0, 4, ACKNOWLEDGED, 1), (25, 25, AVAILABLE, 1), start=2, done=13) == NONE
    assert coordinator.read() == (
        NONE,
        1,
        2,
        [(2, 4, ACKNOWLEDGED, 1), (5, 6, ACKNOWLEDGED, 2), (7, 19, AVAILABLE, 1), (20, 29, ARCHIVED, 1)],
    )
    assert coordinator.summary() == (NONE, 1, 0, 2, 13)


def test_initializing_again_wipes(coordinator: Coordinator) -> None:
    coordinator.initialize(5, 0)
    coordinator.write((0, 9, ACKNOWLEDGED, 1), start=0, done=10)
    assert coordinator.initialize(4, 50) == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.read().batches == [(0, 9, ACKNOWLEDGED, 1)]
    assert coordinator.initialize(5, 50) == NONE
    assert coordinator.read() == (NONE, 5, 50, [])
    assert coordinator.initialize(-1, 60) == NONE


def test_fencing(coordinator: Coordinator) -> None:
    """Reads raise the leader epoch, writes do not; both epochs may be left out with -1."""
    coordinator.initialize(5, 0)
    assert coordinator.read(leader_epoch=7).error == NONE
    assert coordinator.summary().leader_epoch == 7
    assert coordinator.read(leader_epoch=6).error == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=6) == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=7, state_epoch=4) == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=9, state_epoch=9, start=0) == NONE
    assert coordinator.summary()[1:3] == (5, 7)
    assert coordinator.read(leader_epoch=-1).batches == [(0, 0, ACKNOWLEDGED, 1)]


def test_what_was_never_initialized(coordinator: Coordinator) -> None:
    assert coordinator.read().error == INVALID_REQUEST
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), start=0) == INVALID_REQUEST
    assert coordinator.summary() == (NONE, 0, 0, -1, -1)
    assert coordinator.delete() == NONE


def test_deleted(coordinator: Coordinator) -> None:
    coordinator.initialize(5, 0)
    assert coordinator.delete() == NONE
    assert coordinator.delete() == NONE
    assert coordinator.read().error == INVALID_REQUEST
    assert coordinator.initialize(1, 0) == NONE, "no epoch is remembered"


@pytest.mark.parametrize(
    ("partition", "known_topic", "expected"),
    [
        (-1, True, INVALID_REQUEST),
        (2, True, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
    ids=["negative partition", "unknown partition", "unknown topic"],
)
def test_bad_keys(coordinator: Coordinator, partition: int, known_topic: bool, expected: ErrorCode) -> None:
    topic_id = coordinator.topic_id if known_topic else UNKNOWN_ID
    assert coordinator.initialize(0, 0, partition, topic_id) == expected
    assert coordinator.summary(partition, topic_id).error == expected
    assert coordinator.delete(partition, topic_id) == expected
    # Reading and writing look for the state first, and there is none.
    assert coordinator.read(-1, partition, topic_id).error == INVALID_REQUEST
    assert coordinator.write(start=0, partition=partition, topic_id=topic_id) == INVALID_REQUEST


@pytest.mark.crash
def test_state_outlives_a_kill(broker: BrokerUnderTest, coordinator: Coordinator) -> None:
    coordinator.initialize(2, 10)
    coordinator.write((10, 12, ACKNOWLEDGED, 1), (13, 13, AVAILABLE, 4), start=10, done=3)
    coordinator.read(leader_epoch=3)
    before = coordinator.read(), coordinator.summary()
    broker.restart(kill=True)
    with WireClient(("127.0.0.1", broker.port)) as client:
        after = Coordinator(client, coordinator.group, coordinator.topic_id)
        eventually(lambda: None if after.summary().error in NOT_READY else True)
        assert (after.read(), after.summary()) == before
        assert after.read(leader_epoch=2).error == ErrorCode.FENCED_LEADER_EPOCH
