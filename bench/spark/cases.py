"""The cases measured: sources, windows of locks, sizes of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bench.brokers import Kind

Format = Literal["kafka", "kafka-share"]

PARTITIONS: Final = 4
DEFAULT_LOCKS: Final = 2_000
WIDEST: Final[dict[Kind, int]] = {"shareq": 1_000_000, "apache": 10_000}
"""The most that each broker's group.share.max.partition.max.record.locks may be set to."""


@dataclass(frozen=True, slots=True)
class Case:
    """One source on one topic. `locks` is the group's share.partition.max.record.locks, None for Spark's own source."""

    source: Format
    locks: int | None
    value_bytes: int
    records: int

    @property
    def label(self) -> str:
        if self.locks is None:
            return "spark-sql-kafka-0-10"
        return f"kafka-share, {self.locks:,} locks a partition"

    def options(self, address: str, topic: str, group: str) -> dict[str, str]:
        """Return the reader's options. Both readers are asked for the same columns."""
        common = {"kafka.bootstrap.servers": address, "subscribe": topic}
        if self.locks is None:
            return {**common, "startingOffsets": "earliest"}
        return {**common, "kafka.group.id": group}


def cases(kind: Kind, sizes: dict[int, int], most: int) -> list[Case]:
    """Return the cases. `sizes` maps the bytes of a value to records.

    The slow case, with the default window, reads at most `most` records; one with a wider window proportionally more.
    """
    found: list[Case] = []
    for value_bytes, records in sizes.items():
        found += [
            Case("kafka", None, value_bytes, records),
            Case("kafka-share", WIDEST[kind], value_bytes, min(records, most * WIDEST[kind] // DEFAULT_LOCKS)),
            Case("kafka-share", DEFAULT_LOCKS, value_bytes, min(records, most)),
        ]
    return found
