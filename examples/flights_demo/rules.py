"""A consumer's verdict on a flight. One rule for all consumers, so that the parent can predict every verdict."""

from __future__ import annotations

import zlib

from confluent_kafka import AcknowledgeType

RELEASED_PER_MILLE = 20
REJECTED_PER_MILLE = 10


def verdict(row: int, delivery_count: int) -> AcknowledgeType:
    """Return the verdict by row number: 1 % are rejected, 2 % are released at their first delivery, the rest is
    accepted.
    """
    lot = zlib.crc32(b"%d" % row) % 1000
    if lot < REJECTED_PER_MILLE:
        return AcknowledgeType.REJECT
    if lot < REJECTED_PER_MILLE + RELEASED_PER_MILLE and delivery_count == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.ACCEPT
