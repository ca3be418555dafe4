"""Plots of offsets: the state of each cell, letters, colours, the legend."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from shareq.ops.cli.share.plot import Span, cells, has_colour, legend, look_of, plot, strip
from shareq.ops.records_api import RangeRow
from shareq.ops.state_colours import LOOKS
from tests.support.each import for_each


def row(first: int, last: int, state: str) -> RangeRow:
    return RangeRow(first, last, state, False, 1, None, None, None, None, None, None, None, 0)


def test_a_cell_for_each_offset_where_there_is_room() -> None:
    spans = [Span(10, 12, "acquired"), Span(13, 13, "available")]
    assert strip(spans, 80, colour=False) == "QQQa"


def test_width_by_count_where_there_is_not() -> None:
    spans = [Span(0, 499, "acquired"), Span(500, 749, "acknowledged"), Span(750, 999, "available")]
    assert strip(spans, 20, colour=False) == "QQQQQQQQQQkkkkkaaaaa"


@pytest.mark.parametrize("state", ["acquired", "archiving", "available"])
@pytest.mark.parametrize("done", ["acknowledged", "archived"])
def test_of_as_many_what_is_not_finished_is_seen(state: str, done: str) -> None:
    """A stuck record at the beginning of a window is shown rather than a finished one beside it."""
    assert strip([Span(0, 0, state), Span(1, 1, done)], 1, colour=False) == look_of(state).letter


def test_offsets_that_the_log_does_not_have_are_blank() -> None:
    assert strip([Span(0, 1, "acquired"), Span(4, 4, "archived")], 80, colour=False) == "QQ  X"


@for_each("seed", range(20))
def test_a_cell_has_the_state_of_most_of_its_offsets(seed: int) -> None:
    rng = random.Random(seed)
    spans, position = [], rng.randrange(100)
    for _ in range(rng.randrange(1, 60)):
        size = rng.randrange(1, 12)
        spans.append(Span(position, position + size - 1, rng.choice(["acquired", "available", "archived"])))
        position += size + rng.choice((0, 0, 0, 5))
    width = rng.randrange(1, 90)
    states = {offset: span.state for span in spans for offset in range(span.first, span.last + 1)}
    first, last = spans[0].first, spans[-1].last
    found = cells(spans, width)
    assert len(found) == min(width, last - first + 1)
    size = last - first + 1
    for at, state in enumerate(found):
        low, high = first + size * at // len(found), first + size * (at + 1) // len(found)
        counted = Counter(states[offset] for offset in range(low, high) if offset in states)
        assert counted[state] == max(counted.values(), default=0)


def test_a_plot_says_which_offsets_and_how_many_of_each_state() -> None:
    rows = [row(5, 6, "acquired"), row(7, 7, "acquired"), row(8, 1_500, "available")]
    lines = list(plot("g t:0", rows, 10, colour=False))
    assert lines == [
        "g t:0: offsets 5 to 1,500, 1,496 in flight, 3 acquired",
        "  aaaaaaaaaa",
        "  a available 1,493  Q acquired 3",
    ]
    assert list(plot("g t:0", [], 10, colour=False)) == ["g t:0: nothing in flight"]


def test_colours_are_those_of_the_state() -> None:
    line = strip([Span(0, 0, "acquired")], 80, colour=True)
    assert line == f"\x1b[38;5;16m\x1b[48;5;{LOOKS['acquired'].ansi}mQ\x1b[0m"


def test_a_state_that_is_not_known_is_shown_all_the_same() -> None:
    assert strip([Span(0, 0, "frozen")], 80, colour=False) == "!"
    assert legend({"frozen": 1, "acquired": 2}, colour=False) == "Q acquired 2  ! frozen 1"


def test_no_colour_where_there_is_no_terminal() -> None:
    assert not has_colour({})
