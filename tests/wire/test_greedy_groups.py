"""A client that creates groups endlessly, and one that needs a single group."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.transactor import Transactor
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_share_group_offsets as alter
from shareq.protocol.generated import offset_commit
from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.testing import Broker
from tests.support.kafka.group_requests import consumer_heartbeat, join_request

Make = Callable[[WireClient, str], int]

FULL: Final = ErrorCode.GROUP_MAX_SIZE_REACHED
NONE: Final = ErrorCode.NONE
MOST: Final = 3


def join(client: WireClient, group: str) -> int:
    error = client.call(join_request(group), 5, JoinGroupResponse).error_code
    return NONE if error == ErrorCode.MEMBER_ID_REQUIRED else error


def consume(client: WireClient, group: str) -> int:
    return client.call(consumer_heartbeat(group, topics=["t"]), 1, ConsumerGroupHeartbeatResponse).error_code


def share(client: WireClient, group: str) -> int:
    request = ShareGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    return client.call(request, 1, ShareGroupHeartbeatResponse).error_code


def commit(client: WireClient, group: str) -> int:
    rows = [offset_commit.OffsetCommitRequestPartition(0, 1)]
    topics = [offset_commit.OffsetCommitRequestTopic("t", partitions=rows)]
    request = offset_commit.OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    (topic,) = client.call(request, 8, offset_commit.OffsetCommitResponse).topics
    return topic.partitions[0].error_code


def alter_offsets(client: WireClient, group: str) -> int:
    rows = [alter.AlterShareGroupOffsetsRequestPartition(0, 0)]
    topics = [alter.AlterShareGroupOffsetsRequestTopic("t", rows)]
    request = alter.AlterShareGroupOffsetsRequest(group, topics)
    return client.call(request, 0, alter.AlterShareGroupOffsetsResponse).error_code


def commit_in_transaction(client: WireClient, group: str) -> int:
    producer = Transactor(client, transactional_id=group)
    assert producer.init() == NONE
    (error,) = producer.commit_offsets(group, {("t", 0): 1})
    return error


MAKERS: Final[dict[str, Make]] = {
    "JoinGroup": join,
    "ConsumerGroupHeartbeat": consume,
    "ShareGroupHeartbeat": share,
    "OffsetCommit": commit,
    "TxnOffsetCommit": commit_in_transaction,
    "AlterShareGroupOffsets": alter_offsets,
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")
@pytest.mark.parametrize("made_by", MAKERS)
def test_the_greedy_one_is_refused_and_no_other(made_by: str) -> None:
    make = MAKERS[made_by]
    config = {"shareq.max.groups.per.principal": str(MOST)}
    with (
        Broker(config=config, mode="thread") as broker,
        WireClient(broker.address) as greedy,
        WireClient(broker.address) as greedy_too,
        WireClient(broker.address, source="127.0.0.2") as honest,
    ):
        create_topic(honest, "t")
        assert [make(greedy, f"g{i}") for i in range(MOST)] == [NONE] * MOST
        assert {name: one(greedy_too, f"another-{name}") for name, one in MAKERS.items()} == dict.fromkeys(MAKERS, FULL)
        assert make(honest, "mine") == NONE
        assert make(honest, "too") == NONE


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address")
def test_what_exists_is_not_refused_and_what_is_deleted_makes_room() -> None:
    config = {"shareq.max.groups.per.principal": "1"}
    with (
        Broker(config=config, mode="thread") as broker,
        WireClient(broker.address) as client,
        WireClient(broker.address, source="127.0.0.2") as other,
    ):
        create_topic(client, "t")
        assert commit(client, "a") == NONE
        assert commit(client, "a") == NONE
        assert commit(other, "b") == NONE
        assert commit(client, "b") == NONE
        (deleted,) = client.call(DeleteGroupsRequest(["a"]), 2, DeleteGroupsResponse).results
        assert deleted.error_code == NONE
        assert commit(client, "c") == NONE
        assert commit(client, "d") == FULL
