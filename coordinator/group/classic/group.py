"""The coordinator's state of one classic group: its members, their protocols, and the stage of a rebalance.

    Empty                no members; offsets may be committed from outside
    PreparingRebalance   members are joining; those of the last generation have until the rebalance timeout
    CompletingRebalance  the generation is fixed; all members wait for the assignment that its leader sends
    Stable               every member has its assignment

Apache Kafka writes a classic group down when an assignment arrives, when it becomes empty, and when a static member is
replaced. All other changes are in memory only: members that are unknown after a restart join again. So operations
change the group directly, not by replay; see `records` for the records that are written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from shareq.coordinator.group.groups import GroupKind

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
"""The protocol type of consumers. The broker can read their subscriptions."""

NO_ASSIGNMENT: Final = b""

_MEMBER_BYTES: Final = 64  # of a member in a record beside its strings; their characters take at most 3 bytes

Protocols = tuple[tuple[str, bytes], ...]
"""Names and metadata of a member's protocols, in its order of preference."""


class ClassicState(Enum):
    """The states of a classic group. The value is the name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


LEGAL: Final = {
    ClassicState.EMPTY: {ClassicState.PREPARING_REBALANCE},
    ClassicState.PREPARING_REBALANCE: {ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY},
    ClassicState.COMPLETING_REBALANCE: {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE},
    ClassicState.STABLE: {ClassicState.PREPARING_REBALANCE},
}
"""The allowed next states, by state."""


@dataclass(slots=True)
class ClassicMember:
    """A member. Only its group changes it.

    `is_new`: it has not completed a rebalance yet, so it has no member id with which to send heartbeats.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = NO_ASSIGNMENT
    is_new: bool = False

    @property
    def most_bytes(self) -> int:
        """The most bytes that the member takes in its group's record, without its assignment."""
        names = (self.member_id, self.instance_id or "", self.client_id, self.client_host)
        return _MEMBER_BYTES + 3 * sum(map(len, names)) + sum(len(metadata) for _, metadata in self.protocols)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for this protocol. Raises KeyError if the member does not support it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise KeyError(protocol_name)

    def vote(self, candidates: Collection[str]) -> str:
        """Return the candidate that the member prefers; it supports at least one."""
        return next(name for name, _ in self.protocols if name in candidates)


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """The wait for the first members of a group: the length of this round, and the time that is left after it."""

    delay_ms: int
    remaining_ms: int


class ClassicGroup:
    """One classic group. Its coordinator's shard owns it; nothing else changes it.

    `state_since_ms`: time of day, or None in groups that an old broker wrote. `joining` and `syncing`: tokens of
    waiting JoinGroup and SyncGroup requests, by member id. `pending_joins`: ids that were assigned, but not used yet.
    `pending_syncs`: members of the generation that have not asked for their assignment. `leader_id` is None if there
    are no members.
    """

    __slots__ = (
        "_bytes",
        "_supported",
        "generation",
        "group_id",
        "initial_delay",
        "joining",
        "leader_id",
        "member_added",
        "members",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol_name",
        "state",
        "state_since_ms",
        "static_members",
        "subscribed_topics",
        "syncing",
        "type",
    )

    kind: Final = GroupKind.CLASSIC

    def __init__(self, group_id: str, state_since_ms: int | None) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.previous_state: ClassicState | None = None
        self.state_since_ms = state_since_ms
        self.generation = 0
        self.type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        """Group instance id to member id."""
        self.joining: dict[str, int] = {}
        self.syncing: dict[str, int] = {}
        self.pending_joins: set[str] = set()
        self.pending_syncs: set[str] = set()
        self.member_added = False
        """A member came during the initial delay, which is why it may be prolonged."""
        self.initial_delay: InitialDelay | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """Topics that consumers of the generation subscribe to; None while unknown."""
        self._supported: dict[str, int] = {}
        self._bytes = 0

    @property
    def most_bytes(self) -> int:
        """The most bytes that the members take in the group's record, without their assignments, whichever protocol is
        selected.
        """
        return self._bytes

    @property
    def protocol_type(self) -> str:
        """The members' protocol type; empty before the first member."""
        return self.type or ""

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members; 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def can_rebalance(self) -> bool:
        return ClassicState.PREPARING_REBALANCE in LEGAL[self.state]

    @property
    def is_empty(self) -> bool:
        """True in state Empty: no member is in the group or waits to join. Assigned but unused member ids do not
        count.
        """
        return self.state is ClassicState.EMPTY

    @property
    def has_generation(self) -> bool:
        """True if the group's members form a generation: it is Stable or completes a rebalance."""
        return self.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)

    @property
    def all_joined(self) -> bool:
        """True if every member waits for the rebalance to complete, and no assigned member id is unused."""
        return len(self.members) == len(self.joining) and not self.pending_joins

    def move_to(self, state: ClassicState, wall_ms: int) -> None:
        """Change the state. Raises ValueError for a transition that is not in `LEGAL`."""
        if state not in LEGAL[self.state]:
            raise ValueError(f"classic group {self.group_id}: {self.state.value} -> {state.value}")
        self.previous_state, self.state, self.state_since_ms = self.state, state, wall_ms

    # -- members

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """Add a member. The first one becomes the leader and determines the protocol type."""
        if not self.members:
            self.type = protocol_type
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count(member, 1)
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member, or an assigned id. If it was the leader, the oldest remaining member becomes the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        self.joining.pop(member_id, None)
        self.syncing.pop(member_id, None)
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """Give a new id to a static member that has returned without its member id; return the member.

        Requests that wait under the old id are dropped.
        """
        old_member_id = self.static_members[instance_id]
        old = self.members.pop(old_member_id)
        member = ClassicMember(
            member_id=new_member_id,
            instance_id=instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            session_timeout_ms=old.session_timeout_ms,
            protocols=old.protocols,
            assignment=old.assignment,
        )
        self.members[new_member_id] = member
        self.static_members[instance_id] = new_member_id
        for waiting in (self.joining, self.syncing):
            waiting.pop(old_member_id, None)
        self.pending_syncs.discard(old_member_id)
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        return member

    def update(
        self, member: ClassicMember, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def elect_joined_leader(self) -> bool:
        """Make a member that has joined the rebalance the leader; return False if no member has joined."""
        if self.leader_id is None:
            return False
        if self.leader_id not in self.joining:
            joined = next((member_id for member_id in self.members if member_id in self.joining), None)
            if joined is None:
                return False
            self.leader_id = joined
        return True

    # -- protocols

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Return True if all members support one of these protocols, so that a member with them may join."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and bool(names)
        return self.type == protocol_type and any(self._supported.get(name, 0) == len(self.members) for name in names)

    def selected_protocol(self) -> str:
        """Return the protocol with most votes among those that all members support. The group must have members."""
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def _count(self, member: ClassicMember, change: int) -> None:
        for name in {name for name, _ in member.protocols}:
            self._supported[name] = self._supported.get(name, 0) + change
            if not self._supported[name]:
                del self._supported[name]
        self._bytes += change * member.most_bytes
