"""Reading a document from https: or file: in a thread, so that a slow server delays nothing else."""

from __future__ import annotations

import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from typing import IO, Final
from urllib.parse import unquote, urlsplit

MOST_BYTES: Final = 1 << 20
CONNECTION_TIMEOUT_S: Final = 10.0
DOCUMENT_TIMEOUT_S: Final = 20.0

_PART: Final = 1 << 16


class NotRead(Exception):
    """Error: a document could not be read. The text is the reason, for the log."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A refusal of redirects: another address may be without TLS, or have another owner, so the operator has to name
    it.
    """

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def read_document(url: str, context: ssl.SSLContext | None) -> bytes:
    """Return a document of at most MOST_BYTES. `context` verifies an https: server. Raise NotRead."""
    try:
        return _read_file(url) if urlsplit(url).scheme == "file" else _read_https(url, context)
    except urllib.error.HTTPError as error:
        error.close()
        raise NotRead(f"the server answered {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None)
        raise NotRead(getattr(error, "strerror", None) or str(reason or error) or type(error).__name__) from None


def _read_file(url: str) -> bytes:
    with open(unquote(urlsplit(url).path), "rb") as file:
        data = file.read(MOST_BYTES + 1)
    return _bounded(data)


def _read_https(url: str, context: ssl.SSLContext | None) -> bytes:
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirects)
    ends_s = time.monotonic() + DOCUMENT_TIMEOUT_S
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    data = b""
    with opener.open(request, timeout=CONNECTION_TIMEOUT_S) as response:
        while part := response.read1(_PART):
            data = _bounded(data + part)
            if time.monotonic() > ends_s:
                raise NotRead(f"it has not come within {DOCUMENT_TIMEOUT_S:.0f} s")
    return data


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise NotRead(f"it is larger than {MOST_BYTES} bytes")
    return data


Outcome = bytes | NotRead
InThread = Callable[[Callable[[], bytes], Callable[[Outcome], None]], None]
"""A function that does work in a thread, then passes its result to a callback on the loop's thread."""


def in_thread(hand_back: Callable[[Callable[[], None]], object]) -> InThread:
    """Return a function that runs work in a thread. `hand_back` runs a call on the loop's thread, from any thread;
    it raises RuntimeError if the loop has ended.
    """

    def begin(work: Callable[[], bytes], done: Callable[[Outcome], None]) -> None:
        def run() -> None:
            outcome: Outcome
            try:
                outcome = work()
            except NotRead as error:
                outcome = error
            try:
                hand_back(lambda: done(outcome))
            except RuntimeError:
                return  # the broker has stopped meanwhile

        threading.Thread(target=run, name="shareq-jwks", daemon=True).start()

    return begin
