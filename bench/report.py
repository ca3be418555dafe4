"""The table of one run, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.figure import Row, Sample
from devtools.documents import write_between

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass(frozen=True, slots=True)
class Run:
    """The measurements of one run, with its machine and its versions.

    `samples` maps brokers and figures' keys to all repetitions. `brokers` are those compared, `columns` their names.
    """

    about: Mapping[str, str]
    rows: Sequence[Row]
    samples: Mapping[str, Mapping[str, Sequence[float]]]
    columns: tuple[str, str] = ("shareq", "Apache Kafka")
    brokers: tuple[str, str] = ("shareq", "apache")


def collect(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """Return repetitions of the same figures, gathered by key."""
    return {key: [sample[key] for sample in samples] for key in samples[0]}


def as_json(run: Run) -> str:
    return json.dumps({"about": run.about, "samples": run.samples}, indent=1) + "\n"


def as_markdown(run: Run) -> str:
    """Return the table in Markdown. Its ratio is shareq / Apache Kafka; targets are for that ratio, or (with a unit)
    for shareq's value.
    """
    lines = [f"| figure | {' | '.join(run.columns)} | ratio | target | |", "| --- | ---: | ---: | ---: | --- | --- |"]
    lines += [_line(run, row) for row in run.rows]
    return "\n".join([*lines, "", *(f"{name}: {value}  " for name, value in run.about.items()), ""])


def of_page(run: Run) -> Run:
    """Return the run with only the rows that a page shows."""
    return replace(run, rows=[row for row in run.rows if row.on_page])


def write_between_markers(document: Path, text: str) -> None:
    """Replace the text between the two markers of the document. Raise ValueError if it has none."""
    write_between(document, BEGIN, END, text.splitlines())


def write_rows(document: Path, run: Run) -> int:
    """Update the rows of this run that a document shows, in the columns that it shows.

    Return the number of rows; 0 is no error, because a run may have other figures.
    """
    lines = document.read_text().splitlines()
    measured = {row.label: _cells(run, row) for row in run.rows}
    shown = [at for at, line in enumerate(lines) if _label(line) in measured]
    for at in shown:
        columns = lines[at].count(" | ") + 1
        lines[at] = _table_line(measured[_label(lines[at])][:columns])
    document.write_text("\n".join(lines) + "\n")
    return len(shown)


def _label(line: str) -> str:
    """Return the first cell of a table's line, empty for any other line."""
    return line.removeprefix("| ").partition(" | ")[0] if line.startswith("| ") else ""


def _line(run: Run, row: Row) -> str:
    return _table_line(_cells(run, row))


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(run: Run, row: Row) -> Sequence[str]:
    ours, theirs = (_median(run, broker, row.key) for broker in run.brokers)
    ratio = ours / theirs if ours is not None and theirs else None
    return [
        row.label,
        "-" if ours is None else row.form.format(ours),
        "-" if theirs is None else row.form.format(theirs),
        "-" if ratio is None else f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.3f}x",
        *_target_cells(row, ours, ratio),
    ]


def _target_cells(row: Row, ours: float | None, ratio: float | None) -> tuple[str, str]:
    if row.target is None:
        return "", ""
    bound = f"{row.target.bound:g}x" if row.target.of == "ratio" else row.form.format(row.target.bound)
    met = None if ours is None else row.target.met(ours, ratio)
    return f"{row.target.relation} {bound}", "" if met is None else "met" if met else "missed"


def _median(run: Run, broker: str, key: str) -> float | None:
    values = run.samples.get(broker, {}).get(key)
    return median(values) if values else None
