"""Keys by offset, as the broker reads them."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.protocol.records.keys import KeyHashes


def key_hashes(keys: Mapping[int, int]) -> KeyHashes:
    """Return these hashes, by offset in any order."""
    offsets = sorted(keys)
    return KeyHashes(offsets, [keys[each] for each in offsets])
