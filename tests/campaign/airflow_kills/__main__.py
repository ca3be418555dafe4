"""`python -m tests.campaign.airflow_kills --python PATH`: Airflow's triggerer is killed (-9) while records come.

PATH is an interpreter with Airflow and shareq (`pip install '.[airflow]'`). In turns the whole triggerer is killed, or
only its child that polls, or it is asked to stop. Exit code 1 if Airflow has not stored an event of some record for
each asset, or has stored two of one delivery.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shareq.testing import Broker
from tests.campaign.airflow_kills.judge import Stored, Verdict, judge
from tests.campaign.command import show

ROOT: Final = Path(__file__).resolve().parents[3]
DAGS: Final = ROOT / "examples" / "airflow" / "orders.py"
TOPIC, GROUP = "orders", "airflow"
ASSETS: Final = ("to-pack", "to-bill")
PER_SECOND: Final = 3.0
QUIET_S: Final = 300.0
STEPS: Final = ("the triggerer", "its child", "a stop")


class Airflow:
    """Airflow in a folder: its database, and one triggerer."""

    def __init__(self, python: Path, home: Path, bootstrap: str) -> None:
        self.home = home
        (home / "dags").mkdir()
        shutil.copy(DAGS, home / "dags")
        self._command = str(python.parent / "airflow")
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
            "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "5",
            "SHAREQ_BROKER": bootstrap,
        }
        self._triggerer: subprocess.Popen[bytes] | None = None

    def run(self, *arguments: str) -> None:
        """Run a command to its end. Raises CalledProcessError."""
        with (self.home / "log").open("ab") as log:
            subprocess.run(
                [self._command, *arguments], env=self._environment, stdout=log, stderr=log, check=True, timeout=300
            )

    def start(self) -> None:
        with (self.home / "log").open("ab") as log:
            self._triggerer = subprocess.Popen(
                [self._command, "triggerer", "--skip-serve-logs"],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, how: str) -> None:
        assert self._triggerer is not None
        pid = self._triggerer.pid
        if how == "its child":
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
        elif how == "a stop":
            self._triggerer.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._triggerer.wait(0 if how == "the triggerer" else 20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self._triggerer.wait()

    def rows(self, query: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.home / "airflow.db", timeout=30)) as database:
            return database.execute(query).fetchall()

    def stored(self) -> list[Stored]:
        rows = self.rows("select asset.name, asset_event.extra from asset_event join asset on asset.id = asset_id")
        payloads = [(asset, json.loads(extra)["payload"]) for asset, extra in rows]
        return [Stored(asset, payload["value"], payload["delivery_count"]) for asset, payload in payloads]


def campaign(python: Path, kills: int, rng: random.Random, home: Path) -> Verdict:
    with Broker() as broker:
        broker.topic(TOPIC)
        airflow = Airflow(python, home, broker.bootstrap)
        airflow.run("db", "migrate")
        airflow.run("dag-processor", "--num-runs", "1")
        ((triggers,),) = airflow.rows("select count(*) from trigger")
        sent: list[str] = []
        over = threading.Event()

        def send() -> None:
            while not over.wait(1 / PER_SECOND):
                broker.produce(TOPIC, str(len(sent)))
                sent.append(str(len(sent)))

        sending = threading.Thread(target=send)
        sending.start()
        try:
            for number in range(kills):
                before = len(airflow.stored())
                airflow.start()
                broker.wait_until(lambda known=before: len(airflow.stored()) > known, QUIET_S)  # type: ignore[misc]
                time.sleep(rng.uniform(0, 4))
                how = STEPS[number % len(STEPS)]
                airflow.end(how)
                show(f"{number + 1} of {kills}, {how}: {len(sent)} sent, {len(airflow.stored())} events")
        finally:
            over.set()
            sending.join()
        airflow.start()
        try:
            broker.wait_until(lambda: broker.undone(GROUP, TOPIC) == 0, QUIET_S)
        finally:
            airflow.end("a stop")
        verdict = judge(sent, ASSETS, airflow.stored())
        if triggers != 1:
            verdict.broken.append(f"{triggers} triggers poll one queue")
        counts = broker.group_counts(GROUP, TOPIC)
        show(f"{len(sent)} records, {kills} kills: {verdict.again} events again; {counts}")
        return verdict


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=21)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = parser.parse_args(arguments)
    show(f"seed {given.seed}")
    with tempfile.TemporaryDirectory(prefix="airflow-kills-") as folder:
        try:
            verdict = campaign(given.python, given.kills, random.Random(given.seed), Path(folder))
        except Exception:
            show((Path(folder) / "log").read_text()[-4_000:])
            raise
    for line in verdict.broken[:20]:
        show(line)
    show(f"lost or twice of one delivery: {len(verdict.broken)}")
    return 1 if verdict.broken else 0


if __name__ == "__main__":
    sys.exit(main())
