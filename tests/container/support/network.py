"""A network of its own, where every port is free: loopback, and the names that other containers would know."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class Network:
    """Linux namespaces that live as long as the context. Commands run in it, see `inside`."""

    def __init__(self, names: Sequence[str], work: Path) -> None:
        hosts = work / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in names))
        script = f"ip link set lo up && mount --bind '{hosts}' /etc/hosts && echo ready && exec cat"
        # `cat` ends when its input does, so nothing stays behind however this process ends.
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._holder.stdout is not None
        said = self._holder.stdout.readline()
        if said != "ready\n":
            self._holder.wait()
            raise RuntimeError(f"no network namespace: {said.strip()}")

    def inside(self, command: Sequence[str], *, names: bool = True) -> list[str]:
        """Return a command that runs this one in the network; with `names` it sees the network's own /etc/hosts."""
        enter = ["nsenter", "--target", str(self._holder.pid), "--net", *(["--mount"] if names else [])]
        return [*enter, "env", f"--chdir={os.getcwd()}", *command]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holder.communicate()
