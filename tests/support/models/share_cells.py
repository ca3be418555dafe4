"""The parts of the model of a share partition: a cell for each offset, groups of cells, and state writes."""

from __future__ import annotations

from dataclasses import dataclass

# An independent judge: its numbers are KIP-932's, not the product's.
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 1, 2, 3, 4
TERMINAL = (ACKNOWLEDGED, ARCHIVED)
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
REJECTED, COUNT_EXCEEDED = "CLIENT_REJECT", "DELIVERY_COUNT_EXCEEDED"
INVALID_REQUEST, INVALID_RECORD_STATE, UNKNOWN_SERVER_ERROR = 42, 121, -1


@dataclass
class Cell:
    """One offset. `write` is the pending write, `old` the (state, owner) to roll back to, `gone` forbids a rollback.

    `not_before` is the earliest redelivery, None for now; `later` its value once it is written.
    """

    state: int
    count: int
    owner: str = ""
    deadline: int | None = None
    write: int | None = None
    old: tuple[int, str] = (AVAILABLE, "")
    gone: bool = False
    cause: str = ""  # of the death of one that is archiving
    not_before: int | None = None
    later: int | None = None

    @property
    def free(self) -> bool:
        return self.state == AVAILABLE and self.write is None and self.not_before is None

    @property
    def finished(self) -> bool:
        return self.state in TERMINAL and self.write is None

    def archive(self) -> None:
        """Archive the offset because it left the log: no transition rule applies."""
        self.state, self.owner, self.deadline, self.gone = ARCHIVED, "", None, True
        self.not_before = self.later = None

    def view(self) -> tuple[int, int, str, int | None, bool, int | None]:
        """Return the fields that may be compared: (state, count, owner, deadline, pending, not before)."""
        held = self.state == ACQUIRED
        return (
            self.state,
            self.count,
            self.owner if held else "",
            self.deadline if held else None,
            self.write is not None,
            self.not_before,
        )


@dataclass
class Group:
    """An in-flight batch. `exploded`: it is kept offset by offset from now on."""

    cells: dict[int, Cell]
    exploded: bool = False

    @property
    def first(self) -> int:
        return min(self.cells)

    @property
    def last(self) -> int:
        return max(self.cells)

    @property
    def cell(self) -> Cell:
        """The cell that stands for all offsets until the batch is exploded."""
        return self.cells[self.first]


@dataclass(frozen=True)
class Write:
    """A state write: (state, count) per offset, and the redelivery times of delayed offsets."""

    id: int
    start: int
    complete: int
    cells: dict[int, tuple[int, int]]
    delays: dict[int, int]
