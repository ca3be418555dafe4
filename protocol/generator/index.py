"""The tables over all messages: API keys with their modules and versions, and the error codes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from shareq.protocol.generator import checks
from shareq.protocol.generator.codec import banner
from shareq.protocol.generator.emit import CodeBuffer, literal
from shareq.protocol.generator.names import module_name, snake
from shareq.protocol.generator.spec import INTEGER_RANGES, Kind, MessageSpec, SchemaError, parse_json
from shareq.protocol.primitives import NEVER


def index_text(messages: list[MessageSpec], kafka_version: str) -> str:
    """Return `index.py`: the enum `ApiKey`, and a row for each API that has versions."""
    out = CodeBuffer()
    out.docstring("Every API in use: key, module, classes, versions.\n\n" + banner(["schemas"], kafka_version))
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    out.line("from enum import IntEnum")
    requests = sorted(
        (spec for spec in messages if spec.kind is Kind.REQUEST and not spec.valid_versions.empty),
        key=lambda spec: spec.api_key or 0,
    )
    out.blank()
    with out.block("class ApiKey(IntEnum):"):
        out.docstring("The requests in use, by Kafka's names.")
        out.line()
        for spec in requests:
            out.line(f"{_api_name(spec).upper()} = {spec.api_key}")
    out.blank()
    out.line("# key: (module, name, lowest version, highest, first flexible, highest is unstable, listeners)")
    with out.block("APIS: dict[int, tuple[str, str, int, int, int, bool, tuple[str, ...]]] = {"):
        for spec in requests:
            out.bracketed(f"{spec.api_key}: (", _api_row(spec), "),")
    out.line("}")
    return out.text()


def _api_name(spec: MessageSpec) -> str:
    return snake(spec.name.removesuffix("Request"))


def _api_row(spec: MessageSpec) -> list[str]:
    flexible = NEVER if spec.flexible_versions.empty else spec.flexible_versions.lowest
    listeners = [literal(listener) for listener in spec.listeners]
    return [
        literal(module_name(spec.name)),
        literal(spec.name.removesuffix("Request")),
        str(spec.valid_versions.lowest),
        str(spec.valid_versions.highest),
        str(flexible),
        str(spec.latest_version_unstable),
        f"({listeners[0]},)" if len(listeners) == 1 else f"({', '.join(listeners)})",
    ]


class _ErrorRow(NamedTuple):
    """One object of `errors.json`."""

    code: int
    name: str
    retriable: bool
    text: str


def _error_rows(path: Path) -> list[_ErrorRow]:
    try:
        found = parse_json(path.read_text("utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path.name}: not UTF-8: {error}") from error
    if not isinstance(found, list):
        raise SchemaError(f"{path.name}: expected an array")
    rows = sorted((_error_row(raw, path.name) for raw in found), key=lambda row: row.code)
    for column in ("code", "name"):
        values = [getattr(row, column) for row in rows]
        if len(set(values)) < len(values):
            raise SchemaError(f"{path.name}: a {column} is used twice")
    return rows


def _error_row(raw: object, file: str) -> _ErrorRow:
    if not isinstance(raw, dict) or set(raw) != set(_ErrorRow._fields):
        raise SchemaError(f"{file}: expected code, name, retriable and text: {checks.shown(raw)}")
    row = _ErrorRow(**raw)
    problem = checks.constant_name_problem(row.name) if isinstance(row.name, str) else "name must be a string"
    lowest, highest = INTEGER_RANGES["int16"]
    if type(row.code) is not int or not lowest <= row.code <= highest:
        problem = f"code must be an int16, not {checks.shown(row.code)}"
    if type(row.retriable) is not bool or not isinstance(row.text, str):
        problem = "retriable must be true or false, and text a string"
    if problem is not None:
        raise SchemaError(f"{file}: {checks.shown(row.name)}: {problem}")
    return row


def error_codes_text(path: Path, kafka_version: str) -> str:
    """Return `error_codes.py`, made from `errors.json`. Raises `SchemaError`."""
    rows = _error_rows(path)
    out = CodeBuffer()
    out.docstring("Kafka's error codes.\n\n" + banner([f"schemas/{path.name}"], kafka_version))
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    out.line("from enum import IntEnum")
    out.blank()
    with out.block("class ErrorCode(IntEnum):"):
        out.docstring("What a response says of a request, or of a part of it. int16 on the wire.")
        out.line()
        for row in rows:
            out.line(f"{row.name} = {row.code}")
    out.blank()
    out.line("# The request may succeed if it is sent again.")
    with out.block("RETRIABLE: frozenset[int] = frozenset("):
        out.bracketed("{", [f"ErrorCode.{row.name}" for row in rows if row.retriable], "}", one_per_line=True)
    out.line(")")
    out.line()
    with out.block("TEXTS: dict[int, str] = {"):
        for row in rows:
            out.line(f"{row.code}: {literal(row.text)},")
    out.line("}")
    return out.text()
