"""A Celery application in a folder, and its workers in processes of their own, for any kind of broker."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from celery import Celery

import shareq.kombu

PATIENCE_S: Final = 60.0
ROOT: Final = Path(__file__).resolve().parents[3]
TASKS: Final = """
import os, time
from celery import Celery
from celery.exceptions import Reject
import shareq.kombu

shareq.kombu.register()
app = Celery("NAME", broker="kafka-share://BROKER//", backend="file://FOLDER/results")
app.conf.update(task_default_queue="NAME", worker_prefetch_multiplier=1, task_acks_late=True,
                broker_transport_options={"group_config": GROUP_CONFIG, "properties": PROPERTIES})

def log(*words):
    with open("seen", "a") as file:
        file.write(" ".join(map(str, (*words, os.getpid()))) + "\\n")

@app.task
def add(a, b):
    return a + b

@app.task
def work(name, seconds):
    log("begin", name)
    time.sleep(seconds)
    log("end", name)

@app.task(bind=True, max_retries=3)
def fails_twice(self):
    log("try", self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=0.2)
    return self.request.retries

@app.task(bind=True)
def rejects(self, requeue):
    log("rejects", self.request.delivery_info["redelivered"])
    if not self.request.delivery_info["redelivered"]:
        raise Reject("no", requeue=requeue)
"""
_numbers = itertools.count(1)


class CeleryWorkers:
    """An application in a folder, its workers, and the same application in this process."""

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        group_config: Mapping[str, str],
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.name = f"app{next(_numbers)}-{os.getpid()}"
        self.folder = folder
        (folder / "results").mkdir()
        code = TASKS.replace("GROUP_CONFIG", str(dict(group_config))).replace("PROPERTIES", str(dict(properties or {})))
        given = {"NAME": self.name, "BROKER": bootstrap, "FOLDER": str(folder)}
        for key, value in given.items():
            code = code.replace(key, value)
        (folder / "tasks.py").write_text(code)
        shareq.kombu.register()
        self.app = Celery(self.name, broker=f"kafka-share://{bootstrap}//", backend=f"file://{folder}/results")
        self.app.conf.task_default_queue = self.name
        self.app.conf.broker_transport_options = {"properties": dict(properties or {})}
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-l", "INFO", "-c", "1"]
        command += ["-n", f"w{len(self.workers)}@{self.name}", *options]
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        ready = self.log.count(" ready.") if self.workers else 0
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        self.workers.append(process)
        self.until(lambda: self.log.count(" ready.") > ready)
        return process

    def send(self, name: str, *arguments: Any, **more: Any) -> Any:
        return self.app.send_task(f"tasks.{name}", arguments, **more)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def received_at(self) -> list[float]:
        """The times at which workers logged that they had received a task, in seconds since the epoch, in order."""
        found = re.findall(r"^\[(\S+ \S+): .* Task \S+ received", self.log, re.MULTILINE)
        return [datetime.strptime(each, "%Y-%m-%d %H:%M:%S,%f").timestamp() for each in found]

    @property
    def seen(self) -> list[str]:
        path = self.folder / "seen"
        return [line.rpartition(" ")[0] for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition holds; fail if no worker has logged anything for PATIENCE_S."""
        logged, deadline = 0, time.monotonic() + PATIENCE_S
        while not condition():
            size = (self.folder / "log").stat().st_size
            if size != logged:
                logged, deadline = size, time.monotonic() + PATIENCE_S
            assert time.monotonic() < deadline, f"{self.seen}\n{self.log}"
            time.sleep(0.02)

    def stop(self) -> None:
        for process in self.workers:
            if process.poll() is None:
                process.terminate()
        try:
            for process in self.workers:
                process.wait(PATIENCE_S)
        finally:
            self.kill()
        self.app.close()

    def kill(self) -> None:
        for process in self.workers:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
