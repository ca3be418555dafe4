"""Documents that contain a generated part."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def add_write_option(parser: argparse.ArgumentParser, begin: str, end: str) -> None:
    """Add the option `--write FILE`, whose file must have both marks; that is checked at once, before the work."""

    def document(name: str) -> Path:
        path = Path(name)
        if not path.is_file() or not has_place(path, begin, end):
            raise argparse.ArgumentTypeError(f"{name} must be a file with the lines {begin} and {end}")
        return path

    parser.add_argument(
        "--write", type=document, metavar="FILE", help=f"write the tables between its {begin} and {end}"
    )


def show_and_write(lines: Sequence[str], path: Path | None, begin: str, end: str) -> None:
    """Print the lines; if a document is given, put them between its two marks as well."""
    print("\n".join(lines))
    if path is not None:
        write_between(path, begin, end, lines)


def has_place(path: Path, begin: str, end: str) -> bool:
    """Return True if the document has both marks, `begin` before `end`."""
    return _around(path, begin, end) is not None


def write_between(path: Path, begin: str, end: str, lines: Sequence[str]) -> None:
    """Replace the lines between two marks, which stay. Raises ValueError if the document lacks one."""
    around = _around(path, begin, end)
    if around is None:
        raise ValueError(f"{path} has no {begin} ... {end}")
    before, after = around
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")


def _around(path: Path, begin: str, end: str) -> tuple[str, str] | None:
    """Return the text before `begin` and after the following `end`; None without both marks."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    return (before, after) if found and closed else None
