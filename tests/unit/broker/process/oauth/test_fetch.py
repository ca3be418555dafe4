"""Reading the issuer's keys from a file or a server: valid, invalid, too large, redirected, untrusted."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from devtools.kafka.certificates import Authority, why_unavailable
from shareq.broker.process.oauth import fetch
from shareq.broker.process.oauth.fetch import MOST_BYTES, NotRead, Outcome, in_thread, read_document

needs_openssl = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "with space %41.json"
    path.write_bytes(b"{}")
    assert read_document(path.as_uri(), None) == b"{}"
    with pytest.raises(NotRead, match="No such file"):
        read_document((tmp_path / "none").as_uri(), None)
    with pytest.raises(NotRead, match="directory"):
        read_document(tmp_path.as_uri(), None)
    path.write_bytes(bytes(MOST_BYTES))
    assert len(read_document(path.as_uri(), None)) == MOST_BYTES
    path.write_bytes(bytes(MOST_BYTES + 1))
    with pytest.raises(NotRead, match="larger than"):
        read_document(path.as_uri(), None)


class Site:
    """An https: server. `answer` handles each request; `seen`: the requested paths."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.seen: list[str] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda request: ok(request, b"{}")
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append(self.path)
                site.answer(self)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_address[1]}/keys"


def ok(request: BaseHTTPRequestHandler, body: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def site(authority: Authority) -> Iterator[Site]:
    site = Site(authority.server_context(authority.sign("server", "DNS:localhost")))
    thread = threading.Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


@pytest.fixture
def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.certificate))


@needs_openssl
def test_a_server(site: Site, trusting: ssl.SSLContext) -> None:
    site.answer = lambda request: ok(request, b"x" * 200_000)
    assert read_document(site.url, trusting) == b"x" * 200_000
    assert site.seen == ["/keys"]


@needs_openssl
def test_a_server_that_is_not_trusted(site: Site) -> None:
    with pytest.raises(NotRead, match=r"(?i)certificate"):
        read_document(site.url, ssl.create_default_context())
    assert site.seen == []


@needs_openssl
def test_a_server_of_another_name(site: Site, trusting: ssl.SSLContext) -> None:
    with pytest.raises(NotRead, match=r"(?i)mismatch"):
        read_document(site.url.replace("localhost", "127.0.0.1"), trusting)
    assert site.seen == []


@needs_openssl
@pytest.mark.parametrize("code", [303, 404, 500])
def test_another_answer_than_the_document(site: Site, trusting: ssl.SSLContext, code: int) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        request.send_header("Content-Length", "0")
        request.send_header("Location", f"{site.url}-elsewhere")
        request.end_headers()

    site.answer = answer
    with pytest.raises(NotRead, match=f"the server answered {code}"):
        read_document(site.url, trusting)
    assert site.seen == ["/keys"], "redirects are not followed"


@needs_openssl
def test_an_answer_without_end(site: Site, trusting: ssl.SSLContext) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while True:
                request.wfile.write(bytes(1 << 16))
        except OSError:
            return

    site.answer = answer
    with pytest.raises(NotRead, match="larger than 1048576 bytes"):
        read_document(site.url, trusting)


@needs_openssl
def test_an_answer_that_trickles(site: Site, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "DOCUMENT_TIMEOUT_S", 0.2)
    enough = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while not enough.wait(0.02):
                request.wfile.write(b" ")
        except OSError:
            return

    site.answer = answer
    with pytest.raises(NotRead, match="it has not come within"):
        read_document(site.url, trusting)
    enough.set()


@needs_openssl
def test_a_server_that_says_nothing(site: Site, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "CONNECTION_TIMEOUT_S", 0.1)
    enough = threading.Event()

    def answer(_: BaseHTTPRequestHandler) -> None:
        enough.wait(20)

    site.answer = answer
    with pytest.raises(NotRead, match="timed out"):
        read_document(site.url, trusting)
    enough.set()


def test_nobody_listens() -> None:
    with pytest.raises(NotRead, match="refused"):
        read_document("https://127.0.0.1:1/keys", None)


async def test_what_comes_of_a_thread_is_handed_to_the_loop() -> None:
    loop = asyncio.get_running_loop()
    begin = in_thread(loop.call_soon_threadsafe)
    threads: list[int] = []

    def work() -> bytes:
        threads.append(threading.get_ident())
        return b"keys"

    def failing() -> bytes:
        raise NotRead("gone")

    for each, expected in ((work, b"keys"), (failing, "gone")):
        future: asyncio.Future[Outcome] = loop.create_future()
        begin(each, future.set_result)
        outcome = await asyncio.wait_for(future, 10)
        assert (outcome if isinstance(outcome, bytes) else str(outcome)) == expected
    assert threads != [threading.get_ident()]
