"""The same requests of transactional producers to ours and to Apache Kafka 4.3.1: the same errors and epochs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

import pytest

from devtools.clients.admin import create_topic
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Transactor, Versions
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import why_unavailable
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind

pytestmark = pytest.mark.interop

STEPS = 40
Errors = list[ErrorCode]
Reported = tuple[str, Errors, int, int]
"""The request, its errors, the producer id (numbered from the first one on), and the epoch afterwards."""

_AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}


@pytest.fixture(scope="module")
def clients(broker_kind: Kind) -> Iterator[list[WireClient]]:
    missing = why_unavailable()
    if broker_kind == "apache" or missing is not None:
        pytest.skip(missing or "needs shareq beside Apache Kafka")
    kinds: tuple[Kind, Kind] = ("ours", "apache")
    brokers = [BrokerUnderTest(kind) for kind in kinds]
    try:
        for broker in brokers:
            broker.start()
            create_topic(broker.bootstrap, "t", 2)
        yield [WireClient(("127.0.0.1", broker.port), timeout_s=20) for broker in brokers]
    finally:
        for broker in brokers:
            broker.remove()


def patiently(ask: Callable[[], Errors]) -> Errors:
    """Repeat until markers are written and topics created, which Apache Kafka does in the background."""
    for _ in range(100):
        errors = ask()
        if not _AGAIN.intersection(errors):
            return errors
        time.sleep(0.03)
    return errors


def find_coordinators(client: WireClient, name: str) -> None:
    def ask() -> Errors:
        answers = [
            client.call(FindCoordinatorRequest(key_type=kind, coordinator_keys=[name]), 4, FindCoordinatorResponse)
            for kind in (0, 1)
        ]
        return [ErrorCode(answer.coordinators[0].error_code) for answer in answers]

    assert patiently(ask) == [ErrorCode.NONE] * 2


def played(client: WireClient, seed: int, versions: Versions) -> list[Reported]:
    """Run two producers of one transactional id, the second of which sometimes takes over."""
    rng = Random(seed)
    name = f"id-{seed}-{versions.produce}"
    find_coordinators(client, name)
    producers = [Transactor(client, versions, name) for _ in range(2)]
    reported: list[Reported] = []
    first = -1
    for number in range(STEPS):
        producer = producers[rng.random() < 0.12]
        step = rng.choice(
            ["init", "go on", "add", *["produce"] * 3, "offsets", "add offsets", *["commit"] * 2, "abort"]
        )
        partition, unknown = rng.randrange(2), rng.choice([1, 1, 9])
        if producer.producer_id < 0:
            step = "init"
        steps: dict[str, Callable[[], Errors]] = {
            "init": lambda p=producer: [p.init()],  # type: ignore[misc]
            "go on": lambda p=producer: [p.init(goes_on=True)],  # type: ignore[misc]
            "add": lambda p=producer, at=unknown: p.add("t", 0, at),  # type: ignore[misc]
            "produce": lambda p=producer, at=partition: [p.produce("t", b"x", partition=at)],  # type: ignore[misc]
            "offsets": lambda p=producer, n=number: p.commit_offsets(name, {("t", 0): n}),  # type: ignore[misc]
            "add offsets": lambda p=producer: [p.add_offsets(name)],  # type: ignore[misc]
            "commit": lambda p=producer: [p.commit()],  # type: ignore[misc]
            "abort": lambda p=producer: [p.abort()],  # type: ignore[misc]
        }
        errors = patiently(steps[step])
        first = producer.producer_id if first < 0 else first
        reported.append((step, errors, producer.producer_id - first, producer.epoch))
    return reported


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("versions", [LIBRDKAFKA, JAVA_TV1, JAVA_TV2], ids=["librdkafka", "java-tv1", "java-tv2"])
def test_both_say_the_same(clients: list[WireClient], seed: int, versions: Versions) -> None:
    ours, apaches = (played(client, seed, versions) for client in clients)
    assert ours == apaches
