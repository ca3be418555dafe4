"""examples/testing: each recipe passes for correct code and fails for wrong code; docs/testing.md contains them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from shareq.testing.broker import child_environment
from tests.support.processes import finished

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "examples" / "testing").glob("test_*.py"))
PAGE = (ROOT / "docs" / "testing.md").read_text()


WRONG: Final = {
    "test_aborted_transaction": r"assert 107 == 7\b",
    "test_broker_away": r"AssertionError: assert \['apples'\] == \['a vase', 'apples', 'pears'\]",
    "test_dead_letters": "AssertionError: not within 3 s: .*dlq.orders has no dead letter of share group packers",
    "test_duplicate_produce": r"AssertionError: assert \[b'100', b'100'\] == \[b'100'\]",
    "test_leader_lost": r"AssertionError: assert \[b'a vase', b'a vase'\] == \[b'a vase'\]",
    "test_lost_lock": r"assert 200 == 100\b",
    "test_poison_record": r"assert 5 == 1\b",
    "test_rebalance": "AssertionError: 10 records came twice",
    "test_redelivery": r"AssertionError: assert \[b'apples', b'pears'\] == \[b'a vase', ",
    "test_slow_worker": "Failed: the lock ended before the work did: the record comes again",
}
"""The failure of each recipe's test when its code is wrong, by module."""


class Recipes:
    def __init__(self, folder: Path, *arguments: str) -> None:
        self._report = folder / "report.xml"
        options = ["-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={self._report}", *arguments]
        self._pytest = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, "--ignore=examples/testing/drop_in", "examples/testing"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=child_environment(),
        )

    def outcomes(self) -> dict[str, str]:
        """Return by module the failure of its test, or ""."""
        printed, _ = self._pytest.communicate(timeout=300)
        found = {}
        for case in ElementTree.parse(self._report).iter("testcase"):
            assert case.find("error") is None, printed
            assert case.find("skipped") is None, printed
            failure = case.find("failure")
            found[case.attrib["classname"].rpartition(".")[2]] = "" if failure is None else failure.attrib["message"]
        assert sorted(found) == [path.stem for path in RECIPES], printed
        return found


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_right_code_passes_and_wrong_code_fails_for_what_is_wrong_with_it(mode: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("right", "wrong")]
    for folder in folders:
        folder.mkdir()
    right = Recipes(folders[0], f"--shareq-mode={mode}")
    wrong = Recipes(folders[1], f"--shareq-mode={mode}", "--wrong")  # beside the other: they mostly wait
    assert {name: why for name, why in right.outcomes().items() if why} == {}
    unexpected = {name: why for name, why in wrong.outcomes().items() if not re.match(WRONG[name], why, re.DOTALL)}
    assert unexpected == {}


def test_suites_for_testcontainers_pass_with_our_container() -> None:
    """FastStream and Quix Streams are in tests/interop/test_frameworks.py, Spark in tests/spark/test_drop_in.py."""
    suites = [f"examples/testing/drop_in/test_{name}.py" for name in ("aiokafka", "confluent_kafka")]
    done = finished(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *suites],
        cwd=ROOT,
        env=child_environment(),
        timeout_s=120,
    )
    assert re.search(r"^4 passed in ", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_the_page_names_each_recipe_and_no_other() -> None:
    assert len(RECIPES) == 10
    assert sorted(set(re.findall(r"examples/testing/(test_\w+\.py)", PAGE))) == [path.name for path in RECIPES]


def test_its_words_exist() -> None:
    from shareq.testing import Broker, KafkaContainer
    from shareq.testing.aio import AsyncHelpers
    from shareq.testing.clock import Clock
    from shareq.testing.faults import Fault, Faults, When

    known = {name for each in (Broker, KafkaContainer, AsyncHelpers, Clock, Faults, Fault, When) for name in dir(each)}
    named = set(re.findall(r"`(?:\w+\.)*(\w+)\(", PAGE))
    assert named <= known | {"shareq", "Broker", "KafkaContainer", "shareq_brokers"}
