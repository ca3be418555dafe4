"""The results of campaigns as a table to commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Final

from devtools.provenance import commit, machine
from tests.campaign.exactly_once.campaign import Result
from tests.campaign.exactly_once.on_disk import ENDING, Moment

RUNS: Final = ("broker", "coordinator", "protocol", "devtools", "tests/campaign/exactly_once")
BEGIN, END = "<!-- result -->", "<!-- end of result -->"


@dataclass(frozen=True, slots=True)
class Report:
    results: Sequence[Result]
    broker: str
    seed: int

    def markdown(self) -> list[str]:
        moments = "; ".join(moment.value for moment in Moment)
        rows: list[tuple[str, Callable[[Result], str]]] = [
            ("records in, out", lambda one: f"{one.records_in:,}, {one.records_out:,}"),
            ("lost, doubled", lambda one: f"{len(one.lost)}, {len(one.doubled)}"),
            ("kills, those during an end", lambda one: f"{len(one.kills)}, {one.at(*ENDING)}"),
            (f"kills {moments}", lambda one: ", ".join(f"{one.at(moment)}" for moment in Moment)),
            (
                "transactions committed, aborted, clients rebuilt",
                lambda one: f"{one.commits:,}, {one.aborts}, {one.restarts}",
            ),
            ("broker's start, median, longest", lambda one: _median_and_longest([k.start_s for k in one.kills])),
            ("kill to the next end, median, longest", _back),
            ("duration", lambda one: f"{one.took_s:.0f} s"),
        ]
        heads = [one.client for one in self.results]
        about = f"{self.broker}, seed {self.seed}, commit {commit(*RUNS)}, {machine()}, {datetime.now(UTC):%Y-%m-%d}"
        lines = [f"{about}:", "", f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
        return lines + [_row(name, [value(one) for one in self.results]) for name, value in rows]


def _row(name: str, values: Sequence[str]) -> str:
    return f"| {' | '.join([name, *values])} |"


def _back(result: Result) -> str:
    return _median_and_longest([kill.back_s for kill in result.kills if kill.back_s is not None])


def _median_and_longest(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f} s, {max(seconds):.2f} s" if seconds else "–"
