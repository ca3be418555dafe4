"""The text of keys and values of records: as JSON, text, hex, or Avro and Protobuf with a schema registry."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from importlib import import_module
from struct import Struct
from typing import Any, Final, NamedTuple

from shareq.ops.cli.records.registry import SchemaRegistry
from shareq.ops.cli.shared.exits import USAGE, exit_with

FORMS: Final = ("auto", "json", "text", "hex", "avro", "protobuf")
_MODULES: Final = {  # of forms with schemas; their packages are installed by those who want them
    "avro": ("shareq.ops.cli.records.avro", "fastavro"),
    "protobuf": ("shareq.ops.cli.records.protobuf", "protobuf"),
}
_HEAD: Final = Struct(">bI")  # of a value with a schema in a registry: 0, the schema's number


class Text(NamedTuple):
    """Bytes as text, and its encoding: utf-8, base64, hex, json, avro or protobuf; both None for a null."""

    text: str | None
    encoding: str | None


Decode = Callable[[bytes | None], Text]


def decoder(form: str, registry: str | None) -> Decode:
    """Return the decoder of bytes to text. Bytes that are not of the form are shown as if none were given.

    `registry`: the URL of a schema registry. End the command if a form with schemas lacks its package, or the registry.
    """
    if form in _MODULES:
        return _by_schema(form, registry)
    return {"auto": _plain, "text": _as_text, "hex": _as_hex, "json": _as_json}[form]


def _plain(data: bytes | None) -> Text:
    if data is None:
        return Text(None, None)
    try:
        return Text(data.decode(), "utf-8")
    except UnicodeDecodeError:
        return Text(base64.b64encode(data).decode(), "base64")


def _as_text(data: bytes | None) -> Text:
    return Text(None, None) if data is None else Text(data.decode(errors="replace"), "utf-8")


def _as_hex(data: bytes | None) -> Text:
    return Text(None, None) if data is None else Text(data.hex(), "hex")


def _as_json(data: bytes | None) -> Text:
    """Return JSON in one line."""
    try:
        return Text(_one_line(json.loads(data or b"")), "json")
    except (ValueError, RecursionError):  # or nested deeper than Python reads
        return _plain(data)


def _one_line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, by an escape: no stream takes it
        return json.dumps(value, default=str)
    return text


def _by_schema(form: str, url: str | None) -> Decode:
    """Return the decoder of values that begin with a schema's number. Each schema is requested once."""
    module, package = _MODULES[form]
    try:
        reader = import_module(module).reader
    except ImportError:
        exit_with(USAGE, f"--decode {form}: it needs {package}, which is not installed: pip install {package}")
    if not url:
        exit_with(USAGE, f"--decode {form}: give --schema-registry URL, or set SHAREQ_SCHEMA_REGISTRY_URL")
    registry, readers = SchemaRegistry(url), dict[int, Callable[[bytes], Any]]()

    def decode(data: bytes | None) -> Text:
        if data is None or len(data) < _HEAD.size or data[0]:
            return _plain(data)
        _, number = _HEAD.unpack_from(data)
        if number not in readers:
            readers[number] = reader(registry, number)
        try:
            return Text(_one_line(readers[number](data[_HEAD.size :])), form)
        except Exception:  # of many kinds: what is not of the schema, or nested deeper than Python reads
            return _plain(data)

    return decode
