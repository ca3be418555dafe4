"""Where two answers to the same step differ."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.answers import ROW_FIELDS, Answer


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the brokers say differently. `partition` is None for the answer as a whole."""

    partition: int | None
    what: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        where = "answer" if self.partition is None else f"partition {self.partition}"
        return f"{where}, {self.what}: ours {self.ours}, Apache Kafka {self.theirs}"


def differences(ours: Answer, theirs: Answer) -> tuple[Difference, ...]:
    """All of them, in order of partitions; none when the answers agree."""
    found = [] if ours.error == theirs.error else [Difference(None, "error", ours.error, theirs.error)]
    for number in sorted(ours.partitions.keys() | theirs.partitions.keys()):
        our_row, their_row = ours.of(number), theirs.of(number)
        for name in ROW_FIELDS:
            mine, other = getattr(our_row, name), getattr(their_row, name)
            if mine != other:
                found.append(Difference(number, name, mine, other))
    return tuple(found)
