"""Celery workers and their broker are killed (-9) under load, in turns; the journal of the tasks is judged.

    python -m tests.campaign.celery_kills --kills 20 --of dramatiq

Tasks are acknowledged late. Exit code 1 if a task was lost, or was repeated without a kill that explains it: a kill of
its worker, or of the broker while a worker had the task. With --plant, tasks are sent again while another worker is
killed: then the exit code is 1 if the judge does not find these, or finds anything else.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from shareq.testing import Broker
from tests.campaign.celery_kills.judge import Kill, Verdict, judge, read

ROOT: Final = Path(__file__).resolve().parents[3]
WORKERS: Final = 3
CONCURRENCY: Final = 2
PER_SECOND: Final = 25.0
SLOW_S: Final = 3.0
ACK_S: Final = 2.0
DRAIN_S: Final = 180.0
SENDS_TO_START: Final = 20


MODULES: Final = {
    "celery": "tests.campaign.celery_kills.tasks",
    "dramatiq": "tests.campaign.celery_kills.dramatiq_tasks",
}


class Workers:
    """Worker processes, each in a session of its own, so that a kill includes its children."""

    def __init__(self, of: str, environment: dict[str, str], log: Path) -> None:
        self._of = of
        self._environment = environment
        self._log = log
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        command = [sys.executable, "-m", self._of]
        if self._of == "celery":
            command += ["-A", MODULES[self._of], "worker", "-P", "prefork", "-c", str(CONCURRENCY)]
            command += ["-n", f"w{time.monotonic_ns()}@kills", "-l", "INFO"]
        else:
            command += [MODULES[self._of], "--processes", "1", "--threads", str(CONCURRENCY)]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, env=self._environment, start_new_session=True
            )
        self._running.append(process)

    def kill_one(self, chance: random.Random) -> Kill:
        process = self._running.pop(chance.randrange(len(self._running)))
        since = time.monotonic()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return Kill(since, time.monotonic(), process.pid)

    def stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


class Load(threading.Thread):
    """A sender of tasks until it is stopped; `sent` are the confirmed numbers."""

    def __init__(self, send: Callable[[int, float], None], chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._send = send
        self.sent: list[int] = []
        self.failed = 0
        self.stopping = threading.Event()
        self._chance = chance

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(1 / PER_SECOND):
            number += 1
            seconds = SLOW_S if number % 50 == 0 else self._chance.uniform(0.01, 0.1)
            try:
                self._send(number, seconds)
            except Exception:  # it may be in the log: neither sent nor not sent
                self.failed += 1
            else:
                self.sent.append(number)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. `planted` are the tasks sent again on purpose."""

    verdict: Verdict
    failed_sends: int
    seconds: float
    planted: frozenset[int]

    @property
    def good(self) -> bool:
        """True if nothing is wrong, or only planted faults were found."""
        if not self.planted:
            return self.verdict.good
        found = set(self.verdict.unexplained)
        return not self.verdict.lost and bool(found) and found <= self.planted


def campaign(of: str, kills: int, seed: int, pause_s: float, folder: Path, plant: bool) -> Outcome:
    chance = random.Random(seed)
    journal = folder / "journal"
    journal.touch()
    began = time.monotonic()
    done: list[Kill] = []
    planted: set[int] = set()
    with Broker(mode="command", data_dir=folder / "data") as broker:
        environment = {"CELERY_KILLS_BROKER": broker.bootstrap, "CELERY_KILLS_JOURNAL": str(journal)}
        os.environ.update(environment)
        send: Callable[[int, float], None] = import_module(MODULES[of]).send  # it reads the environment
        workers = Workers(of, {**os.environ, **environment}, folder / "workers.log")
        for _ in range(WORKERS):
            workers.start()
        load = Load(send, chance)
        load.start()
        wait_for(lambda: journal.read_text().count("end") > SENDS_TO_START, DRAIN_S)
        for number in range(kills):
            time.sleep(chance.uniform(0.5, 1.5) * pause_s)
            if number % 2:
                since = time.monotonic()
                broker.kill()
                done.append(Kill(since, time.monotonic(), None))
                broker.start()
            else:
                done.append(workers.kill_one(chance))
                if plant:
                    planted |= send_again(send, journal, done[-1])
                workers.start()
            print(f"kill {number + 1}: {'broker' if number % 2 else 'worker'}, {len(load.sent)} sent", flush=True)
        time.sleep(pause_s)
        load.stopping.set()
        load.join()
        wanted = set(load.sent)
        wait_for(lambda: wanted <= ended(journal), DRAIN_S)
        time.sleep(ACK_S)
        workers.stop()
    verdict = judge(journal.read_text().splitlines(), load.sent, done, ACK_S)
    return Outcome(verdict, load.failed, time.monotonic() - began, frozenset(planted))


def send_again(send: Callable[[int, float], None], journal: Path, kill: Kill) -> set[int]:
    """Repeat a task that another worker ran during this kill: the judge must find this planted fault."""
    for number, task in read(journal.read_text().splitlines()).items():
        run = task.runs[-1] if task.runs else None
        if run is not None and run.worker != kill.worker and run.end is None and len(task.runs) == 1:
            send(number, 0.01)
            return {number}
    return set()


def ended(journal: Path) -> set[int]:
    return {int(line.split()[1]) for line in journal.read_text().splitlines() if line.startswith("end ")}


def wait_for(condition: object, seconds: float) -> None:
    """Wait until the condition holds or the time is over: the judge reports what is missing."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.celery_kills", description=__doc__)
    parser.add_argument("--of", choices=MODULES, default="celery", help="whose workers")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=6.0, help="seconds between kills, on average")
    parser.add_argument("--folder", type=Path, help="where logs and data are kept")
    parser.add_argument("--plant", action="store_true", help="wrong repetitions, which the judge has to find")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="celery-kills-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        outcome = campaign(given.of, given.kills, given.seed, given.pause, folder, given.plant)
    verdict = outcome.verdict
    print(
        f"{given.kills} kills, {outcome.seconds:.0f} s:",
        f"{verdict.sent} tasks sent, {outcome.failed_sends} sends failed,",
        f"{len(verdict.lost)} lost, {verdict.again} done again, {len(verdict.unexplained)} of them without a kill",
    )
    for name, numbers in (
        ("lost", verdict.lost),
        ("unexplained", verdict.unexplained),
        ("planted", sorted(outcome.planted)),
    ):
        if numbers:
            print(f"{name}: {', '.join(map(str, numbers[:20]))}")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
