"""The options of the sink: their names, their values, and why some of Spark's Kafka sink are missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from shareq.client.config import ClientConfig
from shareq.client.properties import boolean
from shareq.protocol.records.compression import Compression
from shareq.spark.option_reader import INT_MAX, LONG_MAX, OptionReader, whole

KNOWN: Final = ("topic", "transactional", "txnAppId", "txnVersion", "checkpointLocation")
"""The options besides kafka.*."""

_BYTES: Final = "key and value are columns of strings or bytes; make them in the query"
_WRITTEN: Final = "every record is written by an idempotent producer and acknowledged by all replicas in sync"

REFUSED: Final[dict[str, str]] = {
    "path": "save() and start() take no path; name the topic by option topic, or by a column of that name",
    "includeHeaders": "a column headers is written where there is one",
    "subscribe": "it is where the source reads; use option topic, or a column topic",
    "subscribePattern": "it is where the source reads; use option topic, or a column topic",
    "kafka.group.id": "it is where the source reads; nothing is read here",
    "kafka.key.serializer": _BYTES,
    "kafka.value.serializer": _BYTES,
    "kafka.interceptor.classes": "there is no Java producer here that could call them",
    "kafka.acks": _WRITTEN,
    "kafka.enable.idempotence": _WRITTEN,
    "kafka.transactional.id": "it follows from the query's id, or from option txnAppId",
}
"""Options that are known but not supported, with the reason and the alternative."""

_COMPRESSIONS: Final = {one.name.lower(): one for one in Compression}
_NAME: Final = re.compile(r"[\w.\-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The user's options. A plain value: it can be pickled, and its repr holds no secret."""

    client: ClientConfig
    topic: str | None = None
    transactional: bool = True
    app_id: str | None = None
    version: int | None = None
    compression: Compression = Compression.NONE
    timeout_ms: int = 900_000
    """The most that a broker allows by default. Kafka's producers have one minute, but write no micro-batches."""

    @classmethod
    def parse(cls, options: Mapping[str, str], *, streaming: bool) -> Self:
        """Read the options as Spark gives them, in any case. Raises OptionsError."""
        reader = OptionReader(options, KNOWN, REFUSED)
        compression = reader.take("kafka.compression.type", _compression)
        timeout_ms = reader.take("kafka.transaction.timeout.ms", whole(1, INT_MAX))
        client = reader.client()
        reader.take("checkpointLocation", str)  # Spark's own
        values = {
            "topic": reader.take("topic", _topic),
            "transactional": reader.take("transactional", boolean),
            "app_id": reader.take("txnAppId", _app_id),
            "version": reader.take("txnVersion", whole(0, LONG_MAX)),
            "compression": compression,
            "timeout_ms": timeout_ms,
        }
        named = [name for name in ("txnAppId", "txnVersion") if name in options or name.lower() in options]
        if streaming and named:
            reader.problem(f"{named[0]} is for df.write: a streaming query has its id, and numbers its micro-batches")
        elif len(named) == 1:
            other = "txnVersion" if named[0] == "txnAppId" else "txnAppId"
            reader.problem(f"{named[0]} is given without {other}: both together name what is written once")
        if named and values["transactional"] is False:
            reader.problem(f"{named[0]} needs transactional=true, which is the default")
        reader.finish()
        assert client is not None
        given = {name: value for name, value in values.items() if value is not None}
        return cls(client, **given)  # type: ignore[arg-type]  # each was read by a function of its type


def _topic(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _app_id(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be up to 200 letters, digits, dots, hyphens and underscores")
    return text


def _compression(text: str) -> Compression:
    if text.lower() not in _COMPRESSIONS:
        raise ValueError(f"must be one of {', '.join(_COMPRESSIONS)}")
    return _COMPRESSIONS[text.lower()]
