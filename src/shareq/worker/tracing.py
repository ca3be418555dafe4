"""A span of OpenTelemetry around each call of a handler, child of the one in the record's headers, if it is installed.

Nothing of OpenTelemetry is imported before the first worker starts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from shareq.worker.job import Message

Span = Callable[[Message], AbstractContextManager[Any]]


def spans(group: str) -> Span:
    """What makes a span; of nothing where OpenTelemetry's API is missing."""
    try:
        propagate: Any = import_module("opentelemetry.propagate")  # by name: its types exist only where it does
        trace: Any = import_module("opentelemetry.trace")
    except ImportError:
        return lambda _: nullcontext()
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
