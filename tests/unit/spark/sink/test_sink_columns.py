"""Columns of the sink: required, of a wrong type, unused; all problems in one line."""

from __future__ import annotations

import pytest

from shareq.spark.columns import SchemaError
from shareq.spark.sink.columns import HEADERS, TAKEN, check

VALUE = ("value", "string")


@pytest.mark.parametrize("name", TAKEN)
def test_each_type_that_a_column_may_have_and_no_other(name: str) -> None:
    others = [] if name == "value" else [VALUE]
    topic = None if name == "topic" else "t"
    for kind in ("string", "binary", "int", "bigint", HEADERS, HEADERS.replace("value:binary", "value:string")):
        if kind in TAKEN[name]:
            check([(name, kind), *others], topic=topic)
        else:
            with pytest.raises(SchemaError, match=f"kafka-share: {name} attribute unsupported type "):
                check([(name, kind), *others], topic=topic)


def test_what_is_missing_and_what_is_there_twice_comes_at_once() -> None:
    with pytest.raises(SchemaError) as error:
        check([("key", "double"), ("partition", "int"), ("partition", "int")], topic=None)
    text = str(error.value)
    assert "\n" not in text
    for part in (
        "topic option required when no 'topic' attribute is present",
        "required attribute 'value' not found",
        "key attribute unsupported type double: must be string or binary",
        "partition is there twice",
    ):
        assert part in text


def test_columns_of_no_meaning_are_let_pass_and_so_is_any_topic_beside_the_option() -> None:
    check([VALUE, ("price", "double"), ("topic", "int")], topic="t")
