"""The share consumers of a demo, each a process of its own with a journal."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from examples.flights_demo.ledger import Ledger
from examples.flights_demo.progress import Progress

COUNT: Final = 4
END_S: Final = 15.0


class Consumers:
    """The processes. Journals and logs are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, bootstrap: str, group: str, topic: str) -> list[Path]:
        """Start them, and return their journals."""
        journals = [self._folder / f"consumer-{number}.jsonl" for number in range(COUNT)]
        for journal in journals:
            command = [sys.executable, "-m", "examples.flights_demo.consumer", bootstrap, group, topic, str(journal)]
            with journal.with_suffix(".log").open("wb") as log:
                self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log))
        return journals

    def watch(self, ledger: Ledger, progress: Progress, done: Callable[[], bool], deadline_s: float) -> None:
        """Read the journals until `done()`; at the deadline (monotonic) return with the records read so far.

        Raise RuntimeError if a consumer ends early.
        """
        while not done() and time.monotonic() < deadline_s:
            time.sleep(0.05)
            ledger.read()
            progress.show(f"{len(ledger.deliveries):,} delivered, {ledger.confirmed:,} of {ledger.rows:,} confirmed")
            for number, process in enumerate(self._processes):
                if process.poll() is not None:
                    raise RuntimeError(f"consumer {number} ended early with code {process.returncode}")

    def end(self) -> None:
        """End all that run; harmless the second time."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
