"""`docs/evidence/suites-by-node.md` matches `by_node.json`, and the Makefile runs the suites that it names."""

from __future__ import annotations

import re
from pathlib import Path

from devtools.kafka.apache_kafka import ROOT
from tests.interop.kafka_tests.table import expected_by_node
from tests.interop.support import by_node
from tests.interop.support.by_node import BEGIN, CANNOT, DOCUMENT, END, SUITES, Found, found_in, kafkas_own, lines


def test_the_table_is_made_of_the_files() -> None:
    text = DOCUMENT.read_text()
    made = lines(by_node.results(), kafkas_own(expected_by_node()))
    assert text[text.index(BEGIN) : text.index(END)] == "\n".join([BEGIN, *made, ""])


def test_nothing_fails() -> None:
    assert not [test for suites in by_node.results().values() for found in suites.values() for test in found.failed]


def test_the_makefile_runs_the_suites() -> None:
    named = re.findall(r"tests/interop/(test_\w+\.py)", "\n".join(of_the_makefile("BY_NODE", "SPARK_BY_NODE")))
    assert sorted(named) == sorted(SUITES)
    assert all((ROOT / "tests" / "interop" / file).exists() for file in SUITES)


def test_what_no_node_is_asked_is_in_a_suite_that_exists() -> None:
    for part in CANNOT:
        file, _, test = part.partition("::")
        assert f"def {test}(" in (Path(ROOT, "tests", "interop") / file.strip("/")).read_text()
        assert file.strip("/") in SUITES


def test_outcomes_are_counted_by_suite_and_reason() -> None:
    file = "tests/interop/test_aio.py"
    outcomes = [
        (f"{file}::test_a", "passed", ""),
        (f"{file}::test_b[x]", "failed", ""),
        ("tests/other.py::c", "passed", ""),
    ]
    outcomes += [(f"{file}::test_{name}", "skipped", "not by way of a node: it is long") for name in "de"]
    found = found_in(outcomes)
    assert found == {"test_aio.py": Found(1, ["test_b[x]"], {"it is long": 2})}
    made = lines({"ours": found, "3.9.1": {}, "4.3.1": {}}, {})
    figures = "1/2/1 (shareq); not asked (Apache Kafka 3.9.1, Apache Kafka 4.3.1)"
    assert f"* [our asyncio client](../../tests/interop/test_aio.py): {figures}" in made
    same = lines(dict.fromkeys(("ours", "3.9.1", "4.3.1"), found), {})
    assert "* [our asyncio client](../../tests/interop/test_aio.py): 1/2/1" in same
    assert "* our asyncio client, 2 tests, before shareq: it is long" in made
    assert made[-1] == "Failed: `test_aio.py::test_b[x]` (shareq)."


def of_the_makefile(*names: str) -> list[str]:
    text = (ROOT / "Makefile").read_text()
    return [re.findall(rf"^{name} +:= (.*)$", text, re.MULTILINE)[0] for name in names]
