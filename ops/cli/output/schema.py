"""JSON of a command's rows: their values, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def to_json(value: Any) -> Any:
    """Return a row's form for `json`: named tuples become objects, other tuples arrays."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        if names is None:
            return [to_json(each) for each in value]
        return {name: to_json(each) for name, each in zip(names, value, strict=True)}
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    return value


def schema_of(row: type, shape: str, title: str) -> dict[str, Any]:
    """Return the schema of a command's output: `rows` (an array), `object`, or `stream` (of each line)."""
    of_row = _schema(row)
    body = {"type": "array", "items": of_row} if shape == "rows" else of_row
    return {"$schema": DIALECT, "title": title, **body}


def fields(row: type) -> dict[str, str]:
    """Return the fields of a row, with their types."""
    hints = get_type_hints(row, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in row._fields}  # type: ignore[attr-defined]  # a NamedTuple


def _schema(kind: Any) -> dict[str, Any]:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**_schema(arguments[0]), "description": kind.__metadata__[0]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        plain = [_PLAIN.get(each) for each in arguments]
        return {"type": plain} if all(plain) else {"anyOf": [_schema(each) for each in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    hints = get_type_hints(kind, include_extras=True)
    names = kind._fields
    properties = {name: _schema(hints[name]) for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}
