"""ShareFetch with an unknown acquire mode (KIP-1206), answered as by Apache Kafka 4.3.1."""

from __future__ import annotations

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from tests.support.clients.share_client import Place, ShareClient, acquired_of, append, from_the_start

UNKNOWN_MODE = 7


def holder() -> tuple[ShareClient, Place]:
    """Return a member that has acquired offset 0 of the only partition."""
    world = BrokerWorld()
    place = (world.create_topic("t").topic_id, 0)
    append(world, "t", 1)
    from_the_start(world)
    member = ShareClient(world)
    member.join("t")
    assert acquired_of(member.fetch(place)) == [(0, 0, 1)]
    return member, place


def test_it_fails_the_request_but_the_session_has_moved_on() -> None:
    member, _ = holder()
    assert member.fetch(mode=UNKNOWN_MODE).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    member.session_epoch += 1
    assert member.fetch().error_code == ErrorCode.NONE


def test_it_does_not_matter_when_there_is_nothing_to_fetch_from() -> None:
    member, place = holder()
    assert member.fetch(mode=UNKNOWN_MODE, forgotten=[place]).error_code == ErrorCode.NONE


def test_it_does_not_matter_at_the_end_of_a_session() -> None:
    member, place = holder()
    assert member.fetch(mode=UNKNOWN_MODE, epoch=-1).error_code == ErrorCode.NONE
    other = ShareClient(member.world, "other")
    assert acquired_of(other.fetch(place)) == [(0, 0, 2)]
