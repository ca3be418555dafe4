"""The slot of each state. A slot is a partition of both topics of a node's state; its owner leads what it keeps.

All share partitions of a topic, of all groups, have their states in one slot, so that one node reads the topic, holds
its locks and writes its states. A topic's slot is the CRC-32 (that of zlib and zip, ISO 3309) of the 16 bytes of its
id, as an unsigned number, modulo the number of slots. Groups go where Apache Kafka has them, by the hash of their name.

Records of states lie by this rule: neither it nor the number of slots changes as long as they are kept.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.coordinator.share.keys import SharePartitionKey


def slot_of(topic_id: bytes, slots: int) -> int:
    """Return the slot, of `slots` in all, whose owner leads the topic of this id (16 bytes)."""
    return crc32(topic_id) % slots


def _slot_of_states(key: SharePartitionKey, slots: int) -> int:
    return slot_of(key.topic_id, slots)


BY_TOPIC: Final = AS_APACHE_KAFKA._replace(share_partition=_slot_of_states)
"""Routes of a node."""
