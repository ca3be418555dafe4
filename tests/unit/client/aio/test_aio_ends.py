"""Closing connections on the event loop: no socket stays open after `close`, whatever the broker does."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from devtools.kafka.certificates import Authority, why_unavailable
from shareq.aio import ClientError, Producer, ShareConsumer
from shareq.client.aio import connection
from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import ScriptedBroker

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


class Deaf:
    """A broker behind TLS that identifies itself, and stops reading after a request of one kind."""

    def __init__(self, folder: Path, silent_at: ApiKey) -> None:
        authority = Authority(folder)
        self.trusted = authority.certificate
        self.heard = threading.Event()
        self.gate = threading.Event()
        self.broker = ScriptedBroker(tls=authority.server_context(authority.sign("server", "IP:127.0.0.1")))
        self.broker.scripts[ApiKey.METADATA] = self._metadata
        self.broker.scripts[silent_at] = self._nothing

    def properties(self) -> dict[str, str]:
        return {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
            "retry.backoff.ms": "10",
        }

    def _metadata(self, _: Message) -> Message:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        topic = MetadataResponseTopic(name="t", topic_id=b"t" * 16, partitions=[partition])
        me = MetadataResponseBroker(1, self.broker.host, self.broker.port)
        return MetadataResponse(brokers=[me], topics=[topic])

    def _nothing(self, _: Message) -> None:
        self.heard.set()
        self.gate.wait(20)


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Callable[[ApiKey], Deaf]]:
    made: list[Deaf] = []

    def make(silent_at: ApiKey) -> Deaf:
        made.append(Deaf(tmp_path, silent_at))
        return made[-1]

    yield make
    for each in made:
        each.gate.set()
        each.broker.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "END_S", 0.05)


def left_open(program: Callable[[], Coroutine[Any, Any, None]]) -> list[str]:
    """Return the warnings about unclosed objects after the program's event loop has ended."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(program())
        gc.collect()
    return [str(each.message) for each in found if issubclass(each.category, ResourceWarning)]


def test_a_producer_whose_broker_never_ends_tls_leaves_no_socket(deaf: Callable[[ApiKey], Deaf]) -> None:
    """asyncio waits 30 s for close_notify, and a loop that ends earlier would leave the transport open."""
    peer = deaf(ApiKey.INIT_PRODUCER_ID)

    async def program() -> None:
        producer = Producer(peer.broker.bootstrap, properties=peer.properties(), delivery_timeout_ms=60_000)
        await producer.send("t", b"v")
        await asyncio.to_thread(peer.heard.wait, 20)
        closing = asyncio.create_task(producer.close())
        await asyncio.sleep(0)
        closing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await closing

    assert not left_open(program)


def test_a_consumer_whose_broker_never_ends_tls_leaves_no_socket(deaf: Callable[[ApiKey], Deaf]) -> None:
    peer = deaf(ApiKey.FIND_COORDINATOR)

    async def program() -> None:
        consumer = ShareConsumer(peer.broker.bootstrap, "g", ["t"], properties=peer.properties())
        await consumer.start()
        await asyncio.to_thread(peer.heard.wait, 20)
        await consumer.close()

    assert not left_open(program)


def test_a_call_cancelled_before_the_brokers_are_known_leaves_no_socket(deaf: Callable[[ApiKey], Deaf]) -> None:
    peer = deaf(ApiKey.METADATA)

    async def program() -> None:
        producer = Producer(peer.broker.bootstrap, properties=peer.properties())
        sending = asyncio.create_task(producer.send("t", b"v"))
        await asyncio.to_thread(peer.heard.wait, 20)
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, ClientError):
            await sending
        await producer.close()

    assert not left_open(program)


@pytest.mark.parametrize("turns", range(16))
def test_a_connection_that_is_given_up_while_it_opens_leaves_no_socket(turns: int) -> None:
    """asyncio loses the socket when a race between a host's addresses is cancelled after it connected."""
    with ScriptedBroker() as broker:
        broker.scripts[ApiKey.METADATA] = lambda _: None

        async def program() -> None:
            network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
            opening = asyncio.create_task(network.refresh([]))
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            network.close()
            await network.wait_closed()

        assert not left_open(program)
