"""The reading part of a schema registry: schemas by number, and the files that a Protobuf schema imports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from shareq.client.errors import ClientError, Unreachable

_TIMEOUT_S: Final = 10.0
_LARGEST_ANSWER: Final = 4 << 20
_SERIALIZED: Final = "?format=serialized"  # Protobuf as a descriptor instead of its source


class SchemaRegistry:
    """A schema registry with Confluent's REST interface, which Karapace and Apicurio offer, too."""

    def __init__(self, url: str) -> None:
        self.url: Final = url.rstrip("/")

    def avro(self, number: int) -> str:
        """Return the text of an Avro schema. Raise ClientError if it is not one, Unreachable without an answer."""
        return str(self._of_type(number, "AVRO", "Avro")["schema"])

    def protobuf(self, number: int) -> Mapping[str, Any]:
        """Return a schema with its `schema`, a descriptor in base64, and its `references`. Raise as `avro` does."""
        return self._of_type(number, "PROTOBUF", "Protobuf", _SERIALIZED)

    def referred(self, reference: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the schema that another one refers to by `subject` and `version`. Raise as `avro` does."""
        subject, version = quote(str(reference.get("subject")), safe=""), quote(str(reference.get("version")), safe="")
        path = f"/subjects/{subject}/versions/{version}"
        found = self._asked(path + _SERIALIZED)
        if "schema" not in found:
            raise ClientError(f"{self.url}{path} is no schema")
        return found

    def _of_type(self, number: int, kind: str, name: str, form: str = "") -> Mapping[str, Any]:
        found = self._asked(f"/schemas/ids/{number}{form}")
        if found.get("schemaType", "AVRO") != kind or "schema" not in found:
            raise ClientError(f"schema {number} of {self.url} is not of {name}")
        return found

    def _asked(self, path: str) -> Mapping[str, Any]:
        url = self.url + path
        try:
            with urlopen(url, timeout=_TIMEOUT_S) as answer:
                found = json.loads(answer.read(_LARGEST_ANSWER))
        except HTTPError as error:
            with error:
                raise ClientError(f"the schema registry refused {url}: {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise Unreachable(f"no schema from {url}: {error}") from None
        return found if isinstance(found, dict) else {}
