"""The figures of `throughput` over TLS 1.3: a broker of its own, a P-256 key."""

from __future__ import annotations

from bench.figure import Row, Sample, Scale, Target
from bench.figures import throughput
from bench.stage import Stage

REPEATED = True
ROWS = (
    Row("tls_produce_rate", "produce over TLS, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("tls_fetch_rate", "fetch over TLS, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("tls_share_rate", "share consume over TLS, records/s", "{:,.0f}", Target("ratio", ">=", 1.0)),
    Row("tls_produce_cpu_us", "broker CPU per record produced over TLS, µs", "{:.3f}"),
    Row("tls_fetch_cpu_us", "broker CPU per record fetched over TLS, µs", "{:.3f}"),
    Row("tls_share_cpu_us", "broker CPU per record share-fetched and acked over TLS, µs", "{:.3f}"),
)


def measure(stage: Stage, scale: Scale) -> Sample:
    """Measure like `throughput`."""
    return {f"tls_{key}": value for key, value in throughput.measure(stage.behind_tls, scale).items()}
