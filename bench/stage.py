"""One broker under measurement, and the client programs that run against it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.brokers import Kind, Reachable, RunningBroker, Secure, fresh, secured
from bench.figure import Sample
from bench.setup import create_topic, quotas_for_all, read_from_start


@dataclass(slots=True)
class Stage:
    """One broker under measurement, started on first use and kept; names of topics and groups are never reused.

    With `secure`, client programs use a second listener with TLS. With `limited`, all clients have quotas, which none
    of them reaches. `packages` has a shareq of another checkout.
    """

    kind: Kind
    stack: ExitStack
    secure: Secure | None = None
    limited: bool = False
    packages: Path | None = None
    _broker: RunningBroker | None = None
    _names: int = field(default=0)
    _behind_tls: Stage | None = None
    _below_quotas: Stage | None = None

    @property
    def broker(self) -> RunningBroker:
        if self._broker is None:
            self._broker = self.stack.enter_context(self.fresh())
            self._broker.start()
            if self.limited:
                quotas_for_all(self._broker.address)
        return self._broker

    def fresh(self, settings: Mapping[str, str] = MappingProxyType({})) -> AbstractContextManager[RunningBroker]:
        """Return a broker of the same kind that is not started yet, with these properties, for one figure alone."""
        return fresh(self.kind, self.secure, self.packages, settings)

    @property
    def behind_tls(self) -> Stage:
        """Return a stage with a broker of the same kind whose clients use TLS, started on first use and kept."""
        if self._behind_tls is None:
            folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="shareq-bench-tls-")))
            self._behind_tls = Stage(self.kind, self.stack, secured(folder), packages=self.packages)
        return self._behind_tls

    @property
    def below_quotas(self) -> Stage:
        """A broker of the same kind with quotas for all clients; started on first use and kept."""
        if self._below_quotas is None:
            self._below_quotas = Stage(self.kind, self.stack, limited=True, packages=self.packages)
        return self._below_quotas

    def topic(self, partitions: int) -> str:
        """Create a topic."""
        self._names += 1
        name = f"bench-{self._names}"
        create_topic(self.broker.address, name, partitions)
        return name

    def group(self) -> str:
        """Return a new share group that will start at the first record."""
        self._names += 1
        name = f"bench-{self._names}"
        read_from_start(self.broker.address, [name])
        return name

    def client(self, program: str, **arguments: Any) -> Sample:
        """Run `bench.client.<program>` against the broker, in a process of its own."""
        if self.secure is not None:
            arguments |= {"address": self.secure.address, "security": self.secure.client()}
        return run_client(self.broker, program, arguments)


def run_client(broker: Reachable, program: str, arguments: Mapping[str, Any], timeout_s: float = 240) -> Sample:
    """Run one client process, and return its answer. RuntimeError has its output if it fails."""
    task = json.dumps({"address": broker.address, "broker_pid": broker.pid, **arguments})
    command = [sys.executable, "-m", "bench.client", program, task]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        raise RuntimeError(f"client {program} failed:\n{done.stderr[-3000:]}")
    sample: Sample = json.loads(done.stdout.splitlines()[-1])
    return sample
