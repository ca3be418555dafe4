"""A small, quiet Spark session for a test, on this machine alone, with all its files in one folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shareq.spark.java_home import java_home
from shareq.testing.broker import child_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG4J = Path(__file__).with_name("log4j2.properties")


def spark_environment() -> dict[str, str]:
    """Return this process's environment, with the Java that comes from pip and this Python for the workers."""
    return {
        **child_environment(),
        "JAVA_HOME": str(java_home(bundled=True)),
        "PYSPARK_PYTHON": sys.executable,  # else Spark takes the python3 that the PATH has
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",  # PySpark's daemons leave sockets to the garbage collector
    }


def open_session(folder: Path, *, master: str = "local[2]", **configs: str) -> SparkSession:
    """Return this process's session, or start one with its files in `folder`; in names of configs `__` means `.`."""
    from pyspark.sql import SparkSession

    os.environ.update(spark_environment())
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG4J} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": "768m",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    settings |= {name.replace("__", "."): value for name, value in configs.items()}
    builder = SparkSession.builder.master(master).appName("shareq tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
