"""Decodes Avro values by the schemas of a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

# fastavro's own, in C, end the process where a value or schema is nested some thousand deep.
from fastavro import _read_py, _schema_py

from shareq.client.errors import ClientError
from shareq.ops.cli.records.registry import SchemaRegistry


def reader(registry: SchemaRegistry, number: int) -> Callable[[bytes], Any]:
    """Return a function that reads what follows the schema's number in a value.

    Raise ClientError if the schema is unavailable or invalid. The function raises exceptions of many kinds for bytes
    that are not of the schema.
    """
    text = registry.avro(number)
    try:
        schema = _schema_py.parse_schema(json.loads(text))
    except Exception as error:  # of many kinds
        raise ClientError(f"schema {number} of {registry.url} cannot be read: {error}") from None
    return lambda data: _read_py.schemaless_reader(io.BytesIO(data), schema, None)
