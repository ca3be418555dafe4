"""The kernel's figures about a process and this machine (Linux)."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

_CPUCLOCK_SCHED = 2  # include/linux/posix-timers.h: the time that a process was on a CPU, by its id
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process with all its threads, in steps of one clock tick (10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def tree_cpu_seconds(pid: int) -> float:
    """Return `cpu_seconds` of a process and all its descendants, including ended ones that were waited for."""
    stats = {int(path.parent.name): text.rpartition(")")[2].split() for path, text in _all_stats()}
    wanted, total = [pid], 0.0
    while wanted:
        parent = wanted.pop()
        total += sum(int(ticks) for ticks in stats[parent][11:15]) / _TICKS_PER_S
        wanted += [child for child, fields in stats.items() if int(fields[1]) == parent]
    return total


def tree_memory_mb(pid: int) -> float:
    """Return the memory of a process and all below it, in 10^6 bytes; pages that several share count once (PSS)."""
    parents = {int(path.parent.name): int(text.rpartition(")")[2].split()[1]) for path, text in _all_stats()}
    wanted, total_kb = [pid], 0
    while wanted:
        parent = wanted.pop()
        rollup = _lines(f"/proc/{parent}/smaps_rollup")
        total_kb += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        wanted += [child for child, its_parent in parents.items() if its_parent == parent]
    return total_kb * 1024 / 1e6


def resident_mb(pid: int) -> float:
    """Return the resident memory (VmRSS) in 10^6 bytes."""
    return _status_mb(pid, "VmRSS")


def largest_resident_mb(pid: int) -> float:
    """Return the largest resident memory so far (VmHWM) in 10^6 bytes."""
    return _status_mb(pid, "VmHWM")


def busy_ns(pid: int) -> int:
    """Return the CPU time of a process's threads in ns, up to this moment; `/proc` only has that of the last tick."""
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)


def machine() -> str:
    """Return processor, cores and memory in one line."""
    models = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    name = models[0] if models else platform.machine()
    return f"{name}, {os.cpu_count()} cores, {memory / 2**20:.0f} GiB, Linux {platform.release().split('-')[0]}"


def load_average() -> float:
    """Return the machine's load in the last minute."""
    return os.getloadavg()[0]


def _all_stats() -> Iterator[tuple[Path, str]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            yield path, path.read_text()


def _status_mb(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} has no {name}")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
