"""Committed offsets are deleted with their topic, whatever faults intervene: a new topic of that name has none."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import FETCH_VERSIONS, NO_OFFSET, OffsetsClient, Row
from devtools.clients.transactor import Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from shareq.protocol.names import CONSUMER_OFFSETS
from tests.support.fakes.broken_disk import broken

NONE = ErrorCode.NONE
T0, U0 = ("t", 0), ("u", 0)


class World:
    """Topics `t` and `u`, and a group with offsets of both, whose transaction is `open` or committed."""

    def __init__(self, *, is_open: bool) -> None:
        self.world = BrokerWorld()
        self.ids = {name: self.world.create_topic(name).topic_id for name in ("t", "u")}
        self.producer = Transactor(self.world.connect())
        assert self.producer.init() is NONE
        assert self.producer.commit_offsets("g", {T0: 7, U0: 8}) == [NONE, NONE]
        if not is_open:
            assert self.producer.commit() is NONE

    def recreate(self) -> None:
        self.ids["t"] = self.world.create_topic("t").topic_id

    def crash(self) -> None:
        self.world.crash()
        self.producer.client = self.world.connect()

    def offsets(self, version: int = 9) -> dict[tuple[str, int], Row]:
        error, found = OffsetsClient(self.world.connect(), self.ids).fetch([T0, U0], version)
        assert error is NONE
        return found


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "committed"])
@pytest.mark.parametrize("recreated", [True, False], ids=["recreated", "gone"])
def test_a_crash_just_after_the_deletion_takes_offsets_of_transactions_along(is_open: bool, recreated: bool) -> None:
    world = World(is_open=is_open)
    world.world.fs.fail = broken(CONSUMER_OFFSETS)
    world.world.folder.metadata.delete_topics(["t"])
    if recreated:
        world.recreate()
    world.crash()
    world.world.fs.fail = None
    if not recreated:
        world.recreate()
    if is_open:
        assert world.producer.commit() is NONE
    for version in (9, 10):
        assert world.offsets(version) == {T0: NO_OFFSET, U0: Row(8)}


def test_a_crash_just_after_the_deletion_takes_offsets_with_a_retention_of_their_own_along() -> None:
    """The offsets are deleted although their records hold no topic id."""
    world = World(is_open=False)
    client = OffsetsClient(world.world.connect(), world.ids)
    assert client.commit({T0: 5}, 2, group="h", retention_ms=1_000_000) == {T0: NONE}
    world.world.fs.fail = broken(CONSUMER_OFFSETS)
    world.world.folder.metadata.delete_topics(["t"])
    world.crash()
    world.world.fs.fail = None
    world.recreate()
    client = OffsetsClient(world.world.connect(), world.ids)
    assert client.fetch([T0], group="h") == (NONE, {T0: NO_OFFSET})


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_what_could_not_be_deleted_is_not_the_successors(version: int) -> None:
    world = World(is_open=False)
    world.world.fs.fail = broken(CONSUMER_OFFSETS)
    world.world.folder.metadata.delete_topics(["t"])
    world.recreate()
    world.world.clock.run_until_idle()
    world.world.fs.fail = None
    assert world.offsets(version) == {T0: NO_OFFSET, U0: Row(8)}


@pytest.mark.parametrize(
    ("version", "unknown"), [(5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (6, ErrorCode.UNKNOWN_TOPIC_ID)]
)
@pytest.mark.parametrize("recreated", [True, False], ids=["recreated", "gone"])
def test_a_topic_that_goes_while_its_offsets_wait_for_their_transaction(
    recreated: bool, version: int, unknown: ErrorCode
) -> None:
    world = World(is_open=False)
    producer, client = world.producer, world.world.connect()
    names = {topic_id: name for name, topic_id in world.ids.items()}
    rows = [TxnOffsetCommitRequestPartition(0, 20)]
    topics = [TxnOffsetCommitRequestTopic(name, topic_id, rows) for topic_id, name in names.items()]
    request = TxnOffsetCommitRequest("t", "g", producer.producer_id, producer.epoch, topics=topics)
    client.send(request, version)
    world.world.folder.metadata.delete_topics(["t"])
    if recreated:
        world.recreate()
    answer = client.receive(TxnOffsetCommitResponse)
    errors = {topic.name or names[topic.topic_id]: topic.partitions[0].error_code for topic in answer.topics}
    assert errors == {"t": unknown, "u": NONE}
    assert producer.commit() is NONE
    if not recreated:
        world.recreate()
    for _ in range(2):
        assert world.offsets() == {T0: NO_OFFSET, U0: Row(20)}
        world.crash()
