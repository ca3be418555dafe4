"""A good client's times alone and beside a stranger who does one thing over and over: `python -m bench.hostile`.

Each attack has a new broker process, which the good client is alone with first. The attack runs in a process of its
own, which has the processors only while good client and broker leave them (SCHED_IDLE), for it would be on another
machine: what a program takes that only burns its time is the first row. Then once more with quotas for everybody but
the good client.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import shareq
from bench.hostile.attacks import ATTACKS
from bench.hostile.good import CLIENT_ID, GoodClient
from bench.proc import load_average, machine
from bench.setup import FAR_ABOVE, set_quotas
from devtools.documents import write_between
from shareq.testing import Broker

ROOT: Final = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- hostile:begin -->", "<!-- hostile:end -->"
MOST_TIMES: Final = 3.0
"""Of the good client's p99 alone, beside a stranger at its worst."""
QUOTAS: Final = {
    ("client-id", None): {"request_percentage": 5.0},
    ("client-id", CLIENT_ID): FAR_ABOVE,
    ("ip", None): {"connection_creation_rate": 10.0},
}
"""Of the broker's time one part in twenty, and ten connections a second; the good client has no bound."""
SPARE_S: Final = 0.5
WARM_UP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Times:
    """Of a client's requests until the answer was there, in ms."""

    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, waited: Sequence[float]) -> Times:
        ordered = sorted(waited)
        return cls(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], len(ordered))

    def cell(self, alone: Times | None = None) -> str:
        """With how many times the p99 of `alone` it is, in bold where that is more than `MOST_TIMES`."""
        times = f"{self.p50:.2f} / {self.p99:.2f}"
        return times if alone is None else f"{times} ({_factor(self.p99, alone.p99)})"


def _factor(p99: float, alone: float) -> str:
    times = p99 / alone
    return f"{times:.1f}x" if times <= MOST_TIMES else f"**{times:.1f}x**"


@dataclass(frozen=True, slots=True)
class Measured:
    """One attack: the good client alone, beside it, and beside it with quotas for strangers."""

    label: str
    alone: Times
    beside: Times
    limited: Times

    @property
    def line(self) -> str:
        """A row of the table."""
        cells = [self.alone.cell(), self.beside.cell(self.alone), self.limited.cell(self.alone)]
        return f"| {self.label} | {' | '.join(cells)} |"


def table(rows: Sequence[Measured], about: Mapping[str, str]) -> list[str]:
    """Markdown."""
    return [
        "| stranger | alone | beside it | with quotas |",
        "| --- | ---: | ---: | ---: |",
        *(row.line for row in rows),
        "",
        *(f"{name}: {value}  " for name, value in about.items()),
    ]


def measure(name: str, seconds: float) -> Measured:
    """One row of the table."""
    alone, beside = _measured(name, seconds, limited=False)
    _, limited = _measured(name, seconds, limited=True)
    return Measured(ATTACKS[name][0], alone, beside, limited)


def _measured(name: str, seconds: float, *, limited: bool) -> tuple[Times, Times]:
    """A new broker: the good client alone, and beside the stranger."""
    with Broker(mode="command", metrics="127.0.0.1:0") as broker:
        good = GoodClient(broker.address)
        if limited:
            host, port = broker.address
            set_quotas(f"{host}:{port}", QUOTAS)
        good.run(WARM_UP_S)
        alone = Times.of(good.run(seconds))
        with _stranger(broker, name, seconds + SPARE_S) as stranger:
            assert stranger.stdout is not None
            stranger.stdout.readline()  # its frames are made, and it is at it
            beside = Times.of(good.run(seconds))
            said, _ = stranger.communicate(timeout=seconds + 60)
        good.close()
    quotas = "with quotas" if limited else "without quotas"
    print(f"hostile: {name} {quotas}: alone {alone}, beside {beside}; {said.strip()}", file=sys.stderr, flush=True)
    return alone, beside


@contextmanager
def _stranger(broker: Broker, name: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    assert broker.metrics_url is not None
    host, port = broker.address
    metrics_port = urlsplit(broker.metrics_url).port
    task = {"host": host, "port": port, "metrics_port": metrics_port, "seconds": seconds, "gives_way": True}
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
    rows = [measure(name, options.seconds) for name in options.attacks or ATTACKS]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()
    about = {
        "machine": machine(),
        "versions": f"shareq {shareq.__version__}, Python {platform.python_version()}",
        "commit": commit or "unknown",
        "run": f"{time.strftime('%Y-%m-%d')}, {time.monotonic() - began:.0f} s, load average {load_average():.1f}",
    }
    lines = table(rows, about)
    print("\n".join(lines))
    if options.write:
        write_between(options.write, BEGIN, END, lines)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("attacks", nargs="*", choices=[[], *ATTACKS], default=[], help="some of them alone")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement (default 6)")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="put the table between the document's markers")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
