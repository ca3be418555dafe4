"""Protocol by mechanism by client: each produces, consumes and share-consumes as far as it can, on both brokers.

`--update-security-matrix` writes the table of docs/evidence/security-matrix.md. Spark's source has its row in
tests/spark/test_source_tls.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from devtools.kafka.certificates import why_unavailable
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import Client, Unavailable
from tests.interop.support.clients.registry import CLIENTS, PROGRAMS
from tests.interop.support.security_matrix import TASKS, WAYS, Cells, passed, update, why_not
from tests.interop.support.tls_broker import TlsBroker, tls_broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable())),
]
VALUES: Final = ["one", "two", "three"]


@pytest.fixture(scope="module")
def broker(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    settings = {"group.share.min.heartbeat.interval.ms": "500", "group.share.heartbeat.interval.ms": "500"}
    with tls_broker(broker_kind, tmp_path_factory.mktemp("pki"), settings) as broker:
        yield broker


@pytest.fixture(scope="module")
def cells(request: pytest.FixtureRequest, broker_kind: Kind) -> Iterator[Cells]:
    """Collect the outcomes, and write them to the document at the end if requested."""
    seen: Cells = {}
    yield seen
    if request.config.getoption("--update-security-matrix"):
        update(broker_kind, seen)


@pytest.fixture(scope="module", params=PROGRAMS)
def client(request: pytest.FixtureRequest, broker: TlsBroker) -> Iterator[tuple[str, Client]]:
    """Start the client once the broker runs: only then may Java read the token."""
    try:
        client = PROGRAMS[request.param]()
    except Unavailable as error:
        pytest.skip(str(error))
    yield request.param, client
    client.close()


def produces(client: Client, broker: TlsBroker, topic: str, place: dict[str, object]) -> None:
    client.call("produce", topic=topic, values=VALUES, **place)
    found = CLIENTS["librdkafka"]().call("fetch", topic=topic, count=len(VALUES), bootstrap=broker.plain)["records"]
    assert [record["value"] for record in found] == VALUES


def consumes(client: Client, topic: str, place: dict[str, object]) -> None:
    found = client.call("fetch", topic=topic, count=len(VALUES), **place)["records"]
    assert [record["value"] for record in found] == VALUES


def shares(client: Client, broker: TlsBroker, topic: str, place: dict[str, object]) -> None:
    group = f"group-of-{topic}"
    read_from_start(broker.plain, group)
    delivered = client.call("share", topic=topic, group=group, count=len(VALUES), **place)["deliveries"]
    assert sorted(map(tuple, delivered)) == sorted((value, 1) for value in VALUES)


# What is not behind TLS is tried by test_every_client.py, too.
ROWS: Final = [row if "SSL" in row else pytest.param(row, marks=pytest.mark.thorough) for row in WAYS]


@pytest.mark.parametrize("row", ROWS)
def test_cell(client: tuple[str, Client], broker: TlsBroker, cells: Cells, row: str) -> None:
    name, program = client
    way = WAYS[row]
    able = {task for task in TASKS if why_not(name, way, task) is None}
    if not able:
        cells[row, name] = passed(name, row)
        pytest.skip(f"the client {why_not(name, way, 'fetch')}")
    cells[row, name] = "✗"
    topic = f"{name}-{row}".lower().replace(", ", "-").replace(" ", "-")
    create_topic(broker.plain, topic)
    place = way.place(broker)
    if "produce" in able:
        produces(program, broker, topic, place)
    else:
        produce(broker.plain, topic, ((0, value.encode()) for value in VALUES))
    if "fetch" in able:
        consumes(program, topic, place)
    if "share" in able:
        shares(program, broker, topic, place)
    cells[row, name] = passed(name, row)
