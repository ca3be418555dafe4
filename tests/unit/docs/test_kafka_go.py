"""kafka-go.md tells the tests that are left out, those that skip themselves, and the count that the test holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tests.interop.test_kafka_go as suite

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "kafka-go.md"
TEXT = DOCUMENT.read_text()


def rows_of(heading: str) -> list[tuple[str, ...]]:
    """The rows of the table below a heading whose first cell is a test."""
    part = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| `Test")]
    return [tuple(cell.strip(" `") for cell in row) for row in rows]


def test_every_test_that_is_left_out_has_its_row() -> None:
    rows = rows_of("Left out")
    apaches = dict.fromkeys(suite.IMPOSSIBLE, "fails") | dict.fromkeys(suite.OURS, "passes")
    assert {name: apache for name, _, apache in rows} == apaches
    assert len(rows) == len(apaches)


def test_every_test_that_skips_itself_has_its_row() -> None:
    assert [name for name, _ in rows_of("Skip themselves")] == list(suite.SKIPS_ITSELF)


@pytest.mark.parametrize(
    ("figure", "count"),
    [
        ("passed", suite.PASSED),
        ("failed", 0),
        ("left out", len(suite.IMPOSSIBLE) + len(suite.OURS)),
        ("skip themselves", len(suite.SKIPS_ITSELF)),
    ],
)
def test_the_figures(figure: str, count: int) -> None:
    assert re.search(rf"^\| {figure} \| {count} \|$", TEXT, re.MULTILINE)


def test_the_version_is_that_of_the_module() -> None:
    module = (Path(suite.__file__).parent / "kafka_go" / "go.mod").read_text()
    (version,) = re.findall(r"segmentio/kafka-go v(\S+)", module)
    assert f"kafka-go) {version}," in TEXT


def test_what_apache_kafka_fails_is_told() -> None:
    assert all(f"`{name}`" in TEXT.split("## Apache Kafka")[1] for name in suite.APACHES)
