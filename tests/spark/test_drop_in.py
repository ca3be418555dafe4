"""The Spark part of examples/testing/drop_in passes; tests/wire/test_recipes.py covers the others."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.spark.support.session import spark_environment
from tests.support.processes import finished

ROOT = Path(__file__).resolve().parents[2]


def test_the_suite_with_spark_passes() -> None:
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short"]  # PySpark leaves its sockets to others
    done = finished(
        [sys.executable, "-m", "pytest", *options, "examples/testing/drop_in/test_spark.py"],
        cwd=ROOT,
        env=spark_environment(),
        timeout_s=240,
    )
    assert re.search(r"^1 passed in ", done.stdout, re.MULTILINE), done.stdout + done.stderr
