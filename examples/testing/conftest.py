"""`pytest examples/testing/test_*.py` tests the right code of each recipe; with `--wrong` it tests the wrong one."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--wrong", action="store_true", help="test the code that the recipe is to catch")


@pytest.fixture
def code(request: pytest.FixtureRequest) -> Any:
    """Return the tested code of the recipe: `right` or `wrong` of its file."""
    return getattr(request.module, "wrong" if request.config.getoption("--wrong") else "right")
