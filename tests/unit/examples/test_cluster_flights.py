"""The ledger and the chart of the demo with nodes before a cluster, and its message without Java."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from examples.cluster_flights.__main__ import Books, main, table
from examples.cluster_flights.picture import Kill, picture
from examples.flights_demo.ledger import Totals

SVG = "{http://www.w3.org/2000/svg}"
NOTHING = dict.fromkeys(Totals.__slots__, 0)


def books(open_: int = 0, **totals: Any) -> Books:
    counted = Totals(**{**NOTHING, "delivered": 10, "accepted": 9, "rejected": 1, **totals})
    return Books(10, counted, open_, [Kill("node", 1.0, 2.5)], [0.5])


def test_the_books_are_right_when_nothing_is_lost_open_or_there_again() -> None:
    assert books().are_right
    assert books(unknown=3, unknown_back=1, redelivered=1).are_right


@pytest.mark.parametrize("wrong", [{"open_": 1}, {"lost": 1}, {"again_after_confirmed": 1}])
def test_the_books_are_wrong_by_one_record(wrong: dict[str, int]) -> None:
    assert not books(**wrong).are_right


def test_the_table_has_every_pause() -> None:
    assert re.search(r"longest pause after the node was killed +2\.5 s\n", table(books()))


def test_a_pause_begins_with_the_kill_or_after_it_and_before_the_next_one() -> None:
    times_s = [1.0, 2.0, 5.0, 5.5, 9.0, 30.0]
    assert Kill.all_of([("node", 2.5), ("broker", 5.25)], times_s) == [
        Kill("node", 2.5, 2.5),
        Kill("broker", 5.25, 21.0),
    ]
    assert Kill.all_of([("node", 5.75)], times_s[:5]) == [Kill("node", 5.75, 3.25)]
    assert Kill.all_of([("node", 40.0)], times_s) == [Kill("node", 40.0, 0.0)]


def test_the_picture_has_the_records_and_the_kills() -> None:
    kills = [Kill("node", 4.0, 2.2), Kill("broker", 7.5, 0.4)]
    root = ET.fromstring(picture([number / 10 for number in range(100)], 100, kills))
    assert root.findtext(f"{SVG}title") == (
        "100 of 100 records confirmed in 9.9 s, the node killed at 4.0 s, the broker killed at 7.5 s."
    )
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert {"node killed", "pause 2.2 s", "broker killed", "pause 0.4 s", "100"} <= set(texts)
    known = set(re.findall(r"\.([a-z]+) \{", root.findtext(f"{SVG}style") or ""))
    assert {name for each in root.iter() for name in each.get("class", "").split()} <= known
    (curve,) = [each.get("d") or "" for each in root.iter(f"{SVG}path") if each.get("class") == "done"]
    heights = [float(y) for y in re.findall(r"L\S+ (\S+?)(?=[LV])", curve)]
    assert heights == sorted(heights, reverse=True)
    assert (heights[0], heights[-1]) == (269.9, 60.0)


def test_a_picture_of_nothing_can_be_drawn() -> None:
    root = ET.fromstring(picture([], 0, [Kill("node", 0.0, 0.0)]))
    assert (root.findtext(f"{SVG}title") or "").startswith("0 of 0 records confirmed")


def test_without_java_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--cluster=3.9.1"]) == 1
    said = capsys.readouterr().err
    assert said == ("demo: java (17 or later) is not on the PATH; `make demo-cluster ARGS=--cluster=ours` needs none\n")
