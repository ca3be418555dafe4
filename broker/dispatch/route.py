"""One RPC in one version: the reading, handling and answering of its requests; and its use by one connection."""

from __future__ import annotations

import importlib
import logging
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.response_errors import error_reader, shorten_messages
from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import AnswerSlot, FallBack, Reply
from shareq.broker.network.counters import Requests
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.headers import response_header
from shareq.protocol.primitives import Gathered, Message, UnencodableMessage

if TYPE_CHECKING:
    from shareq.protocol.bounded_reading import BoundedReader

logger = logging.getLogger(__name__)

SIZE_AND_CORRELATION: Final = struct.Struct(">ii")

FEW_ELEMENTS: Final = 1_000
"""The most elements of a request that is read at once, in a millisecond or two."""

Failed = Callable[[Message, ErrorCode], Message]

RefusalBySize = Callable[[RequestContext, int], "Message | None"]
"""A function from a request's size in bytes to the answer that refuses it, or None if the size is acceptable.

A refused request is not read.
"""


class FrameShortcut(Protocol):
    """A shorter path from a request's frame to its reply, for some requests."""

    def handle(self, frame: bytes, correlation_id: int) -> Reply | FallBack:
        """Return the reply; or FALL_BACK, with nothing changed, if the request has to take the ordinary path."""


class FastPath(FrameShortcut, Protocol):
    """A handler's `FAST_PATH`: a shorter path for requests that are like earlier ones of their connection."""

    def learn(self, frame: bytes, request: Any) -> None:
        """Learn from a request that was handled on the ordinary path. `request` is of the handler's own request
        class.
        """


class CountedFastPath(Protocol):
    """A fast path that can also be used under quotas."""

    def handle(self, frame: bytes, correlation_id: int) -> AnswerSlot | FallBack | None:
        """Return the reply, as `FrameShortcut.handle` does."""

    def say_throttled(self, slot: AnswerSlot, throttle_ms: int) -> None:
        """Write the throttle time into an answer that `handle` returned."""


class Route:
    """One RPC in one version: the reading, handling and answering of its requests. `requests` counts those of all
    its versions.
    """

    __slots__ = (
        "_reader",
        "api_key",
        "context_class",
        "decode",
        "errors_in",
        "failed",
        "fast_path",
        "handle",
        "prefix",
        "refusal_by_size",
        "request_class",
        "requests",
        "version",
    )

    def __init__(
        self,
        row: HandlerRow,
        api_key: ApiKey,
        version: int,
        requests: Requests,
        handler_of: Callable[[HandlerRow], Callable[..., Any]],
    ) -> None:
        """Create the route. `row` is the RPC's row of the table; `handler_of` returns the plain handler of a row."""
        module = importlib.import_module(row.module)
        messages = codec(api_key)
        self.api_key = api_key
        self.version = version
        self.requests = requests
        self.context_class: type[RequestContext] = getattr(module, "CONTEXT", RequestContext)
        self.errors_in = error_reader(messages.response_class)
        self.request_class: type[Message] = messages.request_class
        self.decode: Callable[[bytes, int, int], tuple[Message, int]] = messages.request_class.decode
        # A response, a pending one, or None where the request gets no answer (Produce with acks=0).
        self.handle: Callable[[RequestContext, Message], Message | Pending[Any] | None] = handler_of(row)
        self.failed: Failed | None = getattr(module, "failed", None) or _top_level_failure(messages.response_class)
        self.refusal_by_size: RefusalBySize | None = getattr(module, "refusal_by_size", None)
        self.fast_path: Callable[[BoundRoute], FastPath] | None = getattr(module, "FAST_PATH", None)
        self.prefix = bytes(4) + response_header(api_key, version, 0)
        self._reader: BoundedReader[Message] | None = None

    def __str__(self) -> str:
        return f"{self.api_key.name} v{self.version}"

    def frame(self, response: Message, correlation_id: int) -> Gathered:
        """Return the whole response frame, including its size field. Count the errors in the response."""
        for error_code in self.errors_in(response):
            self.requests.failed(error_code)
        out = Gathered(self.prefix)
        try:
            response.encode_into(out, self.version)
        except UnencodableMessage:
            if not shorten_messages(response):
                raise
            response.encode_into(out, self.version)
        size = out.size if out.left else len(out)
        SIZE_AND_CORRELATION.pack_into(out, 0, size - 4, correlation_id)
        return out

    def frame_of_rows(self, rows: Rows[Any], correlation_id: int) -> Gathered:
        """Return the whole frame of a response whose rows have been written. Count the errors in the response."""
        return self.finish(rows.frame(self.prefix), rows.errors, correlation_id)

    def finish(self, frame: Gathered, errors: Mapping[int, int], correlation_id: int) -> Gathered:
        """Write size and correlation id into a frame that begins with `prefix`, and count the errors in it. Return
        the frame.
        """
        for error_code, count in errors.items():
            self.requests.failed(error_code, count)
        SIZE_AND_CORRELATION.pack_into(frame, 0, frame.size - 4, correlation_id)
        return frame

    def failure(self, context: RequestContext, request: Message, correlation_id: int, error: Exception) -> bytearray:
        """Log our own fault once, with its traceback, and return an answer with the error.

        Raise CloseConnection if the response has no field for an error.
        """
        logger.error("%s: %s failed", context.connection, self, exc_info=error)
        if self.failed is not None:
            try:
                reply = self.frame(self.failed(request, ErrorCode.UNKNOWN_SERVER_ERROR), correlation_id)
                self.requests.durations.add(context.connection.now_ns() - context.connection.since_ns)
                return reply
            except CloseConnection:
                raise
            except Exception:
                logger.exception("%s: no error answer for %s", context.connection, self)
        raise CloseConnection(f"internal error in {self}")

    def read_few(self, frame: bytes, body: int) -> Message | None:
        """Return the request if it has few elements; None if it has to be read in steps. Raise MalformedMessage."""
        if self._reader is None:
            from shareq.protocol.bounded_reading import BoundedReader

            self._reader = BoundedReader(self.request_class, self.version)
        return self._reader.read_at_once(frame, body, FEW_ELEMENTS)


class BoundRoute:
    """A route as one connection uses it.

    `tail` has the header's bytes behind the correlation id: the client id and, in flexible versions, the tags. A
    connection repeats them in every request, so the header is parsed once and only compared later.
    """

    __slots__ = ("body", "context", "fast_path", "metered_fast_path", "refusal_by_size", "requests", "route", "tail")

    def __init__(self, route: Route, context: RequestContext, tail: bytes, body: int) -> None:
        self.route = route
        self.requests = route.requests
        self.context = context
        self.tail = tail
        self.body = body
        self.fast_path = route.fast_path(self) if route.fast_path is not None else None
        self.metered_fast_path: FrameShortcut | None = None  # the same where there are quotas


def _top_level_failure(response_class: type[Message]) -> Failed | None:
    """Return the function that makes the error answer of an RPC whose response has a top-level error code; None for
    others.
    """
    if "error_code" not in response_class.__slots__:
        return None
    return lambda _request, error: response_class(error_code=error)  # type: ignore[call-arg]
