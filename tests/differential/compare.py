"""The differences of two answers to the same step."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.answers import ROW_FIELDS, Answer


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the brokers' answers. `partition` is None for the whole answer."""

    partition: int | None
    what: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        where = "answer" if self.partition is None else f"partition {self.partition}"
        return f"{where}, {self.what}: ours {self.ours}, Apache Kafka {self.theirs}"


def differences(ours: Answer, theirs: Answer) -> tuple[Difference, ...]:
    """Return all differences by partition, none if the answers agree."""
    found = [] if ours.error == theirs.error else [Difference(None, "error", ours.error, theirs.error)]
    for number in sorted(ours.partitions.keys() | theirs.partitions.keys()):
        our_row, their_row = ours.of(number), theirs.of(number)
        for name in ROW_FIELDS:
            mine, other = getattr(our_row, name), getattr(their_row, name)
            if mine != other:
                found.append(Difference(number, name, mine, other))
    return (*found, *_of_fields(ours, theirs))


def _of_fields(ours: Answer, theirs: Answer) -> list[Difference]:
    """Return the differences of fields. A row that only one answer has counts as one."""
    our_rows, their_rows = _rows(ours), _rows(theirs)
    found = [Difference(number, "row", number in our_rows, number in their_rows) for number in our_rows ^ their_rows]
    for number, path in {**ours.fields, **theirs.fields}:
        mine, other = ours.fields.get((number, path)), theirs.fields.get((number, path))
        if mine != other and (number is None or number in our_rows & their_rows):
            found.append(Difference(number, path, mine, other))
    return found


def _rows(answer: Answer) -> set[int]:
    return {number for number, _ in answer.fields if number is not None}
