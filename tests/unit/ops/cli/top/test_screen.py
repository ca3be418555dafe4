"""The screen of `shareq top`, key by key."""

from __future__ import annotations

import re

import pytest
from rich.console import Console
from rich.text import Text

from shareq.ops.cli.output.printing import duration
from shareq.ops.cli.top.columns import rate
from shareq.ops.cli.top.data import (
    GroupSample,
    MemberView,
    PartitionView,
    Sample,
    TopGroupRow,
    TopNodeRow,
    TopRow,
    TopTopicRow,
    rates,
)
from shareq.ops.cli.top.screen import Screen


def group(name: str, lag: int | None, acquired_per_s: float | None = None, unknown: int = 0) -> TopGroupRow:
    return TopGroupRow(name, "Stable", None, 1, lag, unknown, None, None, None, acquired_per_s, None, None, None)


ROWS = TopRow(
    2.0,
    (group("billing", 5), group("packers", 70, acquired_per_s=3.5), group("unknown", None), group("shippers", 12)),
    (TopTopicRow("orders", 100, 1.0), TopTopicRow("audit", 7, 30.0)),
    0,
)


@pytest.fixture
def screen() -> Screen:
    screen = Screen("over the wire")
    screen.show(ROWS)
    return screen


def drawn(screen: Screen, width: int = 120, height: int = 20) -> list[Text]:
    console = Console(width=width, height=height)
    found = console.render_lines(screen, console.options, pad=False)
    return [Text.assemble(*((part.text, part.style or "") for part in line)) for line in found]


def plain(screen: Screen, width: int = 120, height: int = 20) -> list[str]:
    return [line.plain.rstrip() for line in drawn(screen, width, height)]


def names(screen: Screen) -> list[str]:
    return [line.split()[0] for line in plain(screen)[2:]]


def selected(screen: Screen, width: int = 120, height: int = 20) -> str:
    """Return the name in the reversed line, which must be as wide as the terminal."""
    (line,) = [
        line for line in drawn(screen, width, height) if any(str(span.style) == "reverse" for span in line.spans)
    ]
    assert line.cell_len == width
    return line.plain.split()[0]


def press(screen: Screen, *keys: str) -> None:
    for key in keys:
        screen.press(key)


def test_the_longest_lag_comes_first_and_what_is_not_known_last(screen: Screen) -> None:
    assert names(screen) == ["packers", "shippers", "billing", "unknown"]
    assert plain(screen)[0] == "shareq top: groups  |  by lag down  |  over the wire  |  ? help"
    press(screen, "r")
    assert names(screen) == ["billing", "shippers", "packers", "unknown"]


def test_s_sorts_by_the_next_column(screen: Screen) -> None:
    press(screen, "s", "s", "s", "s")
    assert "by acq/s down" in plain(screen)[0]
    assert names(screen)[0] == "packers"
    press(screen, *("s" * 4))
    assert "by group down" in plain(screen)[0]
    assert names(screen) == ["unknown", "shippers", "packers", "billing"]


def test_a_filter_is_typed_and_taken_back(screen: Screen) -> None:
    press(screen, "/", "S", "h", "x", "backspace", "i")
    assert "filter: Shi_" in plain(screen)[0]
    assert len(names(screen)) == 4
    press(screen, "enter")
    assert names(screen) == ["shippers"]
    press(screen, "/", "q", "escape")
    assert not screen.done
    assert names(screen) == ["shippers"]
    press(screen, "escape")
    assert len(names(screen)) == 4
    press(screen, "/", "z", "enter")
    assert plain(screen)[-1] == "nothing"


def test_topics(screen: Screen) -> None:
    press(screen, "t")
    assert names(screen) == ["audit", "orders"]
    press(screen, "enter")
    assert screen.wanted is None
    press(screen, "t")
    assert names(screen)[0] == "packers"


def test_a_group_is_looked_into(screen: Screen) -> None:
    press(screen, "down", "j", "up")
    assert selected(screen) == "shippers"
    press(screen, "enter")
    assert screen.wanted == "shippers"
    screen.show_group(
        [PartitionView("orders", 0, 5, 17, 12, 3, 2, "acquired:2", 61_000), PartitionView("orders", 1, None, 9, None)],
        [MemberView("m-1", "packer", "10.0.0.7", 2, 2)],
    )
    text = "\n".join(plain(screen))
    assert "group shippers" in text
    assert re.search(r"m-1 +packer +10\.0\.0\.7 +2 +2", text)
    assert re.search(r"orders +0 +5 +17 +12 +3 +2 +1\.0m +acquired:2", text)
    assert re.search(r"orders +1 +- +9 +-", text)
    press(screen, "s", "t", "/")
    assert screen.wanted == "shippers"
    press(screen, "escape")
    assert screen.wanted is None
    assert len(names(screen)) == 4


def test_a_long_list_scrolls_with_the_selection() -> None:
    screen = Screen("x")
    screen.show(TopRow(1.0, tuple(group(f"g{number:03}", 1_000 - number) for number in range(100)), (), 7_000))
    assert "7,000 groups left out: --group chooses" in plain(screen, 200, 10)[0]
    assert len(plain(screen, 80, 10)) == 10
    press(screen, *("down" for _ in range(12)))
    assert selected(screen, 80, 10) == "g012"
    press(screen, "pagedown", "pagedown")
    assert selected(screen, 80, 10) == "g028"
    press(screen, "pageup")
    assert selected(screen, 80, 10) == "g020"
    press(screen, *("pagedown" for _ in range(50)))
    assert selected(screen, 80, 10) == "g099"
    press(screen, "up")
    assert selected(screen, 80, 10) == "g098"


@pytest.mark.parametrize(("width", "height"), [(10, 3), (40, 5), (20, 1)])
def test_no_line_is_longer_than_the_terminal(screen: Screen, width: int, height: int) -> None:
    screen.trouble = "no answer " * 20
    for keys in ((), ("?",), ("?", "enter")):
        press(screen, *keys)
        lines = plain(screen, width, height)
        assert len(lines) <= height
        assert all(len(line) <= width for line in lines)


def test_names_cannot_write_to_the_terminal() -> None:
    screen = Screen("x")
    screen.show(TopRow(1.0, (group("a\x1b[2Jb", 1),), (), 0))
    assert "a\\x1b[2Jb" in plain(screen)[2]
    assert not any("\x1b[2J" in line for line in plain(screen, 80, 10))


def test_a_wide_character_takes_two_columns() -> None:
    screen = Screen("x")
    screen.show(TopRow(1.0, (group("\u7bb1" * 30, 1),), (), 0))
    assert all(line.cell_len <= 20 for line in drawn(screen, 20, 5))


def test_help_and_the_end(screen: Screen) -> None:
    press(screen, "?")
    assert any("q quit" in line for line in plain(screen))
    press(screen, "?", "q")
    assert screen.done


def test_before_the_first_sample() -> None:
    assert plain(Screen("x"))[-1] == "nothing yet"


def test_numbers() -> None:
    assert [rate(each) for each in (None, 0.0, 12.34, 1234.5, -3.0)] == ["-", "0.0", "12.3", "1,234", "-3.0"]
    assert [duration(each) for each in (None, 5, 1_500, 90_000, 5_400_000)] == ["-", "5ms", "1.5s", "1.5m", "1.5h"]


# -- rates


def sample(at_s: float, finished: int, end: int, *of_api: int) -> Sample:
    """Return a sample. `of_api`: in flight, held, acquired, accepted, redelivered, oldest_ms."""
    one = GroupSample("Stable", None, 1, end - finished, 0, finished, *of_api)
    return Sample(at_s, {"g": one}, {"t": end}, 10_000 if of_api else None)


def test_rates_over_the_wire() -> None:
    row = rates(sample(1.0, 10, 100), sample(3.0, 16, 120))
    assert row.seconds == 2.0
    (found,) = row.groups
    assert (found.lag, found.lag_per_s, found.acknowledged_per_s, found.acquired_per_s) == (104, 7.0, 3.0, None)
    assert row.topics == (TopTopicRow("t", 120, 10.0),)


def test_rates_from_the_api() -> None:
    before = sample(1.0, 10, 100, 7, 2, 50, 40, 1, 1)
    now = sample(2.0, 10, 100, 9, 4, 60, 45, 3, 9_000)
    (found,) = rates(before, now).groups
    assert (found.acquired_per_s, found.acknowledged_per_s, found.redeliveries_per_s) == (10.0, 5.0, 2.0)
    assert (found.in_flight, found.held, found.oldest_ms) == (9, 4, 1_000)


def test_a_partition_whose_lag_becomes_known_is_no_rate() -> None:
    before, now = sample(1.0, 10, 100), sample(3.0, 16, 120)
    before = before._replace(groups={"g": before.groups["g"]._replace(unknown=1)})
    (found,) = rates(before, now).groups
    assert (found.lag_per_s, found.acknowledged_per_s) == (None, None)


def test_a_lag_without_the_partitions_whose_lag_is_unknown_has_a_plus(screen: Screen) -> None:
    screen.show(TopRow(2.0, (group("billing", 5), group("new", 12, unknown=1)), (), 0))
    title, *lines = (line.split() for line in plain(screen)[1:])
    assert {line[0]: line[title.index("LAG")] for line in lines if line} == {"billing": "5", "new": "12+"}


def test_there_are_no_rates_without_a_sample_before() -> None:
    row = rates(None, sample(1.0, 10, 100))
    assert row.seconds is None
    assert row.groups[0].lag_per_s is None
    assert row.topics[0].records_per_s is None
    fresh = rates(Sample(0.0, {}, {}, None), sample(1.0, 10, 100))
    assert fresh.groups[0].acknowledged_per_s is None


def test_the_first_line_counts_nodes_and_those_that_do_not_answer() -> None:
    well = TopNodeRow(1, "a:9092", 8, 2, 10, 3, 40, None)
    silent = TopNodeRow(2, "b:9092", None, None, None, None, None, "it did not answer in time")
    screen = Screen("over the wire")
    screen.show(ROWS._replace(nodes=(well, silent)))
    assert "2 nodes, 1 without an answer, 2 slots awaited" in plain(screen)[0]
    screen.show(ROWS._replace(nodes=(well._replace(awaited=0),)))
    assert "|  1 node  |" in plain(screen)[0]
    screen.show(ROWS)
    assert " node" not in plain(screen)[0]
