"""The benchmark of TLS implementations completes for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tls_streams import WAYS, measure
from devtools.kafka.certificates import Authority, why_unavailable


@pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
def test_every_way_is_measured(tmp_path: Path) -> None:
    Authority(tmp_path).sign("server", "DNS:localhost")
    for way in WAYS:
        row = measure(way, 100_000, 3, tmp_path)
        assert row["mb_per_s"] > 0
        assert row["cpu_s_per_gb"] > 0
