"""The measurements of a system: rates, latency, CPU, memory, and the cost of kills."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bench.queues.job import Done, count, read
from bench.queues.servers import wait_for
from bench.queues.stand import Stand, standing
from bench.queues.systems import System

DRAIN_S: Final = 600.0
QUIET_S: Final = 60.0  # after a kill: as long without a job that ends, nothing more is waited for


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of one run."""

    jobs: int = 3000
    latency_jobs: int = 600
    latency_rate: float = 20.0
    kill_rate: float = 25.0
    kill_s: float = 40.0
    job_s: float = 0.04


@dataclass(frozen=True, slots=True)
class Speed:
    """Rates in jobs a second, CPU in milliseconds for a job, memory in 10^6 bytes."""

    sent: float
    done: float
    server_cpu: float
    worker_cpu: float
    server_mb: float
    worker_mb: float


@dataclass(frozen=True, slots=True)
class Latency:
    """The time from before a job is sent until it begins, in milliseconds."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Kill:
    """The fate of accepted jobs: how many were not done within a minute of the last one done, and how many were done
    twice.
    """

    taken: int
    missing: int
    doubled: int
    longest_s: float  # between two jobs that ended
    ended: int  # workers that ended by themselves


def speed(system: System, scale: Scale) -> Speed:
    """Send all jobs, then start the workers; measure from the first tenth of the jobs done until all are done."""
    with standing(system) as stand:
        taken, send_s = stand.send(scale.jobs).taken()
        stand.workers.start()
        begin_at = len(taken) // 10
        wait(stand, begin_at)
        done, began, cpu = count(stand.journal), time.monotonic(), stand.cpu_s()
        wait(stand, len(taken))
        done, took = count(stand.journal) - done, time.monotonic() - began
        server, workers = (1000 * (after - before) / done for before, after in zip(cpu, stand.cpu_s(), strict=True))
        return Speed(len(taken) / send_s, done / took, server, workers, *stand.memory_mb())


def latency(system: System, scale: Scale) -> Latency:
    """Measure warm workers, with jobs at a rate that keeps none of the systems busy."""
    with standing(system) as stand:
        stand.workers.start()
        first, _ = stand.send(50, scale.latency_rate).taken()
        wait(stand, len(first))
        taken, _ = stand.send(scale.latency_jobs, scale.latency_rate).taken()
        wait(stand, len(first) + len(taken))
        times = sorted(1000 * (done.begun_s - done.sent_s) for done in read(stand.journal)[len(first) :])
        return Latency(times[len(times) // 2], times[len(times) * 99 // 100])


def kill_of_worker(system: System, scale: Scale) -> Kill:
    """Kill one of the workers, three times under load."""
    return _kill(system, scale, lambda stand: stand.workers.kill_one())


def kill_of_server(system: System, scale: Scale) -> Kill:
    """Kill the server three times under load, and restart it at once on its folder."""

    def again(stand: Stand) -> None:
        stand.server.kill()
        stand.server.start()

    return _kill(system, scale, again)


def _kill(system: System, scale: Scale, kill: Callable[[Stand], None]) -> Kill:
    with standing(system) as stand:
        stand.workers.start()
        first, _ = stand.send(20, scale.kill_rate).taken()
        wait(stand, len(first))
        stand.journal.write_bytes(b"")
        sender = stand.send(round(scale.kill_rate * scale.kill_s), scale.kill_rate, scale.job_s)
        for _ in range(3):
            time.sleep(scale.kill_s / 4)
            kill(stand)
            stand.workers.look_after()
        taken, _ = sender.taken()
        drain(stand, taken)
        return cost_of_kills(taken, read(stand.journal), stand.workers.ended)


def cost_of_kills(taken: set[int], journal: Sequence[Done], ended: int) -> Kill:
    """Return the fate of the accepted jobs; other jobs that were done only show that the queue works."""
    times = Counter(done.number for done in journal if done.number in taken)
    moments = sorted(done.ended_s for done in journal)
    longest_s = max((after - before for before, after in pairwise(moments)), default=0.0)
    return Kill(len(taken), len(taken) - len(times), sum(each > 1 for each in times.values()), longest_s, ended)


def drain(stand: Stand, taken: set[int]) -> None:
    """Wait until all jobs are done, or none is done for a minute."""
    done, since = -1, time.monotonic()
    while not taken <= {each.number for each in read(stand.journal)}:
        stand.workers.look_after()
        if (now := count(stand.journal)) != done:
            done, since = now, time.monotonic()
        if time.monotonic() - since > QUIET_S:
            return
        time.sleep(0.5)


def wait(stand: Stand, jobs: int) -> None:
    """Wait until so many jobs were done. Raise RuntimeError if they are not in ten minutes."""
    if not wait_for(lambda: count(stand.journal) >= jobs, DRAIN_S):
        raise RuntimeError(f"{stand.system.label}: {count(stand.journal)} of {jobs} jobs were done")
