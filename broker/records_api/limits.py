"""The limits of the records API: how much one answer has, and one query."""

from __future__ import annotations

from typing import Final

RANGES: Final = 1_000
"""Ranges in one answer, unless the query has a `limit`."""
MOST_RANGES: Final = 10_000
"""Ranges in one answer at most."""
NAMES: Final = 1_000
"""Groups in one answer, unless the query has a `limit`."""
PARTITIONS: Final = 500
"""Partitions in one answer, unless the query has a `limit`."""
MOST_NAMES: Final = 1_000
"""Groups or partitions in one answer at most: they are sorted."""
MOST_PARAMETERS: Final = 20
"""Parameters of one query at most."""
