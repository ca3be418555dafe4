from __future__ import annotations

import pytest

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.classic.offset_rules import commit_error, delete_error, expires_from_ms, read_topics
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from tests.unit.coordinator.group.classic.world import DELAY_MS, SESSION_MS, ClassicWorld
from tests.unit.coordinator.support import START_WALL_MS

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
ILLEGAL, REBALANCE = ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS


def subscription(*topics: str, version: int = 0) -> bytes:
    out = bytearray(version.to_bytes(2, "big"))
    ConsumerProtocolSubscription(topics=list(topics)).encode_into(out, version)
    return bytes(out)


def commit(group: ClassicGroup, member: str = "", generation: int = -1, instance: str | None = None) -> list[ErrorCode]:
    return [commit_error(group, member, instance, generation, transactional=each) for each in (False, True)]


def test_anybody_commits_to_a_group_without_members() -> None:
    group = ClassicGroup("g", None)
    assert commit(group) == [NONE, NONE]
    assert commit(group, "stranger") == [NONE, NONE]
    assert commit(group, "stranger", 0) == [UNKNOWN, UNKNOWN]


def test_members_commit_in_their_generation(world: ClassicWorld) -> None:
    static, other = world.stable(2, statics=["i"])
    if static not in world.group.static_members.values():
        static, other = other, static
    group = world.group
    assert commit(group, other, 1) == [NONE, NONE]
    assert commit(group, static, 1, "i") == [NONE, NONE]
    assert commit(group, other, 0) == [ILLEGAL, ILLEGAL]
    assert commit(group, other, -1) == [ILLEGAL, ILLEGAL]
    assert commit(group, "stranger", 1) == [UNKNOWN, UNKNOWN]
    assert commit(group, other, 1, "i") == [FENCED, FENCED]
    assert commit(group, other, 1, "j") == [UNKNOWN, UNKNOWN]
    assert commit(group) == [UNKNOWN, NONE], "a transaction need not say who commits"


def test_commits_during_a_rebalance(world: ClassicWorld) -> None:
    (one,) = world.stable()
    world.first_join()
    assert commit(world.group, one, 1) == [NONE, NONE], "while members join, the last generation ends its work"
    world.join(one)
    assert world.group.state is ClassicState.COMPLETING_REBALANCE
    assert commit(world.group, one, 2) == [REBALANCE, NONE]


def test_what_consumers_subscribe_to(world: ClassicWorld) -> None:
    world.first_join(protocols={"range": subscription("a", "b")})
    world.first_join(protocols={"range": subscription("b", "c", version=3)})
    assert world.group.subscribed_topics is None
    assert read_topics(world.group) is None, "not known yet"
    world.log.advance(2 * DELAY_MS)
    assert world.group.subscribed_topics == {"a", "b", "c"}
    assert read_topics(world.group) == frozenset("abc")


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x00", b"\x00\x00\x00\x00\x00\x09\x00\x01a", b"\x00\x00\xff"])
def test_metadata_that_is_no_subscription(metadata: bytes, world: ClassicWorld) -> None:
    """Any bytes are accepted, and just mean no subscription."""
    world.stable(protocols={"range": metadata})
    assert world.group.subscribed_topics is None
    assert read_topics(world.group) is None


def test_other_clients_than_consumers(world: ClassicWorld) -> None:
    _, join = world.first_join(kind="connect", protocols={"default": subscription("a")})
    world.log.advance(DELAY_MS)
    assert join.error is NONE
    assert world.group.subscribed_topics is None
    assert read_topics(world.group) == frozenset()
    assert delete_error(world.group) is ErrorCode.NON_EMPTY_GROUP


def test_offsets_may_be_deleted_while_consumers_work(world: ClassicWorld) -> None:
    assert delete_error(ClassicGroup("g", None)) is NONE
    world.stable()
    assert delete_error(world.group) is NONE


def test_when_the_retention_of_offsets_begins() -> None:
    simple = ClassicGroup("g", 5)
    assert expires_from_ms(simple, 77) == 77
    world = ClassicWorld()
    world.first_join(protocols={"range": subscription("a")})
    assert expires_from_ms(world.group, 77) is None
    world.log.advance(DELAY_MS)
    world.sync(next(iter(world.group.members)))
    assert expires_from_ms(world.group, 77) == 77, "of topics that nobody subscribes to"
    world.log.advance(SESSION_MS)
    assert world.group.is_empty
    assert expires_from_ms(world.group, 77) == START_WALL_MS + DELAY_MS + SESSION_MS
    world.group.state_since_ms = None
    assert expires_from_ms(world.group, 77) == 77


def test_what_members_subscribe_to_is_known_after_a_restart(world: ClassicWorld) -> None:
    world.stable(protocols={"range": subscription("a")})
    world.log.reload()
    assert world.group.subscribed_topics == frozenset({"a"})
