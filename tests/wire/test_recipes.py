"""examples/testing: each recipe passes for its right code and fails for its wrong one; docs/testing.md has them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shareq.testing.broker import child_environment

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "examples" / "testing").glob("test_*.py"))
PAGE = (ROOT / "docs" / "testing.md").read_text()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-p", "no:cacheprovider", "-rA", "--tb=short", "--shareq-mode=thread", *arguments]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "examples/testing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=child_environment(),
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(("options", "outcome"), [((), "PASSED"), (("--wrong",), "FAILED")])
def test_right_code_passes_and_wrong_code_fails(options: tuple[str, ...], outcome: str) -> None:
    result = run(*options)
    named = re.findall(r"^(PASSED|FAILED|ERROR) examples/testing/(\w+\.py)", result.stdout, re.MULTILINE)
    assert sorted(named) == [(outcome, path.name) for path in RECIPES], result.stdout + result.stderr


def test_the_page_names_each_recipe_and_no_other() -> None:
    assert len(RECIPES) == 10
    assert sorted(set(re.findall(r"examples/testing/(test_\w+\.py)", PAGE))) == [path.name for path in RECIPES]


def test_its_snippets_are_python_and_its_words_exist() -> None:
    from shareq.testing import Broker, KafkaContainer
    from shareq.testing.aio import AsyncHelpers
    from shareq.testing.clock import Clock
    from shareq.testing.faults import Fault, Faults, When

    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) >= 5
    for snippet in snippets:
        compile(snippet, "testing.md", "exec")
    known = {name for each in (Broker, KafkaContainer, AsyncHelpers, Clock, Faults, Fault, When) for name in dir(each)}
    named = set(re.findall(r"`(?:\w+\.)*(\w+)\(", PAGE))
    assert named <= known | {"shareq", "Broker", "KafkaContainer", "shareq_brokers"}
