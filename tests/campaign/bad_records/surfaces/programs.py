"""A surface's user programs as processes of their own: a module in a folder, started there and stopped cleanly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.campaign.bad_records.scene import StandsStill

ROOT: Final = Path(__file__).resolve().parents[4]
END_S: Final = 60.0
TAIL: Final = 2_000


class Program:
    """`python -m COMMAND` in `folder` with `modules` by name; a context manager that ends it with SIGTERM.

    `done` are the lines that the program wrote with `open("done", "a")`.
    """

    def __init__(self, folder: Path, modules: dict[str, str], *command: str) -> None:
        folder.mkdir(parents=True)
        for name, code in modules.items():
            (folder / name).write_text(code)
        self._folder = folder
        self._command = [sys.executable, "-m", *command]

    def __enter__(self) -> Self:
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if error is None:
            assert code in (0, -15), f"{self._command}: ended with {code}\n{self.log_tail}"

    @property
    def log_tail(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-TAIL:]

    @property
    def done(self) -> list[str]:
        path = self._folder / "done"
        return path.read_text().split() if path.exists() else []

    def alive(self) -> None:
        """Raise StandsStill if the process has ended."""
        code = self._process.poll()
        if code is not None:
            raise StandsStill(f"{self._command} ended with {code}\n{self.log_tail}")
