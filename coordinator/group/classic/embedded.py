"""The embedded protocol of protocol type `consumer`: consumers' messages to each other in JoinGroup and SyncGroup.

    subscription   int16 version, then ConsumerProtocolSubscription: topics, user data, from version 1 on the partitions
                   that the consumer holds on to, from 2 its generation, from 3 its rack
    assignment     int16 version, then ConsumerProtocolAssignment: partitions by topic, nullable bytes user data

Later versions only add fields at the end: an unknown version is read as the last known one.
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION_BYTES: Final = 2


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Read a subscription. Raises MalformedMessage."""
    version = min(version_of(metadata), ConsumerProtocolSubscription.MAX_VERSION)
    return ConsumerProtocolSubscription.decode(metadata, version, _VERSION_BYTES)[0]


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Read an assignment. Raises MalformedMessage."""
    version = min(version_of(data), ConsumerProtocolAssignment.MAX_VERSION)
    return ConsumerProtocolAssignment.decode(data, version, _VERSION_BYTES)[0]


def write_assignment(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    """Encode the assignment in `version`, which is not negative, or in the last known version if that is lower."""
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    return version.to_bytes(_VERSION_BYTES, "big") + assignment.encode(version)


def version_of(data: bytes) -> int:
    """Return the version that stands before a subscription or an assignment, 0 or more. Raises MalformedMessage."""
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if len(data) < _VERSION_BYTES or version < 0:
        raise MalformedMessage("neither a subscription nor an assignment of a consumer: its version is missing")
    return version
