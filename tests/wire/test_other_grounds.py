"""A server on another ground than a data folder: its opening, its stop, its probes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devtools.clients.wire import WireClient
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending
from shareq.broker.process import server
from shareq.broker.process.serve import Wanted, serve_forever
from shareq.broker.process.server import MakeGround, Server
from shareq.broker.process.sockets import Address, ServeError
from shareq.broker.topics.endpoint import Endpoint
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.fakes.memory_ground import MemoryGround

LISTENERS = {"listeners": "PLAINTEXT://127.0.0.1:0"}


class Grounds:
    """A maker of grounds in memory, each of which first awaits `waits_for`."""

    def __init__(self) -> None:
        self.config = BrokerConfig.load(LISTENERS)
        self.ground: MemoryGround | None = None
        self.waits_for: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)
        self.closed = 0

    async def make(self, env: Environment, endpoints: Mapping[str, Endpoint]) -> MemoryGround:
        assert endpoints["PLAINTEXT"].port
        await self.waits_for()
        self.ground = MemoryGround(env, self.config)
        return self.ground

    async def wait_closed(self) -> None:
        self.closed += 1

    @property
    def made(self) -> MemoryGround:
        assert self.ground is not None
        return self.ground


@asynccontextmanager
async def running(make: MakeGround, config: BrokerConfig) -> AsyncIterator[Server]:
    started = Server(config, metrics=Address("127.0.0.1", 0), make_ground=make)
    await started.start()
    try:
        yield started
    finally:
        await started.stop()


async def ready_answer(started: Server) -> bytes:
    assert started.metrics_url is not None
    host, _, port = started.metrics_url.removeprefix("http://").partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


async def test_the_other_brokers_know_of_a_stop_before_the_ground_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grounds = Grounds()
    async with running(grounds.make, grounds.config) as started:
        assert grounds.made.life == ["open"]
        assert b"200 OK" in await ready_answer(started)
        grounds.made.problem = "slots are being loaded"
        answer = await ready_answer(started)
        assert answer.startswith(b"HTTP/1.1 503")
        assert answer.endswith(b"slots are being loaded\n")
    assert grounds.made.life == ["open", "left", "closed"]
    assert os.listdir(tmp_path) == []  # no folder, no file


async def test_a_stop_waits_no_longer_for_others_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LEAVE_S", 0.01)
    grounds = Grounds()
    async with running(grounds.make, grounds.config):
        grounds.made.left = Pending()
    assert grounds.made.life == ["open", "left", "closed"]


async def test_a_start_that_fails_leaves_no_ground_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "it cannot")

    grounds = Grounds()
    monkeypatch.setattr(MemoryGround, "open", fails)
    with pytest.raises(ServeError, match="it cannot"):
        await Server(grounds.config, make_ground=grounds.make).start()
    assert grounds.made.life == ["left as it was"]


def test_a_signal_ends_a_start_that_waits_for_its_ground() -> None:
    """The exit code is that of a stop: nothing has failed."""
    grounds = Grounds()

    async def for_ever() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    grounds.waits_for = for_ever
    wanted = Wanted(grounds.config, {}, None, [], ground=grounds)
    serve_forever(wanted, ready=lambda *_: pytest.fail("it is not ready"))
    assert grounds.ground is None
    assert grounds.closed == 1


def test_a_process_waits_until_its_ground_is_closed() -> None:
    grounds = Grounds()
    bootstrap: list[str] = []

    def ready(started: Server, _console: str | None) -> None:
        bootstrap.extend(started.addresses)
        asyncio.get_running_loop().run_in_executor(None, ask_and_stop)

    def ask_and_stop() -> None:
        host, _, port = bootstrap[0].partition(":")
        with WireClient((host, int(port))) as client:
            assert client.call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse).error_code == 0
        os.kill(os.getpid(), signal.SIGTERM)

    serve_forever(Wanted(grounds.config, {}, None, [], ground=grounds), ready=ready)
    assert grounds.made.life == ["open", "left", "closed"]
    assert grounds.closed == 1
