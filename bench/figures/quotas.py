"""`throughput` and `pipelined` with quotas that no client reaches: the cost of counting."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale
from bench.figures import pipelined, throughput
from bench.stage import Stage

REPEATED = True
ROWS = (
    Row("quota_produce_rate", "produce below a quota, records/s", "{:,.0f}"),
    Row("quota_fetch_rate", "fetch below a quota, records/s", "{:,.0f}", on_page=False),
    Row("quota_share_rate", "share consume below a quota, records/s", "{:,.0f}", on_page=False),
    Row("quota_produce_cpu_us", "broker CPU per record produced below a quota, µs", "{:.3f}", on_page=False),
    Row("quota_fetch_cpu_us", "broker CPU per record fetched below a quota, µs", "{:.3f}", on_page=False),
    Row(
        "quota_share_cpu_us", "broker CPU per record share-fetched and acked below a quota, µs", "{:.3f}", on_page=False
    ),
    Row("quota_pipelined_rate", "one-record produce requests/s below a quota, pipelined", "{:,.0f}", on_page=False),
    Row("quota_pipelined_cpu_us", "broker CPU per one-record produce below a quota, µs", "{:.1f}"),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Measure the two figures on a broker with quotas."""
    below = stage.below_quotas
    taken = {**throughput.measure(below, scale), **pipelined.measure(below, scale)}
    return {f"quota_{key}": value for key, value in taken.items()}
