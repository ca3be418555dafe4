"""Wall-clock time and the broker's CPU time of some work."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bench.proc import cpu_seconds

NO_SECURITY: Final[Mapping[str, str]] = MappingProxyType({})  # settings of librdkafka for a listener without any
SETTLE_S = 0.1  # lets the broker end what it does behind an answer; counted as CPU, not as time


@dataclass(slots=True)
class Meter:
    """A meter that starts when made. Of several brokers (a node and its cluster) the first is also measured alone."""

    pids: Sequence[int]
    started: float
    cpu_before: Sequence[float]
    own_before: float

    @classmethod
    def start(cls, broker_pid: int | Sequence[int]) -> Meter:
        pids = (broker_pid,) if isinstance(broker_pid, int) else tuple(broker_pid)
        return cls(pids, time.perf_counter(), [cpu_seconds(pid) for pid in pids], time.process_time())

    def stop(self, count: int) -> dict[str, float]:
        """Return `rate` in units per second; `cpu_us` of the brokers per unit, `first_cpu_us` of the first,
        `client_us`.
        """
        elapsed, own = time.perf_counter() - self.started, time.process_time() - self.own_before
        time.sleep(SETTLE_S)
        cpu = [cpu_seconds(pid) - before for pid, before in zip(self.pids, self.cpu_before, strict=True)]
        return {
            "rate": count / elapsed,
            "cpu_us": sum(cpu) / count * 1e6,
            "first_cpu_us": cpu[0] / count * 1e6,
            "client_us": own / count * 1e6,
            "count": float(count),
            "elapsed_s": elapsed,
        }
