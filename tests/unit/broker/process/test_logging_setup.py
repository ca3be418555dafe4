"""The lines of the log: one for each event, whatever clients call their groups."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from shareq.broker.process import logging_setup


@pytest.fixture
def lines() -> Iterator[StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = StringIO()
    logging_setup.configure(stream=stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)


def test_a_name_with_line_breaks_forges_no_line(lines: StringIO) -> None:
    logging.getLogger("a").info("group %s: changed", "g\n2026-01-01 ERROR b: forged\r\x1b[2J\x85\u2028 Größe ☕")
    (line,) = lines.getvalue().split("\n")[:-1]
    assert line.endswith(r"INFO a: group g\x0a2026-01-01 ERROR b: forged\x0d\x1b[2J\x85\u2028 Größe ☕: changed")


def test_a_traceback_keeps_its_lines(lines: StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("a").exception("it failed")
    first, *_, last = lines.getvalue().splitlines()
    assert first.endswith("ERROR a: it failed")
    assert last == "ValueError: why"


@pytest.fixture
def json_lines(lines: StringIO) -> StringIO:
    """After `lines`, which puts everything back."""
    logging_setup.configure(log_format="json", stream=lines)
    return lines


def test_json_has_one_object_a_line_with_fields(json_lines: StringIO) -> None:
    name = "g\n{}\u2028 Größe \x85"
    logging.getLogger("a.b").warning("group %s", name, extra={"fields": {"group": name, "attempts": 5}})
    (line,) = json_lines.getvalue().splitlines()
    assert line.isascii()
    event = json.loads(line)
    time = event.pop("time")
    assert len(time) == len("2026-01-01T00:00:00.000Z")
    assert (time[10], time[-1]) == ("T", "Z")
    assert event == {
        "level": "WARNING",
        "logger": "a.b",
        "message": f"group {name}",
        "fields": {"group": name, "attempts": 5},
    }


def test_json_keeps_a_traceback_in_its_line(json_lines: StringIO) -> None:
    try:
        raise ValueError("why")
    except ValueError:
        logging.getLogger("a").exception("it failed")
    (line,) = json_lines.getvalue().splitlines()
    event = json.loads(line)
    assert set(event) == {"time", "level", "logger", "message", "exception"}
    assert event["exception"].splitlines()[-1] == "ValueError: why"


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("debug", {"": logging.DEBUG}),
        ("WARNING,a.b=DEBUG", {"": logging.WARNING, "a.b": logging.DEBUG}),
        (" a = ERROR , INFO ", {"a": logging.ERROR, "": logging.INFO}),
    ],
)
def test_levels_of_all_and_of_single_loggers(text: str, levels: dict[str, int]) -> None:
    assert logging_setup.parse_levels(text) == levels


@pytest.mark.parametrize("text", ["", "loud", "INFO,", "=DEBUG", "a=", "a=loud", "10", "NOTSET"])
def test_what_is_no_level_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL"):
        logging_setup.parse_levels(text)


def test_a_logger_has_the_level_it_was_given(lines: StringIO) -> None:
    part = logging.getLogger("test_logging_setup.part")
    try:
        logging_setup.configure({"": logging.WARNING, part.name: logging.DEBUG}, stream=lines)
        logging.getLogger("test_logging_setup").info("left out")
        part.debug("there")
    finally:
        part.setLevel(logging.NOTSET)
    assert [line.partition(": ")[2] for line in lines.getvalue().splitlines()] == ["there"]
