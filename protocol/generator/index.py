"""The tables over all messages: API keys with their modules and versions, and the error codes."""

from __future__ import annotations

import json
from pathlib import Path

from shareq.protocol.generator.codec import banner
from shareq.protocol.generator.emit import CodeBuffer, literal
from shareq.protocol.generator.names import module_name, snake
from shareq.protocol.generator.spec import Kind, MessageSpec, SchemaError
from shareq.protocol.primitives import NEVER


def index_text(messages: list[MessageSpec], kafka_version: str) -> str:
    """`index.py`: the `ApiKey` enum, one row for each API that has versions, and the module of every message."""
    out = CodeBuffer()
    out.docstring("Every API and message: key, module, classes, versions.\n\n" + banner(["schemas"], kafka_version))
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
        out.docstring("The requests that have versions, by Kafka's names.")
        out.line()
        for spec in requests:
            out.line(f"{_api_name(spec).upper()} = {spec.api_key}")
    out.blank()
    out.line("# key: (module, name, lowest version, highest, first flexible, highest is unstable, listeners)")
    with out.block("APIS: dict[int, tuple[str, str, int, int, int, bool, tuple[str, ...]]] = {"):
        for spec in requests:
            out.bracketed(f"{spec.api_key}: (", _api_row(spec), "),")
    out.line("}")
    out.line()
    out.line("# message: (module, kind)")
    with out.block("MESSAGES: dict[str, tuple[str, str]] = {"):
        for spec in messages:
            if not spec.valid_versions.empty:
                out.line(f'"{spec.name}": ("{module_name(spec.name)}", "{spec.kind.value}"),')
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


def error_codes_text(path: Path, kafka_version: str) -> str:
    """`error_codes.py` from `errors.json`. Raises `SchemaError`."""
    rows = json.loads(path.read_text("utf-8"))
    for row in rows:
        if set(row) != {"code", "name", "retriable", "text"}:
            raise SchemaError(f"{path.name}: expected code, name, retriable and text: {row}")
    rows.sort(key=lambda row: row["code"])
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
            out.line(f"{row['name']} = {row['code']}")
    out.blank()
    out.line("# The request may succeed if it is sent again.")
    with out.block("RETRIABLE: frozenset[int] = frozenset("):
        out.bracketed("{", [f"ErrorCode.{row['name']}" for row in rows if row["retriable"]], "}", one_per_line=True)
    out.line(")")
    out.line()
    with out.block("TEXTS: dict[int, str] = {"):
        for row in rows:
            out.line(f"{row['code']}: {literal(row['text'])},")
    out.line("}")
    return out.text()
