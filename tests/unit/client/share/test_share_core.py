"""The steps of a share group member, independent of their driver: a cluster in memory and a virtual clock."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection

import pytest

from shareq.client.config import ClientConfig
from shareq.client.core.network import NetworkCore
from shareq.client.errors import BrokerError, Disconnected, Unreachable
from shareq.client.share.core import Fetched, ShareCore
from shareq.client.share.leaders import Leader, ShareLeaders
from shareq.client.share.member import ShareMember
from shareq.client.share.session import AckOutcome, AckRange, FetchLimits, TopicIdPartition, batches_of
from shareq.client.sockets import run_now
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.generated.share_acknowledge import PartitionData as Acknowledged
from shareq.protocol.generated.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from shareq.protocol.generated.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from shareq.protocol.primitives import ZERO_UUID, Message
from shareq.protocol.share import FINAL_EPOCH, AcknowledgeType
from tests.support.fakes.core_driver import MemoryDriver, address_of

TP: TopicIdPartition = (b"t" * 16, 0)
LIMITS = FetchLimits(10, 0, 1 << 20)


class Scene:
    """A member and a broker that leads, coordinates and answers; `fails`: errors by request, once each."""

    def __init__(self, *topics: str) -> None:
        self.driver = MemoryDriver()
        self.driver.brokers = {address_of(1): self.answer}
        config = ClientConfig.from_properties({"bootstrap.servers": str(address_of(1)), "retry.backoff.ms": "100"})
        self.known = ["t"]
        self.asked: list[Message] = []
        self.fails: dict[type[Message], list[ErrorCode | None]] = {}
        self.partition_errors: list[ErrorCode] = []
        self.looks = 0
        self.lost: list[tuple[str, Collection[TopicIdPartition] | None]] = []
        member = ShareMember("g", "m", list(topics))
        self.core = ShareCore(
            NetworkCore(config, self.driver, once=True),
            member,
            ShareLeaders("g", "m"),
            look_again=self._look_again,
            lost=lambda leader, why, partitions: self.lost.append((why, partitions)),
            share_purpose="share",
        )

    def _look_again(self) -> None:
        self.looks += 1

    def answer(self, request: Message) -> Message | None:
        self.asked.append(request)
        fails = self.fails.get(type(request))
        error = fails.pop(0) if fails else ErrorCode.NONE
        if error is None:
            return None
        if isinstance(request, MetadataRequest):
            return self.metadata(request)
        if isinstance(request, FindCoordinatorRequest):
            host, port = address_of(1)
            return FindCoordinatorResponse(coordinators=[Coordinator("g", 1, host, port)])
        if isinstance(request, ShareGroupHeartbeatRequest):
            assignment = Assignment([TopicPartitions(TP[0], [TP[1]])])
            return ShareGroupHeartbeatResponse(0, error, None, "m", 1, 5000, None if error else assignment)
        partition = self.partition_errors.pop(0) if self.partition_errors else ErrorCode.NONE
        if isinstance(request, ShareFetchRequest):
            rows = [ShareFetchableTopicResponse(TP[0], [PartitionData(TP[1], partition, records=b"")])]
            return ShareFetchResponse(0, error, None, 30_000, rows)
        assert isinstance(request, ShareAcknowledgeRequest)
        answers = [ShareAcknowledgeTopicResponse(TP[0], [Acknowledged(TP[1], partition)])]
        return ShareAcknowledgeResponse(0, error, None, 30_000, answers)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        topics = []
        for wanted in request.topics or ():
            if wanted.name in self.known or wanted.topic_id == TP[0]:
                rows = [MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)]
                topics.append(MetadataResponseTopic(0, "t", TP[0], partitions=rows))
            else:
                topics.append(MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, wanted.name, ZERO_UUID))
        return MetadataResponse(brokers=[MetadataResponseBroker(1, *address_of(1))], topics=topics)

    def joined(self) -> Leader:
        run_now(self.core.beat())
        assert run_now(self.core.look())
        (leader,) = self.core.leaders
        return leader

    def fetch(self, leader: Leader) -> Fetched:
        async def fetch() -> Fetched:
            return await self.core.take_fetch(leader, await self.core.send_fetch(leader, LIMITS))

        return run_now(fetch())

    def acknowledge(self, leader: Leader) -> object:
        async def acknowledge() -> object:
            batches = batches_of([AckRange(*TP, 0, 4)], AcknowledgeType.ACCEPT)
            outcome = await self.core.ack_outcome(leader, await self.core.send_acknowledge(leader, batches, False))
            await self.core.ack_consequences(leader, outcome)
            return outcome

        return run_now(acknowledge())

    def of(self, kind: type[Message]) -> list[Message]:
        return [each for each in self.asked if isinstance(each, kind)]


@pytest.fixture
def scene() -> Scene:
    return Scene("t")


def test_a_member_says_its_topics_again_when_it_did_not_hear_the_answer(scene: Scene) -> None:
    run_now(scene.core.beat())
    scene.core.subscribe(["t", "u"])
    scene.fails[ShareGroupHeartbeatRequest] = [None]
    with pytest.raises(Disconnected):
        run_now(scene.core.beat())
    run_now(scene.core.beat())
    run_now(scene.core.beat())
    said = [each.subscribed_topic_names for each in scene.of(ShareGroupHeartbeatRequest)]  # type: ignore[attr-defined]
    assert said == [["t"], ["t", "u"], ["t", "u"], None]
    assert len(scene.of(FindCoordinatorRequest)) == 2, "the coordinator is looked for again"


def test_a_member_that_was_fenced_joins_again_at_once(scene: Scene) -> None:
    run_now(scene.core.beat())
    scene.fails[ShareGroupHeartbeatRequest] = [ErrorCode.FENCED_MEMBER_EPOCH]
    assert run_now(scene.core.beat()) == 5.0
    epochs = [each.member_epoch for each in scene.of(ShareGroupHeartbeatRequest)]  # type: ignore[attr-defined]
    assert epochs == [0, 1, 0]


def test_a_group_that_refuses_the_member_is_named(scene: Scene) -> None:
    scene.fails[ShareGroupHeartbeatRequest] = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="share group g: GROUP_AUTHORIZATION_FAILED"):
        run_now(scene.core.beat())


def test_a_topic_that_does_not_exist_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    scene = Scene("t", "u")
    run_now(scene.core.beat())
    for _ in range(2):
        run_now(scene.core.look())
    assert caplog.messages == ["topic u does not exist: share group g waits for it"]


def test_looking_without_asking_takes_what_is_known(scene: Scene) -> None:
    scene.joined()
    before = len(scene.asked)
    assert run_now(scene.core.look(ask=False))
    assert len(scene.asked) == before


def test_a_session_that_may_still_be_open_is_closed_before_another_is_opened(scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    scene.fails[ShareFetchRequest] = [ErrorCode.INVALID_SHARE_SESSION_EPOCH]
    fetched = scene.fetch(leader)
    (closed,) = scene.of(ShareAcknowledgeRequest)
    assert isinstance(closed, ShareAcknowledgeRequest)
    assert closed.share_session_epoch == FINAL_EPOCH
    assert fetched.refusal is None
    assert str(fetched.trouble).startswith("share group g, broker 1: ShareFetch: INVALID_SHARE_SESSION_EPOCH")
    assert not leader.opened
    assert leader.ready_at == pytest.approx(scene.driver.time + 0.1)
    assert scene.core.leaders.generation[TP] == 1
    assert scene.lost == [("the share session with broker 1 ended: INVALID_SHARE_SESSION_EPOCH", None)]


def test_a_session_that_the_broker_does_not_have_is_not_closed(scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    scene.fails[ShareAcknowledgeRequest] = [ErrorCode.SHARE_SESSION_NOT_FOUND]
    outcome = scene.acknowledge(leader)
    assert isinstance(outcome, AckOutcome)
    assert outcome.error is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert len(scene.of(ShareAcknowledgeRequest)) == 1
    assert scene.lost == [("the share session with broker 1 ended: SHARE_SESSION_NOT_FOUND", None)]


@pytest.mark.parametrize("by_fetch", [True, False])
def test_a_partition_that_moved_is_lost_and_looked_for(by_fetch: bool, scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    looks = scene.looks
    scene.partition_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    if by_fetch:
        scene.fetch(leader)
    else:
        scene.acknowledge(leader)
    assert leader.opened
    assert scene.lost == [("the partition has another leader (NOT_LEADER_OR_FOLLOWER)", [TP])]
    assert (scene.looks, scene.core.leaders.generation[TP]) == (looks + 1, 1)


def test_a_partition_that_the_broker_does_not_know_enters_the_session_again(scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    scene.partition_errors = [ErrorCode.UNKNOWN_TOPIC_ID]
    scene.fetch(leader)
    scene.fetch(leader)
    scene.fetch(leader)
    fetches = [each for each in scene.of(ShareFetchRequest) if isinstance(each, ShareFetchRequest)]
    assert [(bool(each.topics), bool(each.forgotten_topics_data)) for each in fetches] == [
        (True, False),
        (False, False),
        (False, True),
        (True, False),
    ]


def test_what_does_not_pass_is_a_refusal(scene: Scene) -> None:
    leader = scene.joined()
    scene.partition_errors = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    fetched = scene.fetch(leader)
    assert str(fetched.refusal).startswith("partition t-0: ShareFetch: TOPIC_AUTHORIZATION_FAILED")
    assert leader.opened


def test_a_broker_that_is_too_old_is_not_asked_again(scene: Scene) -> None:
    leader = scene.joined()
    refusal = BrokerError(ErrorCode.UNSUPPORTED_VERSION, "ApiVersions")
    fetched = run_now(scene.core.take_fetch(leader, refusal))
    assert (fetched.refusal, leader.ready_at) == (refusal, math.inf)


def test_a_connection_that_is_lost_costs_the_session(scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    scene.fails[ShareFetchRequest] = [None]
    fetched = scene.fetch(leader)
    assert isinstance(fetched.trouble, Unreachable)
    assert fetched.refusal is None
    assert not leader.opened
    assert scene.core.leaders.generation[TP] == 1
    assert isinstance(scene.acknowledge(leader), Disconnected), "locks of the session that ended"
    assert scene.of(ShareAcknowledgeRequest) == []
    scene.fetch(leader)
    assert leader.opened
    assert [one.closed for one in scene.driver.opened] == [False, True, False], "on a connection of its own"


def test_the_end_closes_sessions_and_leaves(scene: Scene) -> None:
    leader = scene.joined()
    scene.fetch(leader)
    run_now(scene.core.end(scene.core.leaders, "the end"))
    run_now(scene.core.leave(5_000))
    *_, closed, left = scene.asked
    assert isinstance(closed, ShareAcknowledgeRequest)
    assert closed.share_session_epoch == FINAL_EPOCH
    assert isinstance(left, ShareGroupHeartbeatRequest)
    assert left.member_epoch == -1
    asked = len(scene.asked)
    run_now(scene.core.end(scene.core.leaders, "the end"))
    assert len(scene.asked) == asked, "a session is closed once"
