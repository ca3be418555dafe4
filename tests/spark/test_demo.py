"""`make demo-spark` with some of the flights: broker and driver are killed, and the sums are still right."""

from __future__ import annotations

import re
import sys

import pytest

from tests.spark.support.session import spark_environment
from tests.support.processes import finished


def test_the_demo_with_a_part_of_the_flights(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--broker") == "apache":
        pytest.skip("the demo starts its own broker")
    command = [sys.executable, "-m", "examples.spark_flights", "--flights", "40000"]
    done = finished(command, env=spark_environment(), timeout_s=440)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[:3000] + "\n...\n" + done.stderr[-3000:]
    assert "broker killed with SIGKILL" in done.stdout
    assert "driver killed with SIGKILL" in done.stdout
    last = next(line for line in done.stdout.splitlines() if line.startswith("  all "))
    spark, other, both, total, produced, counted = (int(text.replace(",", "")) for text in re.findall(r"[\d,]+", last))
    assert spark + other - both == total == produced == counted == 40_000
    assert spark > 0
    assert other > 0
    assert "recognised (swallowed): " in done.stdout
