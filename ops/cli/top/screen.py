"""The screen of `shareq top` as a value: keys go in, lines come out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from shareq.ops.cli.output.printing import duration, printable
from shareq.ops.cli.top.data import MemberView, PartitionView, TopGroupRow, TopRow

HELP: Final = (
    "q quit   s sort by the next column   r the other way round   / filter by name   t groups or topics",
    "up, down, page up, page down (k, j) select   enter look into a group   escape back   ? this help",
    "a lag with a plus: that of other partitions of the group is unknown",
)
_INVERSE: Final = "\x1b[7m"
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"


class Column(NamedTuple):
    """A column of a table: its title, the field by which rows are sorted, and how a value is written; `of_row` where
    more than the field is written.
    """

    title: str
    field: str
    text: Callable[[Any], str]
    of_row: Callable[[Any], str] | None = None

    def shown(self, row: Any) -> str:
        """Return what is written of a row."""
        return self.text(getattr(row, self.field)) if self.of_row is None else self.of_row(row)


def plain(value: Any) -> str:
    """A name, or a whole number."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))


def rate(value: float | None) -> str:
    """Per second."""
    return "-" if value is None else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def lag_of(row: TopGroupRow) -> str:
    """Return the lag of a group; with a plus where it lacks partitions whose lag is unknown."""
    return plain(row.lag) + ("+" if row.unknown and row.lag is not None else "")


GROUPS: Final = (
    Column("GROUP", "group", plain),
    Column("STATE", "state", plain),
    Column("MEMBERS", "members", plain),
    Column("PARTS", "partitions", plain),
    Column("LAG", "lag", plain, lag_of),
    Column("LAG/S", "lag_per_s", rate),
    Column("IN FLIGHT", "in_flight", plain),
    Column("HELD", "held", plain),
    Column("ACQ/S", "acquired_per_s", rate),
    Column("ACK/S", "acknowledged_per_s", rate),
    Column("AGAIN/S", "redeliveries_per_s", rate),
    Column("OLDEST", "oldest_ms", duration),
)
TOPICS: Final = (
    Column("TOPIC", "topic", plain),
    Column("END", "end", plain),
    Column("RECORDS/S", "records_per_s", rate),
)
PARTITIONS: Final = (
    Column("TOPIC", "topic", plain),
    Column("PARTITION", "partition", plain),
    Column("START", "start", plain),
    Column("END", "end", plain),
    Column("LAG", "lag", plain),
    Column("IN FLIGHT", "in_flight", plain),
    Column("HELD", "held", plain),
    Column("OLDEST", "oldest_ms", duration),
    Column("STATES", "states", plain),
)
MEMBERS: Final = (
    Column("MEMBER", "member", plain),
    Column("CLIENT", "client", plain),
    Column("HOST", "host", plain),
    Column("PARTITIONS", "partitions", plain),
    Column("HELD", "held", plain),
)


def table(rows: Sequence[Any], columns: Sequence[Column]) -> list[str]:
    """A title line, and a line for each row."""
    texts = [[column.shown(row) for column in columns] for row in rows]
    widths = [max(len(each[at]) for each in ([one.title for one in columns], *texts)) for at in range(len(columns))]
    right = [all(isinstance(getattr(row, one.field), int | float | None) for row in rows) for one in columns]
    lines = [[one.title for one in columns], *texts]
    return [
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]


def left_out(row: TopRow) -> str:
    """Which groups are not shown."""
    return f"{row.left_out:,} groups left out: --group chooses"


class Screen:
    """What is shown, and how it is sorted, filtered and looked into.

    `wanted` is the group that is looked into: the caller gives its `partitions` and `members`. `source` says
    where the numbers are from.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._row: TopRow | None = None
        self._partitions: Sequence[PartitionView] = ()
        self._members: Sequence[MemberView] = ()
        self._topics = False
        self._sort = {False: 4, True: 2}  # by view: lag; records a second
        self._reverse = {False: True, True: True}
        self._filters = {False: "", True: ""}
        self._typing: str | None = None
        self._selected = 0
        self._scroll = 0
        self._page = 10
        self._help = False
        self.trouble: str | None = None
        self.wanted: str | None = None
        self.done = False

    def show(self, row: TopRow) -> None:
        """A new sample."""
        self._row = row
        self.trouble = None

    def show_group(self, partitions: Sequence[PartitionView], members: Sequence[MemberView]) -> None:
        """A new look into the group that is wanted."""
        self._partitions, self._members = partitions, members

    # -- keys

    def press(self, key: str) -> None:
        """A key: a character, or enter, escape, backspace, up, down, pageup, pagedown."""
        if self._typing is not None:
            self._type(key)
        elif key in ("q", "Q"):
            self.done = True
        elif key == "?":
            self._help = not self._help
        elif key in ("escape", "backspace", "left"):
            self._back()
        elif key in _MOVES:
            step = _MOVES[key]
            self._selected = max(0, self._selected + (step if abs(step) == 1 else step // 2 * self._page))
        elif self.wanted is None:
            self._press_in_list(key)

    def _press_in_list(self, key: str) -> None:
        columns = TOPICS if self._topics else GROUPS
        if key == "s":
            self._sort[self._topics] = (self._sort[self._topics] + 1) % len(columns)
        elif key == "r":
            self._reverse[self._topics] = not self._reverse[self._topics]
        elif key == "t":
            self._topics, self._selected = not self._topics, 0
        elif key == "/":
            self._typing = self._filters[self._topics]
        elif key in ("enter", "right") and not self._topics:
            rows = self._rows()
            if rows:
                self.wanted = rows[min(self._selected, len(rows) - 1)].group
                self._partitions, self._members, self._selected = (), (), 0

    def _type(self, key: str) -> None:
        assert self._typing is not None
        if key == "enter":
            self._filters[self._topics], self._typing, self._selected = self._typing, None, 0
        elif key == "escape":
            self._typing = None
        elif key == "backspace":
            self._typing = self._typing[:-1]
        elif len(key) == 1 and key.isprintable():
            self._typing += key

    def _back(self) -> None:
        if self._help:
            self._help = False
        elif self.wanted is not None:
            self.wanted, self._selected = None, 0
        else:
            self._filters[self._topics], self._selected = "", 0

    # -- lines

    def lines(self, width: int, height: int) -> list[str]:
        """The screen: at most `height` lines of at most `width` characters, escape sequences aside."""
        if self._help:
            return [_cut(line, width) for line in ("shareq top", "", *HELP)][:height]
        head = [self._status()]
        if self.wanted is not None:
            return self._group_lines(head, width, height)
        columns = TOPICS if self._topics else GROUPS
        rows = self._rows()
        body = table(rows, columns)
        return self._with_selection([*map(_cutter(width), head)], body, len(rows), width, height)

    def _status(self) -> str:
        what = f"group {printable(self.wanted)}" if self.wanted is not None else "topics" if self._topics else "groups"
        words = [f"shareq top: {what}"]
        if self._typing is not None:
            words.append(f"filter: {printable(self._typing)}_")
        elif self._filters[self._topics] and self.wanted is None:
            words.append(f"filter: {printable(self._filters[self._topics])}")
        if self.wanted is None:
            column = (TOPICS if self._topics else GROUPS)[self._sort[self._topics]]
            words.append(f"by {column.title.lower()}{' down' if self._reverse[self._topics] else ''}")
        words.append(self._source)
        if self._row is not None and self._row.left_out:
            words.append(left_out(self._row))
        if self.trouble is not None:
            words.append(printable(self.trouble))
        return "  |  ".join([*words, "? help"])

    def _rows(self) -> list[Any]:
        if self._row is None:
            return []
        columns = TOPICS if self._topics else GROUPS
        rows: Iterable[Any] = self._row.topics if self._topics else self._row.groups
        name, field = columns[0].field, columns[self._sort[self._topics]].field
        kept = [row for row in rows if self._filters[self._topics].lower() in getattr(row, name).lower()]
        known = [row for row in kept if getattr(row, field) is not None]
        known.sort(key=lambda row: getattr(row, field), reverse=self._reverse[self._topics])
        return known + [row for row in kept if getattr(row, field) is None]

    def _group_lines(self, head: list[str], width: int, height: int) -> list[str]:
        members = table(self._members, MEMBERS) if self._members else ["no members"]
        head += ["", *members, ""]
        body = table(self._partitions, PARTITIONS)
        most = max(height - 4, 2)
        return self._with_selection([*map(_cutter(width), head[:most])], body, len(self._partitions), width, height)

    def _with_selection(self, head: list[str], body: list[str], count: int, width: int, height: int) -> list[str]:
        self._page = max(1, height - len(head) - 1)
        self._selected = min(self._selected, max(0, count - 1))
        self._scroll = min(max(self._scroll, self._selected - self._page + 1), self._selected)
        title, *rows = body
        lines = [*head, f"{_BOLD}{_cut(title, width)}{_PLAIN}"]
        for at, row in enumerate(rows[self._scroll : self._scroll + self._page], self._scroll):
            text = _cut(row, width)
            lines.append(f"{_INVERSE}{text.ljust(width)}{_PLAIN}" if at == self._selected else text)
        if not rows:
            lines.append("nothing yet" if self._row is None else "nothing")
        return lines[:height]


_MOVES: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -2, "pagedown": 2}


def _cutter(width: int) -> Callable[[str], str]:
    return lambda line: _cut(line, width)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"
