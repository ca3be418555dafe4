"""One connection that opens as many share sessions as it can, with invented members; other groups are still served."""

from __future__ import annotations

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.share.core.sessions import MOST_OF_A_CONNECTION
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse


def fetch(client: MockConnection, topic_id: bytes, group: str, member: str, epoch: int = 0) -> ErrorCode:
    topics = [FetchTopic(topic_id, [FetchPartition(0)])] if epoch == 0 else []
    request = ShareFetchRequest(group, member, epoch, max_wait_ms=0, max_bytes=1 << 20, max_records=10, topics=topics)
    return ErrorCode(client.call(request, 1, ShareFetchResponse).error_code)


def test_one_connection_cannot_have_all_sessions(world: BrokerWorld) -> None:
    topic_id = world.create_topic("t").topic_id
    stranger = world.connect()
    codes = [fetch(stranger, topic_id, "evil", f"made-up-{i}") for i in range(2_000)]
    assert codes[:MOST_OF_A_CONNECTION] == [ErrorCode.NONE] * MOST_OF_A_CONNECTION
    assert set(codes[MOST_OF_A_CONNECTION:]) == {ErrorCode.SHARE_SESSION_LIMIT_REACHED}
    assert fetch(world.connect(), topic_id, "good", "m") is ErrorCode.NONE


def test_many_connections_of_one_group_give_way_to_other_groups() -> None:
    world = BrokerWorld({"group.share.max.share.sessions": "400"})
    topic_id = world.create_topic("t").topic_id
    strangers = [world.connect() for _ in range(20)]
    for stranger in strangers:
        for i in range(MOST_OF_A_CONNECTION // 2):
            fetch(stranger, topic_id, "evil", f"{stranger.side.id}-{i}")
    sessions = world.services.share.sessions
    assert len(sessions) == 400
    good = [world.connect() for _ in range(50)]
    assert [fetch(each, topic_id, f"good-{at % 5}", f"m{at}") for at, each in enumerate(good)] == [ErrorCode.NONE] * 50
    assert [fetch(each, topic_id, f"good-{at % 5}", f"m{at}", 1) for at, each in enumerate(good)] == [
        ErrorCode.NONE
    ] * 50
    for stranger in strangers:
        stranger.disconnect()
    assert len(sessions) == 50
