"""The tests that `make interop` leaves out: `make test` runs them on our broker, or another target does."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import pytest

from tests.interop.conftest import IN_MAKE_TEST
from tests.support.processes import finished

ROOT = Path(__file__).parents[3]


def scenarios_of(module: str) -> set[tuple[type, str]]:
    """Return the class that has the text of each test, and the test's name."""
    classes = [each for name, each in vars(import_module(module)).items() if name.startswith("Test")]
    return {
        (next(base for base in each.__mro__ if name in vars(base)), name)
        for each in classes
        for name in dir(each)
        if name.startswith("test_")
    }


def test_each_scenario_that_is_left_out_is_run_by_make_test() -> None:
    for file in IN_MAKE_TEST:
        left_out = scenarios_of(f"tests.interop.{Path(file).stem}")
        assert left_out
        assert left_out <= scenarios_of(f"tests.wire.{Path(file).stem}")


@pytest.mark.parametrize("target", ["interop", "interop-apache"])
def test_no_file_is_named_to_be_run_alone(target: str) -> None:
    """pytest would run only that file."""
    printed = finished(["make", "--dry-run", target], cwd=ROOT).stdout.replace("\\\n", "")
    words = [word for line in printed.splitlines() if "pytest" in line for word in shlex.split(line)]
    files = [word for word in words if word.endswith(".py") and not word.startswith("--ignore=")]
    assert any(word.startswith("--ignore=") for word in words)
    assert [file for file in files if "within" not in file] == []
