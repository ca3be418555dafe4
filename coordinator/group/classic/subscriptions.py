"""The topics that the consumers of a classic group subscribe to.

A consumer's metadata is int16 version, then its subscription; later versions only add fields behind those of version 0:

    string[] topics, nullable bytes user data
"""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.classic.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION_BYTES: Final = 2


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """Return the topics of all members, by the selected protocol; None if the members are no consumers, or the metadata
    of one is no subscription.
    """
    if group.type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not group.members:
        return frozenset()
    topics: set[str] = set()
    for member in group.members.values():
        try:
            metadata = member.metadata(group.protocol_name)
            subscription, _ = ConsumerProtocolSubscription.decode(metadata, 0, _VERSION_BYTES)
        except (MalformedMessage, KeyError):
            return None
        topics.update(subscription.topics)
    return frozenset(topics)
