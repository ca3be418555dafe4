"""The state topics of the nodes, and the slot of each of their partitions.

The coordinators use the topic names of a single broker. In the cluster the topics have other names, so that they are
not mistaken for topics of the cluster's own coordinators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.cluster.membership.nodes import SlotId
from shareq.protocol.errors import NO_ERROR, ApiError
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE

STATES: Final = "__shareq_state"
GROUPS: Final = "__shareq_groups"

NAMES: Final[Mapping[str, str]] = {SHARE_GROUP_STATE: STATES, CONSUMER_OFFSETS: GROUPS}
"""The names of the topics in the cluster, by the coordinators' names for them."""

_TOPICS: Final = {name: topic for topic, name in NAMES.items()}


def slot_of(topic: str, partition: int) -> SlotId:
    """Return the slot that is a partition of a coordinator's topic. Raises KeyError for any other topic."""
    return SlotId(NAMES[topic], partition)


def topic_of(slot: SlotId) -> str:
    """Return the coordinators' name for the topic of a slot."""
    return _TOPICS[slot.topic]


class StateTopics:
    """The `CoordinatorTopics` of a node. Topics of share groups exist before the node starts, all others belong to the
    cluster.
    """

    async def made(self, *names: str) -> ApiError:
        """Return NO_ERROR, because all these topics exist."""
        return NO_ERROR
