"""Spark's own Kafka source and sink, in batches and as a stream.

Only with SHAREQ_SPARK set, as `make interop-spark` does: PySpark is half a gigabyte to fetch and unpack, and a session
takes as long to start as all other clients together.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.interop.support.admin import QUIET, create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.apache_kafka import CACHE

SOURCE = Path(__file__).with_name("spark")

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not os.environ.get("SHAREQ_SPARK"), reason="Spark is half a gigabyte: make interop-spark"),
]


def run(*command: str | Path, timeout_s: float = 600) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def spark() -> Sequence[Path]:
    """A Python with PySpark, and the folder of the jars; made once, in the cache."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not on the PATH: {', '.join(missing)}")
    pinned = [SOURCE / "requirements.txt", SOURCE / "spark_kafka.pom.xml"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in pinned)).hexdigest()[:12]
    folder = CACHE / "interop-spark" / digest
    python, jars, made = folder / "venv" / "bin" / "python", folder / "jars", folder / "made"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt that did not end
        run(sys.executable, "-m", "venv", folder / "venv")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", pinned[0])
        run("mvn", "-q", "-B", "-f", pinned[1], "dependency:copy-dependencies", f"-DoutputDirectory={jars}")
        made.touch()
    return python, jars


def test_batches_a_sink_and_a_stream(
    broker: BrokerUnderTest, spark: Sequence[Path], unique: Callable[[str], str], tmp_path: Path
) -> None:
    """Every record once, with its headers; a stream that is started again goes on where it was."""
    source, target = unique("source"), unique("target")
    create_topic(broker.bootstrap, source, 2)
    create_topic(broker.bootstrap, target, 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number in range(100):
        producer.produce(source, str(number), partition=number % 2, headers=[("number", str(number))])
    assert producer.flush(20) == 0

    python, jars = spark
    checkpoints = tmp_path / uuid.uuid4().hex
    told = json.loads(run(python, SOURCE / "job.py", broker.bootstrap, source, target, jars, checkpoints))

    places = {(row["partition"], row["offset"]): row for row in told["batch"]}
    assert len(told["batch"]) == len(places) == 100
    for (partition, offset), row in places.items():
        text = str(offset * 2 + partition)
        assert row["value"] == text
        assert row["headers"] == {"number": text}
    assert told["first"] == sorted(f"{number}!" for number in range(100))
    assert told["second"] == ["more"]
