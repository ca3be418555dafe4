"""Work done in one iteration of the loop that a request's size does not show, so that it can be ended in time.

Producers' records take up to a thousand times their bytes once they are opened. The code that opens them adds that up
here; before the next batch or request, the caller checks whether it is for the next turn.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.turn_budget import LOOK
from shareq.protocol.records.compression import Compression

MOST_EFFORT: Final = 1024 * 1024
"""Bytes opened in one go, and the batch that goes beyond it."""

ELEMENT_EFFORT: Final = 4 * 1024
"""Bytes opened that count as one element of a turn's budget (`turn_budget.py`)."""

LOOK_EFFORT: Final = LOOK * ELEMENT_EFFORT
"""Effort between two looks at the clock."""

STEP_EFFORT: Final = 192 * 1024
"""The same of a batch that is opened in steps: a third of a millisecond, with the slowest codec one."""

AT_ONCE: Final = 512 * 1024
"""Bytes of a batch that are opened at once; more are opened in steps, from the beginning again."""

RECORDS_AT_ONCE: Final = 20_000
"""Records of a batch that are walked over at once: half a millisecond where the walk is compiled."""

RECORD_EFFORT: Final = 16
"""Bytes that a record counts beside its own: what is looked at of it takes as long as opening so many."""

PACKING_EFFORT: Final = {
    Compression.NONE: 1,
    Compression.GZIP: 16,
    Compression.SNAPPY: 1,
    Compression.LZ4: 8,
    Compression.ZSTD: 2,
}
"""The effort of a byte that is compressed: so a turn takes 2 ms, 5 with what is worst for gzip."""

BATCH_EFFORT: Final = 16 * 1024
"""The effort that each batch of a request with several adds: small ones that are refused take 0.1 ms each."""

LOG_EFFORT: Final = 64 * 1024
"""The effort that the first batch of a log adds: its folder and files take 0.3 ms."""

REFUSED_EFFORT: Final = 2 * 1024
"""The effort of a batch that is refused without a look at it: 4 µs."""


class Effort:
    """The effort of the one loop (`EFFORT`).

    `spent` counts since the current read began; `goes` is the number of reads of a connection with a request in them.
    """

    __slots__ = ("goes", "spent")

    def __init__(self) -> None:
        self.spent = 0
        self.goes = 0


EFFORT: Final = Effort()


def elements_of(effort: int) -> int:
    """Return how many elements of a turn's budget this effort is, at least one."""
    return 1 + effort // ELEMENT_EFFORT
