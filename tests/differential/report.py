"""The results of a campaign: for people who look for a fault, and as the table that is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from devtools.documents import write_between
from devtools.provenance import commit, machine
from tests.differential.answers import Answer
from tests.differential.campaign import Outcome
from tests.differential.compare import differences
from tests.differential.fields import IGNORED, NORMAL_FORMS, ORDER, ORDER_REASON
from tests.differential.justified import JUSTIFIED
from tests.differential.runner import Attempt
from tests.differential.steps import reported, setup_of

CONTEXT = 12  # steps before the one that was answered differently
RUNS = ("broker", "coordinator", "protocol", "devtools", "tests/differential", "tests/support", "tests/interop/support")
BEGIN, END = "<!-- result -->", "<!-- end of result -->"


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that does not agree."""

    outcome: Outcome
    steps: int

    def reported(self, *, verbose: bool) -> str:
        """The steps that led there, both answers, and how to see it again."""
        attempts = [attempt for attempt in self.outcome.attempts if attempt.found]
        shown = attempts if self.outcome.verdict == "undecided" else attempts[-1:]
        lines = [f"seed {self.outcome.seed}: {self.outcome.verdict}; {setup_of(self.outcome.seed)}"]
        for attempt in shown:
            lines += _reported(attempt, verbose)
        steps = f" --steps {self.steps}" if self.steps != 60 else ""
        lines.append(f"again: .venv/bin/python -m tests.differential 1 --from {self.outcome.seed}{steps} --verbose")
        return "\n".join(lines)


def _reported(attempt: Attempt, verbose: bool) -> list[str]:
    lines = []
    begin = 0 if verbose else max(0, len(attempt.played) - CONTEXT)
    for number, one in enumerate(attempt.played[begin:], begin):
        lines.append(f"  {number:>2} {reported(one.step)}")
        if not differences(one.ours, one.theirs):
            lines.append(f"     both          {one.ours}")
        else:
            lines += [f"     ours          {one.ours}", f"     Apache Kafka  {one.theirs}"]
    return lines + [f"  => {difference}" for difference in attempt.found]


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of a whole campaign."""

    outcomes: Sequence[Outcome]
    steps: int
    took_s: float

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], steps: int, took_s: float) -> Self:
        return cls(outcomes, steps, took_s)

    @property
    def failures(self) -> list[Failure]:
        """Seeds that do not agree, whatever the reason."""
        return [Failure(one, self.steps) for one in self.outcomes if one.verdict != "agreed"]

    @property
    def disagreed(self) -> list[Failure]:
        """Seeds that did not agree every time, with those that never did."""
        return [Failure(one, self.steps) for one in self.outcomes if any(attempt.found for attempt in one.attempts)]

    def markdown(self) -> list[str]:
        """The tables that are committed."""
        verdicts = Counter(one.verdict for one in self.outcomes)
        last = [one.attempts[-1] for one in self.outcomes]
        wavered = sum(len(one.attempts) - 1 for one in self.outcomes if one.verdict == "agreed")
        seeds = [one.seed for one in self.outcomes]
        rows = [
            ("seeds", f"{seeds[0]}-{seeds[-1]} ({len(seeds)})"),
            ("steps", f"{sum(len(one.played) for one in last):,} ({self.steps} a seed)"),
            ("sequences that agree", f"{verdicts['agreed']}"),
            ("mismatches", f"{verdicts['mismatch']}"),
            ("undecided", f"{verdicts['undecided']}"),
            ("shareq disagreed with itself", f"{verdicts['ours wavers']}"),
            ("Apache Kafka disagreed with itself", f"{wavered} times, in {_retried(self.outcomes)} sequences"),
            ("sequences with a restart", _restarts(seeds)),
            ("duration", f"{self.took_s:.0f} s"),
            ("commit", commit(*RUNS)),
            ("machine", machine()),
        ]
        lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), ""]
        return lines + _justified_table(last) + _kinds_table(last)


def _retried(outcomes: Sequence[Outcome]) -> int:
    return sum(one.verdict == "agreed" and len(one.attempts) > 1 for one in outcomes)


def _restarts(seeds: Sequence[int]) -> str:
    setups = [setup for setup in map(setup_of, seeds) if setup.restart_at is not None]
    killed = sum(setup.kill for setup in setups)
    return f"{len(setups)} ({killed} by SIGKILL)"


def _justified_table(attempts: Sequence[Attempt]) -> list[str]:
    hits = sum((attempt.justified for attempt in attempts), Counter[str]())
    rows = [f"| {known.name} | {hits[known.name] or '0: not needed by these seeds'} |" for known in JUSTIFIED]
    return ["| justified difference | hits |", "|---|---|", *rows, ""]


def _kinds_table(attempts: Sequence[Attempt]) -> list[str]:
    played = [one for attempt in attempts for one in attempt.played]
    kinds = Counter(one.step.kind for one in played)
    errors = Counter(one.step.kind for one in played if _is_error(one.theirs))
    lines = ["| step | times | answered with an error |", "|---|---|---|"]
    return lines + [f"| {kind} | {times:,} | {errors[kind]:,} |" for kind, times in sorted(kinds.items())]


def ignored_tables(attempts: Sequence[Attempt]) -> list[str]:
    """Return tables of the fields that the comparison passes over, how often each was there, and how often the brokers
    differed.
    """
    seen = sum((attempt.aside for attempt in attempts), Counter[str]())
    differed = sum((attempt.aside_differed for attempt in attempts), Counter[str]())

    def row(path: str, why: str) -> str:
        return f"| `{path.removesuffix(ORDER)}` | {seen[path]:,} | {differed[path]:,} | {why} |"

    line = "|---|---|---|---|"
    lines = ["| not compared | times | differed | why |", line]
    lines += [row(path, why) for path, why in IGNORED.items()]
    lines += ["", "| compared in another form | times | differed | what is lost |", line]
    lines += [row(path, form.loses) for path, form in NORMAL_FORMS.items()]
    lines += ["", "| order of rows not compared | times | differed | why |", line]
    lines += [row(path, ORDER_REASON) for path in sorted(seen) if path.endswith(ORDER)]
    return [*lines, "", *_constant_fields(attempts)]


def _constant_fields(attempts: Sequence[Attempt]) -> list[str]:
    """Fields that are compared, and had one value in all answers: nothing is known of the others."""
    values: dict[str, set[object]] = {}
    for attempt in attempts:
        for one in attempt.played:
            for (_, path), value in one.theirs.fields.items():
                held = values.setdefault(path, set())
                if len(held) < 2:
                    held.update(value if isinstance(value, tuple) else (value,))
    constant = sorted((path, next(iter(held))) for path, held in values.items() if len(held) == 1)
    rows = [f"| `{path}` | `{value!r}` |" for path, value in constant if not path.endswith("unknown_tags")]
    return ["| compared, but always the same | value |", "|---|---|", *rows]


def _is_error(answer: Answer) -> bool:
    return bool(answer.error) or any(row.error or row.ack_error for row in answer.partitions.values())


def write_report(path: Path, report: Report) -> None:
    """Put the tables where a Markdown file has its marks."""
    write_between(path, BEGIN, END, report.markdown())


def write_ignored(path: Path, report: Report) -> None:
    """Put what is not compared where a Markdown file has its marks."""
    last = [one.attempts[-1] for one in report.outcomes]
    seeds = f"{report.outcomes[0].seed}-{report.outcomes[-1].seed}"
    lines = [f"Seeds {seeds}, {report.steps} steps each, commit {commit(*RUNS)}.", "", *ignored_tables(last)]
    write_between(path, BEGIN, END, lines)
