"""The HTTP server of the metrics: its answers, and its protection against slow and faulty clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from unittest.mock import ANY

import pytest

from shareq.broker.foundation.turn_budget import PAUSE
from shareq.broker.http import server
from shareq.broker.metrics import endpoint
from shareq.broker.metrics.endpoint import MetricsEndpoint

BODY = b"shareq_x 1.0\n"


async def behind_a_pause(text: bytes) -> bytes:
    await PAUSE
    return text


class Site:
    """An endpoint on a free port; tests may replace `scrape`."""

    def __init__(self) -> None:
        self.scrape: Callable[[], Awaitable[bytes]] = lambda: behind_a_pause(BODY)
        self.why_not_ready: str | None = None
        self.endpoint = MetricsEndpoint(self._scrape, "text/test", lambda: self.why_not_ready)
        self.bound = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.bound.getsockname()

    def _scrape(self) -> Awaitable[bytes]:
        return self.scrape()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)

    async def ask(self, request: bytes) -> tuple[str, dict[str, str], bytes]:
        """Return status, headers and body of the answer, and close the connection."""
        reader, writer = await self.connect()
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return status.removeprefix("HTTP/1.1 "), headers, body

    async def get(self, path: str) -> tuple[str, dict[str, str], bytes]:
        return await self.ask(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    await site.endpoint.start(site.bound)
    yield site
    await site.endpoint.close()
    await site.endpoint.close()


@pytest.mark.parametrize("path", ["/metrics", "/metrics?name[]=x"])
async def test_a_scrape(site: Site, path: str) -> None:
    status, headers, body = await site.get(path)
    assert (status, body) == ("200 OK", BODY)
    assert headers == {"Content-Type": "text/test", "Content-Length": str(len(BODY)), "Connection": "close"}


async def test_a_scrape_of_http_1_0(site: Site) -> None:
    status, _, body = await site.ask(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert (status, body) == ("200 OK", BODY)


async def test_health(site: Site) -> None:
    status, _, body = await site.get("/-/healthy")
    assert (status, body) == ("200 OK", b"shareq is up\n")


async def test_head_has_no_body(site: Site) -> None:
    status, headers, body = await site.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert (status, headers["Content-Length"], body) == ("200 OK", str(len(BODY)), b"")


@pytest.mark.parametrize("path", ["/", "/metrics/", "/metricsx", "/favicon.ico", "http://x/metrics"])
async def test_other_paths_are_not_there(site: Site, path: str) -> None:
    status, _, body = await site.get(path)
    assert status == "404 Not Found"
    assert b"/metrics" in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "get"])
async def test_other_methods_are_refused(site: Site, method: str) -> None:
    status, headers, _ = await site.ask(f"{method} /metrics HTTP/1.1\r\n\r\n".encode())
    assert (status, headers["Allow"]) == ("405 Method Not Allowed", "GET, HEAD")


@pytest.mark.parametrize(
    "request_", [b"GET /metrics\r\n\r\n", b"\r\n\r\n", b"GET /metrics HTTP/2\r\n\r\n", b"\x00\x01\xff\xfe \r\n\r\n"]
)
async def test_what_is_no_http_is_refused(site: Site, request_: bytes) -> None:
    status, _, _ = await site.ask(request_)
    assert status == "400 Bad Request"


@pytest.mark.parametrize("size", [server.MOST_HEAD_BYTES, 1_000_000])
async def test_a_large_head_is_refused(site: Site, size: int) -> None:
    reader, writer = await site.connect()
    writer.write(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * size)
    line = await asyncio.wait_for(reader.readline(), 5)
    assert line == b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    writer.close()


async def test_who_says_nothing_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.05)
    reader, writer = await site.connect()
    writer.write(b"GET /metrics HTTP/1.1\r\n")
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_who_goes_away_does_no_harm(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for sent in (b"", b"GET /met"):
        _, writer = await site.connect()
        writer.write(sent)
        writer.close()
        await writer.wait_closed()
    assert (await site.get("/metrics"))[0] == "200 OK"
    assert not caplog.records


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready", "/metrics"])
@pytest.mark.parametrize("sent", [b"", b"GET /metr", b"GET /-/healthy HTTP/1.1\r\n"])
async def test_slow_sockets_keep_no_probe_waiting(site: Site, sent: bytes, path: str) -> None:
    """An operator's supervisor would restart a healthy broker whose probe waits."""
    slow = []
    for _ in range(2 * server.MOST_CONNECTIONS):
        reader, writer = await site.connect()
        writer.write(sent)
        slow.append((reader, writer))
    for _ in range(40):
        assert (await site.get(path))[0] == "200 OK"
        assert len(site.endpoint.http._clients) <= server.MOST_CONNECTIONS
    for _, writer in slow:
        writer.close()


async def test_those_that_do_not_take_their_answers_give_way_to_a_probe(site: Site) -> None:
    large = b"x" * 5_000_000
    site.scrape = lambda: behind_a_pause(large)
    slow = []
    for number in range(server.MOST_CONNECTIONS):
        slow.append(await asyncio.open_connection(*site.address, limit=1024))
        slow[-1][1].write(b"GET /metrics HTTP/1.1\r\n\r\n")
        while list(site.endpoint.http._clients.values()).count(server._Phase.TAKES) <= number:
            await asyncio.sleep(0)
    assert (await site.get("/-/healthy"))[0] == "200 OK"
    assert len(site.endpoint.http._clients) < server.MOST_CONNECTIONS
    for _, writer in slow:
        writer.close()


async def test_scrapes_are_bounded_and_health_is_not_behind_them(site: Site) -> None:
    go_on = False

    async def scrape() -> bytes:
        while not go_on:
            await PAUSE
        return BODY

    site.scrape = scrape
    waiting = [asyncio.create_task(site.get("/metrics")) for _ in range(endpoint.MOST_SCRAPES)]
    while site.endpoint._scrapes < endpoint.MOST_SCRAPES:
        await asyncio.sleep(0)
    assert (await site.get("/metrics"))[0] == "503 Service Unavailable"
    assert (await site.get("/-/healthy"))[0] == "200 OK"
    go_on = True
    assert [answer[2] for answer in await asyncio.gather(*waiting)] == [BODY] * endpoint.MOST_SCRAPES
    assert (await site.get("/metrics"))[0] == "200 OK"


async def test_a_broker_that_serves_nobody_is_up_and_not_ready(site: Site) -> None:
    assert await site.get("/-/ready") == ("200 OK", ANY, b"shareq is ready\n")
    site.why_not_ready = "shareq is stopping"
    assert await site.get("/-/ready") == ("503 Service Unavailable", ANY, b"shareq is stopping\n")
    assert (await site.get("/-/healthy"))[0] == "200 OK"


async def test_others_have_their_turn_at_each_pause(site: Site) -> None:
    turns = 0
    at_pause: list[int] = []

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def scrape() -> bytes:
        for _ in range(10):
            at_pause.append(turns)
            await PAUSE
        return BODY

    site.scrape = scrape
    task = asyncio.create_task(others())
    await site.get("/metrics")
    task.cancel()
    assert len(set(at_pause)) == 10


async def test_those_that_wait_share_the_next_scrape(site: Site) -> None:
    """100 scrapes per second once took a third of the broker's time."""
    made, going, go_on = 0, asyncio.Event(), False

    async def slow() -> bytes:
        nonlocal made
        made += 1
        going.set()
        while not go_on:
            await PAUSE
        return b"%d" % made

    site.scrape = slow
    first = asyncio.create_task(site.get("/metrics"))
    await going.wait()
    later = [asyncio.create_task(site.get("/metrics")) for _ in range(endpoint.MOST_SCRAPES - 1)]
    while site.endpoint._scrapes < endpoint.MOST_SCRAPES:
        await asyncio.sleep(0)
    go_on = True
    assert (await first)[2] == b"1"
    assert {(await each)[2] for each in later} == {b"2"}
    assert made == 2


async def test_a_scrape_begins_some_time_after_the_one_before(site: Site) -> None:
    loop = asyncio.get_running_loop()
    began: list[float] = []

    async def scrape() -> bytes:
        began.append(loop.time())
        return BODY

    site.scrape = scrape
    for _ in range(3):
        assert (await site.get("/metrics"))[2] == BODY
    assert all(later - before >= endpoint.SCRAPE_INTERVAL_S for before, later in pairwise(began))
    assert len(began) == 3


async def test_one_scrape_at_a_time(site: Site) -> None:
    under_way = most = 0

    async def scrape() -> bytes:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(5):
            await PAUSE
        under_way -= 1
        return BODY

    site.scrape = scrape
    answers = await asyncio.gather(*(site.get("/metrics") for _ in range(4)))
    assert [body for _, _, body in answers] == [BODY] * 4
    assert most == 1


async def test_who_does_not_take_its_answer_is_cut_off_and_keeps_nobody(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "ANSWER_TIMEOUT_S", 1.0)
    large = b"x" * 20_000_000
    answers = [BODY, large]
    site.scrape = lambda: behind_a_pause(answers.pop())
    reader, slow = await asyncio.open_connection(*site.address, limit=1024)  # reads no more than that ahead
    slow.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    while len(answers) > 1:
        await asyncio.sleep(0)
    assert (await site.get("/metrics"))[2] == BODY
    while site.endpoint.http._clients:
        await asyncio.sleep(0.01)
    received = await asyncio.wait_for(reader.read(), 5)
    assert len(received) < len(large), "shorter than its Content-Length: nobody takes it for complete"
    slow.close()


async def test_a_scrape_that_fails_is_reported_and_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    async def scrape() -> bytes:
        await PAUSE
        raise RuntimeError("a counter is broken")

    site.scrape = scrape
    status, _, body = await site.get("/metrics")
    assert status == "500 Internal Server Error"
    assert b"log" in body
    assert [record.message for record in caplog.records] == ["metrics: a scrape failed"]
    site.scrape = lambda: behind_a_pause(BODY)
    assert (await site.get("/metrics"))[0] == "200 OK"


async def test_closing_cuts_off_who_is_being_served() -> None:
    site = Site()
    await site.endpoint.start(site.bound)
    reader, writer = await site.connect()
    while not site.endpoint.http._clients:
        await asyncio.sleep(0)
    await site.endpoint.close()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await site.connect()
