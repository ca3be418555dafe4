"""Writes the fields of every command's JSON into docs/cli.md: `python scripts/cli_reference.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from devtools.documents import write_between
from shareq.ops.cli.meta import leaves, schema

DOCUMENT: Final = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
BEGIN: Final = "<!-- fields: begin -->"
END: Final = "<!-- fields: end -->"


def lines() -> list[str]:
    """Return a table for each row; commands that print the same row share one."""
    by_fields: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for name, command in leaves():
        found = schema(name, command)
        row = found.get("items", found)
        words, _ = by_fields.setdefault(str(row["properties"]), ([], row))
        words.append(f"`{name}`")
    result: list[str] = []
    for words, row in by_fields.values():
        result += ["", f"{', '.join(words)}:", "", "| field | type | |", "| --- | --- | --- |"]
        result += [f"| `{name}` | {kind(each)} | {each['description']} |" for name, each in row["properties"].items()]
    return [*result, ""]


def kind(field: dict[str, Any]) -> str:
    """Return a type in words."""
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "type" not in field:
        return " or ".join(kind(each) for each in field["anyOf"])
    if isinstance(field["type"], list):
        return " or ".join(field["type"])
    if field["type"] == "array":
        return f"array of {kind(field['items'])}"
    if field.get("additionalProperties"):
        return f"object of {kind(field['additionalProperties'])}"
    if field["type"] == "object":
        return f"object ({', '.join(f'`{name}`' for name in field['properties'])})"
    return str(field["type"])


def main() -> None:
    """Run the command."""
    write_between(DOCUMENT, BEGIN, END, lines())


if __name__ == "__main__":
    main()
