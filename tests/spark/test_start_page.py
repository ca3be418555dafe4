"""docs/start/spark.md: its commands run unchanged, and print what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from shareq.testing import Broker
from tests.spark.support.session import spark_environment
from tests.support.processes import finished
from tests.wire.test_pages import blocks, commands, run

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = "start/spark.md"
CHECKPOINT: Final = "/tmp/shareq-checkpoint"


def test_the_page_counts_each_job_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--broker") == "apache":
        pytest.skip("the page starts its own broker")
    printed = []
    with Broker(mode="command", data_dir=tmp_path / "data") as broker:
        for block, shown in commands(PAGE, broker.bootstrap):
            environment, _, program = block.rpartition("; ")
            if not environment:
                run(block, broker.bootstrap)
                continue
            assert "python -m shareq.spark.java_home" in environment  # what `spark_environment` does, in a shell
            words = program.replace(CHECKPOINT, str(tmp_path / "checkpoint")).split()
            first, second = (_python(words[1:]) for _ in range(2))
            assert first == shown
            assert second == ""
            printed.append(first)
    assert len(printed) == 1


def test_the_page_shows_the_example_as_it_is() -> None:
    (shown,) = [text for language, text in blocks(PAGE) if language == "python"]
    assert shown == (ROOT / "examples" / "start" / "count.py").read_text()


def _python(words: list[str]) -> str:
    done = finished([sys.executable, *words], cwd=ROOT, env=spark_environment(), timeout_s=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
