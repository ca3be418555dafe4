"""The limits of one answer of the records API, of one query, and of the requests that wait."""

from __future__ import annotations

from typing import Final

RANGES: Final = 1_000
"""The most ranges in one answer, unless the query has a `limit`."""
MOST_RANGES: Final = 10_000
"""The largest `limit` of ranges in one answer."""
NAMES: Final = 1_000
"""The most groups in one answer, unless the query has a `limit`."""
PARTITIONS: Final = 500
"""The most partitions in one answer, unless the query has a `limit`."""
MOST_NAMES: Final = 1_000
"""The largest `limit` of groups or partitions in one answer, since they are sorted."""
MOST_PARAMETERS: Final = 20
"""The most parameters of one query."""
MOST_WAITING: Final = 16
"""The most answers that wait to be made, or are being made. Further clients are asked to come back."""
