"""The offsets in flight as a strip of characters: a letter for each state, and a colour if the terminal has colours."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from shareq.ops.cli.share.record_choice import FINISHED
from shareq.ops.records_api import RangeRow
from shareq.ops.state_colours import LOOKS, STATES, Look, Tone

_OTHER: Final = Look("!", Tone("#000000", "#ffffff", "#808080"), 245, "a state that this version does not know")
_BLACK: Final = 16
_NARROWEST, _WIDEST = 20, 160
_MARGIN: Final = 2


class Span(NamedTuple):
    """Offsets `first..last` (inclusive) in a state."""

    first: int
    last: int
    state: str


def look_of(state: str) -> Look:
    """Return the look of a state, also for an unknown one."""
    return {str(name): look for name, look in LOOKS.items()}.get(state, _OTHER)


def has_colour(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if standard output is a terminal, and colours are allowed (https://no-color.org)."""
    return sys.stdout.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def width_of_terminal() -> int:
    """Return the number of characters that a strip may have."""
    columns = shutil.get_terminal_size().columns - _MARGIN
    return max(_NARROWEST, min(columns, _WIDEST))


def painted(text: str, look: Look, *, colour: bool) -> str:
    """Return the text on the state's colour."""
    return f"\x1b[38;5;{_BLACK}m\x1b[48;5;{look.ansi}m{text}\x1b[0m" if colour else text


def cells(spans: Sequence[Span], width: int) -> list[str]:
    """Return the state of each of at most `width` cells, which represent equal numbers of offsets, up to rounding.

    It is the most frequent state in the cell; in a tie, an unfinished one. A cell without offsets is "".
    """
    if not spans:
        return []
    first, last = spans[0].first, spans[-1].last
    count = min(width, last - first + 1)
    edges = [first + (last - first + 1) * index // count for index in range(count + 1)]
    found: list[str] = []
    at = 0
    for low, high in pairwise(edges):
        sums: Counter[str] = Counter()
        while spans[at].last < low:
            at += 1
        index = at
        while index < len(spans) and spans[index].first < high:
            span = spans[index]
            sums[span.state] += min(span.last, high - 1) - max(span.first, low) + 1
            index += 1
        found.append(max(sums, key=lambda state: (sums[state], state not in FINISHED, state)) if sums else "")
    return found


def strip(spans: Sequence[Span], width: int, *, colour: bool) -> str:
    """Return the strip in one line."""
    line = ""
    run: list[str] = []
    for state in [*cells(spans, width), None]:
        if run and state != run[0]:
            look = look_of(run[0])
            line += painted(look.letter * len(run), look, colour=colour) if run[0] else " " * len(run)
            run = []
        if state is not None:
            run.append(state)
    return line


def legend(counts: Mapping[str, int], *, colour: bool) -> str:
    """Return the states that occur, each with its number of offsets."""
    order = [*map(str, STATES), *sorted(counts)]
    parts = []
    for state in sorted(counts, key=order.index):
        look = look_of(state)
        parts.append(f"{painted(look.letter, look, colour=colour)} {state} {counts[state]:,}")
    return "  ".join(parts)


def spans_of(rows: Iterable[RangeRow]) -> tuple[list[Span], Counter[str]]:
    """Return the ranges with neighbours of one state joined, and the number of offsets in each state."""
    spans: list[Span] = []
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.state] += row.last - row.first + 1
        if spans and spans[-1].last + 1 == row.first and spans[-1].state == row.state:
            spans[-1] = spans[-1]._replace(last=row.last)
        else:
            spans.append(Span(row.first, row.last, row.state))
    return spans, counts


def plot(name: str, rows: Iterable[RangeRow], width: int, *, colour: bool) -> Iterator[str]:
    """Yield the lines of a share partition: its offsets, its strip, its legend."""
    spans, counts = spans_of(rows)
    if not spans:
        yield f"{name}: nothing in flight"
        return
    first, last = spans[0].first, spans[-1].last
    held = f", {counts['acquired']:,} acquired" if counts["acquired"] else ""
    yield f"{name}: offsets {first:,} to {last:,}, {last - first + 1:,} in flight{held}"
    yield f"  {strip(spans, width, colour=colour)}"
    yield f"  {legend(counts, colour=colour)}"
