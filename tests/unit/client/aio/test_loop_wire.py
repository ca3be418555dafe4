"""The asyncio wire: frames arrive whole, in order, and are copied once."""

from __future__ import annotations

import asyncio
import errno
import socket
import tracemalloc
from random import Random
from typing import cast

import pytest

from shareq.client.aio.connection import LoopWire, open_connection
from shareq.client.aio.network import Network
from shareq.client.config import Address, ClientConfig
from shareq.client.errors import Unreachable
from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.metadata import MetadataRequest
from tests.support.fakes.core_driver import address_of, brokers_of
from tests.support.fakes.memory_loop import Asked, MemoryBroker, MemoryLoop, play

CONFIG = ClientConfig.from_properties({"bootstrap.servers": "b1:9092"})


def keeps(kept: list[Asked], asked: Asked) -> None:
    if isinstance(asked.message, MetadataRequest):
        asked.answer(brokers_of(1))
    else:
        kept.append(asked)


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_whole_however_their_bytes_come(seed: int) -> None:
    rng = Random(seed)
    kept: list[Asked] = []

    async def scene(_: MemoryLoop) -> None:
        network = Network(CONFIG)
        sent = [await network.submit(1, HeartbeatRequest(str(number))) for number in range(30)]
        await asyncio.sleep(0)
        data = b"".join(
            asked.frame(HeartbeatResponse(number, unknown_tags=((77, rng.randbytes(rng.choice([1, 10, 3_000]))),)))
            for number, asked in enumerate(kept)
        )
        while data:
            size = rng.choice([1, 2, 3, 20, 2_000, 10_000])
            kept[0].transport.feed(data[:size])
            data = data[size:]
        for number, exchange in enumerate(sent):
            answer = await exchange.answer()
            assert isinstance(answer, HeartbeatResponse)
            assert answer.throttle_time_ms == number
        network.close()
        await network.wait_closed()

    play(scene, {address_of(1): MemoryBroker(lambda asked: keeps(kept, asked))})


def test_what_answers_lead_to_leaves_in_one_piece() -> None:
    kept: list[Asked] = []

    class More:
        """A future that sends another request when its response arrives."""

        def done(self) -> bool:
            return False

        def set_result(self, _: None, /) -> None:
            coroutine = kept[0].connection.send(HeartbeatRequest("more"), 2_000.0)
            with pytest.raises(StopIteration):
                coroutine.send(None)

    async def scene(_: MemoryLoop) -> None:
        network = Network(CONFIG)
        sent = [await network.submit(1, HeartbeatRequest("")) for _ in range(5)]
        for exchange in sent:
            exchange.waiters.append(More())
        await asyncio.sleep(0)
        written = kept[0].transport.writes
        kept[0].transport.feed(b"".join(asked.frame(HeartbeatResponse()) for asked in kept))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(kept) == 10
        assert kept[0].transport.writes == written + 1
        network.close()
        await network.wait_closed()

    play(scene, {address_of(1): MemoryBroker(lambda asked: keeps(kept, asked))})


def test_a_large_answer_is_copied_once_with_another_right_behind_it() -> None:
    size, chunk = 8 << 20, 256 << 10
    kept: list[Asked] = []

    async def scene(_: MemoryLoop) -> None:
        network = Network(CONFIG)
        large = await network.submit(1, FetchRequest())
        small = await network.submit(1, HeartbeatRequest())
        await asyncio.sleep(0)
        records = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=bytes(size))])])
        data = kept[0].frame(records) + kept[1].frame(HeartbeatResponse())
        protocol = kept[0].transport.protocol
        tracemalloc.start()
        for at in range(0, len(data), chunk):
            protocol.data_received(data[at : at + chunk])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        answer = await large.answer()
        assert isinstance(answer, FetchResponse)
        assert len(answer.responses[0].partitions[0].records or b"") == size
        assert await small.answer() == HeartbeatResponse()
        assert peak < 2.5 * size  # the received data, and the resulting frames
        network.close()
        await network.wait_closed()

    play(scene, {address_of(1): MemoryBroker(lambda asked: keeps(kept, asked))})


@pytest.mark.parametrize("failure", ["lost before", "refuses options"])
async def test_a_connection_that_is_reset_as_soon_as_it_is_there_could_not_be_had(
    failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dying broker resets accepted sockets, and options of a closed socket cannot be set."""

    def made(wire: LoopWire, transport: asyncio.BaseTransport) -> None:
        wire._transport = cast("asyncio.Transport", transport)
        if failure == "lost before":
            wire.connection_lost(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
            cast("asyncio.Transport", transport).abort()
            transport.get_extra_info("socket")._sock.close()

    def refuse(_sock: socket.socket, _config: ClientConfig) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(LoopWire, "connection_made", made)
    if failure == "refuses options":
        monkeypatch.setattr("shareq.client.aio.connection.set_options", refuse)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        by = asyncio.get_running_loop().time() + 20
        with pytest.raises(Unreachable, match=f"b at {address}"):
            await open_connection(address, "b", CONFIG, None, set(), by)
