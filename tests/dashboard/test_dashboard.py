"""The queries and drawings of `make dashboard`, without a Prometheus."""

from __future__ import annotations

import re

import pytest

from shareq.ops.state_colours import LINES, LOOKS
from tests.dashboard.__main__ import without_series
from tests.dashboard.dashboard import Panel, Query, panels, variables
from tests.dashboard.page import Line, number, page
from tests.dashboard.prometheus import Series

QUERY = Query("up", "{{group}} {{topic}}")
PANEL = Panel("Lag", "timeseries", "short", 0, 0, 8, 8, (QUERY,))


def test_no_variable_of_grafana_is_left_in_a_query() -> None:
    expressions = [query.expression for panel in panels("15s") for query in panel.queries]
    assert expressions
    assert not [each for each in expressions if "$" in each]
    assert any("[15s]" in each for each in expressions)
    assert any('group=~".*"' in each for each in expressions)


def test_variables_are_asked_for_by_a_label_of_samples() -> None:
    found = {each.name: (each.expression, each.label) for each in variables()}
    assert found["topic"] == ("kafka_log_log_size_bytes", "topic")
    assert found["group"] == ("shareq_share_group_members or shareq_consumer_group_members", "group")


def test_a_query_without_a_number_is_found() -> None:
    nothing: list[Series] = []
    no_number = [Series({}, ((1.0, float("nan")),))]
    some = [Series({}, ((1.0, float("nan")), (2.0, 0.0)))]
    assert without_series([(PANEL, [(QUERY, nothing)])]) == ["Lag: up"]
    assert without_series([(PANEL, [(QUERY, no_number)])]) == ["Lag: up"]
    assert without_series([(PANEL, [(QUERY, some)])]) == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.5 * 1024 * 1024, "Bps", "3.5 MiB/s"),
        (1200, "short", "1.2 k"),
        (0.245, "percentunit", "24.5 %"),
        (0.0021, "s", "2.1 ms"),
        (90, "s", "1.5 min"),
        (float("nan"), "s", "-"),
    ],
)
def test_figures_are_as_a_person_reads_them(value: float, unit: str, text: str) -> None:
    assert number(value, unit) == text


def test_a_page_has_each_series_with_its_name_and_says_where_there_is_none() -> None:
    labels = {"group": "<packers>", "topic": "orders"}
    drawn = page("t", [(PANEL, [Line(QUERY.name(labels), Series(labels, ((0.0, 1.0), (2.0, 5.0))))])])
    assert "&lt;packers&gt; orders: 5" in drawn
    assert re.search(r"points='0\.0,[\d.]+ [\d.]+,12\.0'", drawn)
    assert "no series" not in drawn
    assert "no series" in page("t", [(PANEL, [])])


def test_a_series_has_the_colour_that_the_dashboard_gives_it() -> None:
    accepted, again = (
        next(query for panel in panels("15s") for query in panel.queries if name in query.expression)
        for name in ("group_acknowledgements_total", "partition_redeliveries_total")
    )
    labels = {"group": "packers", "topic": "accept"}
    assert accepted.colour({**labels, "ack_type": "reject"}) == LOOKS["archived"].tone.either
    assert again.colour(labels) == LINES["redelivered"].tone.either
    drawn = page("t", [(PANEL, [Line("again", Series(labels, ((0.0, 1.0),)), again.colour(labels))])])
    assert f"stroke='{LINES['redelivered'].tone.either}'" in drawn
    assert f"color:{LINES['redelivered'].tone.either}" in drawn
