"""One system at work: its server, its workers and its senders, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.proc import tree_cpu_seconds, tree_memory_mb
from bench.queues.job import ADDRESS, DEFAULTS, JOURNAL
from bench.queues.servers import Server
from bench.queues.systems import System
from devtools.ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
SCRATCH: Final = ROOT / ".cache" / "bench"
STOP_S: Final = 30.0


@dataclass(slots=True)
class Sender:
    """A process that sends. `taken` waits for its end, and returns the numbers of accepted jobs, and the seconds."""

    process: subprocess.Popen[str]

    def taken(self) -> tuple[set[int], float]:
        printed, _ = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError("a sender failed, see sender.log")
        *numbers, last = printed.split("\n")[:-1]
        return {int(number) for number in numbers}, float(last.split()[1])


class Workers:
    """The workers, one process group for each unit of the system.

    A worker that ends by itself is counted, and replaced.
    """

    def __init__(self, command: list[str], units: int, environment: dict[str, str], log: Path) -> None:
        self._command = command
        self._environment = environment
        self._log = log
        self._units = units
        self._made = 0
        self.ended = 0
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the workers that are missing."""
        while len(self.running) < self._units:
            self._made += 1
            command = [part.replace("{unit}", str(self._made)) for part in self._command]
            with self._log.open("ab") as log:
                self.running.append(
                    subprocess.Popen(
                        command,
                        cwd=ROOT,
                        env=self._environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )

    def look_after(self) -> None:
        """Restart ended workers, as a supervisor would."""
        for process in [each for each in self.running if each.poll() is not None]:
            self.running.remove(process)
            self.ended += 1
        self.start()

    def kill_one(self) -> None:
        """Kill a unit with all its children by SIGKILL; another one is started."""
        process = self.running.pop(0)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.start()

    def stop(self) -> None:
        for process in self.running:
            process.terminate()
        until = time.monotonic() + STOP_S
        for process in self.running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()


class Stand:
    """A system's server with its senders and workers; `standing` makes one."""

    def __init__(self, system: System, folder: Path) -> None:
        port = free_port()
        address = system.address.format(port=port)
        self.system = system
        self.folder = folder
        self.journal = folder / "journal"
        self.journal.touch()
        self.server: Server = system.server(port, folder)
        self.environment = {
            **os.environ,
            ADDRESS: address,
            JOURNAL: str(self.journal),
            "PYTHONPATH": str(ROOT),
            "C_FORCE_ROOT": "1",
            DEFAULTS: "1" if system.defaults else "",
        }
        self.workers = Workers(system.worker(address), system.units, self.environment, folder / "workers.log")

    def start_server(self) -> None:
        self.server.start()
        if self.system.topic is not None:
            bootstrap = ("-b", self.environment[ADDRESS])
            command = [sys.executable, "-m", "shareq", "topics", "create", self.system.topic, *bootstrap]
            subprocess.run(command, check=True, capture_output=True, env=self.environment)

    def send(self, count: int, rate: float = 0.0, seconds: float = 0.0) -> Sender:
        """Start a sender. `rate` is in jobs a second, 0 for as fast as they are accepted; each job takes `seconds`."""
        arguments = [self.system.app, str(count), str(rate), str(seconds)]
        with (self.folder / "sender.log").open("ab") as log:
            return Sender(
                subprocess.Popen(
                    [sys.executable, "-m", "bench.queues.send", *arguments],
                    cwd=ROOT,
                    env=self.environment,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
            )

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds of the server and of the workers so far."""
        workers = sum(tree_cpu_seconds(process.pid) for process in self.workers.running)
        return tree_cpu_seconds(self.server.pid), workers

    def memory_mb(self) -> tuple[float, float]:
        """Return the present memory of the server and of the workers; memory that processes share counts once."""
        workers = sum(tree_memory_mb(process.pid) for process in self.workers.running)
        return tree_memory_mb(self.server.pid), workers


@contextmanager
def standing(system: System) -> Iterator[Stand]:
    """Yield a stand whose server is started, but not its workers.

    Afterwards end and remove everything; after an error, keep the folder.
    """
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="queue-", dir=SCRATCH) as folder:
        stand = Stand(system, Path(folder))
        try:
            stand.start_server()
            yield stand
        finally:
            stand.workers.stop()
            stand.server.stop()
