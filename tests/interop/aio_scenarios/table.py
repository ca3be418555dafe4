"""`docs/evidence/aio-scenarios.md`: the table is made of the scenarios, of the tests, and of `results.json`."""

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
KINDS: Final[tuple[Kind, ...]] = ("ours", "apache")

Results = dict[str, dict[str, str]]
"""The results by broker, then by test (`file::function`): `passed`, `failed` or `skipped`."""


class Redone(NamedTuple):
    test: str
    differs: str


def modules() -> Iterator[ModuleType]:
    for file in sorted(FOLDER.glob("test_*.py")):
        yield import_module(f"tests.interop.aio_scenarios.{file.stem}")


def made_tests() -> dict[str, Mapping[str, str]]:
    """Return the originals and differences of each test."""
    return {
        f"{module.__name__.rpartition('.')[2]}.py::{name}": function.redoes
        for module in modules()
        for name, function in vars(module).items()
        if name.startswith("test_") and hasattr(function, "redoes")
    }


def redone() -> dict[str, list[Redone]]:
    """The tests of each scenario."""
    found: dict[str, list[Redone]] = {}
    for test, scenarios in made_tests().items():
        for scenario, differs in scenarios.items():
            found.setdefault(scenario, []).append(Redone(test, differs))
    return found


def left_out() -> dict[str, str]:
    """Return the reason why each is left out."""
    return {scenario: why for why, scenarios in LEFT_OUT.items() for scenario in scenarios.split()}


def results() -> Results:
    found: Results = json.loads(RESULTS.read_text())
    return found


def update(kind: Kind, outcomes: Mapping[str, str]) -> None:
    """Write down what became of the tests on this broker, and make the table again."""
    known: dict[str, Any] = results() if RESULTS.exists() else {each: {} for each in KINDS}
    known[kind] = dict(sorted(outcomes.items()))
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    write_between(DOCUMENT, BEGIN, END, lines(known))


def lines(known: Results) -> list[str]:
    """Return the lines between the marks: figures, then a row for each scenario, by its file."""
    by_scenario, why = redone(), left_out()
    total = sum(len(names.split()) for names in SCENARIOS.values())
    differing = sum(any(one.differs for one in of_one) for of_one in by_scenario.values())
    made = [
        "",
        f"{total} scenarios: {len(by_scenario)} redone by {len(made_tests())} tests, {differing} of them with another "
        f"expectation; {len(why)} left out.",
    ]
    for file, names in SCENARIOS.items():
        made += [
            "",
            f"### {file}",
            "",
            "| scenario | our test | shareq | Apache Kafka 4.4.0 | what differs, or why not |",
        ]
        made += ["| --- | --- | --- | --- | --- |"]
        for scenario in names.split():
            for one in by_scenario.get(scenario, ()):
                words = [known[kind].get(one.test, "not run") for kind in KINDS]
                made.append(f"| {scenario} | `{one.test}` | {words[0]} | {words[1]} | {one.differs} |")
            if scenario in why:
                made.append(f"| {scenario} | | | | left out: {why[scenario]} |")
    return [*made, ""]
