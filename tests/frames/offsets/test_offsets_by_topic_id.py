"""TxnOffsetCommit from version 6 on (KIP-1319): topic ids, and specific group errors."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import OffsetsClient, Row
from devtools.clients.transactor import JAVA_4_4, JAVA_TV2, Transactor, Versions
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from shareq.protocol.primitives import ZERO_UUID

NONE = ErrorCode.NONE
NOBODY = bytes(15) + b"\x07"


def test_topics_are_known_by_their_ids_alone(world: BrokerWorld) -> None:
    ids = {name: world.create_topic(name).topic_id for name in ("t", "u")}
    producer = Transactor(world.connect(), JAVA_4_4)
    assert producer.init() is NONE
    wanted = [
        TxnOffsetCommitRequestTopic(name, topic_id, [TxnOffsetCommitRequestPartition(each, 7) for each in partitions])
        for name, topic_id, partitions in (
            ("no name is sent", ids["t"], (0, 1)),
            ("", NOBODY, (0,)),
            ("", ZERO_UUID, (3,)),
            ("", ids["u"], (0,)),
        )
    ]
    request = TxnOffsetCommitRequest("t", "g", producer.producer_id, producer.epoch, topics=wanted)
    answer = world.connect().call(request, 6, TxnOffsetCommitResponse)
    assert [
        (topic.name, topic.topic_id, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in answer.topics
    ] == [
        ("", ids["t"], [(0, NONE), (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
        ("", NOBODY, [(0, ErrorCode.UNKNOWN_TOPIC_ID)]),
        ("", ZERO_UUID, [(3, ErrorCode.UNKNOWN_TOPIC_ID)]),
        ("", ids["u"], [(0, NONE)]),
    ]
    assert producer.commit() is NONE
    found = OffsetsClient(world.connect(), ids).fetch([("t", 0), ("u", 0)])
    assert found == (NONE, {("t", 0): Row(7), ("u", 0): Row(7)})


def test_the_successor_of_a_topic_gets_no_offsets_of_it(world: BrokerWorld) -> None:
    before = world.create_topic("t").topic_id
    producer = Transactor(world.connect(), JAVA_4_4)
    assert producer.init() is NONE
    world.folder.metadata.delete_topics(["t"])
    world.create_topic("t")
    assert producer.commit_offsets("g", {("t", 0): 7}, ids={"t": before}) == [ErrorCode.UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize(
    ("versions", "error"),
    [(JAVA_TV2, ErrorCode.ILLEGAL_GENERATION), (JAVA_4_4, ErrorCode.GROUP_ID_NOT_FOUND)],
    ids=["5", "6"],
)
def test_a_generation_of_a_group_that_there_is_not(versions: Versions, error: ErrorCode, world: BrokerWorld) -> None:
    ids = {"t": world.create_topic("t").topic_id}
    producer = Transactor(world.connect(), versions)
    assert producer.init() is NONE
    assert producer.commit_offsets("nobody", {("t", 0): 7}, generation=3, member="m", ids=ids) == [error]
    assert producer.commit_offsets("nobody", {("t", 0): 7}, ids=ids) == [NONE], "without a generation it is made"
