"""kafka-go.md, kafka-python.md and celery.md list every test that is left out or skips itself, with right figures."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

import tests.interop.test_celery_suite as celery
import tests.interop.test_kafka_go as suite
import tests.interop.test_kafka_python_suite as python
from tests.interop.support.celery_suites import CELERY, LEFT_OUT, PAUSED
from tests.interop.support.kafka_python_suite import VERSION

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "evidence" / "kafka-go.md"
TEXT = DOCUMENT.read_text()


def rows_of(heading: str) -> list[tuple[str, ...]]:
    """Return the rows of the table below a heading whose first cell is a test."""
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


def test_what_apache_kafka_fails_is_reported() -> None:
    assert all(f"`{name}`" in TEXT.split("## Apache Kafka")[1] for name in suite.APACHES)


# kafka-python.md

PYTHON_TEXT = DOCUMENT.with_name("kafka-python.md").read_text()


def test_the_figures_of_kafka_python() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)`.* \| (\d+) \|$", PYTHON_TEXT, re.MULTILINE))
    assert {reason: int(count) for reason, count in rows.items()} == python.SKIP_THEMSELVES
    figures = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \|$", PYTHON_TEXT, re.MULTILINE))
    skips = sum(python.SKIP_THEMSELVES.values())
    assert figures == {"passed": str(python.PASSED), "failed": "0", "left out": "2", "skip themselves": str(skips)}
    named = re.findall(r"^Left out is `(\w+)`", PYTHON_TEXT, re.MULTILINE)
    assert list(python.LEFT_OUT) == [f"{name}.py" for name in named]
    assert f"kafka-python) {VERSION}," in PYTHON_TEXT
    assert metadata.version("kafka-python") == VERSION


# celery.md


def test_the_page_of_celery_names_what_is_left_out_or_changed() -> None:
    page = (DOCUMENT.parents[1] / "celery.md").read_text()
    passed, failed, on_redis = (sum(column) for column in zip(*celery.TABLE.values(), strict=True))
    assert f"| Celery's integration tests, {CELERY} | {passed} | {failed} | {on_redis} | {len(LEFT_OUT)} |" in page
    assert [name for name in PAUSED if f"`{name}`" not in page] == []
