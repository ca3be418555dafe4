"""Spark's own Kafka source and sink, in batches and as a stream.

Needs PySpark, so it is run by `make interop-spark`, in .venv-spark.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from devtools.clients.admin import QUIET, create_topic
from devtools.kafka.spark_kafka import connector_jars
from shareq.spark.java_home import java_home
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.protocol import properties
from tests.support.processes import finished

JOB = Path(__file__).with_name("spark") / "job.py"
TIMEOUT_S = 120

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="PySpark is not here: make interop-spark"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="mvn is not on the PATH: it fetches Spark's Kafka source"),
]


def run_job(*arguments: str | Path) -> dict[str, Any]:  # JSON, as job.py prints it
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, JOB, *arguments]
    done = finished(command, env=environment, timeout_s=TIMEOUT_S)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


def test_batches_a_sink_and_a_stream(broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> None:
    """Every record once, with its headers; a stream that is started again goes on where it was."""
    source, target = unique("source"), unique("target")
    create_topic(broker.bootstrap, source, 2)
    create_topic(broker.bootstrap, target, 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number in range(100):
        producer.produce(source, str(number), partition=number % 2, headers=[("number", str(number))])
    assert producer.flush(20) == 0

    jars = ",".join(map(str, connector_jars()))
    reported = run_job(broker.bootstrap, source, target, jars, tmp_path, json.dumps(properties(broker.bootstrap)))

    places = {(row["partition"], row["offset"]): row for row in reported["batch"]}
    assert len(reported["batch"]) == len(places) == 100
    for (partition, offset), row in places.items():
        text = str(offset * 2 + partition)
        assert row["value"] == text
        assert row["headers"] == {"number": text}
    assert reported["first"] == sorted(f"{number}!" for number in range(100))
    assert reported["second"] == ["more"]
