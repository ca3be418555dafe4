"""Assignments of partitions to members, current and target, for share groups and consumer groups alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id. A topic without partitions is absent."""

NOTHING: Final[Assignment] = {}
