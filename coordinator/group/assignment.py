"""Assignments of partitions to a group's members, current and target; share groups and consumer groups alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Assignment = Mapping[bytes, frozenset[int]]
"""Topic id to partitions. A topic without partitions is absent."""

NOTHING: Final[Assignment] = {}
