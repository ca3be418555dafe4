"""A hash over all facts about the subscribed topics on which a target assignment depends.

The group coordinator stores it with the group epoch; if the hash changes, a new epoch begins (KIP-932; the hash
replaces the partition metadata of the KIP's earlier revisions). XXH3-64 over the topics' own XXH3-64 hashes in order of
topic name. Only equality counts.

    topic hash over:   int8   magic, 0
                       16 B   topic id
                       int32  length of the name in bytes, then its UTF-8
                       int32  partition count
                       per partition: int32 index, int32 number of racks of its replicas, and of each, ascending,
                       int32 length in bytes and its UTF-8
    group hash over:   int64  per topic
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import pack
from typing import Final

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from shareq.coordinator.ports import MetadataImage, TopicImage

_MAGIC: Final = 0
_MOST_REMEMBERED: Final = 16_384  # topics: a group that subscribes to thousands asks for all with every epoch


@lru_cache(_MOST_REMEMBERED)
def topic_hash(topic: TopicImage) -> bytes:
    """Return 8 bytes. They change when the topic is created again or grows, or when its replicas move to other
    racks.
    """
    name = topic.name.encode()
    racks = b"".join(pack(">i", len(rack)) + rack for rack in map(str.encode, topic.racks))
    parts = [pack(">b16si", _MAGIC, topic.topic_id, len(name)), name, pack(">i", topic.partitions)]
    parts.extend(pack(">ii", index, len(topic.racks)) + racks for index in range(topic.partitions))
    return xxh3_64_digest(b"".join(parts))


def metadata_hash(topic_names: Iterable[str], metadata: MetadataImage) -> int:
    """Return the hash of those topics of `topic_names` that exist, as a signed 64-bit number; 0 if none exists."""
    topics = [topic for name in sorted(topic_names) if (topic := metadata.topic(name)) is not None]
    if not topics:
        return 0
    unsigned = xxh3_64_intdigest(b"".join(map(topic_hash, topics)))
    return unsigned - 2**64 if unsigned >= 2**63 else unsigned
