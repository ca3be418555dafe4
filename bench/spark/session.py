"""The PySpark that Spark's Kafka source was made for, in an environment of its own, and a session for queries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from devtools.kafka.apache_kafka import CACHE, ROOT
from devtools.kafka.spark_kafka import CONNECTOR, connector_jars
from shareq.spark.java_home import java_home

HERE: Final = Path(__file__).parent
FOLDER: Final = CACHE / "bench-spark"


def environment() -> Path:
    """Return the Python that has PySpark; make it on the first call. Raises RuntimeError if that fails."""
    python, made = FOLDER / "venv" / "bin" / "python", FOLDER / f"made-{CONNECTOR}"
    if not made.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        _run(sys.executable, "-m", "venv", FOLDER / "venv")
        _run(python, "-m", "pip", "install", "--quiet", f"pyspark=={CONNECTOR}", "--editable", f"{ROOT}[spark,jre]")
        made.touch()
    return python


class Session:
    """A driver with local[2], in a process of its own."""

    def __init__(self, folder: Path, *, cores: int = 2, configs: Mapping[str, str] | None = None) -> None:
        python = environment()
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._queries = 0
        settings = {
            "spark.master": f"local[{cores}]",
            "spark.jars": ",".join(map(str, connector_jars())),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.streaming.numRecentProgressUpdates": "100000",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            **(configs or {}),
        }
        self._log = (folder / "spark.log").open("ab")
        self._process = subprocess.Popen(
            [python, HERE / "job.py", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={
                **os.environ,
                "PYSPARK_PYTHON": str(python),
                "JAVA_HOME": str(java_home()),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )
        self.version: str = self._answer()["spark"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def drain(self, source: str, options: dict[str, str]) -> dict[str, Any]:
        """Read the records that exist now; returns what job.py reports. Raises RuntimeError if the query fails."""
        self._queries += 1
        checkpoint = str(self._folder / f"checkpoint-{self._queries}")
        assert self._process.stdin is not None
        print(
            json.dumps({"format": source, "options": options, "checkpoint": checkpoint}),
            file=self._process.stdin,
            flush=True,
        )
        return self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Spark ended:\n{(self._folder / 'spark.log').read_text(errors='replace')[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
