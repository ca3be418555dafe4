"""The console's server in this process: endpoints over a fake cluster, headers, bounds and refusals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from shareq.client.admin.topics import PartitionInfo, TopicInfo
from shareq.client.config import Address, ClientConfig
from shareq.client.errors import BrokerError, Unreachable, UnsupportedApi
from shareq.ops.console import server as module
from shareq.ops.console.guard import HEADERS, Rules
from shareq.ops.console.lanes import Busy
from shareq.ops.console.routes import CHANGES, QUESTIONS, VIEWS
from shareq.ops.console.server import Cluster, Console, Lanes, Wish, sweep
from shareq.ops.console.static_files import static_files
from shareq.ops.console.views.windows import Windows
from shareq.ops.state_colours import FIGURES
from shareq.protocol.errors import ErrorCode

_CHARTED = re.compile(r'\b(?:line|speed)\("([^"]+)"|\{ name: "([^"]+)", values')
"""The pattern of the name of a chart's line in the views."""

TOKEN = "0123456789abcdef"
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
CLUSTER = Cluster(ClientConfig((Address("127.0.0.1", 9),)), Windows())


class Lane:
    """A lane without threads and connections: a fake administrator's client, or an error."""

    def __init__(self, admin: Any) -> None:
        self.admin = admin
        self.calls = 0
        self.error: Exception | None = None

    async def call(self, function: Callable[[Any], Any]) -> Any:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return function(self.admin)

    def close(self) -> None:
        """Do nothing: no resource is open."""


def topic(name: str, *, internal: bool = False) -> TopicInfo:
    return TopicInfo(name, bytes(16), internal, (PartitionInfo(0, 1, (1,), (1,)), PartitionInfo(1, None, (1,), ())))


ADMIN = SimpleNamespace(
    topics=SimpleNamespace(
        all=lambda: iter([topic(f"orders-{number:03}") for number in range(120)] + [topic("__state", internal=True)])
    ),
)


@pytest.fixture
def lane() -> Lane:
    return Lane(ADMIN)


async def client_of(lane: Lane, rules: Rules) -> TestClient[Any, Any]:
    console = Console(Wish({"here": CLUSTER}, rules), lambda _: Lanes(lane, lane))
    client: TestClient[Any, Any] = TestClient(TestServer(console.application()))
    await client.start_server()
    return client


@pytest.fixture
async def client(lane: Lane) -> AsyncIterator[TestClient[Any, Any]]:
    made = await client_of(lane, Rules(TOKEN, False, True))
    yield made
    await made.close()


async def test_topics_are_searched_and_paged(client: TestClient[Any, Any]) -> None:
    answer = await client.get("/api/topics", params={"search": "ORDERS-1", "page": "0"})
    body = await answer.json()
    assert (answer.status, body["error"], body["history"]) == (200, None, None)
    assert body["data"]["total"] == 20
    assert body["data"]["rows"][0] == {
        "topic": "orders-100",
        "internal": False,
        "partitions": 2,
        "replicas": 1,
        "without_leader": 1,
        "under_replicated": 1,
    }
    second = await (await client.get("/api/topics", params={"page": "2"})).json()
    assert [len(second["data"]["rows"]), second["data"]["total"]] == [20, 120]
    internal = await (await client.get("/api/topics", params={"internal": "true", "search": "__"})).json()
    assert [row["topic"] for row in internal["data"]["rows"]] == ["__state"]


async def test_browsers_share_a_view(client: TestClient[Any, Any], lane: Lane) -> None:
    for _ in range(20):
        await client.get("/api/topics")
    assert lane.calls <= 3


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/style.css", "/api/session", "/api/nothing", "/../pyproject.toml", "/x"]
)
async def test_every_answer_has_the_headers(client: TestClient[Any, Any], path: str) -> None:
    answer = await client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
    refused = await client.get(path, headers={"Host": "evil.example"})
    assert (refused.status, refused.headers["X-Frame-Options"]) == (421, "DENY")


async def test_files_are_those_of_the_package_and_no_others(client: TestClient[Any, Any]) -> None:
    for path, file in static_files().items():
        answer = await client.get(path)
        assert (answer.status, answer.content_type) == (200, file.content_type)
        assert await answer.read() == file.body
        again = await client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status == 304
    for path in ("/index.html", "/static/app.js", "/views/../app.jsx", "/%2e%2e/server.py"):
        assert (await client.get(path)).status == 404


async def test_pages_have_nothing_inline_and_ask_nobody_else() -> None:
    for path, file in static_files().items():
        text = file.body.decode()
        assert "style=" not in text.replace("--style=", ""), path
        assert "innerHTML" not in text, path
        addresses = set(re.findall(r"""["'`(](\w*:?//[^"'`)]*)""", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path


async def test_changes_want_the_token_json_and_the_name_typed_out(client: TestClient[Any, Any], lane: Lane) -> None:
    for name in CHANGES:
        assert (await client.post(f"/api/{name}", json={})).status == 401
        assert (await client.post(f"/api/{name}", data={}, headers=ALLOWED)).status == 415
        assert (await client.get(f"/api/{name}", headers=ALLOWED)).status == 405
    kind = {**ALLOWED, "Content-Type": "application/json"}
    for body in ("", "{", "[]", "3", "[" * 4_000):
        assert (await client.post("/api/topic/delete", data=body, headers=kind)).status == 400
    for confirm in (None, "", "order", "orders "):
        answer = await client.post("/api/topic/delete", json={"topic": "orders", "confirm": confirm}, headers=ALLOWED)
        assert (answer.status, (await answer.json())["error"]) == (400, "confirm: type orders to go on")
    assert lane.calls == 0


async def test_a_change_is_done_and_logged(client: TestClient[Any, Any], caplog: pytest.LogCaptureFixture) -> None:
    deleted: list[list[str]] = []

    def delete(names: list[str]) -> dict[str, bytes]:
        deleted.append(names)
        return dict.fromkeys(names, b"")

    caplog.set_level("INFO")
    ADMIN.topics.delete = delete
    answer = await client.post("/api/topic/delete", json={"topic": "orders", "confirm": "orders"}, headers=ALLOWED)
    assert (answer.status, deleted) == (200, [["orders"]])
    assert 'topic/delete at here by 127.0.0.1: {"topic": "orders"}' in caplog.text


async def test_a_body_is_bounded(client: TestClient[Any, Any]) -> None:
    body = {"topic": "x" * (module.MAX_BODY_BYTES + 1)}
    assert (await client.post("/api/topic/delete", json=body, headers=ALLOWED)).status == 413


async def test_a_query_is_bounded(client: TestClient[Any, Any]) -> None:
    assert (await client.get("/api/topics", params={"search": "x" * 5_000})).status == 414


async def test_requests_at_a_time_are_bounded(client: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REQUESTS", 0)
    assert (await client.get("/api/session")).status == 503


async def test_connections_that_never_ask_give_way(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 4)
    monkeypatch.setattr(module, "SWEEP_S", 0.01)
    console = Console(Wish({"here": CLUSTER}, Rules(None, False, True)), lambda _: Lanes(lane, lane))
    runner = web.AppRunner(console.application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(12)]
    sweeping = asyncio.create_task(sweep(runner))
    async with asyncio.timeout(20):
        assert [await reader.read() for reader, _ in silent[:8]] == [b""] * 8
    reader, writer = silent[-1]
    writer.write(b"GET /api/session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(20):
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    sweeping.cancel()
    for _, each in silent:
        each.close()
    await runner.cleanup()


@pytest.mark.parametrize(
    "query",
    [
        "topic",
        "topics?page=-1",
        "topics?page=x",
        "window?group=g&topic=t&state=gone",
        "window?group=g&topic=t&partition=x",
        "records",
        "records?topic=t&from=yesterday",
        "records?topic=t&limit=100000",
        "records?topic=t&following=1:x",
        "record?topic=t&offset=99999999999999999999",
        "letters",
    ],
)
async def test_a_request_that_means_nothing_is_refused(client: TestClient[Any, Any], lane: Lane, query: str) -> None:
    answer = await client.get(f"/api/{query}")
    assert answer.status == 400
    assert (await answer.json())["error"]
    assert lane.calls == 0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Unreachable("gone"), 502),
        (UnsupportedApi("too old"), 501),
        (BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic t"), 404),
        (BrokerError(ErrorCode.NON_EMPTY_GROUP, "group g"), 409),
        (Busy("busy"), 503),
        (KeyError("ours"), 500),
    ],
)
async def test_what_the_cluster_says_becomes_a_status(
    client: TestClient[Any, Any], lane: Lane, error: Exception, status: int
) -> None:
    lane.error = error
    answer = await client.get("/api/records", params={"topic": "t"})
    assert answer.status == status
    assert ("ours" in (await answer.json())["error"]) is False
    view = await (await client.get("/api/topics")).json()
    assert view["data"] is None
    assert view["error"]


async def test_the_session_says_what_may_be_done(client: TestClient[Any, Any], lane: Lane) -> None:
    session = await (await client.get("/api/session")).json()
    assert (session["cluster"], session["read_only"], session["may_change"]) == ("here", False, False)
    assert session["clusters"] == [{"name": "here", "address": "127.0.0.1:9"}]
    assert (await (await client.get("/api/session", headers=ALLOWED)).json())["may_change"] is True
    other = await client_of(lane, Rules(None, False, True))
    assert (await (await other.get("/api/session", headers=ALLOWED)).json())["read_only"] is True
    await other.close()


async def test_a_request_names_its_cluster() -> None:
    deleted = list[tuple[str, list[str]]]()

    def admin_of(name: str) -> SimpleNamespace:
        def delete(topics: list[str]) -> dict[str, bytes]:
            deleted.append((name, topics))
            return dict.fromkeys(topics, b"")

        return SimpleNamespace(topics=SimpleNamespace(all=lambda: iter([topic(name)]), delete=delete))

    admins = {name: admin_of(name) for name in ("work", "test")}
    clusters = {name: Cluster(CLUSTER.config, Windows()) for name in admins}
    lanes = {id(clusters[name]): Lane(admin) for name, admin in admins.items()}
    console = Console(Wish(clusters, Rules(TOKEN, False, True)), lambda each: Lanes(*[lanes[id(each)]] * 2))
    async with TestClient(TestServer(console.application())) as client:

        async def shown(**given: str) -> list[str]:
            body = await (await client.get("/api/topics", params=given)).json()
            return [row["topic"] for row in body["data"]["rows"]]

        assert [await shown(), await shown(cluster="test"), await shown(cluster="work")] == [
            ["work"],
            ["test"],
            ["work"],
        ]
        session = await (await client.get("/api/session", params={"cluster": "test"})).json()
        assert (session["cluster"], [each["name"] for each in session["clusters"]]) == ("test", ["work", "test"])
        lanes[id(clusters["work"])].error = Unreachable("away")
        body = {"topic": "orders", "confirm": "orders"}
        answers = [
            await client.post("/api/topic/delete", params={"cluster": name}, json=body, headers=ALLOWED)
            for name in ("test", "work", "other")
        ]
        assert [answer.status for answer in answers] == [200, 502, 400]
        assert await answers[2].json() == {"error": "cluster other: must be one of work, test"}
    assert deleted == [("test", ["orders"])]


async def test_a_private_console_shows_nothing_without_the_token(lane: Lane) -> None:
    client = await client_of(lane, Rules(TOKEN, True, True))
    for name in ("session", *VIEWS, *QUESTIONS):
        assert (await client.get(f"/api/{name}")).status == 401, name
    assert (await client.get("/api/topics", headers=ALLOWED)).status == 200
    assert (await client.get("/")).status == 200
    assert lane.calls == 1
    await client.close()


async def test_a_cluster_that_is_away_is_said_soon_and_closing_does_not_wait_for_it() -> None:
    """The threads are real, and so are connections to a port without a listener."""
    console = Console(Wish({"here": CLUSTER}, Rules(None, False, True)))
    client: TestClient[Any, Any] = TestClient(TestServer(console.application()))
    await client.start_server()
    body = await (await client.get("/api/overview")).json()
    assert body["data"] is None
    assert body["error"]
    await client.close()


def test_lines_of_charts_are_figures_that_have_a_colour() -> None:
    """chart.js refuses unknown names, but only in a browser that shows the view."""
    texts = [file.body.decode() for path, file in static_files().items() if path.startswith("/views/")]
    names = [one or other for text in texts for one, other in _CHARTED.findall(text)]
    assert {"lag", "in flight", "acquired", "redelivered", "finished"} <= set(names) <= set(FIGURES)
    style = static_files()["/states.css"].body.decode()
    assert all(f".figure-{name.replace(' ', '-')} {{" in style for name in names)
