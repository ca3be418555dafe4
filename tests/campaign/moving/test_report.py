"""The tables show all rounds that were carried out, and all that broke."""

from __future__ import annotations

from dataclasses import replace

from tests.campaign.moving.cells import CELLS, USUAL, WAYS
from tests.campaign.moving.report import markdown
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import Way

ROUND = Row(
    way="a to b",
    cell="flights",
    number=1,
    records=1_000,
    drained=400,
    kills=2,
    runs=5,
    cut_over_s=1.0,
    pause_s=2.0,
    load=1,
)

WAY = ["a to b"]


def test_the_table_has_the_cells_of_each_way() -> None:
    rows = [ROUND, replace(ROUND, cut_over_s=3.0, pause_s=None, lost=1), replace(ROUND, way="b to a", kills=0)]
    lines = markdown(rows, ["a to b", "b to a", "none"], ["flights", "none"])
    assert lines[2:6] == [
        "| **a to b** |",
        "| flights | 2 | 4 | 1/0/0 | 2.0/3.0 | 2.0 |  |",
        "| **b to a** |",
        "| flights | 1 | 0 | 0/0/0 | 1.0 | 2.0 |  |",
    ]


def test_a_round_that_was_not_carried_out_is_named_and_not_counted() -> None:
    rows = [replace(ROUND, drained=0, number=2, broken=["RuntimeError: shareq did not start"])]
    lines = markdown(rows, WAY, ["flights"])
    assert not [line for line in lines if line.startswith("| flights")]
    assert "* a to b, flights, round 2: RuntimeError: shareq did not start" in lines


def test_what_breaks_again_and_again_is_named_once_and_counted() -> None:
    rows = [replace(ROUND, number=number, broken=[f"offset {number}: lost", "other"]) for number in (1, 2, 13)]
    assert markdown(rows, [], [])[-2:] == [
        "* a to b, flights, round 1: offset 1: lost (and 2 alike)",
        "* a to b, flights, round 1: other (and 2 alike)",
    ]


def test_cells_that_kill_a_node_are_on_ways_from_or_to_nodes() -> None:
    on = {cell.name: [name for name in USUAL if cell.is_on(WAYS[name])] for cell in CELLS.values()}
    assert on["flights, source node killed"] == ["two nodes before 3.9.1 to one machine"]
    assert on["flights, target node killed"] == ["one machine to two nodes before 3.9.1"]
    assert on["flights"] == list(USUAL)
    assert Way("a", "b").name == "a to b"


def test_the_medians_of_parts_of_pauses_are_shown() -> None:
    parts = ([4.0, 1.0, 2.0, 1.0], [0.0, 1.0, 3.0, 1.0])
    lines = markdown([*(replace(ROUND, pause_parts_s=each) for each in parts), ROUND], WAY, ["flights"])
    assert lines[3] == "| flights | 3 | 6 | 0/0/0 | 1.0 | 2.0 | 2.0+1.0+2.5+1.0 |"
