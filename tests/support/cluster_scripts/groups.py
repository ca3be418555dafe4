"""Scripts about classic groups with a protocol type of their own, such as nodes use to find each other."""

from __future__ import annotations

from typing import NamedTuple

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster_scripts.conversation import Conversation

_TYPE, _PROTOCOL = "shareq", "slots"


class _Node(NamedTuple):
    talk: Conversation
    group: str
    name: str
    member_id: str = ""
    session_ms: int = 30_000
    rebalance_ms: int = 10_000
    instance_id: str | None = None

    def begin_join(self, metadata: bytes) -> None:
        request = JoinGroupRequest(
            self.group,
            self.session_ms,
            self.rebalance_ms,
            self.member_id,
            self.instance_id,
            _TYPE,
            [JoinGroupRequestProtocol(_PROTOCOL, metadata)],
        )
        self.talk.begin(request, on=self.name)

    def end_join(self) -> JoinGroupResponse:
        """Wait for the answer. The order of members is not guaranteed."""
        return self.talk.end(JoinGroupResponse, on=self.name)

    def join(self, metadata: bytes) -> JoinGroupResponse:
        self.begin_join(metadata)
        return self.end_join()

    def enter(self, metadata: bytes) -> _Node:
        answer = self.join(metadata)
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return self._replace(member_id=answer.member_id)

    def begin_sync(self, generation: int, **assignments: str) -> None:
        """Send a SyncGroup; the leader's has the assignments, by member id."""
        rows = [SyncGroupRequestAssignment(member, what.encode()) for member, what in assignments.items()]
        instance = self.instance_id
        request = SyncGroupRequest(self.group, generation, self.member_id, instance, _TYPE, _PROTOCOL, rows)
        self.talk.begin(request, on=self.name)

    def end_sync(self) -> None:
        self.talk.end(SyncGroupResponse, on=self.name)

    def sync(self, generation: int, **assignments: str) -> None:
        self.begin_sync(generation, **assignments)
        self.end_sync()

    def beat(self, generation: int) -> int:
        request = HeartbeatRequest(self.group, generation, self.member_id, self.instance_id)
        return self.talk.ask(request, HeartbeatResponse, on=self.name).error_code

    def leave(self) -> None:
        members = [MemberIdentity(self.member_id, self.instance_id, "over")]
        self.talk.ask(LeaveGroupRequest(self.group, "", members), LeaveGroupResponse, on=self.name)


def _node(talk: Conversation, name: str, session_ms: int = 30_000, rebalance_ms: int = 10_000) -> _Node:
    group = talk.coordinated(talk.name(), CoordinatorKind.GROUP)
    return _Node(talk, group, name, "", session_ms, rebalance_ms)


def _two(talk: Conversation, session_ms: int = 30_000, rebalance_ms: int = 10_000) -> tuple[_Node, _Node]:
    """Return two members in generation 2, with the first as leader."""
    first = _node(talk, "first", session_ms, rebalance_ms).enter(b"one")
    first.join(b"one")
    first.sync(1, **{first.member_id: "all"})
    second = _node(talk, "second", session_ms, rebalance_ms).enter(b"two")
    second.begin_join(b"two")
    talk.pass_ms(100)
    first.beat(1)
    first.join(b"one")
    second.end_join()
    second.begin_sync(2)
    first.sync(2, **{first.member_id: "half", second.member_id: "other half"})
    second.end_sync()
    return first, second


def one_member(talk: Conversation) -> None:
    """Join one member: it first gets an id, leads, and receives its own assignment."""
    node = _node(talk, "first").enter(b"one")
    node.join(b"one")
    node.sync(1, **{node.member_id: "all"})
    node.beat(1)
    node.sync(1)
    node.leave()
    node.beat(1)


def unchanged_members(talk: Conversation) -> None:
    """Rejoin unchanged: a follower gets the old generation, the leader begins a rebalance."""
    first, second = _two(talk)
    second.join(b"two")
    second.beat(2)
    first.beat(2)
    first.begin_join(b"one")
    talk.pass_ms(100)
    second.beat(2)
    second.join(b"two")
    first.end_join()


def changed_members(talk: Conversation) -> None:
    """Rejoin with changed metadata: a rebalance begins, which heartbeats announce to the others."""
    first, second = _two(talk)
    second.begin_join(b"two, again")
    talk.pass_ms(100)
    first.beat(2)
    first.sync(2)
    first.join(b"one")
    second.end_join()
    second.begin_sync(3)
    first.sync(3, **{second.member_id: "all"})
    second.end_sync()
    first.beat(3)
    first.beat(2)


def a_member_leaves(talk: Conversation) -> None:
    first, second = _two(talk)
    first.leave()
    second.beat(2)
    second.join(b"two")
    second.sync(3, **{second.member_id: "all"})
    first.leave()


def a_silent_member(talk: Conversation) -> None:
    first, second = _two(talk, session_ms=900)
    for _ in range(4):
        talk.pass_ms(300)
        first.talk.quietly(HeartbeatRequest(first.group, 2, first.member_id), HeartbeatResponse)
    first.beat(2)
    first.join(b"one")
    second.beat(2)


def a_member_that_does_not_join(talk: Conversation) -> None:
    """Let a rebalance wait for a member: the rebalance ends without it after the rebalance timeout."""
    first, second = _two(talk, rebalance_ms=700)
    first.join(b"one, again")
    first.sync(3, **{first.member_id: "all"})
    second.beat(2)
    second.beat(3)


def no_assignment(talk: Conversation) -> None:
    """Let the leader not assign: the generation fails, and its members have to rejoin."""
    first, second = _two(talk)
    second.begin_join(b"two, again")
    talk.pass_ms(100)
    first.join(b"one")
    second.end_join()
    second.begin_sync(3)
    talk.pass_ms(100)
    first.leave()
    second.end_sync()


def the_first_members(talk: Conversation) -> None:
    first, second = _node(talk, "first").enter(b"one"), _node(talk, "second").enter(b"two")
    first.begin_join(b"one")
    talk.pass_ms(100)
    second.begin_join(b"two")
    answer = first.end_join()
    second.end_join()
    talk.note("members", len(answer.members))


def refused_members(talk: Conversation) -> None:
    """Try unknown ids, other generations and protocols, invalid timeouts, and an empty group id."""
    node = _node(talk, "first")
    node._replace(member_id="nobody").join(b"one")
    node._replace(member_id="nobody").beat(1)
    node._replace(member_id="nobody").sync(1)
    node._replace(member_id="nobody").leave()
    node._replace(session_ms=10).join(b"one")
    node._replace(session_ms=2**31 - 1).join(b"one")
    node._replace(group="").join(b"one")
    node._replace(group="").beat(1)
    node = node.enter(b"one")
    node.beat(0)
    node.join(b"one")
    node.sync(7)
    node.beat(7)
    other = [JoinGroupRequestProtocol("another", b"")]
    for kind, protocols in ((_TYPE, other), ("another", other), (_TYPE, []), ("", other)):
        request = JoinGroupRequest(node.group, 30_000, 10_000, "", None, kind, protocols)
        talk.ask(request, JoinGroupResponse)
    wrong = SyncGroupRequest(node.group, 1, node.member_id, None, "another", _PROTOCOL)
    talk.ask(wrong, SyncGroupResponse)
    node.begin_join(b"one")
    node.end_join()


def static_members(talk: Conversation) -> None:
    """Rejoin under an instance id: the new member replaces the old one, which is fenced."""
    node = _node(talk, "first")._replace(instance_id="rack-7")
    node = node._replace(member_id=node.join(b"one").member_id)
    node.sync(1, **{node.member_id: "all"})
    again = node._replace(name="again", member_id="")
    again = again._replace(member_id=again.join(b"one").member_id)
    node.beat(1)
    again.beat(1)
    again.leave()
