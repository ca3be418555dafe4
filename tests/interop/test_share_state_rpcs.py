"""The five RPCs of the share coordinator, called directly: what they store, fence and refuse, as in Apache Kafka
4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.state_rpcs import StateCaller
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import KAFKA_VERSION
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import initialize_share_group_state, read_share_group_state
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import (
    ACKNOWLEDGED,
    ARCHIVED,
    ARCHIVING,
    AVAILABLE,
    NOT_READY,
    append,
    eventually,
    find_group,
)

from_4_4 = pytest.mark.skipif(KAFKA_VERSION < "4.4", reason="Apache Kafka 4.3 does otherwise")
UNKNOWN_ID = bytes(range(16))
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST


@pytest.fixture
def coordinator(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[StateCaller]:
    with WireClient(("127.0.0.1", broker.port)) as client:
        topic, group = unique("topic"), unique("group")
        coordinator = StateCaller(client, group, create_topic(client, topic, partitions=2))
        append(client, topic, 1)

        def ready() -> bool | None:
            find_group(client, f"{group}:{'A' * 22}:0", share=True)  # makes Apache Kafka create __share_group_state
            return None if coordinator.summary().error in NOT_READY else True

        eventually(ready)
        yield coordinator


def test_initialized_then_read(coordinator: StateCaller) -> None:
    assert coordinator.initialize(3, 100) == NONE
    assert coordinator.read() == (NONE, 3, 100, [])
    assert coordinator.summary() == (NONE, 3, 0, 100, 0)
    assert coordinator.initialize(3, -1, partition=1) == NONE
    assert coordinator.read(partition=1) == (NONE, 3, -1, [])
    assert coordinator.summary(partition=1) == (NONE, 3, 0, -1, -1)


def test_written_then_read(coordinator: StateCaller) -> None:
    """Batches are combined: the higher delivery count wins, then the higher state."""
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


def test_initializing_again_wipes(coordinator: StateCaller) -> None:
    coordinator.initialize(5, 0)
    coordinator.write((0, 9, ACKNOWLEDGED, 1), start=0, done=10)
    assert coordinator.initialize(4, 50) == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.read().batches == [(0, 9, ACKNOWLEDGED, 1)]
    assert coordinator.initialize(5, 50) == NONE
    assert coordinator.read() == (NONE, 5, 50, [])


def test_fencing(coordinator: StateCaller) -> None:
    """Reads raise the leader epoch, writes do not."""
    coordinator.initialize(5, 0)
    assert coordinator.read(leader_epoch=7).error == NONE
    assert coordinator.summary().leader_epoch == 7
    assert coordinator.read(leader_epoch=6).error == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=6) == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=7, state_epoch=4) == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=9, state_epoch=9, start=0) == NONE
    assert coordinator.summary()[1:3] == (5, 7)
    assert coordinator.read(leader_epoch=7).batches == [(0, 0, ACKNOWLEDGED, 1)]


def test_what_was_never_initialized(coordinator: StateCaller) -> None:
    assert coordinator.read().error == INVALID_REQUEST
    assert coordinator.write((0, 0, ACKNOWLEDGED, 1), start=0) == INVALID_REQUEST
    assert coordinator.summary() == (NONE, 0, 0, -1, -1)
    assert coordinator.delete() == NONE


def test_deleted(coordinator: StateCaller) -> None:
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
def test_bad_keys(coordinator: StateCaller, partition: int, known_topic: bool, expected: ErrorCode) -> None:
    topic_id = coordinator.topic_id if known_topic else UNKNOWN_ID
    assert coordinator.initialize(0, 0, partition, topic_id) == expected
    assert coordinator.summary(partition, topic_id).error == expected
    assert coordinator.delete(partition, topic_id) == expected
    # Reading and writing look for the state first, and there is none.
    assert coordinator.read(0, partition, topic_id).error == INVALID_REQUEST
    assert coordinator.write(start=0, partition=partition, topic_id=topic_id) == INVALID_REQUEST


@pytest.mark.crash
def test_state_outlives_a_kill(broker: BrokerUnderTest, coordinator: StateCaller) -> None:
    coordinator.initialize(2, 10)
    coordinator.write((10, 12, ACKNOWLEDGED, 1), (13, 13, AVAILABLE, 4), start=10, done=3)
    coordinator.read(leader_epoch=3)
    before = coordinator.read(3), coordinator.summary()
    broker.restart(kill=True)
    with WireClient(("127.0.0.1", broker.port)) as client:
        after = StateCaller(client, coordinator.group, coordinator.topic_id)
        eventually(lambda: None if after.summary().error in NOT_READY else True)
        assert (after.read(3), after.summary()) == before
        assert after.read(leader_epoch=2).error == ErrorCode.FENCED_LEADER_EPOCH


def test_each_partition_has_its_own_result(coordinator: StateCaller) -> None:
    """Topics are regrouped; a repeated partition is handled twice but answered once, with the last result."""
    rpc = initialize_share_group_state
    known = [rpc.PartitionData(0, 1, 10), rpc.PartitionData(7, 1, 10), rpc.PartitionData(0, 2, 20)]
    unknown = [rpc.PartitionData(0, 1, 10)]
    topics = [
        rpc.InitializeStateData(coordinator.topic_id, known),
        rpc.InitializeStateData(UNKNOWN_ID, unknown),
        rpc.InitializeStateData(coordinator.topic_id, [rpc.PartitionData(1, 1, -1)]),
    ]
    request = rpc.InitializeShareGroupStateRequest(coordinator.group, topics)
    answer = coordinator.client.call(request, 0, rpc.InitializeShareGroupStateResponse)
    rows = sorted(
        (topic.topic_id, row.partition, row.error_code) for topic in answer.results for row in topic.partitions
    )
    unknown_partition = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ours = coordinator.topic_id
    assert rows == sorted(
        [(ours, 0, NONE), (ours, 1, NONE), (ours, 7, unknown_partition), (UNKNOWN_ID, 0, unknown_partition)]
    )
    assert coordinator.read() == (NONE, 2, 20, [])


def test_nothing_asked_is_nothing_answered(coordinator: StateCaller) -> None:
    rpc = read_share_group_state
    nothing = rpc.ReadShareGroupStateRequest(coordinator.group, [])
    no_group = rpc.ReadShareGroupStateRequest("", [rpc.ReadStateData(coordinator.topic_id, [rpc.PartitionData(0, -1)])])
    no_partition = rpc.ReadShareGroupStateRequest(coordinator.group, [rpc.ReadStateData(coordinator.topic_id, [])])
    for request in (nothing, no_group, no_partition):
        assert coordinator.client.call(request, 0, rpc.ReadShareGroupStateResponse).results == []


def test_a_group_id_with_colons(coordinator: StateCaller) -> None:
    """Colons also separate the parts of a coordinator key."""
    coordinator.group = f"{coordinator.group}:with:colons"
    assert coordinator.initialize(1, 5) == NONE
    assert coordinator.read() == (NONE, 1, 5, [])


@pytest.mark.parametrize("version", [0, 1])
def test_counts_need_version_1(coordinator: StateCaller, version: int) -> None:
    coordinator.initialize(1, -1)
    assert coordinator.write((0, 3, ACKNOWLEDGED, 1), start=0, done=4, version=version) == NONE
    assert coordinator.read().batches == [(0, 3, ACKNOWLEDGED, 1)]
    if version:
        assert coordinator.summary(version=0) == (NONE, 1, 0, 0, -1)
        assert coordinator.summary(version=1) == (NONE, 1, 0, 0, 4)
    else:
        assert coordinator.summary() == (NONE, 1, 0, 0, -1)


@from_4_4
def test_negative_epochs_are_refused(coordinator: StateCaller) -> None:
    coordinator.initialize(1, 0)
    assert coordinator.initialize(-1, 0) == INVALID_REQUEST
    assert coordinator.read(leader_epoch=-1).error == INVALID_REQUEST
    assert coordinator.write(leader_epoch=-1) == INVALID_REQUEST
    assert coordinator.write(state_epoch=-1) == INVALID_REQUEST
    assert coordinator.summary() == (NONE, 1, 0, 0, 0)


@from_4_4
def test_nothing_goes_back(coordinator: StateCaller) -> None:
    coordinator.initialize(1, 100)
    assert coordinator.write((112, 114, ACKNOWLEDGED, 1), start=110, done=3) == NONE
    for start, done, expected in ((100, 9, 3), (-1, 9, 3), (110, 2, 3), (110, -1, 3), (110, 4, 4)):
        assert coordinator.write((105, 106, ACKNOWLEDGED, 1), start=start, done=done) == NONE
        assert coordinator.summary() == (NONE, 1, 0, 110, expected)
    assert coordinator.read() == (NONE, 1, 110, [(112, 114, ACKNOWLEDGED, 1)])


@from_4_4
def test_the_messages_of_fenced_epochs(coordinator: StateCaller) -> None:
    coordinator.initialize(5, 0)
    coordinator.read(leader_epoch=7)
    leader = ErrorCode.FENCED_LEADER_EPOCH, "The leader epoch in the request is older than the epoch on the broker."
    state = ErrorCode.FENCED_STATE_EPOCH, "The coordinator rejected the request because the state epoch did not match."
    assert (coordinator.initialize(4, 0), coordinator.message) == state
    assert (coordinator.read(leader_epoch=6).error, coordinator.message) == leader
    assert (coordinator.write(leader_epoch=7, state_epoch=4), coordinator.message) == state
    assert (coordinator.write(leader_epoch=6, state_epoch=5), coordinator.message) == leader


@from_4_4
def test_archiving_is_stored_and_ends_archived(coordinator: StateCaller) -> None:
    """Delivery state 3 is that of dead records without a letter yet: at an equal count 4 wins, and stays."""
    coordinator.initialize(1, 0)
    assert coordinator.write((0, 3, ARCHIVING, 2), (4, 5, ARCHIVING, 1), (6, 6, AVAILABLE, 1), start=0, done=0) == NONE
    assert coordinator.read().batches == [(0, 3, ARCHIVING, 2), (4, 5, ARCHIVING, 1), (6, 6, AVAILABLE, 1)]
    assert coordinator.summary() == (NONE, 1, 0, 0, 0)
    assert coordinator.write((1, 2, ARCHIVED, 2), (4, 4, ARCHIVED, 1), done=3) == NONE
    now = [(0, 0, ARCHIVING, 2), (1, 2, ARCHIVED, 2), (3, 3, ARCHIVING, 2), (4, 4, ARCHIVED, 1), (5, 5, ARCHIVING, 1)]
    assert coordinator.read().batches == [*now, (6, 6, AVAILABLE, 1)]
    for late in (ARCHIVING, ACKNOWLEDGED, AVAILABLE):
        assert coordinator.write((1, 2, late, 2), (4, 4, late, 1)) == NONE
    assert coordinator.read().batches == [*now, (6, 6, AVAILABLE, 1)]
    assert coordinator.write((0, 0, ARCHIVED, 2), start=3, done=3) == NONE
    assert coordinator.read() == (NONE, 1, 3, [*now[2:], (6, 6, AVAILABLE, 1)])


@from_4_4
def test_of_a_batch_the_state_that_is_further_wins_at_an_equal_count(coordinator: StateCaller) -> None:
    """The later state wins within one request as well, in any order; a higher count wins over any state."""
    coordinator.initialize(1, 0)
    assert coordinator.write((0, 9, ARCHIVED, 1), (2, 5, ARCHIVING, 1), (4, 7, AVAILABLE, 2), start=0) == NONE
    assert coordinator.read().batches == [(0, 3, ARCHIVED, 1), (4, 7, AVAILABLE, 2), (8, 9, ARCHIVED, 1)]
    assert coordinator.write((4, 5, ARCHIVING, 2), (5, 5, ARCHIVED, 2)) == NONE
    assert coordinator.read().batches == [
        (0, 3, ARCHIVED, 1),
        (4, 4, ARCHIVING, 2),
        (5, 5, ARCHIVED, 2),
        (6, 7, AVAILABLE, 2),
        (8, 9, ARCHIVED, 1),
    ]


@pytest.mark.crash
@from_4_4
def test_archiving_outlives_a_kill(broker: BrokerUnderTest, coordinator: StateCaller) -> None:
    coordinator.initialize(2, 10)
    coordinator.write((10, 12, ARCHIVING, 1), (13, 13, ARCHIVED, 4), start=10, done=1)
    coordinator.write((11, 11, ARCHIVED, 1), done=2)
    before = coordinator.read(), coordinator.summary()
    assert before[0].batches == [(10, 10, ARCHIVING, 1), (11, 11, ARCHIVED, 1), (12, 12, ARCHIVING, 1), (13, 13, 4, 4)]
    broker.restart(kill=True)
    with WireClient(("127.0.0.1", broker.port)) as client:
        after = StateCaller(client, coordinator.group, coordinator.topic_id)
        eventually(lambda: None if after.summary().error in NOT_READY else True)
        assert (after.read(), after.summary()) == before
