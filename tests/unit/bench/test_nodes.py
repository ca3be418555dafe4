"""Nodes beside their cluster: the order of measurements, a node's overhead, and the text of a row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from bench import nodes
from bench.figure import Sample
from bench.report import Run, as_markdown

SIDES = {nodes.THROUGH: nodes.Side("node", (1, 2, 3)), nodes.DIRECT: nodes.Side("cluster", (3,))}


def setting() -> nodes.Setting:
    return cast(nodes.Setting, SimpleNamespace(sides=SIDES))


def measured(
    monkeypatch: pytest.MonkeyPatch, scale: nodes.Scale
) -> tuple[list[str], dict[str, dict[str, list[float]]]]:
    """Measure hops of 1 ms at the cluster and 1.25 ms through the node, longer each time."""
    order: list[str] = []

    def hops(_setting: nodes.Setting, side: nodes.Side, _scale: nodes.Scale) -> Sample:
        order.append(side.address)
        took = order.count(side.address) + (0.25 if side is SIDES[nodes.THROUGH] else 0.0)
        return {"produce_ms": took, "fetch_ms": 2 * took}

    monkeypatch.setitem(cast(dict[str, object], nodes.MEASURES), "hops", hops)
    return order, nodes.measured(setting(), ["hops"], scale)


def test_both_sides_take_turns_in_being_first_and_a_first_turn_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    order, samples = measured(monkeypatch, nodes.FULL._replace(repeats=2))
    assert order == ["cluster", "node", "node", "cluster", "cluster", "node"]
    assert samples[nodes.DIRECT]["produce_ms"] == [2.0, 3.0]


def test_what_a_node_adds_is_shown_by_repetitions_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    _, samples = measured(monkeypatch, nodes.QUICK)
    assert samples[nodes.THROUGH]["produce_added_ms"] == [0.25]
    assert samples[nodes.THROUGH]["fetch_added_ms"] == [0.5]


def test_a_row_names_both_ways() -> None:
    (row,) = (each for each in nodes.ROWS if each.key == "job_p50_ms")
    run = Run({}, [row], {nodes.THROUGH: {row.key: [1.5]}, nodes.DIRECT: {row.key: [2.0]}}, nodes.COLUMNS)
    assert as_markdown(run).splitlines()[:3] == [
        "| figure | by way of a node | the cluster itself | ratio | target | |",
        "| --- | ---: | ---: | ---: | --- | --- |",
        "| a job: produced, received, confirmed, p50, ms | 1.50 | 2.00 | 0.75x | <= 1x | met |",
    ]


def test_each_row_has_a_key_and_a_label_of_its_own() -> None:
    assert len({row.key for row in nodes.ROWS}) == len({row.label for row in nodes.ROWS}) == len(nodes.ROWS)
