"""Handlers that pause at every breath answer as those that are never paused."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.generated import alter_share_group_offsets as altering
from shareq.protocol.generated import delete_share_group_offsets as forgetting
from shareq.protocol.generated import describe_share_group_offsets as describing
from shareq.protocol.primitives import Message
from tests.support.coroutines import paused_everywhere


class Request(NamedTuple):
    """A request of a version, and the class of its answer."""

    message: Message
    version: int
    answer: type[Message]


def share_offsets_described() -> Request:
    topic = describing.DescribeShareGroupOffsetsRequestTopic
    groups = [
        describing.DescribeShareGroupOffsetsRequestGroup(
            f"g{at}", [topic("t", [*range(40), 3]), topic("u", [1]), topic("t", [50, 2]), topic("none", [0])]
        )
        for at in range(5)
    ]
    groups += [describing.DescribeShareGroupOffsetsRequestGroup(name, None) for name in ("g1", "nobody")]
    return Request(describing.DescribeShareGroupOffsetsRequest(groups), 1, describing.DescribeShareGroupOffsetsResponse)


def share_offsets_altered() -> Request:
    partition, topic = altering.AlterShareGroupOffsetsRequestPartition, altering.AlterShareGroupOffsetsRequestTopic
    rows = [partition(each, each - 2) for each in (*range(32), 3)]
    topics = [topic("t", rows), topic("none", rows), topic("u", rows), topic("t", [partition(4, 9)]), topic("none", [])]
    return Request(altering.AlterShareGroupOffsetsRequest("g1", topics), 0, altering.AlterShareGroupOffsetsResponse)


def share_offsets_forgotten() -> Request:
    topics = [forgetting.DeleteShareGroupOffsetsRequestTopic(name) for name in ("u", "none", "t", "u")]
    request = forgetting.DeleteShareGroupOffsetsRequest("g1", topics)
    return Request(request, 0, forgetting.DeleteShareGroupOffsetsResponse)


REQUESTS = (share_offsets_altered, share_offsets_described, share_offsets_forgotten, share_offsets_described)


def answers() -> list[Message]:
    """The answers to all requests, one after the other, of a new broker."""
    world = BrokerWorld({"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"})
    world.create_topic("t", 30)
    world.create_topic("u", 30)
    client = world.connect()
    return [client.call(each.message, each.version, each.answer) for each in (make() for make in REQUESTS)]


def test_paused_answers_are_those_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers()
    paused_everywhere(monkeypatch)
    for make, one, other in zip(REQUESTS, whole, answers(), strict=True):
        assert other == one, make.__name__


def test_each_partition_is_described_once_where_it_is_named_first() -> None:
    described = answers()[1]
    assert isinstance(described, describing.DescribeShareGroupOffsetsResponse)
    topics = described.groups[0].topics
    assert [topic.topic_name for topic in topics] == ["t", "u", "none"]
    assert [row.partition_index for row in topics[0].partitions] == [*range(40), 50]
    rows = {row.partition_index: row.start_offset for row in described.groups[1].topics[0].partitions}
    assert (rows[2], rows[3], rows[4], rows[39]) == (0, 1, 9, -1)
