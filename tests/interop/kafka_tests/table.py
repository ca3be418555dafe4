"""The outcomes of Apache Kafka's tests: what a run is compared with, and the table that is made of it.

`expected.json` has a verdict of each test for each broker: `passed`, `failed`, or `left out: ` and why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from devtools.documents import write_between
from devtools.kafka.apache_kafka import ROOT
from tests.interop.kafka_tests.suite import Suite
from tests.interop.kafka_tests.worker import Result
from tests.interop.support.broker_under_test import Kind

EXPECTED: Final = Path(__file__).with_name("expected.json")
DOCUMENT: Final = ROOT / "docs" / "evidence" / "kafka-tests.md"
BEGIN: Final = "<!-- made by: make interop-kafka-tests ARGS=--update-kafka-tests -->"
END: Final = "<!-- end of what is made -->"
LEFT_OUT: Final = "left out: "
_KINDS: Final[Mapping[Kind, str]] = {"ours": "shareq", "apache": "Apache Kafka 4.4.0"}

Verdicts = dict[str, dict[str, str]]
"""By broker, then by test."""


def expected() -> Verdicts:
    """Return the expected verdicts of both brokers."""
    found: Verdicts = json.loads(EXPECTED.read_text())
    return found


def in_words(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the verdicts in the words of `expected.json`."""
    return {
        name: f"{LEFT_OUT}{result.reason}" if result.verdict == "left out" else result.verdict
        for name, result in results.items()
    }


def of_suite(verdicts: Mapping[str, str], suite: Suite) -> dict[str, str]:
    """Return the verdicts of the suite's tests."""
    return {name: verdict for name, verdict in verdicts.items() if suite.has(name)}


def update(kind: Kind, suite: Suite, verdicts: Mapping[str, str]) -> None:
    """Write what became of its tests into `expected.json`, and make the table again."""
    both = expected()
    kept = {name: verdict for name, verdict in both[kind].items() if not suite.has(name)}
    both[kind] = dict(sorted({**kept, **verdicts}.items()))
    EXPECTED.write_text(json.dumps(both, indent=1) + "\n")
    write_between(DOCUMENT, BEGIN, END, lines(both))


def lines(both: Verdicts) -> list[str]:
    """Return the lines between the marks: figures by class, failures, and what is left out by its reason."""
    return [*_figures(both), *_failures(both), *_not_asked(both), *_left_out(both)]


def _figures(both: Verdicts) -> list[str]:
    heads = [f"{_KINDS[kind]}: {what}" for kind in _KINDS for what in ("passed", "failed", "left out")]
    made = ["", f"| class | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    classes = sorted({name.partition(".")[0] for verdicts in both.values() for name in verdicts})
    made += [f"| `{short}` | {' | '.join(_counts(both, f'{short}.'))} |" for short in classes]
    return [*made, f"| all | {' | '.join(_counts(both, ''))} |", ""]


def _counts(both: Verdicts, prefix: str) -> list[str]:
    counts = []
    for kind in _KINDS:
        found = Counter(verdict.partition(":")[0] for name, verdict in both[kind].items() if name.startswith(prefix))
        counts += [str(found[what]) for what in ("passed", "failed", "left out")]
    return counts


def _failures(both: Verdicts) -> list[str]:
    failed = {kind: {name for name, verdict in both[kind].items() if verdict == "failed"} for kind in _KINDS}
    ours, theirs = failed["ours"], failed["apache"]
    made: list[str] = []
    for title, names in (
        ("Failed here alone", ours - theirs),
        ("Failed at Apache Kafka alone", theirs - ours),
        ("Failed at both", ours & theirs),
    ):
        made += [f"{title}: {', '.join(f'`{name}`' for name in sorted(names)) or 'none'}.", ""]
    return made


def _not_asked(both: Verdicts) -> list[str]:
    made: list[str] = []
    pairs: tuple[tuple[Kind, Kind], ...] = (("ours", "apache"), ("apache", "ours"))
    for kind, other in pairs:
        counts = Counter(name.partition(".")[0] for name in both[other].keys() - both[kind].keys())
        classes = ", ".join(f"{count} of `{short}`" for short, count in sorted(counts.items()))
        made += [f"Not asked of {_KINDS[kind]} so far: {classes}.", ""] if classes else []
    return made


def _left_out(both: Verdicts) -> list[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for name in sorted({*both["ours"], *both["apache"]}):
        which = [kind for kind in _KINDS if both[kind].get(name, "").startswith(LEFT_OUT)]
        if which:
            where = "both" if len(which) == len(_KINDS) else _KINDS[which[0]]
            reasons.setdefault((both[which[0]][name].removeprefix(LEFT_OUT), where), []).append(name)
    made = ["| left out | at | tests | which |", "| --- | --- | ---: | --- |"]
    for (reason, where), names in sorted(reasons.items()):
        made.append(f"| {reason} | {where} | {len(names)} | {_named(names)} |")
    return made


def _named(names: Sequence[str]) -> str:
    """`Class`: its tests."""
    classes: dict[str, list[str]] = {}
    for name in names:
        short, _, test = name.partition(".")
        classes.setdefault(short, []).append(test)
    return "; ".join(f"`{short}`: {', '.join(tests)}" for short, tests in classes.items())
