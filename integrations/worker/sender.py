"""A sender for programs without an event loop, such as a web application or a script."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from shareq.client.aio.early import MAX_DELAY_S
from shareq.client.config import ClientConfig
from shareq.client.network import Network
from shareq.client.producer import Producer
from shareq.protocol.records.record_codec import RecordData
from shareq.worker.job import encoded, not_before
from shareq.worker.tracing import carried


class Sender:
    """A sender that writes values to topics, each once, and returns when they are stored. Any thread may call it.

    Bytes are sent as they are, text in UTF-8, everything else in JSON.
    """

    def __init__(self, config: ClientConfig, max_delay: float = MAX_DELAY_S) -> None:
        self._max_delay = max_delay
        self._network = Network(config)
        self._producers: dict[str, Producer] = {}
        self._lock = threading.Lock()

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        delay: float | None = None,
        eta: datetime | None = None,
    ) -> tuple[int, int | None]:
        """Write one value, and return its partition and offset; None if the broker only confirms that it has the value.

        `delay` in seconds, or `eta` with a time zone: a handler begins no earlier. The time may be up to the `Worker`'s
        `max_delay` seconds from now. The record is written at once; the worker that acquires it waits. Consumers that
        are no `shareq.worker` do not.

        Values of one key go to one partition. The current context of OpenTelemetry, if any, is added to the headers,
        except to given ones. Raises BrokerError for a topic that does not exist, Unreachable, TypeError for a value
        without JSON form, ValueError for an invalid time.
        """
        given = {**carried(), **not_before(delay, eta, time.time(), self._max_delay), **(headers or {})}
        named = tuple((name, encoded(text)) for name, text in given.items())
        record = RecordData(encoded(key), encoded(value), named)
        with self._lock:
            producer = self._producers.get(topic)
            if producer is None:
                producer = self._producers[topic] = Producer(self._network, topic)
            written = producer.write([record], time.time_ns() // 1_000_000)[0]
        return written.partition, written.offset

    def close(self) -> None:
        """Close the connections."""
        self._network.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
