"""The columns of the source: those of Spark's Kafka source, and the delivery count on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

KINDS: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "deliveryCount": "int",
}
"""The type of each column, as Spark's `simpleString` writes it. All columns may be null."""

_ALWAYS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


class SchemaError(ValueError):
    """A schema that the source cannot provide. The message is one line and names the possible columns."""


def names(*, include_headers: bool, include_delivery_count: bool) -> tuple[str, ...]:
    """Return the columns that the options ask for, in their order."""
    return (
        *_ALWAYS,
        *(("headers",) if include_headers else ()),
        *(("deliveryCount",) if include_delivery_count else ()),
    )


def ddl(columns: Sequence[str]) -> str:
    """Return the columns as a schema string of Spark."""
    return ", ".join(f"`{name}` {KINDS[name]}" for name in columns)


def chosen(wanted: Sequence[tuple[str, str, bool]], offered: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a user's schema, in its order.

    Each is `(name, simpleString, nullable)`, one of those offered. Raises SchemaError naming all that is wrong.
    """
    problems = []
    for position, (name, kind, nullable) in enumerate(wanted):
        if name not in offered:
            problems.append(f"{name} is none of them{_hint(name)}")
        elif kind != KINDS[name]:
            problems.append(f"{name} is {KINDS[name]}, not {kind}")
        elif not nullable:
            problems.append(f"{name} must be nullable")
        elif any(name == earlier for earlier, _, _ in wanted[:position]):
            problems.append(f"{name} is there twice")
    if not wanted:
        problems.append("at least one of them is needed")
    if problems:
        raise SchemaError(
            f"kafka-share: a schema may choose among the columns {ddl(offered).replace('`', '')}: {'; '.join(problems)}"
        )
    return tuple(name for name, _, _ in wanted)


def _hint(name: str) -> str:
    if name == "headers":
        return " (option includeHeaders=true adds it)"
    if name == "deliveryCount":
        return " (option includeDeliveryCount=true adds it)"
    for column in KINDS:
        if column.lower() == name.lower():
            return f" (it is spelled {column})"
    return ""
