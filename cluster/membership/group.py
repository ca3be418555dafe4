"""The membership of the nodes: a group of the classic protocol with a protocol type of its own, "shareq".

    find coordinator -> JoinGroup -> SyncGroup -> Heartbeat ... -> LeaveGroup
           ^               ^            |             |
           |               +------------+-------------+  a rebalance: join again
           +-- another broker coordinates, or none answers: the member keeps its membership, if it can

The member that the coordinator elects makes the map of slots, and every member gets it with SyncGroup. A lost peer is
dropped by a rebalance, which another member begins by joining again with changed metadata. The rebalance waits for it;
for a peer that is known to have ended, the others send LeaveGroup. A node that starts checks if the members have ended,
its own earlier life among them, because no other node may be left to notice.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending, completed
from shareq.cluster.link.ports import Link, LinkFailure, Purpose
from shareq.cluster.link.waits import Wakeup
from shareq.cluster.membership.nodes import Node, NodeMap, node_from, node_map_from
from shareq.cluster.membership.slots import assign, placement_of
from shareq.protocol.errors import ErrorCode, MalformedMessage, error_of
from shareq.protocol.generated.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.leave_group import LeaveGroupRequest, MemberIdentity
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from shareq.protocol.primitives import Message

logger = logging.getLogger(__name__)

PROTOCOL: Final = "shareq"
GROUP: Final = 0
"""The key type of groups in FindCoordinator."""
SEVERAL_KEYS: Final = 4
"""The first version of FindCoordinator with a list of keys."""
WITH_INSTANCE_ID: Final = 5
"""The first version of JoinGroup with group.instance.id. A new member gets its id before it joins."""
JOINED_WITH_MEMBERS: Final = 3
"""The first version of LeaveGroup with a list of members."""

_LOOK_ELSEWHERE: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)
_AGAIN: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})


class MembershipSettings(NamedTuple):
    """Times in milliseconds. The cluster limits the session timeout (`group.min.session.timeout.ms`, 6 s). A rebalance
    drops members that have not joined again within its timeout. A JoinGroup waits for both timeouts, and for the
    cluster's `group.initial.rebalance.delay.ms`. `ended_ms` is the wait before an ended member is dropped: a node that
    stops in order ends its connections first and leaves by itself, after the last answers to its clients.
    """

    group_id: str = "__shareq"
    session_timeout_ms: int = 6_000
    rebalance_timeout_ms: int = 1_500
    ended_ms: int = 200
    heartbeat_interval_ms: int = 500
    heartbeat_timeout_ms: int = 3_000
    join_timeout_ms: int = 30_000
    retry_ms: int = 200


class MembershipListener(Protocol):
    """The node, as its membership asks and notifies it."""

    def describe(self) -> Node:
        """Return the node's current description of itself."""

    def on_found(self, members: Mapping[str, Node]) -> None:
        """Take the existing members, by member id, before the node joins for the first time. The listener calls `ended`
        for those that are dead.
        """

    def partitions(self) -> Mapping[str, int]:
        """Return how many slots each state topic has."""

    def on_map(self, member_id: str, node_map: NodeMap, heard: Callable[[], None]) -> None:
        """Apply the map of a new generation, in which the node is `member_id`; call `heard` when it is in force."""

    def attempt(self) -> Callable[[], None]:
        """Note that a Heartbeat or SyncGroup is sent now; return a function that is called if it succeeds."""


class Membership:
    """The node as a member. `problem` says why it is no member, or is None; `generation` is -1 while it is no member.

    `run` is started once; it ends after `leave`.
    """

    def __init__(
        self, env: Environment, link: Link, listener: MembershipListener, settings: MembershipSettings
    ) -> None:
        self.problem: str | None = "not joined yet"
        self.member_id = ""
        self.generation = -1
        self._env = env
        self._link = link
        self._listener = listener
        self._settings = settings
        self._news = Wakeup(env.clock)
        self._coordinator: int | None = None
        self._joins = 0
        self._wants_rebalance = False
        self._leaves = False
        self._has_looked = False

    # -- from outside

    def rebalance(self) -> None:
        """Begin a rebalance, which drops members that no longer answer. Called when a peer was lost."""
        if not self._wants_rebalance:
            self._wants_rebalance = True
            self._joins += 1
            self._news.wake()

    def ended(self, member_id: str) -> None:
        """Have a member that has ended dropped in `ended_ms`, before its session times out."""
        clock = self._env.clock
        clock.call_at(clock.now_ms() + self._settings.ended_ms, partial(self._drop, member_id))

    def _drop(self, member_id: str) -> None:
        if self.member_id:
            self._take_leave(member_id, "nobody listens at its address")
        elif not self._leaves:
            self.ended(member_id)  # later: the first member of a group waits for others to come

    def hear_soon(self) -> None:
        """Send a heartbeat now."""
        self._news.wake()

    def leave(self) -> Pending[None]:
        """Leave the group, so that no node waits for this one's session to time out. Completes when the answer, or a
        failure, has come.
        """
        self._leaves = True
        self._news.wake()
        return self._take_leave(self.member_id, "the node stops") if self.member_id else completed(None)

    def _take_leave(self, member_id: str, reason: str) -> Pending[None]:
        """Send LeaveGroup for this member, or for one that cannot send it any more. If the request fails, a rebalance
        or the session timeout drops the member.
        """
        if self._coordinator is None:
            return completed(None)
        request = LeaveGroupRequest(self._settings.group_id, "", [MemberIdentity(member_id, None, reason)])
        sent = self._link.send(  # not behind a JoinGroup that waits for the others
            self._coordinator,
            request,
            purpose=Purpose.GENERAL,
            timeout_ms=self._settings.heartbeat_timeout_ms,
            min_version=JOINED_WITH_MEMBERS,
        )
        return sent.then(lambda _answer: None)

    async def run(self) -> None:
        """Join, and send heartbeats, until `leave` is called."""
        while not self._leaves:
            if not await self._step():
                await self._news.wait(self._settings.retry_ms)
        self.generation = -1

    async def _step(self) -> bool:
        if self._coordinator is None:
            return await self._find()
        return await (self._beat() if self.generation >= 0 else self._join())

    # -- each step returns whether to go on at once

    async def _find(self) -> bool:
        request = FindCoordinatorRequest("", GROUP, [self._settings.group_id])
        answer = await self._send(None, request, self._settings.heartbeat_timeout_ms, SEVERAL_KEYS)
        if not isinstance(answer, FindCoordinatorResponse) or not answer.coordinators:
            return self._failed("FindCoordinator", answer)
        found = answer.coordinators[0]
        if found.error_code:
            return self._refused("FindCoordinator", found.error_code)
        self._coordinator = found.node_id
        return True

    async def _look(self) -> None:
        """Ask for the group's members and hand them to the listener. In a rebalance the answer names none; the
        JoinGroup then waits for them.
        """
        request = DescribeGroupsRequest([self._settings.group_id])
        answer = await self._send(self._coordinator, request, self._settings.heartbeat_timeout_ms)
        found: dict[str, Node] = {}
        if isinstance(answer, DescribeGroupsResponse):
            for member in [each for group in answer.groups for each in group.members]:
                with contextlib.suppress(MalformedMessage):
                    found[member.member_id] = node_from(bytes(member.member_metadata))
                await self._env.budget.breathe()
        self._listener.on_found(found)

    async def _join(self) -> bool:
        settings = self._settings
        if not self._has_looked:
            self._has_looked = True
            await self._look()
        self._wants_rebalance = False
        metadata = self._listener.describe().metadata(self._joins)
        request = JoinGroupRequest(
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
            member_id=self.member_id,
            protocol_type=PROTOCOL,
            protocols=[JoinGroupRequestProtocol(PROTOCOL, metadata)],
        )
        answer = await self._send(self._coordinator, request, settings.join_timeout_ms, WITH_INSTANCE_ID)
        if not isinstance(answer, JoinGroupResponse):
            return self._failed("JoinGroup", answer)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return True
        if answer.error_code:
            return self._refused("JoinGroup", answer.error_code)
        self.member_id = answer.member_id
        return await self._sync(answer)

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        rows: list[SyncGroupRequestAssignment] = []
        if joined.leader == self.member_id:
            text = (await self._map(joined)).encoded()
            rows = [SyncGroupRequestAssignment(each.member_id, text) for each in joined.members]
        request = SyncGroupRequest(
            group_id=self._settings.group_id,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            protocol_type=PROTOCOL,
            protocol_name=PROTOCOL,
            assignments=rows,
        )
        heard = self._listener.attempt()
        answer = await self._send(self._coordinator, request, self._settings.join_timeout_ms)
        if not isinstance(answer, SyncGroupResponse):
            return self._failed("SyncGroup", answer)
        if answer.error_code:
            return self._refused("SyncGroup", answer.error_code)
        try:
            node_map = node_map_from(bytes(answer.assignment))
        except MalformedMessage as error:
            self.problem = f"the map of generation {joined.generation_id}: {error}"
            logger.error("membership %s: %s", self._settings.group_id, self.problem)
            self._joins += 1  # another one may be elected
            return False
        self.problem, self.generation = None, joined.generation_id
        logger.info(
            "membership %s: generation %d, %d nodes, %d slots here",
            self._settings.group_id,
            self.generation,
            len(node_map.nodes),
            len(node_map.slots_of(self.member_id)),
        )
        self._listener.on_map(self.member_id, node_map, heard)
        return True

    async def _map(self, joined: JoinGroupResponse) -> NodeMap:
        """Make the map, as the elected member. A member whose metadata is unreadable gets no slots."""
        nodes: dict[str, Node] = {}
        for each in joined.members:
            try:
                nodes[each.member_id] = node_from(bytes(each.metadata))
            except MalformedMessage as error:
                logger.error("membership %s: member %s: %s", self._settings.group_id, each.member_id, error)
            await self._env.budget.breathe()
        breathe = self._env.budget.breathe
        owners = await assign(nodes, self._listener.partitions(), placement_of(nodes.values()), breathe)
        return NodeMap(nodes, owners)

    async def _beat(self) -> bool:
        """Wait until the next heartbeat is due or `_news` ends the wait; then send it. Return True to continue at
        once.
        """
        await self._news.wait(self._settings.heartbeat_interval_ms)
        if self._leaves:
            return True
        if self._wants_rebalance:
            return self._begin_again()
        heard = self._listener.attempt()
        request = HeartbeatRequest(self._settings.group_id, self.generation, self.member_id)
        answer = await self._send(self._coordinator, request, self._settings.heartbeat_timeout_ms)
        if not isinstance(answer, HeartbeatResponse):
            return self._failed("Heartbeat", answer)
        if answer.error_code:
            return self._refused("Heartbeat", answer.error_code)
        self.problem = None
        heard()
        return True

    # -- what goes wrong

    def _begin_again(self) -> bool:
        self.generation = -1
        return True

    def _refused(self, what: str, code: int) -> bool:
        """Handle an error code; return True to continue at once."""
        if code in _LOOK_ELSEWHERE:
            self._coordinator = None  # and the member goes on there as what it is
            self.problem = f"{what}: {error_of(code).name}"
            return False
        if code in _AGAIN:
            return self._begin_again()
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
            return self._begin_again()
        if what != "Heartbeat":
            self.generation = -1
        return self._trouble(f"{what}: {error_of(code).name} ({code})")

    def _failed(self, what: str, answer: Message | LinkFailure) -> bool:
        self._coordinator = None
        return self._trouble(f"{what}: {answer.text if isinstance(answer, LinkFailure) else type(answer).__name__}")

    def _trouble(self, text: str) -> bool:
        if text != self.problem:
            logger.warning("membership %s: %s", self._settings.group_id, text)
        self.problem = text
        return False

    def _send(
        self, node: int | None, message: Message, timeout_ms: int, min_version: int = 0
    ) -> Pending[Message | LinkFailure]:
        return self._link.send(
            node, message, purpose=Purpose.MEMBERSHIP, timeout_ms=timeout_ms, min_version=min_version
        )
