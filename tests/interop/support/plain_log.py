"""The records confirmed to a producer and those in the log, for producers and consumers by assignment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Promised:
    """Values by confirmed (partition, offset); values whose send failed."""

    confirmed: dict[tuple[int, int], bytes] = field(default_factory=dict)
    failed: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Read:
    """The records that one consumer read from all partitions, in order within each."""

    values: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)

    def add(self, partition: int, offset: int, value: bytes) -> None:
        self.values.setdefault(partition, []).append((offset, value))

    def check(self, promised: Promised, *, once: bool) -> None:
        """Check that every confirmed record is at its offset, offsets have no gap, and with `once` no value is
        repeated.
        """
        for partition, records in self.values.items():
            assert [offset for offset, _ in records] == list(range(len(records))), f"holes in partition {partition}"
        found = {(partition, offset): value for partition, offset, value in self._all()}
        lost = {place: value for place, value in promised.confirmed.items() if found.get(place) != value}
        assert not lost, f"{len(lost)} confirmed records are not where they were: {sorted(lost.items())[:3]}"
        if once:
            values = [value for _, _, value in self._all()]
            assert len(values) == len(set(values)), f"{len(values) - len(set(values))} records are there twice"

    def _all(self) -> Iterable[tuple[int, int, bytes]]:
        for partition, records in self.values.items():
            for offset, value in records:
                yield partition, offset, value
