"""Producers beside one client that reads old records, from memory and from the disk; see `bench.cold_readers`."""

from __future__ import annotations

from bench.cold_readers import NO_STALLS, alone, fill, forget, watched
from bench.figure import Row, Sample, Scale, Target
from bench.stage import Stage

REPEATED = True
NOT_HELD_UP = Target("value", "<=", 2.0)
AS_CHEAP = Target("ratio", "<=", 1.0)
ROWS = (
    Row(
        "warm_reader_times",
        "p99 of a produce beside a reader of old records, to that without",
        "{:.1f}",
        NOT_HELD_UP,
    ),
    Row("apart_reader_times", "the same, the reader at a broker of its own: the cost of shared CPUs alone", "{:.1f}"),
    Row("cold_reader_times", "p99 of a produce beside a reader from the disk, to that without", "{:.1f}", NOT_HELD_UP),
    Row("cold_reader_p99", "p99 of a produce beside a reader from the disk, ms", "{:.1f}"),
    Row("cold_reader_cpu", "broker CPU per GB read from the disk, s", "{:.2f}", AS_CHEAP),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Measure one reader of 1 KB records, as many records as the throughput figures have."""
    mb = scale.records // 1_000
    with stage.fresh() as broker:
        broker.start()
        fill(broker.address, mb)
        without = alone(broker.address)
        warm = watched(broker.address, broker.pid, mb, NO_STALLS)
        with stage.fresh() as other:
            other.start()
            fill(other.address, mb)
            apart = watched(other.address, other.pid, mb, NO_STALLS, produce_to=broker.address)
        forget(broker.folder)
        cold = watched(broker.address, broker.pid, mb, NO_STALLS)
    return {
        "warm_reader_times": warm.at(0.99) / without.at(0.99),
        "apart_reader_times": apart.at(0.99) / without.at(0.99),
        "cold_reader_times": cold.at(0.99) / without.at(0.99),
        "cold_reader_p99": cold.at(0.99),
        "cold_reader_cpu": cold.cpu_s_gb,
    }
