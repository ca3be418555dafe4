"""The timeouts in a broker of `shareq.testing`, which end when its time is moved, and not before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.testing import Broker

MODES = ["thread", "process"]
SESSION_S = 45
"""The default session timeout of share groups, in seconds."""


@pytest.fixture(params=MODES)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(mode=request.param) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[WireClient]:
    with WireClient(broker.address) as connected:
        yield connected


def test_a_silent_member_of_a_share_group_is_removed(broker: Broker, client: WireClient) -> None:
    topic, group = broker.topic(), broker.share_group()

    def heartbeat(epoch: int) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(group, "A" * 22, epoch, None, [topic] if epoch == 0 else None)
        return client.call(request, 1, ShareGroupHeartbeatResponse)

    def members() -> int:
        (row,) = client.call(ShareGroupDescribeRequest([group]), 1, ShareGroupDescribeResponse).groups
        return len(row.members)

    joined = heartbeat(0)
    assert joined.error_code == ErrorCode.NONE
    broker.clock.advance(SESSION_S - 5)
    assert heartbeat(joined.member_epoch).error_code == ErrorCode.NONE  # its session begins again
    broker.clock.advance(SESSION_S - 5)
    assert members() == 1
    broker.clock.advance(6)
    assert members() == 0
    assert heartbeat(joined.member_epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert heartbeat(0).error_code == ErrorCode.NONE


def test_a_delay_of_redelivery_ends(broker: Broker) -> None:
    """Records come again three hours after the first failure, six after the second."""
    hours = {"shareq.redelivery.backoff.ms": "10800000", "shareq.redelivery.backoff.max.ms": "86400000"}
    topic, group = broker.topic(), broker.share_group(config=hours)
    broker.produce(topic, "a vase")
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"}
    for deliveries, wait_h in enumerate((3, 6), 1):
        release(settings, topic, deliveries)
        broker.clock.advance(wait_h * 3600 - 60)
        assert no_record(broker, settings, topic)
        broker.clock.advance(120)
    release(settings, topic, 3)


def release(settings: dict[str, str], topic: str, delivery: int) -> None:
    with ShareConsumer({**settings, "log_level": 0}) as member:
        member.subscribe([topic])
        for _ in range(50):
            for message in member.poll(0.2):
                assert message.delivery_count() == delivery
                member.acknowledge(message, AcknowledgeType.RELEASE)
                assert not any(member.commit_sync().values())
                return
    raise AssertionError("no record came")


def no_record(broker: Broker, settings: dict[str, str], topic: str) -> bool:
    """Return whether a member gets nothing although the broker has its fetch: records would be returned at once."""

    def fetches() -> int:
        return sum(" ShareFetch v" in line for line in broker.transcript())

    before = fetches()
    with ShareConsumer({**settings, "log_level": 0}) as member:
        member.subscribe([topic])
        for _ in range(50):
            asked = fetches() > before
            if member.poll(0.2):
                return False
            if asked:
                return True
    raise AssertionError("the member did not fetch")
