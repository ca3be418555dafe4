"""The schema language: its meaning, and the refusal of anything unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shareq.protocol.generator.names import module_name, snake
from shareq.protocol.generator.spec import FieldSpec, Kind, SchemaError, parse_message
from shareq.protocol.generator.versions import Versions
from tests.support.kafka.schemas import field, message


def parse(*fields: dict[str, Any], **keys: Any) -> list[FieldSpec]:
    return list(parse_message(message(*fields, **keys), "X.json").root.fields)


def refused(text: str, *fields: dict[str, Any], **keys: Any) -> None:
    with pytest.raises(SchemaError, match=text) as caught:
        parse(*fields, **keys)
    assert str(caught.value).startswith("X.json")


def test_a_message() -> None:
    spec = parse_message(message(field("A", "int32"), validVersions="1-3", flexibleVersions="2+"), "X.json")
    assert (spec.name, spec.kind, spec.api_key) == ("TestRequest", Kind.REQUEST, 7)
    assert (spec.valid_versions, spec.flexible_versions) == (Versions(1, 3), Versions.parse("2+"))


def test_comments_run_to_the_end_of_the_line_but_not_inside_strings() -> None:
    text = (
        "// licence\n"
        '{ "type": "data", "name": "Url", // a comment with "quotes"\n'
        '  "validVersions": "0", "flexibleVersions": "none", "fields": [ // "not": here\n'
        '    { "name": "Link", "type": "string", "versions": "0+", "default": "http://x/\\"//y" } ] }'
    )
    assert parse_message(text, "X.json").root.fields[0].default == 'http://x/"//y'


def test_unknown_keys_are_refused() -> None:
    refused("TestRequest.A: unknown key colour", field("A", "int32", colour="red"))
    refused("unknown key colour", field("A", "int32"), colour="red")
    struct = {"name": "S", "versions": "0+", "fields": [field("A", "int32")], "colour": "red"}
    refused("unknown key colour", field("B", "S"), commonStructs=[struct])


def test_booleans_with_and_without_quotes() -> None:
    assert parse(field("A", "int32", ignorable="true"))[0].ignorable
    assert parse(field("A", "int32", ignorable=True))[0].ignorable
    assert not parse(field("A", "int32", ignorable="False"))[0].ignorable
    refused("ignorable must be true or false", field("A", "int32", ignorable="yes"))


@pytest.mark.parametrize(
    ("of", "default", "value"),
    [
        ("int32", "0x7fffffff", 2**31 - 1),
        ("int32", "-2147483648", -(2**31)),
        ("int64", "9223372036854775807", 2**63 - 1),
        ("int64", -1, -1),
        ("int8", "-0x10", -16),
        ("bool", "TRUE", True),
        ("bool", True, True),
        ("bool", "false", False),
        ("float64", "-1.5", -1.5),
        ("string", "", ""),
        ("string", "text", "text"),
        ("uint16", "65535", 65535),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", bytes(15) + b"\x01"),
    ],
)
def test_defaults(of: str, default: object, value: object) -> None:
    assert parse(field("A", of, default=default))[0].default == value


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("int16", 0),
        ("bool", False),
        ("float64", 0.0),
        ("uuid", bytes(16)),
        ("string", ""),
        ("bytes", b""),
        ("records", None),
    ],
)
def test_defaults_that_are_not_given(of: str, value: object) -> None:
    assert parse(field("A", of))[0].default == value


@pytest.mark.parametrize(
    ("of", "default"),
    [("int8", "128"), ("int32", "0x80000000"), ("uint16", "-1"), ("int32", "ten"), ("bool", "yes"), ("float64", "nan")],
)
def test_impossible_defaults_are_refused(of: str, default: str) -> None:
    refused("TestRequest.A: default", field("A", of, default=default))


def test_quoted_null_is_a_default_for_fields_that_may_always_be_null() -> None:
    assert parse(field("A", "string", nullableVersions="0+", default="null"))[0].default_is_null
    refused("not nullable in all its versions", field("A", "string", nullableVersions="1+", default="null"))
    refused("not nullable in all its versions", field("A", "string", default="null"))
    refused("null is the only default", field("A", "[]int32", default="0"))


def test_a_bare_null_default_is_no_default() -> None:
    """As in Kafka, the default is the empty struct or array, and null is written as a value."""
    fields = parse(field("A", "[]int32", nullableVersions="0+", default=None))
    assert not fields[0].default_is_null


def test_null_is_for_variable_types_only() -> None:
    refused("int32 cannot be null", field("A", "int32", nullableVersions="0+"))


def test_tags() -> None:
    tagged = {"versions": "2+", "taggedVersions": "2+"}
    assert [spec.tag for spec in parse(field("A", "int32", tag=1, **tagged), field("B", "int32", tag=0, **tagged))] == [
        1,
        0,
    ]
    refused("belong together", field("A", "int32", tag=0))
    refused("belong together", field("A", "int32", taggedVersions="2+"))
    refused("tags must be 0, 1, 2", field("A", "int32", tag=1, **tagged))
    refused("must be N", field("A", "int32", versions="2+", tag=0, taggedVersions="2-3"))
    refused("within", field("A", "int32", versions="3+", tag=0, taggedVersions="2+"))
    refused("within", field("A", "int32", versions="0+", tag=0, taggedVersions="1+"))  # flexible from 2
    refused("records cannot be tagged", field("A", "records", tag=0, **tagged))


def test_versions_of_a_tagged_field_may_be_left_out() -> None:
    raw = {"name": "A", "type": "int32", "tag": 0, "taggedVersions": "2+"}
    assert parse(raw)[0].versions == Versions.parse("2+")


def test_types() -> None:
    refused("unknown type 'int31'", field("A", "int31"))
    refused("unknown type", field("A", "[][]int32"))
    refused("no arrays of records", field("A", "[]records"))
    refused("int32 has no fields", field("A", "int32", fields=[]))
    refused("unknown entityType", field("A", "int32", entityType="colour"))


def test_structs_resolve_inside_the_message() -> None:
    inner = field("S", "[]Inner", fields=[field("A", "int32")])
    spec = parse_message(message(inner, field("Again", "Inner")), "X.json")
    assert list(spec.structs) == ["Inner"]
    refused("TestRequest.S: no struct Missing", field("S", "Missing"))
    refused("declared twice", inner, {**inner, "name": "Other"})
    refused("a field name is used twice", field("A", "int32"), field("A", "int64"))


def test_common_structs_may_refer_to_each_other() -> None:
    outer = {"name": "Outer", "versions": "0+", "fields": [field("Inner", "[]Inner")]}
    inner = {"name": "Inner", "versions": "0+", "fields": [field("A", "int32")]}
    spec = parse_message(message(field("S", "Outer"), commonStructs=[outer, inner]), "X.json")
    assert list(spec.structs) == ["Outer", "Inner"]


def test_message_keys() -> None:
    refused("flexibleVersions must be none or N", field("A", "int32"), flexibleVersions="1-2")
    refused("apiKey does not go with type data", field("A", "int32"), type="data")
    refused("is not a valid Kind", field("A", "int32"), type="question")
    with pytest.raises(SchemaError, match=r"X\.json"):
        parse_message("{", "X.json")
    with pytest.raises(SchemaError, match="expected an object"):
        parse_message(json.dumps([1]), "X.json")


@pytest.mark.parametrize(
    ("kafka", "python"),
    [
        ("ShareSessionEpoch", "share_session_epoch"),
        ("shareSessionEpoch", "share_session_epoch"),
        ("groupId", "group_id"),
        ("IsKRaftVersion", "is_kraft_version"),
        ("Enable2Pc", "enable_2pc"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("SASLHandshake", "sasl_handshake"),
        ("LastKnownElr", "last_known_elr"),
        ("From", "from_"),
        ("Type", "type"),
    ],
)
def test_names_become_pythons(kafka: str, python: str) -> None:
    assert snake(kafka) == python


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("ShareFetchRequest", "share_fetch"),
        ("ShareFetchResponse", "share_fetch"),
        ("ShareSnapshotKey", "share_snapshot"),
        ("ShareGroupStatePartitionMetadataValue", "share_group_state_partition_metadata"),
        ("RequestHeader", "request_header"),
        ("KRaftVersionRecord", "kraft_version_record"),
        ("ConsumerProtocolAssignment", "consumer_protocol_assignment"),
    ],
)
def test_modules_are_named_by_the_rpc_or_record(name: str, module: str) -> None:
    assert module_name(name) == module
