"""Keys by offset, as the broker reads them."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.protocol.records.keys import KeyHashes


def key_hashes(keys: Mapping[int, int]) -> KeyHashes:
    offsets = sorted(keys)
    return KeyHashes(offsets, [keys[each] for each in offsets])
