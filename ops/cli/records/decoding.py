"""Keys and values of records as text: as JSON, text, hex, or Avro with a schema registry."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from http.client import HTTPException
from struct import Struct
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from shareq.client.errors import ClientError, Unreachable
from shareq.ops.cli.shared.exits import USAGE, exit_with

FORMS: Final = ("auto", "json", "text", "hex", "avro")
_HEAD: Final = Struct(">bI")  # of a value with a schema in a registry: 0, the schema's number
_TIMEOUT_S: Final = 10.0
_LARGEST_SCHEMA: Final = 4 << 20


class Text(NamedTuple):
    """Bytes as text, and its encoding: utf-8, base64, hex, json or avro; both None for a null."""

    text: str | None
    encoding: str | None


Decode = Callable[[bytes | None], Text]


def decoder(form: str, registry: str | None) -> Decode:
    """Return the decoder of bytes to text. Bytes that are not of the form are shown as they would be without one.

    `registry`: the URL of a schema registry. Ends the command if Avro cannot be had.
    """
    if form == "avro":
        return _avro(registry)
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
    """JSON in one line."""
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


def _avro(registry: str | None) -> Decode:
    try:
        # fastavro's own, in C, end the process where a value or schema is nested some thousand deep.
        from fastavro import _read_py, _schema_py
    except ImportError:
        exit_with(USAGE, "--decode avro: it needs fastavro, which is not installed: pip install fastavro")
    if not registry:
        exit_with(USAGE, "--decode avro: give --schema-registry URL, or set SHAREQ_SCHEMA_REGISTRY_URL")
    base, schemas = registry.rstrip("/"), dict[int, Any]()

    def decode(data: bytes | None) -> Text:
        if data is None or len(data) < _HEAD.size or data[0]:
            return _plain(data)
        _, number = _HEAD.unpack_from(data)
        if number not in schemas:
            text = _schema(base, number)
            try:
                schemas[number] = _schema_py.parse_schema(json.loads(text))
            except Exception as error:  # of many kinds
                raise ClientError(f"schema {number} of {base} cannot be read: {error}") from None
        try:
            value = _read_py.schemaless_reader(io.BytesIO(data[_HEAD.size :]), schemas[number], None)
            return Text(_one_line(value), "avro")
        except Exception:  # of many kinds: what is not of the schema, or nested deeper than Python reads
            return _plain(data)

    return decode


def _schema(registry: str, number: int) -> str:
    """Return a schema's text. Raises ClientError."""
    url = f"{registry}/schemas/ids/{number}"
    try:
        with urlopen(url, timeout=_TIMEOUT_S) as answer:
            found = json.loads(answer.read(_LARGEST_SCHEMA))
    except HTTPError as error:
        with error:
            raise ClientError(f"the schema registry refused {url}: {error.code} {error.reason}") from None
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise Unreachable(f"no schema from {url}: {error}") from None
    if not isinstance(found, dict) or found.get("schemaType", "AVRO") != "AVRO" or "schema" not in found:
        raise ClientError(f"schema {number} of {registry} is not of Avro")
    return str(found["schema"])
