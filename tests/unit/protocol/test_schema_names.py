"""Names and texts in schemas that would generate broken or unsafe code: refused in one line, or safely escaped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shareq.protocol.generator.__main__ import main
from shareq.protocol.generator.spec import SchemaError, parse_message
from tests.support.kafka.schemas import field, generated_module, message

EVIL = '"""\nraise SystemExit("ran at import")\n"""'


def refused(place: str, *fields: dict[str, Any], **keys: Any) -> str:
    with pytest.raises(SchemaError) as caught:
        parse_message(message(*fields, **keys), "rpc/X.json")
    text = str(caught.value)
    assert text.startswith(f"rpc/X.json: {place}: "), text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", ["../evil", "evil", "É", "A B", "A\nB", "A;import os", "", "1A", "A" * 101, "_A"])
def test_a_message_has_a_name_of_letters_and_digits(name: str) -> None:
    with pytest.raises(SchemaError, match="name must be") as caught:
        parse_message(message(field("A", "int32"), name=name), "rpc/X.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["Message", "None", "ValueError", "Structure", "Tags", "Struct", "Unset", "Rows"])
def test_a_struct_has_no_name_that_the_generated_module_uses(name: str) -> None:
    text = refused("TestRequest.A", field("A", f"[]{name}", fields=[field("B", "int32")]))
    assert repr(name) in text
    struct = {"name": name, "versions": "0+", "fields": [field("B", "int32")]}
    refused("commonStructs", field("A", name), commonStructs=[struct])


@pytest.mark.parametrize("name", ["Message", "None", "Tags"])
def test_nor_has_a_message(name: str) -> None:
    with pytest.raises(SchemaError, match=f"'{name}' is a name of the generated code"):
        parse_message(message(field("A", "int32"), name=name), "rpc/X.json")


@pytest.mark.parametrize("name", ["Self", "Encode", "Decode", "UnknownTags", "IsInstance", "ReadTags", "EncodeInto"])
def test_a_field_has_no_name_that_the_generated_class_uses(name: str) -> None:
    known = {"IsInstance": "Isinstance"}.get(name, name)
    assert repr(known) in refused(f"TestRequest.{known}", field(known, "int32"))


@pytest.mark.parametrize("name", ["../evil", "A B", "a-b", "É", "A\nB", "", "__class__", "x" * 101])
def test_a_field_has_a_name_of_letters_and_digits(name: str) -> None:
    with pytest.raises(SchemaError, match="name must be") as caught:
        parse_message(message(field(name, "int32")), "rpc/X.json")
    assert "\n" not in str(caught.value)


def test_a_field_named_as_a_keyword_has_an_underscore() -> None:
    module = generated_module(message(field("Class", "int32"), field("Async", "int32"), field("None", "int32")))
    made = module.TestRequest(class_=1, async_=2, none=3)
    assert module.TestRequest.decode(made.encode(0), 0)[0] == made


def test_two_fields_have_two_names_in_python() -> None:
    assert "'foo' and 'FOO'" in refused("TestRequest", field("foo", "int32"), field("FOO", "int32"))
    refused("TestRequest", field("Ack", "[]int8"), field("AckN", "int32"))


def test_what_the_text_of_a_field_says_is_never_run() -> None:
    text = message(
        field("A", "int32", about=EVIL),
        field("B", "[]Inner", fields=[field("C", "int32", about='ends in "')]),
        field("D", "int32", about="a \\ at the end \\"),
        field("E", "int32", about="\0\x0c\u2028\\N{BULLET}"),
        about=EVIL + '"',
    )
    module = generated_module(text)
    assert 'raise SystemExit("ran at import")' in module.TestRequest.__doc__
    assert "a \\ at the end \\" in module.TestRequest.__doc__
    assert module.Inner.__doc__.rstrip().endswith('ends in "')


def test_a_text_that_no_file_can_hold_is_refused() -> None:
    refused("TestRequest.A", field("A", "int32", about="\ud800"))
    refused("TestRequest", field("A", "int32"), about="\ud800")


def test_a_long_text_of_quotes_and_backslashes_is_wrapped_and_stays() -> None:
    words = " ".join(['"""', "\\", '\\"', "x" * 30] * 20)
    module = generated_module(message(field("A", "int32", about=words)))
    assert module.TestRequest.__doc__.count('"""') == 20


@pytest.mark.parametrize(
    "default", ["a\nb", "\r", "\0", '"; import os #', "\\", "\u2028", "Grüße", "'", "\x7f", "x" * 300]
)
def test_a_string_default_is_what_it_says(default: str) -> None:
    module = generated_module(message(field("A", "string", default=default)))
    assert module.TestRequest().a == default
    assert module.TestRequest.decode(module.TestRequest().encode(2), 2)[0].a == default


@pytest.mark.parametrize("default", ["\ud800", "x" * 32_768])
def test_a_string_default_that_cannot_be_written_is_refused(default: str) -> None:
    assert len(refused("TestRequest.A", field("A", "string", default=default))) < 300


def test_a_uuid_default_has_16_bytes() -> None:
    refused("TestRequest.A", field("A", "uuid", default="AAAA"))
    refused("TestRequest.A", field("A", "uuid", default="!" * 22))


@pytest.mark.parametrize("default", ["--5", "1_000", " 5", "0x", "٣", "5" * 5_000])
def test_a_number_is_written_as_kafka_writes_it(default: str) -> None:
    assert len(refused("TestRequest.A", field("A", "int32", default=default))) < 300


def test_a_struct_that_contains_itself_is_named() -> None:
    inner = {"name": "Inner", "versions": "0+", "fields": [field("Next", "Inner")]}
    assert "Inner contains itself: Inner.Next" in refused("Inner.Next", field("A", "Inner"), commonStructs=[inner])
    one = {"name": "One", "versions": "0+", "fields": [field("Two", "[]Two")]}
    two = {"name": "Two", "versions": "0+", "fields": [field("One", "[]One")]}
    text = refused("Two.One", field("A", "[]One"), commonStructs=[one, two])
    assert "One contains itself: One.Two, Two.One" in text


def test_structs_that_are_nested_too_deeply_are_refused() -> None:
    inner = field("A0", "int32")
    for depth in range(1, 60):
        inner = field(f"A{depth}", f"S{depth}", fields=[inner])
    with pytest.raises(SchemaError, match="nested more than"):
        parse_message(message(inner), "rpc/X.json")
    with pytest.raises(SchemaError, match="nested too deeply"):
        parse_message("[" * 100_000, "rpc/X.json")


def test_the_versions_of_a_message_are_bounded() -> None:
    refused_text = refused("TestRequest", field("A", "int32"), validVersions="0+")
    assert "validVersions" in refused_text
    refused("TestRequest", field("A", "int32"), validVersions="0-5000")


def test_a_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"X.json: 'name' is given twice"):
        parse_message('{"name": "A", "name": "B"}', "rpc/X.json")


def test_structs_whose_functions_would_have_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A struct `FooArray`, and an array of `Foo`, would both be read by `_read_foo_array_0`."""
    fields = [
        field("A", "[]Foo", fields=[field("B", "int32")]),
        field("C", "FooArray", fields=[field("D", "int32")]),
    ]
    status, error = run(tmp_path, capsys, {"rpc/TestRequest.json": message(*fields)})
    assert (status, "_read_foo_array_0" in error, error.startswith("rpc/TestRequest.json: ")) == (2, True, True)


# -- the command


def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> tuple[int, str]:
    """Return the exit status and standard error; check that nothing was written outside the output folder."""
    schemas, out = tmp_path / "schemas", tmp_path / "in" / "out"
    for name, text in {"KAFKA_VERSION": "4.4.0", **files}.items():
        (schemas / name).parent.mkdir(parents=True, exist_ok=True)
        (schemas / name).write_text(text, "utf-8")
    status = main(["--schemas", str(schemas), "--out", str(out)])
    written = {path for path in tmp_path.rglob("*") if path.is_file() and schemas not in path.parents}
    assert all(path.parent == out for path in written)
    assert bool(written) == (status == 0)
    return status, capsys.readouterr().err


def test_a_message_named_as_a_path_is_written_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, error = run(tmp_path, capsys, {"rpc/X.json": message(field("A", "int32"), name="../evil")})
    assert (status, error.count("\n")) == (2, 1)
    assert error.startswith("rpc/X.json: ")


@pytest.mark.parametrize("name", ["IndexRequest", "ErrorCodes", "ErrorCodesResponse"])
def test_no_message_takes_the_place_of_a_table(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, error = run(tmp_path, capsys, {"rpc/X.json": message(field("A", "int32"), name=name)})
    assert (status, error.startswith("rpc/X.json: ")) == (2, True)


def test_two_requests_have_two_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"rpc/{name}.json": message(field("A", "int32"), name=name) for name in ("ARequest", "BRequest")}
    status, error = run(tmp_path, capsys, files)
    assert (status, error) == (
        2,
        "rpc/BRequest.json: BRequest: apiKey 7 is also that of ARequest in rpc/ARequest.json\n",
    )


@pytest.mark.parametrize(
    "row",
    [
        {"name": "A = 1\nimport os", "code": 1, "retriable": True, "text": ""},
        {"name": "None", "code": 1, "retriable": True, "text": ""},
        {"name": "A", "code": "1", "retriable": True, "text": ""},
        {"name": "A", "code": 70_000, "retriable": True, "text": ""},
        {"name": "A", "code": 1, "retriable": "yes", "text": ""},
        {"name": "A", "code": 1, "retriable": True, "text": None},
        {"name": "A", "code": 1},
        "A",
    ],
)
def test_error_codes_are_checked_too(row: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, error = run(tmp_path, capsys, {"errors.json": json.dumps([row])})
    assert (status, error.count("\n"), error.startswith("errors.json: ")) == (2, 1, True)


def test_a_file_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schemas = tmp_path / "schemas"
    (schemas / "rpc").mkdir(parents=True)
    (schemas / "KAFKA_VERSION").write_text("4.4.0")
    (schemas / "rpc" / "X.json").write_bytes(b"\xff{")
    assert main(["--schemas", str(schemas), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("rpc/X.json: ")
