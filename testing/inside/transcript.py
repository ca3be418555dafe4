"""The clients' requests and answers as lines: stored as bytes, and decoded when a line is wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from operator import attrgetter
from typing import Final, NamedTuple

from shareq.broker.network.answers import Buffer
from shareq.broker.network.connection import Connection
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.headers import RequestHeader, decode_response_header
from shareq.protocol.primitives import ZERO_UUID, Gathered, Structure, uuid_to_text
from shareq.protocol.records.batch import batch_headers
from shareq.testing.helpers import CLIENT_ID

ENTRIES: Final = 1_000
POLLS: Final = 200
"""The helpers' polls that are kept, apart from other requests, which their large number would displace."""
FRAME_BYTES: Final = 32 * 1024
"""The longest requests and answers that are kept, so that a transcript has 77 MB at most; of longer ones only the size.
"""
LONGEST_LINE: Final = 400
MOST_ELEMENTS: Final = 4
_CHANGES: Final = (ApiKey.PRODUCE, ApiKey.CREATE_TOPICS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
_SECRET: Final = (ApiKey.SASL_AUTHENTICATE, ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
_DULL: Final = ("throttle_time_ms", "unknown_tags", "error_message")
_ID_BYTES: Final = 16
_SIZE_BYTES: Final = 4


class Entry:
    """One request and its outcome."""

    __slots__ = (
        "_answer",
        "_began_ns",
        "_ended_ns",
        "_number",
        "_why",
        "at_ms",
        "fault",
        "header",
        "request",
        "size",
        "turn",
    )

    def __init__(
        self, turn: int, number: int, at_ms: int, began_ns: int, request: bytes, header: RequestHeader | None
    ) -> None:
        self.turn = turn  # of all requests
        self._number = number  # of the connection
        self.at_ms = at_ms
        self.header = header
        self.request = request if len(request) <= FRAME_BYTES else b""
        self.size = len(request)
        self.fault = ""
        self._began_ns = began_ns
        self._ended_ns = 0
        self._answer: bytes | int | None = None
        self._why = ""

    @property
    def is_poll(self) -> bool:
        """True if a helper of the test sent this request only to look."""
        header = self.header
        return header is not None and header.client_id == CLIENT_ID and header.api_key not in _CHANGES

    def answer(self, frame: Buffer | None, now_ns: int) -> None:
        """Note the answer, with its size before it; None: no answer."""
        self._ended_ns = now_ns
        if frame is None:
            self._why = "no answer wanted"
            return
        size = frame.size if isinstance(frame, Gathered) else len(frame)
        if size > FRAME_BYTES:
            self._answer = size
        elif isinstance(frame, Gathered) and frame.left:
            self._answer = b"".join(map(bytes, frame.pieces()))
        else:
            self._answer = bytes(frame)

    def close(self, why: str, now_ns: int) -> None:
        """Note the end of the connection in place of an answer."""
        self._why, self._ended_ns = f"closed: {why}", now_ns

    def line(self, since_ms: int, topic_name: Callable[[bytes], str | None]) -> str:
        """Return the line; times count from `since_ms`."""
        header = self.header
        seconds = (self.at_ms - since_ms) / 1000
        start = f"{seconds:9.3f}s #{self._number}"
        if header is None:
            return f"{start} {self.size} bytes that are no request → {self._outcome(topic_name)}"
        api = _name(header.api_key)
        body = self._request_text(header, topic_name)
        took = f" ({(self._ended_ns - self._began_ns) / 1e6:.1f} ms)" if self._ended_ns else ""
        fault = f" [fault: {self.fault}]" if self.fault else ""
        said = f"{start} {header.client_id or '-'} {api} v{header.api_version} {header.correlation_id}{fault}  {body}"
        return f"{_cut(said)} → {_cut(self._outcome(topic_name))}{took}"

    def _request_text(self, header: RequestHeader, topic_name: Callable[[bytes], str | None]) -> str:
        if not self.request:
            return f"<{self.size} bytes>"
        if header.api_key in _SECRET:
            return "<secret>"
        try:
            request, _ = codec(header.api_key).request_class.decode(
                self.request, header.api_version, header.body_offset
            )
        except (MalformedMessage, KeyError):
            return f"<{self.size} bytes that cannot be read>"
        return " ".join(_fields(request, topic_name))

    def _outcome(self, topic_name: Callable[[bytes], str | None]) -> str:
        if self._why or self.header is None:
            return self._why or "?"
        if self._answer is None:
            return "not answered yet"
        if isinstance(self._answer, int):
            return f"<{self._answer} bytes>"
        if self.header.api_key in _SECRET:
            return "<secret>"
        frame, header = self._answer[_SIZE_BYTES:], self.header
        try:
            start = decode_response_header(frame, header.api_key, header.api_version).body_offset
            answer, _ = codec(header.api_key).response_class.decode(frame, header.api_version, start)
        except (MalformedMessage, KeyError):
            return f"<{len(frame)} bytes>"
        return " ".join(_fields(answer, topic_name)) or "ok"


class Line(NamedTuple):
    """A request and its answer as shown, and whether it is a poll of the helpers."""

    is_poll: bool
    text: str


class Transcript:
    """The last requests of all connections, and separately the helpers' polls. On the loop's thread."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._since_ms: int | None = None
        self._turns = 0
        self._entries: deque[Entry] = deque(maxlen=ENTRIES)
        self._polls: deque[Entry] = deque(maxlen=POLLS)
        self._polled = 0
        self.topic_name: Callable[[bytes], str | None] = lambda _topic_id: None

    def begin(self, connection: Connection, frame: bytes, header: RequestHeader | None) -> Entry:
        """Begin the entry of a request that has arrived."""
        now_ms = self._now_ms()
        if self._since_ms is None:
            self._since_ms = now_ms
        self._turns += 1
        entry = Entry(self._turns, connection.id, now_ms, connection.now_ns(), frame, header)
        if entry.is_poll:
            self._polled += 1
            self._polls.append(entry)
        else:
            self._entries.append(entry)
        return entry

    def polled(self) -> int:
        """Return the number of the helpers' polls, including those that are no longer kept."""
        return self._polled

    def lines(self, last: int | None = None, *, polls: bool = True) -> list[Line]:
        """Return a line for each of the `last` requests, oldest first; `polls`: including the helpers' polls."""
        kept = merge(self._entries, self._polls, key=_turn) if polls else self._entries
        return self._shown(list(kept)[-last if last else 0 :])

    def end(self, last: int) -> list[Line]:
        """Return the `last` requests without polls, and as many with them, oldest first."""
        return self._shown(merge(list(self._entries)[-last:], list(self._polls)[-last:], key=_turn))

    def _shown(self, entries: Iterable[Entry]) -> list[Line]:
        return [Line(each.is_poll, each.line(self._since_ms or 0, self.topic_name)) for each in entries]


_turn = attrgetter("turn")


def _name(api_key: int) -> str:
    try:
        return "".join(part.capitalize() for part in ApiKey(api_key).name.split("_"))
    except ValueError:
        return f"API {api_key}"


def _fields(part: Structure, topic_name: Callable[[bytes], str | None]) -> Iterator[str]:
    """Return NAME=VALUE for each field that is not empty, zero or -1."""
    for name in part.FIELDS:
        value = getattr(part, name)
        if name in _DULL or value is None or value is False or value in (0, -1, "", b"", [], ZERO_UUID):
            continue
        text = _text(name, value, topic_name)
        if text != "{}" or not isinstance(value, Structure):
            yield f"{name}={text}"


def _text(name: str, value: object, topic_name: Callable[[bytes], str | None]) -> str:
    if name.endswith("error_code") and isinstance(value, int):
        return _error(value)
    if isinstance(value, Structure):
        return f"{{{' '.join(_fields(value, topic_name))}}}"
    if isinstance(value, list):
        shown = [_text(name, each, topic_name) for each in value[:MOST_ELEMENTS]]
        more = [f"+{len(value) - MOST_ELEMENTS}"] if len(value) > MOST_ELEMENTS else []
        return f"[{', '.join([*shown, *more])}]"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(name, bytes(value), topic_name)
    return str(value)


def _bytes(name: str, value: bytes, topic_name: Callable[[bytes], str | None]) -> str:
    if len(value) == _ID_BYTES and name.endswith("id"):
        return (topic_name(value) if name == "topic_id" else None) or uuid_to_text(value)
    if name == "records":
        try:
            count = sum(header.records_count for _, header in batch_headers(value))
        except MalformedMessage:
            return f"<{len(value)} bytes>"
        return f"<{count} records, {len(value)} bytes>"
    return f"<{len(value)} bytes>"


def _error(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
