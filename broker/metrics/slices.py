"""A snapshot is taken in slices of rows, so that thousands of them hold no request up."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from shareq.broker.log.partition_log import PartitionLog

T = TypeVar("T")
Steps = Generator[None, None, None]
"""Other things may be done on the loop at each pause."""
Logs = dict[tuple[str, int], "PartitionLog"]
"""By topic and partition."""

SLICE: Final = 100  # rows between two pauses: well below a millisecond


def slices(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The rows, `SLICE` at a time."""
    return (rows[at : at + SLICE] for at in range(0, len(rows), SLICE))
