"""Answers in comparable form: every field (`fields.py`), and the input of the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from tests.differential.fields import Key


@dataclass(frozen=True, slots=True)
class PartitionAnswer:
    """The answer for one partition.

    `ack_error` is None if the answer has no row for an acknowledged partition. `acquired` maps offsets to delivery
    counts; `missing` are the acquired offsets that no record batch contains. `start_offset` and `lag` come only from
    offset and state reads.
    """

    error: int = 0
    ack_error: int | None = 0
    acquired: Mapping[int, int] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    start_offset: int | None = None
    lag: int | None = None

    def __repr__(self) -> str:
        said = [f"error={self.error}"] if self.error else []
        said += [f"ack_error={self.ack_error}"] if self.ack_error != 0 else []
        said += [f"acquired={runs(self.acquired)}"] if self.acquired else []
        said += [f"missing={self.missing}"] if self.missing else []
        said += [f"{each}={getattr(self, each)}" for each in ("start_offset", "lag") if getattr(self, each) is not None]
        return f"({', '.join(said) or 'nothing'})"


NOTHING = PartitionAnswer()


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its top-level or only error, and its partitions by number.

    `fields` are all compared fields, by partition and path; `aside` are the fields that are counted, but not compared.
    """

    error: int = 0
    partitions: Mapping[int, PartitionAnswer] = field(default_factory=dict)
    fields: Mapping[Key, object] = field(default_factory=dict)
    aside: Mapping[Key, object] = field(default_factory=dict)

    def of(self, partition: int) -> PartitionAnswer:
        """Return the answer for a partition, an empty one if it has no row."""
        return self.partitions.get(partition, NOTHING)

    def __repr__(self) -> str:
        rows = ", ".join(f"p{number}{row}" for number, row in sorted(self.partitions.items()))
        return f"[error={self.error}{', ' + rows if rows else ''}]"


def runs(acquired: Mapping[int, int]) -> str:
    """Return offsets and delivery counts as text, `0-4 x1, 5-9 x2`, with adjacent equal ones joined."""
    found: list[list[int]] = []
    for offset, count in sorted(acquired.items()):
        if found and found[-1][1] + 1 == offset and found[-1][2] == count:
            found[-1][1] = offset
        else:
            found.append([offset, offset, count])
    return "{" + ", ".join(f"{first}-{last} x{count}" for first, last, count in found) + "}"


ROW_FIELDS = tuple(each.name for each in fields(PartitionAnswer))
