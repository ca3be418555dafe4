"""The console of a cluster whose broker lies: every request gets an answer that names the problem."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from aiohttp.test_utils import TestClient, TestServer

from shareq.client.config import ClientConfig
from shareq.ops.console.guard import Rules
from shareq.ops.console.routes import CHANGES, QUESTIONS, VIEWS
from shareq.ops.console.server import Cluster, Console, Wish
from shareq.ops.console.views.windows import Windows
from shareq.protocol.api_keys import ApiKey
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.fakes.false_broker import FalseBroker

TOKEN: Final = "0123456789abcdef"
TIMES: Final = {"default.api.timeout.ms": "300", "request.timeout.ms": "300", "retry.backoff.ms": "10"}
GIVEN: Final = {"topic": "orders", "group": "workers", "queue": "orders", "partition": "0", "offset": "0", "from": "0"}
BODIES: Final[dict[str, dict[str, Any]]] = {
    "redrive": {"queue": "orders", "name": "r"},
    "redrive/cancel": {"name": "r"},
    "share-group/pause": {"group": "workers"},
    "share-group/resume": {"group": "workers"},
    "share-group/reset": {"group": "workers", "to": "earliest", "confirm": "workers"},
    "share-group/delete": {"group": "workers", "confirm": "workers"},
    "consumer-group/reset": {"group": "workers", "to": "earliest", "confirm": "workers"},
    "consumer-group/delete": {"group": "workers", "confirm": "workers"},
    "topic/delete": {"topic": "orders", "confirm": "orders"},
}
HONEST: Final = (frozenset[int](), frozenset[int]([ApiKey.API_VERSIONS, ApiKey.METADATA]))
SEEDS: Final = 4


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        yield running


def test_every_change_is_asked_for_here() -> None:
    assert set(BODIES) == set(CHANGES)


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_lying_broker_fails_no_request_without_a_word(
    broker: Broker, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", "orders", "--if-not-exists")
    shell.ok("produce", "orders", "--header", "a=b", stdin="one\ntwo\n")
    with FalseBroker(broker.address, Random(f"console {seed}").randrange(1 << 30), 0.5, HONEST[seed % 2]) as false:
        config = ClientConfig.from_properties({"bootstrap.servers": false.bootstrap, **TIMES})
        console = Console(Wish({"false": Cluster(config, Windows())}, Rules(TOKEN, False, True)))
        async with TestClient(TestServer(console.application())) as client:
            for name in (*VIEWS, *QUESTIONS):
                answer = await client.get(f"/api/{name}", params=GIVEN)
                body = await answer.json()
                assert answer.status != 500, (name, body)
                assert "its log says why" not in str(body.get("error")), (name, body)
            for name, given in BODIES.items():
                answer = await client.post(f"/api/{name}", json=given, headers={"Authorization": f"Bearer {TOKEN}"})
                assert answer.status in (200, 400, 404, 409, 501, 502, 503), (name, await answer.text())
    assert not [each.getMessage() for each in caplog.records if each.exc_info]
