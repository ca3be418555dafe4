"""What a figure is: rows of the table, and how to measure them on one broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bench.brokers import Kind, RunningBroker, fresh
from bench.setup import create_topic, read_from_start

Sample = dict[str, float]


@dataclass(frozen=True, slots=True)
class Target:
    """Of the ratio shareq / Apache Kafka, or of shareq's own value."""

    of: Literal["ratio", "value"]
    relation: Literal["<=", ">="]
    bound: float

    def met(self, value: float, ratio: float | None) -> bool | None:
        """None when there is no ratio to judge by."""
        judged = value if self.of == "value" else ratio
        if judged is None:
            return None
        return judged <= self.bound if self.relation == "<=" else judged >= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `key` names the value in a sample; `form` is a format string with the unit."""

    key: str
    label: str
    form: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything. Figures are repeated and the median is told."""

    repeats: int
    records: int  # of the throughput figures
    requests: int  # pipelined produce
    mixed_records: int
    round_trips: int
    fresh_groups: int
    starts: int
    idle_seconds: float
    warm_up: bool  # whether each figure runs once, quickly, before it counts


FULL = Scale(
    repeats=3,
    records=1_000_000,
    requests=60_000,
    mixed_records=120_000,
    round_trips=2000,
    fresh_groups=5,
    starts=5,
    idle_seconds=20.0,
    warm_up=True,
)
QUICK = Scale(
    repeats=1,
    records=300_000,
    requests=10_000,
    mixed_records=20_000,
    round_trips=300,
    fresh_groups=1,
    starts=1,
    idle_seconds=5.0,
    warm_up=False,
)


class Figure(Protocol):
    """A module of `bench.figures`."""

    ROWS: tuple[Row, ...]
    REPEATED: bool  # False: takes its own median within one call, and needs no warm-up

    def measure(self, stage: Stage, scale: Scale) -> Sample: ...


@dataclass(slots=True)
class Stage:
    """One broker under measurement, started on first use and kept; topic and group names never come twice."""

    kind: Kind
    stack: ExitStack
    _broker: RunningBroker | None = None
    _names: int = field(default=0)

    @property
    def broker(self) -> RunningBroker:
        if self._broker is None:
            self._broker = self.stack.enter_context(fresh(self.kind))
            self._broker.start()
        return self._broker

    def topic(self, partitions: int) -> str:
        """A new topic."""
        self._names += 1
        name = f"bench-{self._names}"
        create_topic(self.broker.address, name, partitions)
        return name

    def group(self) -> str:
        """A new share group that will start at the first record."""
        self._names += 1
        name = f"bench-{self._names}"
        read_from_start(self.broker.address, [name])
        return name

    def client(self, program: str, **arguments: Any) -> Sample:
        """Run `bench.client.<program>` against the broker, in a process of its own."""
        return run_client(self.broker, program, arguments)


def run_client(broker: RunningBroker, program: str, arguments: Mapping[str, Any], timeout_s: float = 240) -> Sample:
    """One client process; its answer. RuntimeError with what it said when it failed."""
    task = json.dumps({"address": broker.address, "broker_pid": broker.pid, **arguments})
    command = [sys.executable, "-m", "bench.client", program, task]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        raise RuntimeError(f"client {program} failed:\n{done.stderr[-3000:]}")
    sample: Sample = json.loads(done.stdout.splitlines()[-1])
    return sample
