"""The jars of Spark's own Kafka source and sink, fetched once by Maven into `.cache` (another folder: SHAREQ_CACHE)."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final

from devtools.kafka.apache_kafka import CACHE
from devtools.kafka.build_once import folder_made_once

POM: Final = Path(__file__).with_name("spark_kafka.pom.xml")
CONNECTOR: Final = "4.2.0"
"""The newest published version of the connector, as `POM` names it. It works with Spark 4.3.0, too."""


def connector_jars() -> list[Path]:
    """Return the files for `spark.jars`.

    Raises RuntimeError with Maven's output if they cannot be fetched, or without Maven.
    """
    folder = CACHE / "spark-kafka" / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]

    def fetch_into(fresh: Path) -> None:
        if shutil.which("mvn") is None:
            raise RuntimeError("mvn is not on the PATH: it fetches Spark's Kafka source")
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=480)
        if done.returncode:
            raise RuntimeError(f"Maven could not fetch Spark's Kafka source:\n{done.stdout}{done.stderr}")

    return sorted(folder_made_once(folder, fetch_into).glob("*.jar"))
