"""A check that the sample batches of tests without Java are what Apache Kafka 4.3.1 writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.kafka.apache_kafka import class_path
from tests.interop.java_codecs_support import why_no_judge
from tests.support.processes import finished

HERE = Path(__file__).parent
KEPT = HERE.parent / "spark" / "decode" / "java_batches.tsv"

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_no_judge() is not None, reason=why_no_judge() or ""),
]


def test_kept_batches_are_those_of_java() -> None:
    program = HERE / "java" / "RecordBatches.java"
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), str(program)]
    done = finished(command, timeout_s=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == KEPT.read_text(), f"{program.name} has changed: keep what it prints in {KEPT}"
