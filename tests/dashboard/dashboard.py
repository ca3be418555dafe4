"""The Grafana dashboard as Prometheus sees it: panels with their queries, variables with the queries for their
values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
MONITORING: Final = ROOT / "docker" / "monitoring"
DASHBOARD: Final = MONITORING / "grafana" / "dashboards" / "shareq.json"
_LABEL_VALUES: Final = re.compile(r"label_values\((\w+), (\w+)\)")
_QUERY_RESULT: Final = re.compile(r"query_result\((.*)\)")


@dataclass(frozen=True, slots=True)
class Query:
    """One line of a panel. `legend` has {{label}} in the place of a label's value; it is empty for a single figure.
    `colours` has the colours of series, by a regular expression for their names.
    """

    expression: str
    legend: str
    colours: tuple[tuple[str, str], ...] = ()

    def name(self, labels: dict[str, str]) -> str:
        return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found.group(1), ""), self.legend).strip()

    def colour(self, labels: dict[str, str]) -> str:
        """Return a series' colour as #rrggbb, or "" for the next colour of the palette."""
        name = self.name(labels)
        return next((colour for pattern, colour in self.colours if re.search(pattern, name)), "")


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of `kind` row, stat or timeseries, and its place in a grid of 24 columns."""

    title: str
    kind: str
    unit: str
    x: int
    y: int
    width: int
    height: int
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice above the panels: the values of `label` in the samples of `expression`."""

    name: str
    expression: str
    label: str


def panels(rate_interval: str) -> list[Panel]:
    """Return the panels in the order of the file.

    Every variable has all its values chosen, as when the dashboard is opened.
    """
    return [_panel(each, rate_interval) for each in _document()["panels"]]


def variables() -> Iterator[Variable]:
    """Yield the variables that ask Prometheus.

    Raise ValueError for a definition that is neither of Grafana's two functions used here.
    """
    for each in _document()["templating"]["list"]:
        if each["type"] != "query":
            continue
        values, result = (form.fullmatch(each["definition"]) for form in (_LABEL_VALUES, _QUERY_RESULT))
        if values is not None:
            yield Variable(each["name"], values.group(1), values.group(2))
        elif result is not None:
            yield Variable(each["name"], result.group(1), each["regex"].removeprefix("/").partition("=")[0])
        else:
            raise ValueError(f"{each['name']}: {each['definition']}")


def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def _panel(panel: dict[str, Any], rate_interval: str) -> Panel:
    at = panel["gridPos"]
    queries = tuple(
        Query(_chosen(target["expr"], rate_interval), target.get("legendFormat") or "", _colours(panel, target))
        for target in panel.get("targets", ())
    )
    unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "")
    return Panel(panel["title"], panel["type"], unit, at["x"], at["y"], at["w"], at["h"], queries)


def _colours(panel: dict[str, Any], target: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    found = []
    for each in panel.get("fieldConfig", {}).get("overrides", ()):
        chooser, wanted = each["matcher"]["id"], each["matcher"]["options"]
        pattern = wanted.strip("/") if chooser == "byRegexp" else ""
        if chooser == "byRegexp" or wanted == target["refId"]:
            found += [(pattern, one["value"]["fixedColor"]) for one in each["properties"] if one["id"] == "color"]
    return tuple(found)


def _chosen(expression: str, rate_interval: str) -> str:
    for variable in variables():
        expression = expression.replace(f'"${variable.name}"', '".*"')
    return expression.replace("$__rate_interval", rate_interval)
