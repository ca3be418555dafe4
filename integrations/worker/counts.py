"""The counters of a handler, as numbers, as a line and in the format of Prometheus. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


@dataclass(slots=True)
class Counts:
    """The counters of one handler. `working`, `waiting` and `ahead` are current, the others count since the start."""

    name: str
    concurrency: int
    done: int = 0
    retried: int = 0
    rejected: int = 0
    lost: int = 0
    """Records finished too late, or refused by the broker: they are delivered again."""
    working: int = 0
    waiting: int = 0
    """Records that are kept until their next try."""
    ahead: int = 0
    """Records acquired, but not begun yet."""
    seconds: float = 0.0
    """The seconds spent in the handler, for all records together."""
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))

    @property
    def finished(self) -> int:
        return self.done + self.retried + self.rejected + self.lost

    def took(self, seconds: float) -> None:
        """Count a finished call of the handler."""
        self.seconds += seconds
        self.buckets[bisect_left(BOUNDS_S, seconds)] += 1

    def line(self, per_second: float) -> str:
        """Return a line for an operator's terminal."""
        return (
            f"{self.name}: {self.working}/{self.concurrency} working, {self.ahead} ahead, {self.waiting} waiting, "
            f"{self.done} done, {self.retried} retried, {self.rejected} rejected, {self.lost} lost, {per_second:.1f}/s"
        )


def exposition(group: str, all_counts: Iterable[Counts]) -> str:
    """Return the counts in the text format of Prometheus, version 0.0.4."""
    rows = list(all_counts)
    lines: list[str] = []

    def labels(counts: Counts, more: str = "") -> str:
        return f'{{group="{_escaped(group)}",topic="{_escaped(counts.name)}"{more}}}'

    def family(name: str, kind: str, text: str) -> str:
        lines.extend((f"# HELP {name} {text}", f"# TYPE {name} {kind}"))
        return name

    name = family("shareq_worker_records_total", "counter", "Records by what became of them.")
    for each in rows:
        for outcome in ("done", "retried", "rejected", "lost"):
            more = f',outcome="{outcome}"'
            lines.append(f"{name}{labels(each, more)} {getattr(each, outcome)}")
    for field_name, text in (
        ("working", "Handlers at work."),
        ("waiting", "Records that wait for their next try in this worker."),
        ("ahead", "Records acquired and not begun."),
        ("concurrency", "Handlers that may be at work at once."),
    ):
        name = family(f"shareq_worker_{field_name}", "gauge", text)
        lines.extend(f"{name}{labels(each)} {getattr(each, field_name)}" for each in rows)
    name = family("shareq_worker_seconds", "histogram", "How long a call of a handler took.")
    for each in rows:
        below = 0
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), each.buckets, strict=True):
            below += count
            more = f',le="{bound}"'
            lines.append(f"{name}_bucket{labels(each, more)} {below}")
        lines.append(f"{name}_sum{labels(each)} {each.seconds:.6f}")
        lines.append(f"{name}_count{labels(each)} {below}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
