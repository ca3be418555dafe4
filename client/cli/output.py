"""What commands print: tables for people, plain text for pipes, JSON for programs. Rows are never all held."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from shareq.client.cli.schema import to_json

PAGE: Final = 1000
"""Rows whose widths make a table's; further ones are in tables of their own."""
_NUMBERS: Final = (int, float)


def print_json_rows(rows: Iterable[Any]) -> None:
    """An array, a row a line. It is closed also where the rows end with an error, if it was begun."""
    begun = False
    try:
        for row in rows:
            sys.stdout.write((",\n" if begun else "[\n") + json.dumps(to_json(row), ensure_ascii=False))
            begun = True
    finally:
        if begun:
            sys.stdout.write("\n]\n")
    if not begun:
        sys.stdout.write("[]\n")


def print_json(value: Any) -> None:
    """One object, in several lines."""
    sys.stdout.write(json.dumps(to_json(value), indent=2, ensure_ascii=False) + "\n")


def print_json_line(value: Any) -> None:
    """One object in one line, at once: for streams."""
    sys.stdout.write(json.dumps(to_json(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_table(rows: Iterable[Any], columns: Sequence[str]) -> int:
    """Rows in columns, with rich on a terminal that has it. Returns how many."""
    count = 0
    draw = _rich_table if sys.stdout.isatty() and _has_rich() else _plain_table
    for page in _pages(rows):
        count += len(page)
        draw(page, columns)
    return count


def print_object(row: Any, columns: Sequence[str]) -> None:
    """One row, a field a line."""
    width = max(map(len, columns))
    for name in columns:
        sys.stdout.write(f"{_title(name).lower():{width}}  {_text(getattr(row, name))}\n")


def _pages(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while page := list(islice(left, PAGE)):
        yield page


def _plain_table(rows: Sequence[Any], columns: Sequence[str]) -> None:
    texts = [[_text(getattr(row, name)) for name in columns] for row in rows]
    titles = [_title(name) for name in columns]
    widths = [max(len(each[at]) for each in (titles, *texts)) for at in range(len(columns))]
    right = [_is_numeric(rows, name) for name in columns]
    for line in (titles, *texts):
        cells = [
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(line, widths, right, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _rich_table(rows: Sequence[Any], columns: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(_title(name), justify="right" if _is_numeric(rows, name) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(getattr(row, name))) for name in columns))
    Console().print(table)


def _is_numeric(rows: Sequence[Any], name: str) -> bool:
    values = [getattr(row, name) for row in rows]
    return all(value is None or (isinstance(value, _NUMBERS) and not isinstance(value, bool)) for value in values)


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _title(name: str) -> str:
    return name.replace("_", " ").upper()


def _text(value: Any) -> str:
    """A cell. Control characters of names and records are shown, not sent to the terminal."""
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
    """The text with everything escaped that is no visible character or blank."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()
