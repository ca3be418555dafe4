from __future__ import annotations

import pytest

from shareq.spark.columns import KINDS, SchemaError, chosen, ddl, names

ALL = names(include_headers=True, include_delivery_count=True)


def test_the_columns_are_those_of_sparks_kafka_source() -> None:
    assert ddl(names(include_headers=False, include_delivery_count=False)) == (
        "`key` binary, `value` binary, `topic` string, `partition` int, `offset` bigint, `timestamp` timestamp, "
        "`timestampType` int"
    )
    assert ALL[-2:] == ("headers", "deliveryCount")


def test_a_schema_may_choose_in_any_order() -> None:
    assert chosen([("value", "binary", True), ("offset", "bigint", True)], ALL) == ("value", "offset")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ([("price", "double", True)], "price is none of them"),
        ([("Value", "binary", True)], "Value is none of them (it is spelled value)"),
        ([("value", "string", True)], "value is binary, not string"),
        ([("value", "binary", False)], "value must be nullable"),
        ([("value", "binary", True), ("value", "binary", True)], "value is there twice"),
        ([], "at least one"),
    ],
)
def test_any_other_schema_is_refused_and_the_columns_are_named(wanted: list[tuple[str, str, bool]], text: str) -> None:
    with pytest.raises(SchemaError) as error:
        chosen(wanted, ALL)
    assert text in str(error.value)
    assert "key binary, value binary, topic string" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_column_that_an_option_adds() -> None:
    plain = names(include_headers=False, include_delivery_count=False)
    with pytest.raises(SchemaError, match="includeHeaders=true"):
        chosen([("headers", KINDS["headers"], True)], plain)
    with pytest.raises(SchemaError, match="includeDeliveryCount=true"):
        chosen([("deliveryCount", "int", True)], plain)
