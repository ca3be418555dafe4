"""The README shows the current code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_quick_start_is_the_example() -> None:
    shown, *_ = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    example = (ROOT / "examples" / "orders.py").read_text()
    assert example.endswith(f'"""\n\n{shown}')


def rows(document: str) -> dict[str, list[str]]:
    lines = (ROOT / document).read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and "---" not in line]
    return {name: figures[:3] for name, *figures in cells if len(figures) >= 3}


def test_the_figures_are_those_of_the_last_benchmark() -> None:
    """The figures are of one run: `make bench ARGS="--write docs/benchmarks.md --rows README.md"` writes both."""
    shown, measured = rows("README.md"), rows("docs/benchmarks.md")
    figures = shown.keys() & measured.keys()
    assert len(figures) == 6
    assert {name: shown[name] for name in figures} == {name: measured[name] for name in figures}
    versions = re.findall(
        r"^versions: (shareq \S+), (Apache Kafka \S+),", (ROOT / "docs/benchmarks.md").read_text(), re.M
    )
    assert " | ".join(*versions) in (ROOT / "README.md").read_text()


def test_it_is_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100
