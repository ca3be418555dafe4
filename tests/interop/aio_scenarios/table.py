"""The table in `docs/evidence/aio-scenarios.md`, made of the scenarios, the tests, and `results.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from devtools.documents import write_between
from devtools.kafka.apache_kafka import ROOT
from tests.interop.aio_scenarios.scenarios import LEFT_OUT, SCENARIOS
from tests.interop.support.broker_under_test import Kind

FOLDER: Final = Path(__file__).parent
RESULTS: Final = FOLDER / "results.json"
DOCUMENT: Final = ROOT / "docs" / "evidence" / "aio-scenarios.md"
BEGIN: Final = "<!-- made by: pytest tests/interop/aio_scenarios --update-aio-scenarios, and with --broker=apache -->"
END: Final = "<!-- end of what is made -->"
BROKERS: Final[Mapping[Kind, str]] = {"ours": "shareq", "apache": "Apache Kafka 4.4.0"}
KINDS: Final = tuple(BROKERS)

Results = dict[str, dict[str, str]]
"""The results by broker, then by test (`file::function`): `passed`, `failed` or `skipped`."""


class Redone(NamedTuple):
    test: str
    differs: str


def modules() -> Iterator[ModuleType]:
    for file in sorted(FOLDER.glob("test_*.py")):
        yield import_module(f"tests.interop.aio_scenarios.{file.stem}")


def made_tests() -> dict[str, Mapping[str, str]]:
    return {
        f"{module.__name__.rpartition('.')[2]}.py::{name}": function.redoes
        for module in modules()
        for name, function in vars(module).items()
        if name.startswith("test_") and hasattr(function, "redoes")
    }


def redone() -> dict[str, list[Redone]]:
    found: dict[str, list[Redone]] = {}
    for test, scenarios in made_tests().items():
        for scenario, differs in scenarios.items():
            found.setdefault(scenario, []).append(Redone(test, differs))
    return found


def left_out() -> dict[str, str]:
    return {scenario: why for why, scenarios in LEFT_OUT.items() for scenario in scenarios.split()}


def results() -> Results:
    found: Results = json.loads(RESULTS.read_text())
    return found


def update(kind: Kind, outcomes: Mapping[str, str]) -> None:
    known: dict[str, Any] = results() if RESULTS.exists() else {each: {} for each in KINDS}
    known[kind] = dict(sorted(outcomes.items()))
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    write_between(DOCUMENT, BEGIN, END, lines(known))


def lines(known: Results) -> list[str]:
    """Return the lines between the marks: figures, tests that did not pass, what is left out."""
    by_scenario, why = redone(), left_out()
    total = sum(len(names.split()) for names in SCENARIOS.values())
    counts = {one.differs for ones in by_scenario.values() for one in ones if one.differs}
    made = [
        "",
        f"{total} scenarios: {len(by_scenario)} redone by {len(made_tests())} tests, {len(why)} left out. "
        f"{'; '.join(_passed(known, kind) for kind in KINDS)}.",
        "",
        f"{sum(any(one.differs for one in ones) for ones in by_scenario.values())} of them have another expectation, "
        f"for {len(counts)} reasons, which stand with their tests.",
        "",
        "Left out:",
        "",
    ]
    for reason, names in LEFT_OUT.items():
        made.append(f"* {reason} ({len(names.split())})")
    return [*made, ""]


def _passed(known: Results, kind: Kind) -> str:
    """Return how many tests passed on a broker, and the others with their outcomes."""
    tests = sorted(made_tests())
    outcomes = {test: known[kind].get(test, "not run") for test in tests}
    others = [f"`{test}` {outcome}" for test, outcome in outcomes.items() if outcome != "passed"]
    passed = f"{len(tests) - len(others)} of {len(tests)} tests pass on {BROKERS[kind]}"
    return ": ".join([passed, ", ".join(others)]) if others else passed
