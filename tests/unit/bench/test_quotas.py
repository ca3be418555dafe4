"""The quotas of `bench.figures.quotas` count every client, and are so high that none is throttled."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from bench.brokers import Shareq
from bench.figure import QUICK
from bench.figures import quotas
from bench.setup import FAR_ABOVE, quotas_for_all
from bench.stage import Stage
from devtools.clients.requests import batch, create_topic, produce_request
from devtools.clients.wire import WireClient
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from shareq.protocol.generated.produce import ProduceResponse
from shareq.testing import Broker


def test_every_client_is_counted_and_none_waits() -> None:
    with Broker() as broker:
        host, port = broker.address
        quotas_for_all(f"{host}:{port}")
        with WireClient(broker.address, client_id="anybody") as client:
            request = DescribeClientQuotasRequest([ComponentData("client-id", 1, None)], strict=True)
            entries = client.call(request, 1, DescribeClientQuotasResponse).entries or []
            assert [{each.key: each.value for each in entry.values} for entry in entries] == [FAR_ABOVE]
            create_topic(client, "t")
            for _ in range(20):
                answer = client.call(produce_request(batch(b"x" * 100_000), topic="t"), 9, ProduceResponse)
                assert answer.throttle_time_ms == 0


def test_the_broker_with_quotas_is_another_one_and_is_kept() -> None:
    with ExitStack() as stack:
        plain = Stage("shareq", stack)
        below = plain.below_quotas
        assert below is plain.below_quotas
        assert (plain.limited, below.limited) == (False, True)
        assert isinstance(below.broker, Shareq)
        assert below.broker is not plain.broker


def test_every_row_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing figure would only be a dash in the table."""

    def client(_stage: Stage, program: str, **_arguments: object) -> dict[str, float]:
        return {"rate": 1.0, "cpu_us": float(len(program))}

    monkeypatch.setattr(Stage, "client", client)
    monkeypatch.setattr(Stage, "topic", lambda _stage, _partitions: "t")
    monkeypatch.setattr(Stage, "group", lambda _stage: "g")
    with ExitStack() as stack:
        assert quotas.measure(Stage("shareq", stack), QUICK).keys() == {row.key for row in quotas.ROWS}
