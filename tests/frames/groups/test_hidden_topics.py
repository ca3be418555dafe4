"""Offsets of many topics without rights: each topic is checked, not compared with all others."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.handlers.groups import offset_commit, offset_fetch
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import DESCRIBE_GROUP, READ_GROUP, Right
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from shareq.protocol.primitives import Structure
from tests.support.coroutines import begun

TOPICS = 400
NAMES = [f"t{number}" for number in range(TOPICS)]


@pytest.fixture
def ctx(monkeypatch: pytest.MonkeyPatch) -> RequestContext:
    def may(_: RequestContext, right: Right, name: str = CLUSTER_NAME) -> bool:
        return right in (READ_GROUP, DESCRIBE_GROUP) or name == NAMES[0]

    def compared(*_: object) -> bool:
        raise AssertionError("compared with another one")

    world = BrokerWorld()
    world.create_topic(NAMES[0])
    monkeypatch.setattr(RequestContext, "may", may)
    monkeypatch.setattr(world.services, "authorizer", object())
    monkeypatch.setattr(Structure, "__eq__", compared)
    return RequestContext(world.services, world.connect().side, 9, "c")


def test_a_commit(ctx: RequestContext) -> None:
    topics = [OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(0, 1)]) for name in NAMES]
    request = OffsetCommitRequest("g", topics=topics)
    committed = begun(ctx.services.env, offset_commit.handle(ctx, request))
    clock = ctx.services.env.clock
    assert isinstance(clock, VirtualClock)
    clock.run_until_idle()
    errors = {topic.name: topic.partitions[0].error_code for topic in committed.value.topics}
    assert errors == {NAMES[0]: ErrorCode.NONE, **dict.fromkeys(NAMES[1:], ErrorCode.TOPIC_AUTHORIZATION_FAILED)}


def test_a_fetch(ctx: RequestContext) -> None:
    topics = [OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in NAMES]
    group = OffsetFetchRequestGroup("g", topics=topics)
    fetched = begun(ctx.services.env, offset_fetch.handle(ctx, OffsetFetchRequest(groups=[group])))
    clock = ctx.services.env.clock
    assert isinstance(clock, VirtualClock)
    clock.run_until_idle()
    (answer,) = fetched.value.groups
    errors = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert errors == {NAMES[0]: ErrorCode.NONE, **dict.fromkeys(NAMES[1:], ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
