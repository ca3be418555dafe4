"""The screen of `shareq top` as a value: it takes keys, and rich draws it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console, ConsoleOptions
from rich.text import Text

from shareq.ops.cli.output.printing import Column, printable, table_lines
from shareq.ops.cli.top.columns import GROUPS, MEMBERS, PARTITIONS, TOPICS, left_out, nodes
from shareq.ops.cli.top.data import MemberView, PartitionView, TopRow

HELP: Final = (
    "shareq top",
    "",
    "q quit   s sort by the next column   r the other way round   / filter by name   t groups or topics",
    "up, down, page up, page down (k, j) select   enter look into a group   escape back   ? this help",
    "a lag with a plus: that of other partitions of the group is unknown",
)
_MOVES: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -2, "pagedown": 2}


class Screen:
    """The screen's content, sort order, filters and open group.

    `wanted` is the open group, whose `partitions` and `members` the caller provides. `source` says where the numbers
    are from.
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
        """Show a new sample."""
        self._row = row
        self.trouble = None

    def show_group(self, partitions: Sequence[PartitionView], members: Sequence[MemberView]) -> None:
        """Show new data of the open group."""
        self._partitions, self._members = partitions, members

    # -- keys

    def press(self, key: str) -> None:
        """Handle a key: a character, or enter, escape, backspace, up, down, pageup, pagedown."""
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
        if key == "s":
            self._sort[self._topics] = (self._sort[self._topics] + 1) % len(self._columns)
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

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Text]:
        """Yield the lines, all within the terminal's width and height."""
        height = options.height or options.size.height
        for line in (list(map(Text, HELP)) if self._help else self._lines(height))[:height]:
            line.truncate(options.max_width, overflow="ellipsis", pad=line.style == "reverse")
            yield line

    def _lines(self, height: int) -> list[Text]:
        head = [Text(self._status())]
        if self.wanted is None:
            return self._with_selection(head, self._rows(), self._columns, height)
        members = table_lines(self._members, MEMBERS) if self._members else ["no members"]
        head += map(Text, ("", *members, ""))
        return self._with_selection(head[: max(height - 4, 2)], self._partitions, PARTITIONS, height)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return TOPICS if self._topics else GROUPS

    def _status(self) -> str:
        what = f"group {printable(self.wanted)}" if self.wanted is not None else "topics" if self._topics else "groups"
        words = [f"shareq top: {what}"]
        if self._typing is not None:
            words.append(f"filter: {printable(self._typing)}_")
        elif self._filters[self._topics] and self.wanted is None:
            words.append(f"filter: {printable(self._filters[self._topics])}")
        if self.wanted is None:
            column = self._columns[self._sort[self._topics]]
            words.append(f"by {column.title.lower()}{' down' if self._reverse[self._topics] else ''}")
        words.append(self._source)
        if self._row is not None and self._row.nodes:
            words.append(nodes(self._row))
        if self._row is not None and self._row.left_out:
            words.append(left_out(self._row))
        if self._row is not None and self._row.api_problem is not None:
            words.append(printable(self._row.api_problem))
        if self.trouble is not None:
            words.append(printable(self.trouble))
        return "  |  ".join([*words, "? help"])

    def _rows(self) -> list[Any]:
        if self._row is None:
            return []
        rows: Iterable[Any] = self._row.topics if self._topics else self._row.groups
        name, field = self._columns[0].name, self._columns[self._sort[self._topics]].name
        kept = [row for row in rows if self._filters[self._topics].lower() in getattr(row, name).lower()]
        known = [row for row in kept if getattr(row, field) is not None]
        known.sort(key=lambda row: getattr(row, field), reverse=self._reverse[self._topics])
        return known + [row for row in kept if getattr(row, field) is None]

    def _with_selection(
        self, head: list[Text], rows: Sequence[Any], columns: Sequence[Column], height: int
    ) -> list[Text]:
        title, *texts = table_lines(rows, columns)
        self._page = max(1, height - len(head) - 1)
        self._selected = min(self._selected, max(0, len(rows) - 1))
        self._scroll = min(max(self._scroll, self._selected - self._page + 1), self._selected)
        shown = enumerate(texts[self._scroll : self._scroll + self._page], self._scroll)
        lines = [Text(text, "reverse" if at == self._selected else "") for at, text in shown]
        nothing = Text("nothing yet" if self._row is None else "nothing")
        return [*head, Text(title, "bold"), *(lines or [nothing])]
