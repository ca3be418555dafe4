"""The slot of each topic's states. A slot is a partition of a state topic; its owner leads the topics whose states it
has.

All share partitions of a topic, of all groups, have their states in one slot, so that one node reads the topic, holds
its locks and writes its states. A topic's slot is the CRC-32 (that of zlib and zip, ISO 3309) of the 16 bytes of its
id, as an unsigned number, modulo the number of slots. The slot of a group is found as Apache Kafka does, by the hash of
its name.

Existing records are stored by this rule: neither the rule nor the number of slots may change as long as they are kept.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.coordinator.share.keys import SharePartitionKey


def slot_of(topic_id: bytes, slots: int) -> int:
    """Return the number of the slot, of `slots` in all, that has the states of the topic with this 16-byte id."""
    return crc32(topic_id) % slots


def _slot_of_states(key: SharePartitionKey, slots: int) -> int:
    return slot_of(key.topic_id, slots)


BY_TOPIC: Final = AS_APACHE_KAFKA._replace(share_partition=_slot_of_states)
"""The routes of a node."""
