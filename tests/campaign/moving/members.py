"""The members of a group at both sides of a move, each a process of its own with a journal."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.campaign.moving.judge import NEW, OLD, Seen

SHARE_MEMBER: Final = ("tests.campaign.moving.member",)
ENDS_S: Final = 15.0


class Members:
    """Members of `group` on `topic`, `count` at each side; a member that ends is replaced.

    Journals and logs are in `folder`. `program` is a module and its first arguments.
    """

    def __init__(
        self, folder: Path, group: str, topic: str, *, program: Sequence[str] = SHARE_MEMBER, count: int = 4
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.hung = 0
        self.group = group
        self._folder = folder
        self._program = program
        self._work = group, topic
        self._count = count
        self._processes: list[tuple[str, str, subprocess.Popen[bytes]]] = []
        self._seen = Seen()
        self._read: dict[Path, int] = {}
        self._lives = 0
        self._is_over = threading.Event()
        self._changing = threading.Lock()
        self._reviving = threading.Thread(target=self._revive)
        for side in (OLD, NEW):
            self.pace(side, 0)

    def pace(self, side: str, per_second: float) -> None:
        """Set the records a second of each member at a side; 0: as fast as it can."""
        whole = self._pace(side).with_suffix(".new")
        whole.write_text(str(per_second))
        whole.replace(self._pace(side))

    def start(self, side: str, bootstrap: str) -> None:
        with self._changing:
            self._processes += [(side, bootstrap, self._begun(side, bootstrap)) for _ in range(self._count)]
        if not self._reviving.is_alive():
            self._reviving.start()

    def seen(self) -> Seen:
        """Return the entries of all journals by now; the same object each time."""
        for path in sorted(self._folder.glob("journal-*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole = file.read().rpartition(b"\n")[0]
            if whole:
                self._seen.read(path.stem.split("-")[1], path.stem, whole.decode().split("\n"))
                self._read[path] = self._read.get(path, 0) + len(whole) + 1
        return self._seen

    def wait_for_confirmed(self, count: int, within_s: float) -> None:
        by = time.monotonic() + within_s
        while (found := len(self.seen().confirmed)) < count:
            if time.monotonic() > by:
                raise RuntimeError(f"{found} of {count} rows were confirmed in {within_s:.0f} s")
            time.sleep(0.1)

    def stop(self, side: str) -> None:
        with self._changing:
            stopping = [process for where, _, process in self._processes if where == side]
            self._processes = [each for each in self._processes if each[0] != side]
            for process in stopping:
                process.terminate()
            by = time.monotonic() + ENDS_S
            for process in stopping:
                try:
                    process.wait(max(by - time.monotonic(), 0.1))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def end(self) -> None:
        self._is_over.set()
        if self._reviving.is_alive():
            self._reviving.join()
        for side in (OLD, NEW):
            self.stop(side)

    def _pace(self, side: str) -> Path:
        return self._folder / f"pace-{side}"

    def _begun(self, side: str, bootstrap: str) -> subprocess.Popen[bytes]:
        self._lives += 1
        journal = self._folder / f"journal-{side}-{self._lives}.jsonl"
        command = [sys.executable, "-m", *self._program, bootstrap, *self._work, str(journal)]
        with journal.with_suffix(".log").open("wb") as log:
            return subprocess.Popen([*command, str(self._pace(side))], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _revive(self) -> None:
        while not self._is_over.wait(0.2):
            with self._changing:
                for at, (side, bootstrap, process) in enumerate(self._processes):
                    if process.poll() is not None:
                        self.hung += 1
                        self._processes[at] = side, bootstrap, self._begun(side, bootstrap)
