"""Printing: tables for people, plain text for pipes, JSON for programs. Rows are never all held."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.output.schema import to_json

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))
PAGE: Final = 1000
"""The number of rows whose widths set a table's column widths; further rows make new tables."""
_NUMBERS: Final = (int, float)
_LINE_ENDS: Final = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}
"""The line ends that JSON allows in a string."""


def _json_text(value: Any, indent: int | None = None) -> str:
    r"""Return JSON without line ends in it: Python's `splitlines` splits at more characters than \n."""
    return json.dumps(value, indent=indent, ensure_ascii=False).translate(_LINE_ENDS)


def print_json_rows(rows: Iterable[Any]) -> None:
    """Print an array, one row a line. If the rows end with an error, an array that was begun is still closed."""
    begun = False
    try:
        for row in rows:
            sys.stdout.write((",\n" if begun else "[\n") + _json_text(to_json(row)))
            begun = True
    finally:
        if begun:
            sys.stdout.write("\n]\n")
    if not begun:
        sys.stdout.write("[]\n")


def print_json(value: Any) -> None:
    """Print one object, in several lines."""
    sys.stdout.write(_json_text(to_json(value), indent=2) + "\n")


def print_json_line(value: Any) -> None:
    """Print one object in one line, without buffering, for streams."""
    sys.stdout.write(_json_text(to_json(value)) + "\n")
    sys.stdout.flush()


def print_table(rows: Iterable[Any], columns: Sequence[str]) -> int:
    """Print rows in columns, with rich on a terminal if it is installed. Return their number."""
    count = 0
    is_terminal = sys.stdout.isatty()
    draw = _rich_table if is_terminal and has_rich() else _plain_table
    for page in _pages(rows):
        count += len(page)
        Progress.clear()
        draw(page, [_column(name, people=is_terminal) for name in columns])
    return count


def print_object(row: Any, columns: Sequence[str]) -> None:
    """Print one row, one field a line."""
    width = max(map(len, columns))
    for name in columns:
        sys.stdout.write(f"{_title(name).lower():{width}}  {_text(getattr(row, name))}\n")


def _pages(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        yield page


class Column(NamedTuple):
    """A field of rows, its title, and the function that writes a row's cell."""

    name: str
    title: str
    text: Callable[[Any], str]


def column(name: str, title: str, text: Callable[[Any], str]) -> Column:
    """Return a column whose cells depend on the field alone."""
    return Column(name, title, lambda row: text(getattr(row, name)))


def _column(name: str, *, people: bool) -> Column:
    """Return a field's column. Durations have a unit for people, and are milliseconds for programs."""
    if people and name.endswith("_ms"):
        return column(name, _title(name.removesuffix("_ms")), duration)
    return column(name, _title(name), _text)


def duration(value: int | None) -> str:
    """Return milliseconds as text in the unit that fits."""
    if value is None:
        return "-"
    for unit, name in _UNITS:
        if value >= unit:
            return f"{value / unit:.1f}{name}"
    return f"{value}ms"


def table_lines(rows: Sequence[Any], columns: Sequence[Column]) -> list[str]:
    """Return a line of titles, and one line for each row; numbers are aligned to the right."""
    lines = [[each.title for each in columns], *([each.text(row) for each in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    right = [_is_numeric(rows, each.name) for each in columns]
    return [
        "  ".join(
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]


def _plain_table(rows: Sequence[Any], columns: Sequence[Column]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in table_lines(rows, columns))


def _rich_table(rows: Sequence[Any], columns: Sequence[Column]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for each in columns:
        table.add_column(each.title, justify="right" if _is_numeric(rows, each.name) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(each.text(row)) for each in columns))
    Console().print(table)


def _is_numeric(rows: Sequence[Any], name: str) -> bool:
    values = [getattr(row, name) for row in rows]
    return all(value is None or (isinstance(value, _NUMBERS) and not isinstance(value, bool)) for value in values)


def has_rich() -> bool:
    """Return True if the extra `cli` is installed."""
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _title(name: str) -> str:
    return name.replace("_", " ").upper()


def _text(value: Any) -> str:
    """Return the text of a cell. Control characters in names and records are escaped, not sent to the terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if value != int(value) else f"{int(value)}"
    if isinstance(value, Mapping):
        return " ".join(f"{key}:{_inner(each)}" for key, each in value.items()) or "-"
    if isinstance(value, tuple):
        return _inner(value) or "-"
    return printable(str(value)) or "-"


def _inner(value: Any) -> str:
    return ",".join(_text(each) for each in value) if isinstance(value, tuple) else _text(value)


def printable(text: str) -> str:
    """Return the text with every character escaped that is neither visible nor a blank."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()
