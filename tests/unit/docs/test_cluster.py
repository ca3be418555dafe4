"""docs/cluster.md: the tests that it names exist, and it has every property and option of a node."""

from __future__ import annotations

import re
from pathlib import Path

from shareq.broker.config.keys.node import NodeProperties
from shareq.ops.cli.serve import command as serve
from shareq.protocol.config_def import declared, format_value
from tests.unit.docs.test_promises import names_in

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "cluster.md").read_text()


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
    assert len(named) == TEXT.count("`tests/") > 30
    for file, name in named:
        assert name in names_in(ROOT / file), f"{file} has no test {name}"


def test_every_sentence_of_the_contract_is_shown_by_a_test() -> None:
    contract = TEXT.partition("## The contract")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in contract.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) > 10
    assert all("`tests/" in shown_by for _, _, shown_by, _ in rows)


def five_cells() -> list[list[str]]:
    """Lines of tables with three columns."""
    return [cells for line in TEXT.splitlines() if len(cells := line.split("|")) == 5]


def test_every_property_of_nodes_is_there_with_its_default() -> None:
    rows = {name.strip(" `"): default.strip(" `") for _, name, _, default, _ in five_cells()}
    for key in declared(NodeProperties):
        assert rows[key.name] == (format_value(key.default) or "none"), key.name


def test_every_option_of_nodes_is_there() -> None:
    options = {name for each in serve.params for name in each.opts}
    named = set(re.findall(r"`(--[a-z-]+)", TEXT))
    assert {"--cluster", "--cluster-config", "--no-proxy"} <= named <= options
