"""The columns that the sink accepts, by the rules and with the messages of Spark's own Kafka sink. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.spark.columns import SchemaError

HEADERS: Final = "array<struct<key:string,value:binary>>"
TAKEN: Final = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS,),
    "partition": ("int",),
}
"""The types that each column may have, as Spark's `simpleString` writes them. Other columns are not written."""


def check(given: Sequence[tuple[str, str]], *, topic: str | None) -> None:
    """Raise SchemaError unless rows of these columns, `(name, simpleString)` each, can be written.

    `topic`: the option, which takes precedence over the column.
    """
    kinds = dict(given)
    problems = []
    if topic is None and "topic" not in kinds:
        problems.append(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic"
        )
    if "value" not in kinds:
        problems.append("required attribute 'value' not found")
    for name, allowed in TAKEN.items():
        kind = kinds.get(name)
        if kind is not None and kind not in allowed and not (name == "topic" and topic is not None):
            problems.append(f"{name} attribute unsupported type {kind}: must be {' or '.join(allowed)}")
    problems += [f"{name} is there twice" for name in TAKEN if sum(each == name for each, _ in given) > 1]
    if problems:
        raise SchemaError(f"kafka-share: {'; '.join(problems)}")
