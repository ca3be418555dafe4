from __future__ import annotations

from shareq.broker.log.append import Traffic


def test_traffic_adds_up_from_nothing() -> None:
    traffic = Traffic()
    assert (traffic.bytes_in, traffic.bytes_out, traffic.records_in) == (0, 0, 0)
    traffic.wrote(100, 3)
    traffic.wrote(20, 1)
    assert (traffic.bytes_in, traffic.bytes_out, traffic.records_in) == (120, 0, 4)
