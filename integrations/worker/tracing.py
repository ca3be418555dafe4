"""OpenTelemetry, if installed: a span around each call of a handler, and contexts passed on as headers.

A handler's span is a child of the one in its record's headers. Nothing of OpenTelemetry is imported before the first
worker starts, or the first value is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from shareq.worker.job import Message

Span = Callable[[Message], AbstractContextManager[Any]]


class _Api(NamedTuple):
    """OpenTelemetry's modules, by name: their types exist only if it is installed."""

    context: Any
    propagate: Any
    trace: Any


@cache
def _api() -> _Api | None:
    try:
        return _Api(*(import_module(f"opentelemetry.{name}") for name in _Api._fields))
    except ImportError:
        return None


def carried() -> dict[str, str]:
    """Return the current context as headers (`traceparent` and the like); none without a span."""
    headers: dict[str, str] = {}
    if (api := _api()) is not None:
        api.propagate.inject(headers)
    return headers


@contextmanager
def under(headers: Mapping[str, str]) -> Iterator[None]:
    """Run the block in the context of these headers."""
    api = _api() if headers else None
    if api is None:
        yield
        return
    token = api.context.attach(api.propagate.extract(headers))
    try:
        yield
    finally:
        api.context.detach(token)


def spans(group: str) -> Span:
    """Return the function that makes spans; it makes none without OpenTelemetry's API."""
    api = _api()
    if api is None:
        return lambda _: nullcontext()
    propagate, trace = api.propagate, api.trace
    tracer = trace.get_tracer("shareq.worker")

    def span(message: Message) -> AbstractContextManager[Any]:
        carrier = {name: value.decode("utf-8", "replace") for name, value in message.headers if value is not None}
        attributes: dict[str, str | int] = {
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.destination.name": message.topic,
            "messaging.destination.partition.id": str(message.partition),
            "messaging.consumer.group.name": group,
            "messaging.kafka.offset": message.offset,
            "messaging.kafka.message.delivery_count": message.attempt,
        }
        found: AbstractContextManager[Any] = tracer.start_as_current_span(
            f"process {message.topic}",
            context=propagate.extract(carrier),
            kind=trace.SpanKind.CONSUMER,
            attributes=attributes,
        )
        return found

    return span
