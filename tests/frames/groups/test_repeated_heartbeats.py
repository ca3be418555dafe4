"""Heartbeats that repeat the last one byte for byte: the fast path answers as the ordinary path does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.handlers.share.repeated_heartbeat import MOST_LEARNED, RepeatedHeartbeat
from shareq.broker.metadata.changes import PutConfig, PutQuota, ResourceName
from shareq.broker.network.answers import FALL_BACK
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.support.each import for_each

GROUP = "g"
TOPICS = ("t0", "t1", "t2")


class _Member:
    def __init__(self, world: BrokerWorld, name: str) -> None:
        self._world, self.name = world, name
        self.epoch = 0
        self.answers: list[tuple[int, str, ShareGroupHeartbeatResponse]] = []
        self.connection: MockConnection = world.connect(client_id=name)

    def beat(self, topics: list[str] | None = None) -> ShareGroupHeartbeatResponse:
        wanted = [TOPICS[0], TOPICS[1]] if not self.epoch and topics is None else topics
        request = ShareGroupHeartbeatRequest(GROUP, self.name, self.epoch, None, wanted)
        answer = self.connection.call(request, 1, ShareGroupHeartbeatResponse)
        self.answers.append((self._world.clock.now_ms(), self.name, answer))
        self.epoch = 0 if answer.error_code else max(answer.member_epoch, 0)
        return answer

    def connect_again(self) -> None:
        self.connection.disconnect()
        self.connection = self._world.connect(client_id=self.name)


class _Way:
    """A switch that sends all heartbeats the ordinary way, or counts those on the fast path."""

    def __init__(self, patch: pytest.MonkeyPatch, *, short: bool) -> None:
        self.went = 0
        handle = RepeatedHeartbeat.handle

        def patched(path: RepeatedHeartbeat, frame: bytes, correlation_id: int) -> Any:
            reply = handle(path, frame, correlation_id) if short else FALL_BACK
            self.went += reply is not FALL_BACK
            return reply

        patch.setattr(RepeatedHeartbeat, "handle", patched)


def _run(seed: int) -> list[tuple[int, str, ShareGroupHeartbeatResponse]]:
    random, world = Random(seed), BrokerWorld()
    metadata = world.services.metadata
    for name in TOPICS[:2]:
        world.create_topic(name, 2)
    members = [_Member(world, f"m{number}") for number in range(3)]
    for _ in range(250):
        member, chance = random.choice(members), random.random()
        if chance < 0.85:
            member.beat()
        elif chance < 0.87:
            member.beat(random.sample(TOPICS, 2))
        elif chance < 0.89:
            member.connect_again()
        elif chance < 0.91:
            member.epoch = -1
            member.beat()
        elif chance < 0.93 and metadata.topic(TOPICS[2]) is None:
            world.create_topic(TOPICS[2], 3)
        elif chance < 0.95 and (topic := metadata.topic(TOPICS[0])) is not None:
            world.folder.metadata.create_partitions({topic.name: topic.partitions + 1})
        elif chance < 0.97:
            interval = PutConfig(
                ResourceName("group", GROUP), "share.heartbeat.interval.ms", str(random.randint(5, 9) * 1_000)
            )
            metadata.alter_configs([interval])
        elif chance < 0.98 and (topic := metadata.topic(TOPICS[2])) is not None:
            world.folder.metadata.delete_topics([topic.name])
        world.clock.advance(random.choice((0, 300, 2_000)))
    world.clock.advance(60_000)
    for member in members:
        member.beat()
    return [answer for member in members for answer in member.answers]


@for_each("seed", range(6))
def test_both_ways_answer_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _Way(patch, short=False)
        ordinary = _run(seed)
    with monkeypatch.context() as patch:
        way = _Way(patch, short=True)
        assert _run(seed) == ordinary
    assert way.went > 20


def _settled(world: BrokerWorld) -> _Member:
    world.create_topic(TOPICS[0])
    world.create_topic(TOPICS[1])
    member = _Member(world, "m")
    for _ in range(3):
        assert member.beat().error_code == ErrorCode.NONE
        world.clock.advance(1_100)
    return member


def test_a_repeated_heartbeat_keeps_the_member_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-932: each heartbeat begins `group.share.session.timeout.ms` again; 45 s by default."""
    way, world = _Way(monkeypatch, short=True), BrokerWorld()
    member = _settled(world)
    went = way.went
    for _ in range(4):
        world.clock.advance(40_000)
        assert member.beat().error_code == ErrorCode.NONE
    assert way.went == went + 4
    world.clock.advance(46_000)
    assert member.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_switched_off_share_groups_answer_no_repeat() -> None:
    world = BrokerWorld()
    member = _settled(world)
    world.folder.metadata.set_features({"share.version": 0})
    assert member.beat().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_with_quotas_heartbeats_go_the_ordinary_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotas have to meter each request."""
    way, world = _Way(monkeypatch, short=True), BrokerWorld()
    member = _settled(world)
    went = way.went
    world.services.metadata.alter_quotas([PutQuota(QuotaEntity(client_id=DEFAULT), "request_percentage", 50.0)])
    assert member.beat().error_code == ErrorCode.NONE
    assert way.went == went


def test_a_connection_with_many_members_is_remembered_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    way, world = _Way(monkeypatch, short=True), BrokerWorld()
    world.create_topic(TOPICS[0])
    world.create_topic(TOPICS[1])
    members = [_Member(world, f"m{number}") for number in range(MOST_LEARNED + 20)]
    for member in members:
        member.connection = members[0].connection
    for _ in range(4):
        for member in members:
            assert member.beat().error_code == ErrorCode.NONE
        world.clock.advance(1_100)
    went = way.went
    for _ in range(2):
        assert members[0].beat().error_code == ErrorCode.NONE
    assert way.went > went
