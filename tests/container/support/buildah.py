"""Images and containers without a daemon: buildah with a storage of its own, and chroot as the isolation.

What Docker does with an image's configuration (entry point, health check, stop signal) is done here by hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.container.support.network import Network
from tests.support.processes import children, finished

START_S: Final = 60.0
STOP_S: Final = 30.0
_ISOLATION: Final = ("--isolation", "chroot")


class Buildah:
    """A storage of images and containers, in a folder that may be removed afterwards."""

    def __init__(self, storage: Path) -> None:
        folders = ("--root", str(storage / "root"), "--runroot", str(storage / "run"))
        self._command = ("buildah", *folders, "--storage-driver", "vfs")

    def command(self, *arguments: str) -> list[str]:
        return [*self._command, *arguments]

    def run(self, *arguments: str) -> str:
        """Return the command's output. Raise RuntimeError, with the end of all its output, if it fails."""
        done = finished(self.command(*arguments))
        if done.returncode:
            said = (done.stdout + done.stderr)[-3000:]
            raise RuntimeError(f"buildah {' '.join(arguments)} failed with {done.returncode}:\n{said}")
        return done.stdout.strip()

    def import_base(self, archive: Path, name: str) -> str:
        container = self.run("from", "scratch")
        self.run("add", "--quiet", container, str(archive), "/")
        self.run("commit", "--quiet", "--rm", container, name)
        return name

    def build(
        self, context: Path, dockerfile: Path, name: str, *, arguments: Mapping[str, str], volumes: Sequence[str]
    ) -> Image:
        options = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        options += [f"--volume={volume}" for volume in volumes]
        # OCI's own image format has no health checks.
        options += ["--format=docker", "--layers=false", f"--file={dockerfile}", f"--tag={name}"]
        self.run("build", *_ISOLATION, *options, str(context))
        inspected = json.loads(self.run("inspect", "--type", "image", name))
        return Image(name, inspected["Docker"]["config"])


class Image:
    """A built image. `config` has Docker's fields: User, Entrypoint, Cmd, Volumes, Healthcheck ..."""

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        self.name = name
        self.config = config

    @property
    def command(self) -> list[str]:
        return [*self.config["Entrypoint"], *self.config["Cmd"]]

    @property
    def health_check(self) -> list[str]:
        kind, *command = self.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        return [str(word) for word in command]

    @property
    def uid(self) -> int:
        return int(self.config["User"].partition(":")[0])


class Container:
    """A container of an image, in a network. Its main process runs between `start` and `stop`.

    `options` are those of `buildah run`, e.g. volumes; a change of them applies from the next process on.
    """

    def __init__(self, buildah: Buildah, image: Image, network: Network) -> None:
        self._buildah = buildah
        self.image = image
        self._network = network
        self.options: list[str] = []
        self._id = buildah.run("from", "--pull-never", image.name)
        for path in image.config["Volumes"]:
            # From the second process on, buildah's own folder for it would cover the one that `options` name.
            buildah.run("config", f"--volume={path}-", self._id)
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread()
        self._lines: list[str] = []

    @property
    def log(self) -> str:
        return "".join(self._lines)

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        return finished(self._inside(command), timeout_s=START_S)

    def start(self, ready: str) -> None:
        """Run the image's command, and wait until its output has `ready`."""
        process = subprocess.Popen(
            self._inside(self.image.command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._process = process
        self._lines = []
        seen = threading.Event()

        def read() -> None:
            assert process.stdout is not None
            with process.stdout as lines:
                for line in lines:
                    self._lines.append(line)
                    if ready in line:
                        seen.set()
            seen.set()

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()
        if not seen.wait(START_S) or ready not in self.log:
            raise RuntimeError(f"the container did not say {ready!r}: {self.log}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self._process is not None
        os.kill(self.main_pid(), number)
        code = self._process.wait(STOP_S)
        self._forget()
        return code

    def _forget(self) -> None:
        self._reader.join()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            for pid in [*_descendants(self._process.pid), self._process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
            self._forget()

    def remove(self) -> None:
        self.kill()
        self._buildah.run("rm", self._id)

    def main_pid(self) -> int:
        assert self._process is not None
        return list(_descendants(self._process.pid))[-1]

    def _inside(self, command: Sequence[str]) -> list[str]:
        run = self._buildah.command("run", *_ISOLATION, *self.options, self._id, "--", *command)
        return self._network.inside(run, names=False)


def _descendants(pid: int) -> Iterator[int]:
    """Yield the process's children and all of theirs; none of a process that has just ended."""
    for child in children(pid):
        yield child
        yield from _descendants(child)
