"""`shareq export` of a cluster whose broker lies: it continues, and a scrape shows a sample or its absence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random
from typing import Final

import pytest

from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.ops.export.endpoint import Newest
from shareq.ops.export.sample import Sampler
from shareq.protocol.api_keys import ApiKey
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.fakes.false_broker import FalseBroker

TIMES: Final = {"default.api.timeout.ms": "300", "request.timeout.ms": "300", "retry.backoff.ms": "10"}
HONEST: Final = (
    frozenset[int](),
    frozenset[int]([ApiKey.API_VERSIONS, ApiKey.METADATA]),
    frozenset[int]([ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.LIST_GROUPS]),
)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        shell = Shell(running.bootstrap)
        shell.ok("topics", "create", "orders")
        shell.ok("configs", "alter", "group", "workers", "--set", "share.auto.offset.reset=earliest")
        shell.ok("produce", "orders", stdin="one\ntwo\nthree\n")
        shell.ok("share", "consume", "workers", "--topic", "orders", "-n", "1", "--then", "release")
        yield running


@pytest.mark.parametrize("seed", range(12))
def test_a_lying_broker_ends_no_exporter(broker: Broker, seed: int) -> None:
    rng = Random(f"export {seed}")
    with FalseBroker(broker.address, rng.randrange(1 << 30), 0.3, HONEST[seed % 3]) as false:
        network = Network(ClientConfig.from_properties({"bootstrap.servers": false.bootstrap, **TIMES}))
        newest = Newest(Sampler(network).take)
        outcomes: list[int] = []

        def refresh() -> None:
            for _ in range(4):
                newest.refresh()
                outcomes.append(sum(len(family.samples) for family in newest.collect()))

        thread = threading.Thread(target=refresh, daemon=True)
        thread.start()
        thread.join(60)
        network.close()
    assert len(outcomes) == 4, "it waits for ever, or has ended"
    assert all(outcomes)


def test_an_honest_broker_gets_a_sample(broker: Broker) -> None:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    assert Sampler(network).take().partitions["workers", "orders", 0].lag == 3
    network.close()
