"""Samples of a broker process, taken every second: /proc and its own metrics."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from bench.proc import resident_mb
from tests.campaign.soak.planted import Levers

EVERY_S: Final = 1.0
PATIENCE_S: Final = 2.0
_SLOW_STALL: Final = 0.1  # one of the bounds of the broker's buckets
_LINE: Final = re.compile(r"^([a-z_]+)(?:\{([^}]*)\})? (\S+)", re.MULTILINE)
OF_SEGMENTS: Final = (".log", ".index", ".timeindex", ".txnindex")
GAUGES: Final = {
    "connections": "kafka_server_socket_server_metrics_connection_count",
    "share members": "shareq_share_group_members",
    "consumer members": "shareq_consumer_group_members",
    "held answers": "shareq_held_reply_bytes",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One look. `at_s` on the monotonic clock; `rss_mb` in 10^6 bytes.

    Counters: `slow_stalls`, the stalls of the loop over 100 ms; `stalled_s`, the time of all stalls; `waited_s`, the
    time that threads waited for a processor (the loop also waits for the thread that has Python's lock); `disk_s`, the
    loop's wait for the disk. If the broker did not answer a scrape in time, stalls are None and gauges empty. `kinds`
    has the descriptors by kind (`kinds_of`).
    """

    at_s: float
    rss_mb: float
    descriptors: int
    threads: int
    waited_s: float = 0.0
    disk_s: float = 0.0
    slow_stalls: int | None = None
    stalled_s: float = 0.0
    gauges: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)


class Sampler:
    """A sampler that looks from `start` to `stop`, in a thread of its own, and collects `samples`."""

    def __init__(self, pid: int, metrics_port: int, levers: Levers, every_s: float = EVERY_S) -> None:
        self._pid = pid
        self._every_s = every_s
        self._levers = levers
        self._url = f"http://127.0.0.1:{metrics_port}/metrics"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.samples: list[Sample] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take one last sample, because a stall since the previous one counts, and end. Does nothing before `start`."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._keep_look()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            self._keep_look()
            due = max(due + self._every_s, time.monotonic())
            self._stop.wait(due - time.monotonic())

    def _keep_look(self) -> None:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it has ended: others say so
            self.samples.append(self._look())

    def _look(self) -> Sample:
        text = ""
        with contextlib.suppress(OSError), urlopen(self._url, timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
        process = Path(f"/proc/{self._pid}")
        threads = list((process / "task").iterdir())
        waited_ns = sum(map(_waited_ns, threads))
        kinds = kinds_of(_targets(process / "fd"))
        slow, stalled_s, gauges = read_metrics(text)
        return Sample(
            time.monotonic(),
            resident_mb(self._pid),
            kinds.total(),
            len(threads),
            waited_ns / 1e9,
            self._levers.disk_ns / 1e9,
            slow,
            stalled_s,
            gauges,
            kinds,
        )


def _targets(folder: Path) -> list[str]:
    """Return the targets of the descriptors; one that was closed meanwhile is left out."""
    targets = []
    for one in folder.iterdir():
        with contextlib.suppress(OSError):
            targets.append(str(one.readlink()))
    return targets


def kinds_of(targets: Iterable[str]) -> Counter[str]:
    """Count the descriptors of each kind, from their links in /proc.

    `logs` are files of segments, each counted once, `logs again` further descriptors of the same files, `removed` are
    files without a name; the others are `sockets` and `others`.
    """
    kinds: Counter[str] = Counter()
    logs: set[str] = set()
    for target in targets:
        if target.startswith("socket:"):
            kind = "sockets"
        elif target.endswith(" (deleted)"):
            kind = "removed"
        elif not target.endswith(OF_SEGMENTS):
            kind = "others"
        else:
            kind = "logs again" if target in logs else "logs"
            logs.add(target)
        kinds[kind] += 1
    return kinds


def _waited_ns(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[1])
    except OSError:  # it has ended
        return 0


def read_metrics(text: str) -> tuple[int | None, float, dict[str, float]]:
    """Return the number of stalls over 100 ms, the time of all stalls, and `GAUGES`, each summed over its labels.

    For an empty text these are None, 0 and empty.
    """
    sums: Counter[str] = Counter()
    quick = count = stalled_s = 0.0
    for name, labels, value in _LINE.findall(text):
        if name == "shareq_event_loop_stall_seconds_bucket":
            if f'le="{_SLOW_STALL:g}"' in labels:
                quick = float(value)
        elif name == "shareq_event_loop_stall_seconds_count":
            count = float(value)
        elif name == "shareq_event_loop_stall_seconds_sum":
            stalled_s = float(value)
        else:
            sums[name] += float(value)  # type: ignore[assignment]
    if not count:
        return None, 0.0, {}
    return int(count - quick), stalled_s, {what: sums[name] for what, name in GAUGES.items() if name in sums}
