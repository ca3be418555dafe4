"""The results of a campaign: for a person who looks for a fault, and as the table that is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    outcome: Outcome
    steps: int

    def reported(self, *, verbose: bool) -> str:
        """Return the steps that led to the difference, both answers, and the command that repeats it."""
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
    outcomes: Sequence[Outcome]
    steps: int
    took_s: float

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], steps: int, took_s: float) -> Self:
        return cls(outcomes, steps, took_s)

    @property
    def failures(self) -> list[Failure]:
        return [Failure(one, self.steps) for one in self.outcomes if one.verdict != "agreed"]

    @property
    def disagreed(self) -> list[Failure]:
        return [Failure(one, self.steps) for one in self.outcomes if any(attempt.found for attempt in one.attempts)]

    def markdown(self) -> list[str]:
        verdicts = Counter(one.verdict for one in self.outcomes)
        last = [one.attempts[-1] for one in self.outcomes]
        wavered = sum(len(one.attempts) - 1 for one in self.outcomes if one.verdict == "agreed")
        seeds = [one.seed for one in self.outcomes]
        rows = [
            ("seeds, steps", f"{seeds[0]}-{seeds[-1]}, {sum(len(one.played) for one in last):,}"),
            ("sequences that agree", f"{verdicts['agreed']}"),
            ("mismatches, undecided", f"{verdicts['mismatch']}, {verdicts['undecided']}"),
            ("shareq disagreed with itself", f"{verdicts['ours wavers']}"),
            ("Apache Kafka disagreed with itself", f"{wavered} times, in {_retried(self.outcomes)} sequences"),
            ("sequences with a restart", _restarts(seeds)),
            ("kinds of step", _kinds(last)),
            ("duration, commit, machine", f"{self.took_s:.0f} s, {commit(*RUNS)}, {machine()}"),
        ]
        lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), ""]
        return lines + _justified(last)


def _retried(outcomes: Sequence[Outcome]) -> int:
    return sum(one.verdict == "agreed" and len(one.attempts) > 1 for one in outcomes)


def _restarts(seeds: Sequence[int]) -> str:
    setups = [setup for setup in map(setup_of, seeds) if setup.restart_at is not None]
    killed = sum(setup.kill for setup in setups)
    return f"{len(setups)} ({killed} by SIGKILL)"


def _kinds(attempts: Sequence[Attempt]) -> str:
    played = [one for attempt in attempts for one in attempt.played]
    errors = sum(_is_error(one.theirs) for one in played)
    return f"{len({one.step.kind for one in played})}; {errors:,} steps answered with an error"


def _justified(attempts: Sequence[Attempt]) -> list[str]:
    hits = sum((attempt.justified for attempt in attempts), Counter[str]())
    return [
        "Justified differences, and how often they hit:",
        "",
        *(f"* {each.name}: {hits[each.name]}" for each in JUSTIFIED),
    ]


def ignored_fields(attempts: Sequence[Attempt]) -> list[str]:
    """Return the fields that are not compared, by reason, each with its number of occurrences and of differences."""
    seen = sum((attempt.aside for attempt in attempts), Counter[str]())
    differed = sum((attempt.aside_differed for attempt in attempts), Counter[str]())

    def listed(head: str, fields: Iterable[tuple[str, str]]) -> list[str]:
        by_reason: dict[str, list[str]] = {}
        for path, why in fields:
            counts = f"{seen[path]:,}/{differed[path]:,}"
            by_reason.setdefault(why, []).append(f"`{path.removesuffix(ORDER)}` {counts}")
        return ["", f"{head}:", "", *(f"* {', '.join(named)}: {why}" for why, named in by_reason.items())]

    orders = [(path, ORDER_REASON) for path in sorted(seen) if path.endswith(ORDER)]
    return [
        *listed("Not compared", IGNORED.items()),
        *listed("Compared in another form, without", ((path, form.loses) for path, form in NORMAL_FORMS.items())),
        *listed("Order of rows, not compared", orders),
        "",
        *_constant_fields(attempts),
    ]


def _constant_fields(attempts: Sequence[Attempt]) -> list[str]:
    """Return the compared fields that had a single value in all answers, so that other values are untested."""
    values: dict[str, set[object]] = {}
    for attempt in attempts:
        for one in attempt.played:
            for (_, path), value in one.theirs.fields.items():
                held = values.setdefault(path, set())
                if len(held) < 2:
                    held.update(value if isinstance(value, tuple) else (value,))
    constant: dict[str, list[str]] = {}
    for path, held in sorted(values.items()):
        message, _, field = path.partition(".")
        if len(held) == 1 and not path.endswith("unknown_tags"):
            constant.setdefault(message, []).append(f"`{field}={next(iter(held))!r}`")
    rows = [f"* `{message}`: {', '.join(fields)}" for message, fields in constant.items()]
    return ["Compared, but always the same:", "", *rows]


def _is_error(answer: Answer) -> bool:
    return bool(answer.error) or any(row.error or row.ack_error for row in answer.partitions.values())


def write_report(path: Path, report: Report) -> None:
    write_between(path, BEGIN, END, report.markdown())


def write_ignored(path: Path, report: Report) -> None:
    """Write the list of fields that are not compared between the marks of a Markdown file."""
    last = [one.attempts[-1] for one in report.outcomes]
    seeds = f"{report.outcomes[0].seed}-{report.outcomes[-1].seed}"
    lines = [f"Seeds {seeds}, {report.steps} steps each, commit {commit(*RUNS)}.", *ignored_fields(last)]
    write_between(path, BEGIN, END, lines)
