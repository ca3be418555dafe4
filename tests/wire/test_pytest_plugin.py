"""The plugin's effects on a pytest run in a user's project."""

from __future__ import annotations

import sys
from pathlib import Path

from shareq.testing.broker import child_environment
from tests.support.processes import finished

A_TEST = """
import importlib.util

import pytest


@pytest.mark.parametrize("name", ["shareq.broker.dispatch.dispatcher", "shareq.protocol.errors"])
def test_is_imported_as_it_is(name):
    assert "assertion.rewrite" not in type(importlib.util.find_spec(name).loader).__module__
"""


def test_modules_of_the_product_are_not_compiled_again_for_their_asserts(tmp_path: Path) -> None:
    (tmp_path / "test_loaders.py").write_text(A_TEST)
    for workers in ([], ["--numprocesses=1"]):
        done = finished(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, "test_loaders.py"],
            cwd=tmp_path,
            env=child_environment(),
            timeout_s=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
