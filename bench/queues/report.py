"""The table of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.queues.measure import Kill, Latency, Scale, Speed

BEGIN: Final = "<!-- queues: begin -->"
END: Final = "<!-- queues: end -->"


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one system, None for those not measured."""

    speed: Speed
    latency: Latency
    worker: Kill | None
    server: Kill | None


def as_lines(rows: Mapping[str, Figures], scale: Scale, about: str) -> list[str]:
    """Return the tables in Markdown: speed, then kills."""
    lines = [
        "| queue | sent/s | done/s | wait p50/p99, ms | CPU a job, ms: server+workers | memory, MB: server+workers |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for label, row in rows.items():
        fast, soon = row.speed, row.latency
        lines.append(
            f"| {label} | {fast.sent:,.0f} | {fast.done:,.0f} | {soon.p50:.1f}/{soon.p99:.1f} "
            f"| {fast.server_cpu:.2f}+{fast.worker_cpu:.2f} | {fast.server_mb:.0f}+{fast.worker_mb:.0f} |"
        )
    jobs = f"{scale.jobs:,} jobs; the wait at {scale.latency_rate:.0f} jobs a second."
    return [*lines, "", *_kill_lines(rows, scale), f"{jobs} {about}."]


def _kill_lines(rows: Mapping[str, Figures], scale: Scale) -> list[str]:
    killed = [(label, row.worker, row.server) for label, row in rows.items() if row.worker and row.server]
    if not killed:
        return []
    lines = [
        "| three kills (-9): taken/missing/doubled, pause in s | of a worker | of the server | workers that ended |",
        "| --- | ---: | ---: | ---: |",
    ]
    for label, worker, server in killed:
        lines.append(f"| {label} | {_kill_cells(worker)} | {_kill_cells(server)} | {worker.ended + server.ended} |")
    load = f"{scale.kill_rate:.0f} jobs a second of {scale.job_s * 1000:.0f} ms for {scale.kill_s:.0f} s."
    return [*lines, "", load]


def _kill_cells(kill: Kill) -> str:
    return f"{kill.taken:,}/{kill.missing:,}/{kill.doubled:,}, {kill.longest_s:.1f}"
