"""Spark sessions, separate jobs, and the broker under test. Run by `make test-spark`, in .venv-spark.

Sessions use the Java from pip, never the machine's: a `java` on the PATH fails. Only Apache Kafka, as the judge
(`--broker=apache`) or behind a node, needs the machine's Java.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.support.fixtures import broker, broker_kind, no_dead_broker, unique
from tests.interop.support.node_under_test import NODE_CLUSTER, OURS
from tests.spark.support.jobs import Job
from tests.spark.support.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["broker", "broker_kind", "no_dead_broker", "unique"]

HERE = Path(__file__).parent
# Without PySpark nothing here can be imported. `make test-spark` then finds no test, which is a failure.
collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_*.py", "decode/test_*.py"]

# py4j and Spark's workers leave sockets to the garbage collector; pandas and PySpark are not always of the same age.
_NOT_OURS = (
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning:pyspark",
    "ignore::FutureWarning:pyspark",
)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            for warning in _NOT_OURS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session", autouse=True)
def _no_java_of_the_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    kind = request.config.getoption("--broker")
    if kind == "apache" or (kind == "node" and NODE_CLUSTER != OURS):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="shareq-no-java-") as folder:
        java = Path(folder) / "java"
        java.write_text('#!/bin/sh\necho "a test has started the java of the PATH" >&2\nexit 127\n')
        java.chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
        yield
        os.environ["PATH"] = before


@pytest.fixture(scope="session")
def spark_folder() -> Iterator[Path]:
    """Make a folder for sessions to write to, on a short path of its own, since pytest's may be long."""
    folder = Path(tempfile.mkdtemp(prefix="shareq-spark-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    """Share one session, local[2], among all tests, as a start takes seconds. A test stops its own queries."""
    from shareq.spark import register

    session = open_session(spark_folder)
    register(session)  # tests start several queries
    yield session
    session.stop()
    gc.collect()


@pytest.fixture
def run_job(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """Return `run_job("tests.spark.support.some_job", "argument", ...)`. It starts a job; the end kills all jobs."""
    jobs: list[Job] = []

    def run(module: str, *arguments: object) -> Job:
        job = Job(module, [str(argument) for argument in arguments], tmp_path / f"job-{len(jobs)}.log")
        jobs.append(job)
        return job

    yield run
    for job in jobs:
        job.kill()
