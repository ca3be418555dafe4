"""A good client's times alone and beside a stranger who does one thing over and over: `python -m bench.hostile`.

Each attack has a new broker process, on which the good client works alone, then beside the stranger; then the same with
quotas for everybody but the good client. A real stranger would be on another machine, so the CPU that it uses here must
not count. There are two ways to exclude it (`Mode`), each with a column of its own; the first row is a program that
only burns CPU. The table has multiples of the p99 of the good client alone; its times, and what the broker worked
meanwhile, are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import shareq
from bench.hostile.attacks import ATTACKS
from bench.hostile.good import CLIENT_ID, GoodClient, Waited
from bench.proc import largest_resident_mb, load_average, machine, resident_mb
from bench.setup import FAR_ABOVE, set_quotas
from devtools.documents import add_write_option, show_and_write
from shareq.testing import Broker

ROOT: Final = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- hostile:begin -->", "<!-- hostile:end -->"
MOST_TIMES: Final = 3.0
"""The most that the good client's p99 may be beside a stranger at its worst, in multiples of its p99 alone."""
QUOTAS: Final = {
    ("client-id", None): {"request_percentage": 5.0},
    ("client-id", CLIENT_ID): FAR_ABOVE,
    ("ip", None): {"connection_creation_rate": 10.0},
}
"""Quotas of one part in twenty of the broker's time, and of ten connections a second; the good client has no bound."""
SPARE_S: Final = 0.5
WARM_UP_S: Final = 1.0
SETTLE_S: Final = 5.0
"""The pause after the stranger has ended: the broker returns freed memory two seconds after its last use."""


class Mode(Enum):
    """The stranger's share of the machine: idle time (`SCHED_IDLE`), or a core. Values are column heads."""

    IDLE = "what is left"
    CORE = "a processor"

    @property
    def cores(self) -> tuple[int | None, set[int] | None]:
        """The stranger's core, and the cores of the others; None: any core."""
        if self is Mode.IDLE:
            return None, None
        ours, stranger, *_ = sorted(os.sched_getaffinity(0))
        return stranger, {ours}


class Spread(NamedTuple):
    """The distribution of some times, in ms."""

    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, times: Sequence[float]) -> Spread:
        ordered = sorted(times)
        return cls(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1])

    def beside(self, alone: Spread) -> str:
        """Format the p99 in multiples of that of `alone`, in bold if they are more than `MOST_TIMES`."""
        times = self.p99 / alone.p99
        return f"{times:.1f}" if times <= MOST_TIMES else f"**{times:.1f}**"


class Times(NamedTuple):
    """A client's requests: the time to each answer, and the broker's work meanwhile."""

    elapsed: Spread
    worked: Spread
    requests: int

    @classmethod
    def of(cls, waited: Sequence[Waited]) -> Times:
        elapsed, worked = zip(*waited, strict=True)
        return cls(Spread.of(elapsed), Spread.of(worked), len(waited))


class Memory(NamedTuple):
    """The broker's memory in MB: with the good client alone, at most, and after the stranger has left."""

    alone: float
    largest: float
    afterwards: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One attack: the good client alone, beside the stranger, and beside it with quotas for strangers.

    `memory` is measured without quotas.
    """

    label: str
    alone: Times
    beside: Times
    limited: Times
    memory: Memory

    @property
    def cell(self) -> str:
        """The p99 beside the stranger, and with quotas for it, in multiples of the p99 alone."""
        alone = self.alone.elapsed
        return f"{self.beside.elapsed.beside(alone)}/{self.limited.elapsed.beside(alone)}"


def table(found: Mapping[Mode, Sequence[Measured]]) -> list[str]:
    """Return a row for each stranger, with a column for each mode; memory is the largest of all modes."""
    heads = [mode.value for mode in found]
    lines = [f"| stranger | {' | '.join(heads)} | MB at most |", f"| --- |{' ---: |' * (len(heads) + 1)}"]
    for rows in zip(*found.values(), strict=True):
        cells = [row.cell for row in rows]
        lines.append(f"| {rows[0].label} | {' | '.join(cells)} | {max(row.memory.largest for row in rows):.0f} |")
    alone = [row.alone.elapsed.p99 for rows in found.values() for row in rows]
    return [*lines, "", f"The p99 alone: {min(alone):.2f} to {max(alone):.2f} ms."]


def measure(name: str, seconds: float, mode: Mode) -> Measured:
    """Return one row of the table."""
    alone, beside, memory = _measured(name, seconds, mode, limited=False)
    _, limited, _ = _measured(name, seconds, mode, limited=True)
    return Measured(ATTACKS[name][0], alone, beside, limited, memory)


def _measured(name: str, seconds: float, mode: Mode, *, limited: bool) -> tuple[Times, Times, Memory]:
    """Measure with a new broker: the good client alone, and beside the stranger."""
    core, ours = mode.cores
    with _confined(ours), Broker(mode="command", metrics="127.0.0.1:0") as broker:
        pid = broker.pid
        good = GoodClient(broker.address)
        if limited:
            host, port = broker.address
            set_quotas(f"{host}:{port}", QUOTAS)
        good.run(WARM_UP_S, pid)
        alone = Times.of(good.run(seconds, pid))
        before_mb = resident_mb(pid)
        with _stranger(broker, name, seconds + SPARE_S, core) as stranger:
            assert stranger.stdout is not None
            stranger.stdout.readline()  # its frames are made, and it is at it
            beside = Times.of(good.run(seconds, pid))
            said, _ = stranger.communicate(timeout=seconds + 60)
        largest_mb = largest_resident_mb(pid)
        if not limited:
            good.run(SETTLE_S, pid)
        memory = Memory(before_mb, largest_mb, resident_mb(pid))
        good.close()
    quotas = "with quotas" if limited else "without quotas"
    report = f"{name} {mode.name} {quotas}: alone {alone}, beside {beside}, {memory}; {said.strip()}"
    print(f"hostile: {report}", file=sys.stderr, flush=True)
    return alone, beside, memory


@contextmanager
def _confined(cores: set[int] | None) -> Iterator[None]:
    """Run this process and its children on these cores, with priority for this thread, the good client.

    Otherwise it would measure its wait for the core: the scheduler lets the broker finish its slice of some ms.
    """
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    with contextlib.suppress(PermissionError):  # then the table shows it
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, before)


@contextmanager
def _stranger(broker: Broker, name: str, seconds: float, core: int | None) -> Iterator[subprocess.Popen[str]]:
    assert broker.metrics_url is not None
    host, port = broker.address
    metrics_port = urlsplit(broker.metrics_url).port
    task = {"host": host, "port": port, "metrics_port": metrics_port, "seconds": seconds}
    task |= {"gives_way": core is None, "core": core}
    command = [sys.executable, "-m", "bench.hostile.attacks", name, json.dumps(task)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def main() -> int:
    options = _options()
    os.environ["PYTHONPATH"] = str(ROOT)
    began = time.monotonic()
    found = {
        mode: [measure(name, options.seconds, mode) for name in options.attacks or ATTACKS]
        for mode in ([Mode[options.mode.upper()]] if options.mode else Mode)
    }
    lines = [*table(found), ""]
    lines += [f"{name}: {value}  " for name, value in _about(time.monotonic() - began).items()]
    show_and_write(lines, options.write, BEGIN, END)
    return 0


def _about(elapsed_s: float) -> Mapping[str, str]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    return {
        "machine": machine(),
        "versions": f"shareq {shareq.__version__}, Python {platform.python_version()}",
        "commit": commit or "unknown",
        "run": f"{time.strftime('%Y-%m-%d')}, {elapsed_s:.0f} s, load average {load_average():.1f}",
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("attacks", nargs="*", choices=[[], *ATTACKS], default=[], help="some of them alone")
    parser.add_argument("--mode", choices=[mode.name.lower() for mode in Mode], help="the column of one alone")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement (default 6)")
    add_write_option(parser, BEGIN, END)
    options = parser.parse_args()
    if options.mode != "idle" and len(os.sched_getaffinity(0)) < 2:
        parser.error("a stranger with a processor of its own needs two; --mode idle does with one")
    return options


if __name__ == "__main__":
    sys.exit(main())
