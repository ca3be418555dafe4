"""A member of a consumer group: its metadata, and its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.classic.group import Protocols

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2
"""The epoch of a static member that is away and will return under its instance id. It keeps its partitions
meanwhile.
"""

PartitionEpochs = Mapping[bytes, Mapping[int, int]]
"""The member epoch in which each partition was assigned, by topic id and partition. A topic without partitions is
absent.
"""


class MemberState(IntEnum):
    """The stages of a member on the way to its target, with the numbers in its record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class ClassicMetadata:
    """The data from a classic member's JoinGroup: session timeout in milliseconds, and at least one protocol."""

    session_timeout_ms: int
    protocols: Protocols

    @property
    def protocol_name(self) -> str:
        """The member's preferred protocol."""
        return self.protocols[0][0]

    @property
    def metadata(self) -> bytes:
        """The member's subscription for its preferred protocol."""
        return self.protocols[0][1]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member as its metadata record has it. `subscribed_topic_names` ascends without duplicates; an empty
    `subscribed_topic_regex` matches nothing, as None does. `classic`: None for a member that speaks KIP-848's protocol.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMetadata | None = None


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The current assignment of a member: its epoch, the epoch before, and its partitions.

    The partitions are those that answers have assigned to it, and those that it still must give up. Both count as its
    own.
    """

    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: PartitionEpochs = field(default_factory=dict)
    revoking: PartitionEpochs = field(default_factory=dict)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return True if the member has reached the target of that epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def assignment_epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """Return the epoch in which the partition was assigned to the member; None if it is not the member's."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.revoking.get(topic_id, {}).get(partition) if epoch is None else epoch


def partitions_of(epochs: PartitionEpochs) -> Assignment:
    """Return the same partitions without their epochs."""
    return {topic_id: frozenset(partitions) for topic_id, partitions in epochs.items()}


def united(one: PartitionEpochs, other: PartitionEpochs) -> PartitionEpochs:
    """Return the partitions of both assignments; for partitions in both, the epochs of `other` count."""
    return {topic_id: {**one.get(topic_id, {}), **other.get(topic_id, {})} for topic_id in {**one, **other}}
