"""Wall clock and the broker's CPU time over one stretch of work."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from bench.proc import cpu_seconds

NO_SECURITY: Final[Mapping[str, str]] = MappingProxyType({})  # settings of librdkafka for a listener without any
SETTLE_S = 0.1  # lets the broker end what it does behind an answer; counted as CPU, not as time


@dataclass(slots=True)
class Meter:
    """Starts when made."""

    broker_pid: int
    started: float
    cpu_before: float
    own_before: float

    @classmethod
    def start(cls, broker_pid: int) -> Meter:
        return cls(broker_pid, time.perf_counter(), cpu_seconds(broker_pid), time.process_time())

    def stop(self, count: int) -> dict[str, float]:
        """`rate` in units per second; `cpu_us` of the broker per unit, and `client_us` of this process."""
        elapsed, own = time.perf_counter() - self.started, time.process_time() - self.own_before
        time.sleep(SETTLE_S)
        cpu = cpu_seconds(self.broker_pid) - self.cpu_before
        return {
            "rate": count / elapsed,
            "cpu_us": cpu / count * 1e6,
            "client_us": own / count * 1e6,
            "count": float(count),
            "elapsed_s": elapsed,
        }
