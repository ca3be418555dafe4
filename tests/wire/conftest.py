"""One broker process for all tests of a module; each test makes topics of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from devtools.clients.wire import WireClient
from shareq.testing import Broker

_numbers = count(1)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def connect(broker: Broker) -> Iterator[Callable[[], WireClient]]:
    clients: list[WireClient] = []

    def open_one() -> WireClient:
        clients.append(WireClient(broker.address))
        return clients[-1]

    yield open_one
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[[], WireClient]) -> WireClient:
    return connect()


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"
