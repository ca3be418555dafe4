"""The partition of a record, as Kafka's Java client chooses it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_MASK: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C


def murmur2(data: bytes) -> int:
    """Return the hash of keys, 32 bits, not negative."""
    length = len(data)
    found = _SEED ^ length
    whole = length - length % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        found = (found * _M & _MASK) ^ k
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * _M & _MASK
    found = (found ^ found >> 13) * _M & _MASK
    return found ^ found >> 15


def partition_of_key(key: bytes, partitions: Sequence[int]) -> int:
    """Return the partition that Java's producer chooses for a key.

    `partitions` are all of the topic, ascending.
    """
    return partitions[(murmur2(key) & 0x7FFFFFFF) % len(partitions)]
