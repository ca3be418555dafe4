from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from shareq.ops.cli.meta import leaves, schema
from shareq.ops.cli.output import printing
from shareq.ops.cli.output.schema import fields, schema_of
from tests.support.clients.shareq_cli import LEAVES
from tests.support.each import for_each


class Inner(NamedTuple):
    name: Annotated[str, "A name."]


class Row(NamedTuple):
    name: Annotated[str, "A name."]
    number: Annotated[int | None, "A number."]
    ready: Annotated[bool, "Whether."]
    share: Annotated[float, "How much."]
    nodes: Annotated[tuple[int, ...], "Nodes."]
    parts: Annotated[Mapping[str, tuple[int, ...]], "By topic."]
    inner: Annotated[tuple[Inner, ...], "More."]


DEEPEST = 4
"""The most nested objects and arrays in a command's output, the array of rows included."""


def depth_of(schema: Mapping[str, Any]) -> int:
    """Return the nesting depth of objects and arrays; fail if a schema leaves it open."""
    if "anyOf" in schema:
        return max(map(depth_of, schema["anyOf"]))
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type", "string")]
    assert {*kinds} <= {"string", "integer", "number", "boolean", "null", "array", "object"}
    inner: list[Mapping[str, Any]] = [*schema.get("properties", {}).values()]
    inner += [schema[name] for name in ("items", "additionalProperties") if schema.get(name)]
    if {"array", "object"} & {*kinds}:
        assert inner, "anything may be in it"
        return 1 + max(map(depth_of, inner))
    return 0


ROW = Row("a", 7, True, 1.5, (1, 2), {"t": (0, 1)}, (Inner("x"),))
BARE = Row("", None, False, 2.0, (), {}, ())


@for_each("words", LEAVES)
def test_rows_of_a_command_nest_as_deep_as_their_type_and_no_deeper(words: str) -> None:
    """Nested values of records are printed as text, so that a row's JSON stays short and shallow."""
    assert depth_of(schema(words, dict(leaves())[words])) <= DEEPEST


def test_a_plain_table_is_aligned_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert printing.print_table([ROW, BARE], ("name", "number", "ready", "share", "nodes", "parts")) == 2
    assert capsys.readouterr().out.splitlines() == [
        "NAME  NUMBER  READY  SHARE  NODES  PARTS",
        "a          7  yes      1.5  1,2    t:0,1",
        "-          -  no         2  -      -",
    ]


def test_what_would_move_a_terminal_is_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_table([Inner("\x1b[31mred\n")], ("name",))
    assert capsys.readouterr().out.splitlines()[1] == r"\x1b[31mred\n"


def test_rows_are_printed_page_by_page(capsys: pytest.CaptureFixture[str]) -> None:
    taken = 0

    def rows() -> Iterator[Inner]:
        nonlocal taken
        for number in range(printing.PAGE + 2):
            taken += 1
            if number == printing.PAGE + 1:
                assert capsys.readouterr().out.count("\n") == printing.PAGE + 1
            yield Inner(str(number))

    assert printing.print_table(rows(), ("name",)) == printing.PAGE + 2
    assert taken == printing.PAGE + 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table_of_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    printing.print_table([Inner("[bold]not markup")], ("name",))
    text = terminal.getvalue()
    assert "[bold]not markup" in text
    assert "─" in text


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Aged(NamedTuple):
    age_ms: Annotated[int | None, "An age."]


@pytest.mark.parametrize("with_rich", [True, False])
def test_durations_have_units_for_people(monkeypatch: pytest.MonkeyPatch, with_rich: bool) -> None:
    if with_rich:
        pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr(printing, "has_rich", lambda: with_rich)
    printing.print_table([Aged(90_000), Aged(None), Aged(200_000_000)], ("age_ms",))
    words = [word for word in _ESCAPES.sub("", terminal.getvalue()).split() if not word.startswith("─")]
    assert words == ["AGE", "1.5m", "-", "2.3d"]


def test_durations_are_milliseconds_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_table([Aged(90_000)], ("age_ms",))
    assert capsys.readouterr().out.split() == ["AGE", "MS", "90000"]


def test_a_terminal_without_rich_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr(printing, "has_rich", lambda: False)
    printing.print_table([Inner("x")], ("name",))
    assert terminal.getvalue() == "NAME\nx\n"


@pytest.mark.parametrize("rows", [[], [ROW], [ROW, BARE]])
def test_json_rows_are_an_array_that_keeps_to_the_schema(capsys: pytest.CaptureFixture[str], rows: list[Row]) -> None:
    printing.print_json_rows(rows)
    found = json.loads(capsys.readouterr().out)
    assert len(found) == len(rows)
    Draft202012Validator(schema_of(Row, "rows", "test")).validate(found)


def test_an_array_that_was_begun_is_closed_when_its_rows_fail(capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> Iterator[Row]:
        yield ROW
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        printing.print_json_rows(rows())
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_json_has_every_field_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_json(ROW)
    assert json.loads(capsys.readouterr().out) == {
        "name": "a",
        "number": 7,
        "ready": True,
        "share": 1.5,
        "nodes": [1, 2],
        "parts": {"t": [0, 1]},
        "inner": [{"name": "x"}],
    }


@pytest.mark.parametrize(
    "wrong",
    [{"number": "7"}, {"ready": None}, {"nodes": ["1"]}, {"parts": {"t": 0}}, {"inner": [{}]}, {"more": 1}],
)
def test_the_schema_refuses_other_values(wrong: dict[str, object]) -> None:
    schema = schema_of(Row, "object", "test")
    Draft202012Validator.check_schema(schema)
    right = {"name": "a", "number": 7, "ready": True, "share": 1, "nodes": [], "parts": {}, "inner": []}
    validator = Draft202012Validator(schema)
    assert validator.is_valid(right)
    assert not validator.is_valid(right | wrong)


def test_every_field_says_what_it_is() -> None:
    assert fields(Inner) == {"name": "A name."}


def test_a_row_of_json_is_one_line_whatever_a_reader_takes_for_the_end_of_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends = "".join(map(chr, [*range(0x20), 0x85, 0x2028, 0x2029]))
    printing.print_json_line({"value": ends})
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"value": ends}
